/* SPDX-License-Identifier: MIT */
/*
 * Rounding in JSON, for json.c; as text it is a report of its own (report.h: bp_report_rounding).
 */
#ifndef BP_REPORT_ROUNDING_H
#define BP_REPORT_ROUNDING_H

#include "report/report.h"
#include "text/json_writer.h"

/* The member "rounding" of bytepoll-report-1, of at most `shown` rows and as many sizes. The metric
 * must be one of those of aggregation/views/rounding.h. */
bool bp_json_rounding(struct bp_json *json, const struct bp_aggregation *aggregation,
	uint32_t shown, struct bp_error *error);

#endif
