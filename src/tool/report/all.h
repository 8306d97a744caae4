/* SPDX-License-Identifier: MIT */
/*
 * `--metric all`: what programs mapped themselves and what they malloc'ed, added by row
 * (docs/mapped.md, "The sum"). The exact part moves the interval of the estimated part, and makes
 * it no wider. Arenas of malloc are left out of what was mapped, since what lies in them is
 * malloc'ed. Called by all.c, all_json.c and json.c. Pure but for memory.
 */
#ifndef BP_REPORT_ALL_H
#define BP_REPORT_ALL_H

#include "report/report.h"
#include "text/json_writer.h"

struct bp_all_row {
	char *name;		   /* as bp_row_text has it; owned */
	uint32_t malloced, mapped; /* row numbers of the two aggregations; UINT32_MAX: none */
	uint64_t samples;	   /* of what was malloc'ed */
	struct bp_figure bytes, objects, malloced_bytes;
	double mapped_bytes, mapped_objects; /* exact, without arenas */
};

struct bp_all {
	struct bp_all_row total;
	struct bp_all_row *rows; /* the largest first */
	uint32_t row_count;
	double arena_bytes; /* left out */
	/* Calls that map, or that unmap, memory were lost: more, or less, may be mapped. */
	bool lower_bound, upper_bound;
};

/* Of two aggregations of metric live by the same query: of what was malloc'ed, and of what was
 * mapped. */
bool bp_all_make(const struct bp_aggregation *malloced, const struct bp_aggregation *mapped,
	struct bp_all *ret_all, struct bp_error *error);
void bp_all_finish(struct bp_all *all);

/* The members "all", "rows", "rest" and "rows_left_out" of bytepoll-report-1. */
bool bp_json_all(struct bp_json *json, const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, struct bp_error *error);

#endif
