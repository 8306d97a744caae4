/* SPDX-License-Identifier: MIT */
/*
 * What the files that make a difference share:
 *
 *	diff_keys.c      matches the keys of all runs
 *	diff.c           compares, adjusts, gives verdicts, orders; rows on demand
 *	diff_sides.c     one cell of the table as a side of a comparison, and as a figure
 *	diff_peaks.c     the same of peaks, whose moments are not known
 *	diff_warnings.c  what a reader must know before believing
 *	means.c          the mean of one side alone, whose base side is empty
 *	means_tree.c     the same as a tree of call paths
 *
 * Columns of the table: what is compared of the base's runs, then of the new ones; between two
 * moments, then what is shown of both.
 */
#ifndef BP_DIFF_DIFF_STATE_H
#define BP_DIFF_DIFF_STATE_H

#include "diff/diff.h"
#include "diff/diff_keys.h"
#include "estimate/diff.h"

/* What is known of a key before anybody asks for its intervals. */
struct bp_key_result {
	double p, q;
	double change, ratio, base, new; /* estimates, of the unit of the query */
	double lower;			 /* growth */
	enum bp_verdict verdict;
	bool tested, grows;
	const char *name; /* the first of the chain, for ordering */
	uint64_t samples;
};

struct bp_diff_state {
	struct bp_diff_keys keys;
	struct bp_key_result *results; /* by key */
	uint32_t *order;	       /* key numbers, as shown */
	struct bp_key_cell *totals;    /* by column; tallies belong to the aggregations */
	struct bp_key_cell *scratch;   /* one per column: rows put together */
	struct bp_side *sides;	       /* room for all runs */
	char program[256]; /* the name of the program's own file; "" if it has one name */
	/* Losses: may the truth of a side be more, or less, than its figures? */
	bool too_low[BP_SIDES], too_high[BP_SIDES];
	double alpha;
	bool peak;
	/* Of a peak, by side: which keys its cells count under, and what they hold at competing
	 * moments. */
	struct bp_cell_key *pairs[BP_SIDES];
	uint32_t pair_count[BP_SIDES];
	struct bp_rivals *rivals[BP_SIDES];
};

/* The column of a run: what is compared, or shown. */
static inline uint32_t bp_diff_column(
	const struct bp_diff *diff, int side, uint32_t run, bool shown)
{
	uint32_t first = side == BP_BASE ? 0 : diff->run_count[BP_BASE];
	if (shown && diff->query.moments)
		first += diff->run_count[BP_BASE] + diff->run_count[BP_NEW];
	return first + run;
}

/* One set of cells, by column, seen as a row: `size` != 0 is the size of all its objects, `whole`
 * is set for the total. */
struct bp_cells_of_row {
	const struct bp_key_cell *cells;
	uint64_t size;
	bool whole;
};

/* diff.c: matches the keys of all runs, and finds totals and losses; what is compared, and a side
 * without runs, is the caller's. */
bool bp_diff_collect(struct bp_diff *diff, struct bp_error *error);

/* diff_sides.c */
/* The mean of the two runs and more of one side, and how much they vary beyond sampling. */
void bp_diff_mean(const struct bp_diff *diff, const struct bp_cells_of_row *row, bool objects,
	int side, struct bp_figure *ret_mean, double *ret_deviation);
/* Estimates, intervals and p of bytes or objects. */
void bp_diff_compare_row(const struct bp_diff *diff, const struct bp_cells_of_row *row,
	bool objects, struct bp_diff_figure *ret_comparison);
/* p alone (mid-p, or one-sided with `growth`), and whether it points upwards. */
double bp_diff_p(const struct bp_diff *diff, const struct bp_cells_of_row *row, bool objects,
	bool *ret_grows);
/* Mean of the runs' estimates of one side, as compared or as shown. */
double bp_diff_estimate(const struct bp_diff *diff, const struct bp_cells_of_row *row, bool objects,
	int side, bool shown);
/* Is there enough to be said on both sides together to be worth a test? */
bool bp_diff_is_worth_a_test(
	const struct bp_diff *diff, const struct bp_cells_of_row *row, bool objects);

/* diff_sides.c, for diff_peaks.c: the figures of one set of cells of one run, by its
 * aggregation's own methods. */
struct bp_figure bp_diff_side_figure(const struct bp_run *run, const struct bp_key_cell *cell,
	const struct bp_cells_of_row *row, bool objects);

/* diff_peaks.c. Finds what the keys of both sides hold at the moments that compete. */
bool bp_diff_find_rivals(struct bp_diff *diff, struct bp_error *error);
/* Change, ratio and p of two peaks, whose figures by side are known. */
void bp_diff_compare_peaks(const struct bp_diff *diff, const struct bp_cells_of_row *row,
	bool objects, struct bp_diff_figure *comparison);
double bp_diff_p_of_peaks(const struct bp_diff *diff, const struct bp_cells_of_row *row,
	bool objects, bool *ret_grows);
/* Warns of moments that compete, where they are of different kind. */
bool bp_diff_warn_of_rivals(struct bp_diff *diff);

/* means.c. The figures of a set of cells. */
struct bp_means_row;
void bp_means_fill(
	const struct bp_diff *diff, const struct bp_cells_of_row *cells, struct bp_means_row *row);

/* diff_warnings.c */
bool bp_diff_make_warnings(struct bp_diff *diff);

#endif
