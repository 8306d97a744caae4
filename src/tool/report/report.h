/* SPDX-License-Identifier: MIT */
/*
 * Profile to bytes. A new report is one file with a `struct bp_report` and one line in reports.h.
 * Reports take an aggregation, ask it for the rows that they show, and write; they decide nothing
 * about figures.
 *
 * Names in a profile come from files and programs that may be hostile: every report escapes them
 * (escape.h) as its format needs.
 */
#ifndef BP_REPORT_REPORT_H
#define BP_REPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "aggregation/aggregate.h"
#include "base/error.h"
#include "report/reports.h"
#include "resident/explained.h"
#include "resident/pages/keepers.h"
#include "resident/parts.h"
#include "resident/pages/residency.h"
#include "resident/resident.h"

#define BP_ROWS_ALL UINT32_MAX

struct bp_report_options {
	uint32_t rows;	  /* at most so many; BP_ROWS_ALL: no limit */
	uint32_t moments; /* of the timeline, 0 or >= 2; 0: without it. The aggregation must then be
			   * of metric live at exit */
	unsigned columns; /* width of the terminal, characters */
	bool utf8;	  /* the terminal shows UTF-8; otherwise ASCII only */
	/* names are of another language than C++ and Rust: what is too long is cut in the middle */
	bool names_as_recorded;
	bool colour;
	/* it is a terminal that is written to: nothing may reach it that steers it */
	bool terminal;
	bool si;	/* kB, MB, GB instead of KiB, MiB, GiB */
	bool stats;	/* of json: distributions too (stats.c) */
	bool lifetimes; /* of json: lifetimes by row too (lifetimes.c) */
	bool rounding;	/* of json: rounding too (rounding.c) */
	bool complete;	/* lifetimes of what was freed alone, which is biased */
	bool age_bytes; /* lifetimes in bytes that were allocated meanwhile */
	bool pairs;	/* lifetimes by the places that allocate and free (pairs.c); in json too */
	const struct bp_resident *resident;   /* memory of the run, NULL: not known */
	const struct bp_explained *explained; /* what malloc explains of it; NULL: not known */
	/* what of live objects was not resident, for --resident where it is known; else NULL */
	const struct bp_residency *residency;
	bool without_pages; /* --resident of the highest look, of which no pages are kept */
	const struct bp_parts *parts; /* resident memory taken apart, for --resident; else NULL */
	/* --metric all: what the programs mapped themselves, by the same query; else NULL */
	const struct bp_aggregation *mapped;
	const struct bp_keepers *keepers; /* who keeps pages, for --pages; else NULL */
	const char *file; /* for commands to type next, as it was given; NULL: leave them out */
};

struct bp_report {
	const char *name;  /* as in --NAME; "table" is the default */
	bool for_eyes;	   /* read by people, not by programs */
	bool needs_stacks; /* the aggregation must be by stack, sorted by bytes or objects */
	uint32_t rows;	   /* --rows unless given */
	/* Writes to `out`; errors of the stream are the caller's to find (ferror). */
	bool (*write)(const struct bp_aggregation *aggregation,
		const struct bp_report_options *options, FILE *out, struct bp_error *error);
};

/* Those of reports.h, NULL-terminated. */
extern const struct bp_report *const bp_reports[];

/* Without an option, and for --timeline. */
extern const struct bp_report bp_report_table;
extern const struct bp_report bp_report_timeline;
/* Of --metric all. */
extern const struct bp_report bp_report_all;

#define BP_REPORT_DECLARED(name, summary) extern const struct bp_report bp_report_##name;
BP_REPORTS_TO_READ(BP_REPORT_DECLARED)
BP_REPORTS_AS_DATA(BP_REPORT_DECLARED)
#undef BP_REPORT_DECLARED

#define BP_SPAN_BYTES 128 /* room for bp_off_text */

/* How long sampling was off: "2.1 s of 3.2 s". What counts is when no process that ran was sampled;
 * "a time" where there is no such moment. */
void bp_off_text(const struct bp_aggregation *aggregation, char *buffer);

/* "live at exit", or of a program that has not ended in order (it was killed, it still runs, or
 * this is a snapshot) "live at the end". */
const char *bp_live_name(const struct bp_aggregation *aggregation);

#endif
