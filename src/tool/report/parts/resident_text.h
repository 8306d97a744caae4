/* SPDX-License-Identifier: MIT */
/*
 * Resident memory beside the estimate (resident/resident.h), written: a line for the header, a
 * table for the summary, an object for JSON. Each writes nothing where nothing is known. Called by
 * header.c, summary.c and json.c.
 */
#ifndef BP_REPORT_PARTS_RESIDENT_TEXT_H
#define BP_REPORT_PARTS_RESIDENT_TEXT_H

#include "report/report.h"
#include "text/json_writer.h"
#include "text/quantity.h"

/* "resident 611 MiB" for what stands beside a total at a moment (CLOCK_MONOTONIC); empty where it
 * is not known, or not of the same processes. `buffer`: BP_QUANTITY_BYTES + 16. */
void bp_resident_remark(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, uint64_t time_ns, char *buffer);

/* Which part of `live` is `absent`: "38 % [34, 42]", "[3, 90] %" or "?" where nothing is known; the
 * limits are those of both figures at their worst. */
void bp_absent_share_text(
	const struct bp_interval *absent, const struct bp_interval *live, char *to, size_t bytes);

void bp_write_resident_line(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out);
void bp_write_resident_table(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out);

/* The member "resident" of bytepoll-report-1, where it is known; the points themselves only with a
 * timeline. */
void bp_json_resident(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options);

#endif
