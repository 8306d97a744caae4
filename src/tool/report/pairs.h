/* SPDX-License-Identifier: MIT */
/*
 * `report --lifetimes --pairs`: where objects were allocated and where they were freed
 * (aggregation/views/pairs.h). For people it is called by lifetimes.c, and as JSON by json.c.
 */
#ifndef BP_REPORT_PAIRS_H
#define BP_REPORT_PAIRS_H

#include "report/report.h"
#include "text/json_writer.h"

/* The table of the first options->rows pairs. The aggregation must be of metric allocated, by a
 * place (bp_pairs_are_by), and not cumulative. Errors: memory. */
bool bp_write_pairs(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error);

/* The member "pairs" of bytepoll-report-1, of the same. */
bool bp_json_pairs(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, struct bp_error *error);

#endif
