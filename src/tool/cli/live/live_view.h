/* SPDX-License-Identifier: MIT */
/*
 * What `bytepoll live` shows of a profile: which figures are asked for, the rows they make, and
 * where the cursor is. Wishes are set by keys; `bp_live_view_make` then makes everything of a
 * profile anew. All figures are those of bp_aggregate and bp_diff_moments_make; nothing is
 * estimated here. Not thread-safe.
 */
#ifndef BP_CLI_LIVE_LIVE_VIEW_H
#define BP_CLI_LIVE_LIVE_VIEW_H

#include "aggregation/aggregate.h"
#include "aggregation/views/call_tree.h"
#include "base/error.h"
#include "cli/live/live_residency.h"
#include "cli/live/live_source.h"
#include "diff/diff.h"
#include "query/filter.h"
#include "resident/explained.h"

#define BP_LIVE_ROWS_MAX 1000 /* rows that get figures; the rest are one line */
#define BP_LIVE_FILTER_BYTES 256
#define BP_LIVE_HISTORY 512 /* moments of the timeline */
#define BP_LIVE_WINDOW_NS 10000000000u

enum bp_live_sort {
	BP_LIVE_SORT_SIZE, /* the estimate, in bytes or objects */
	BP_LIVE_SORT_RATE,
	BP_LIVE_SORT_CHANGE,
	BP_LIVE_SORT_SAMPLES,
	BP_LIVE_SORT_NAME,
	BP_LIVE_SORT_COUNT
};
extern const char *const bp_live_sort_names[BP_LIVE_SORT_COUNT];

struct bp_live_row {
	char *name;	 /* as bytes of any kind */
	char *key;	 /* by which the other figures of it are found, private */
	uint32_t number; /* in the aggregation; UINT32_MAX: it has no sample there any more */
	uint64_t samples;
	struct bp_figure size, rate, change; /* in the unit of the view; rate: a second */
	bool has_rate, has_change;
	enum bp_verdict verdict; /* of the change */
};

/* What was live at a moment. */
struct bp_live_moment {
	uint64_t time_ns; /* since the start of the program */
	double bytes;
};

struct bp_live_view {
	/* Wishes. */
	enum bp_metric metric;
	enum bp_key by;
	const char *label; /* by label: NULL the whole set, or "label:KEY", the caller's text */
	enum bp_live_sort sort;
	bool ascending, objects, cumulative, usable;
	double confidence;
	char filter[BP_LIVE_FILTER_BYTES]; /* KEY=GLOB; empty: none */
	bool has_base;			   /* changes are since this moment */
	uint64_t base_ns;		   /* since the start of the program */
	char *drilled;			   /* name of the row that is looked into; NULL: none */

	/* What came of them. */
	bool made;
	struct bp_error failure; /* why there is nothing to show */
	struct bp_aggregation aggregation;
	struct bp_live_row *rows;
	uint32_t count, left_out;
	struct bp_row rest; /* all those left out, together */
	double largest;	    /* largest upper limit of the rows, for bars */
	uint64_t now_ns;    /* of the reading, since the start of the program */
	uint64_t window_ns; /* that rates are over; 0: no rates */
	double rate;	    /* bytes a second, all threads, counted; NAN: not known */
	/* of all processes that run, now; `little` false: not known, too */
	struct bp_explained explained;
	/* Of what lives; shown only with `shows_residency`: by metric live, of all, not
	 * cumulative. */
	struct bp_live_residency residency;
	bool shows_residency;

	bool has_tree; /* drilled: the call tree under the row */
	struct bp_aggregation stacks;
	struct bp_call_tree tree;
	uint32_t *tree_lines; /* the first node of each line: a chain of functions is one line */
	uint32_t tree_line_count;
	const struct bp_frame_id *frames; /* drilled by stack: its frames, innermost first */
	uint32_t frame_count;

	/* The cursor: a row, or a line of the tree; `first` is the topmost one shown. */
	uint32_t cursor, first;

	/* Live over time, oldest first. */
	struct bp_live_moment history[BP_LIVE_HISTORY];
	uint32_t history_count;

	/* Private. */
	struct bp_filter filters[2];
	uint32_t filter_count;
	char drill_filter[2 * 4096 + 16];
	struct {
		uint64_t time_ns, low, high;
	} counted[128]; /* what was counted at the last readings */
	uint32_t counted_count;
	bool heaps_known; /* looked for once */
	bp_own_heaps heaps;
};

/* What rows are by, as --by says it. */
const char *bp_live_view_key(const struct bp_live_view *view);

/* Lets go of what was made, as the profile goes. */
void bp_live_view_drop(struct bp_live_view *view);
/* Makes everything of the source's profile. `fresh`: the profile is a new reading. */
void bp_live_view_make(struct bp_live_view *view, const struct bp_live_source *source, bool fresh);
void bp_live_view_finish(struct bp_live_view *view);

/* Sorts the rows as wished. */
void bp_live_view_sort(struct bp_live_view *view);
/* Puts the cursor on the row of that name, where it was on the screen. NULL, or no such row: it
 * stays. */
void bp_live_view_find(struct bp_live_view *view, const char *name);
/* Lines that the cursor can be on. */
uint32_t bp_live_view_lines(const struct bp_live_view *view);

/* Takes what was typed as a filter: KEY=GLOB, or a glob for the key that rows are by; without
 * wildcards it may match in the middle. */
bool bp_live_view_filter(struct bp_live_view *view, const char *text, struct bp_error *error);

/* Looks into the row under the cursor, and back to it; figures must be made again. */
void bp_live_view_drill(struct bp_live_view *view);
void bp_live_view_back(struct bp_live_view *view);

/* Changes are counted from the reading shown now on. */
void bp_live_view_rebase(struct bp_live_view *view);

#endif
