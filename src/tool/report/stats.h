/* SPDX-License-Identifier: MIT */
/*
 * Distributions in JSON, for json.c; as text they are a report of their own (report.h:
 * bp_report_stats).
 */
#ifndef BP_REPORT_STATS_H
#define BP_REPORT_STATS_H

#include "report/report.h"
#include "text/json_writer.h"

/* The member "stats" of bytepoll-report-1. The aggregation must be of metric allocated. */
bool bp_json_stats(
	struct bp_json *json, const struct bp_aggregation *aggregation, struct bp_error *error);

#endif
