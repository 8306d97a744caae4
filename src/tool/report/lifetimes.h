/* SPDX-License-Identifier: MIT */
/*
 * Lifetimes by row in JSON, for json.c; as text they are a report of their own (report.h:
 * bp_report_lifetimes).
 */
#ifndef BP_REPORT_LIFETIMES_H
#define BP_REPORT_LIFETIMES_H

#include "aggregation/views/lifetimes.h"
#include "report/report.h"
#include "text/json_writer.h"

/* The member "lifetimes" of bytepoll-report-1, of the first `shown` rows. The aggregation must be
 * of metric allocated. */
bool bp_json_lifetimes(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, uint32_t shown, struct bp_error *error);

/* The age by which half has ended: "2.1 s [1.8, 2.6]" where the limits have the unit of the
 * estimate, else "2.1 s [900 ms, 4 s]"; "≥ 4.2 s" and "≤ 12 ms"; "not reached"; "?". `cell`:
 * BP_GRID_CELL_BYTES of report/parts/grid.h. */
void bp_lifetime_median_text(const struct bp_interval *median, enum bp_age_unit unit,
	const struct bp_report_options *options, char *cell);

#define BP_OTHER_CPU_NOTE                                                                   \
	"Other CPU: the part that was freed on another processor than the one on which it " \
	"had been allocated."

/* What ages in bytes are, and how exactly they are known: `width` of struct bp_lifetimes. */
void bp_write_age_bytes_note(uint64_t width, const struct bp_report_options *options, FILE *out);

#endif
