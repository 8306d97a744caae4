/* SPDX-License-Identifier: MIT */
/*
 * Distributions in JSON, for json.c; as text they are a report of their own (report.h: bp_report_stats).
 */
#ifndef BP_REPORT_STATS_H
#define BP_REPORT_STATS_H

#include "report/report.h"

/* The field "stats" of bytepoll-report-1 and a comma. The aggregation must be of metric allocated. */
bool bp_write_json_stats(
	FILE *out, const struct bp_aggregation *aggregation, struct bp_error *error);

#endif
