/* SPDX-License-Identifier: MIT */
/*
 * Lifetimes by row in JSON, for json.c; as text they are a report of their own (report.h:
 * bp_report_lifetimes).
 */
#ifndef BP_REPORT_LIFETIMES_H
#define BP_REPORT_LIFETIMES_H

#include "report/report.h"
#include "text/json_writer.h"

/* The member "lifetimes" of bytepoll-report-1, of the first `shown` rows. The aggregation must be
 * of metric allocated. */
bool bp_json_lifetimes(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, uint32_t shown, struct bp_error *error);

#endif
