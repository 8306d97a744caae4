/* SPDX-License-Identifier: MIT */
/*
 * What changed between two sides, and which of the changes are real: aggregations of a base and of
 * a new side matched by stable names, every key compared, verdicts at a controlled rate of false
 * discoveries (docs/statistics.md, "Differences"). A side is one run or several of one program; two
 * moments of one run are compared through diff_moments.h, and so is growth.
 *
 * Called by report/ and cli/. The runs and their profiles must outlive the difference. Intervals
 * are computed only for rows that are asked for. One thread at a time (a peak's p-value is found by
 * trying confidence levels on the aggregation).
 */
#ifndef BP_DIFF_DIFF_H
#define BP_DIFF_DIFF_H

#include "aggregation/aggregate.h"

/* One run of a side, aggregated by itself. `shown` is what the columns show, `compared` what the
 * change is made of: the same, but for two moments of one run, where what lives at both cancels. */
struct bp_run {
	const struct bp_aggregation *shown, *compared;
	double scale;	  /* > 0: all figures of the run are multiplied by it (per byte of work) */
	const char *file; /* for reports */
};

enum bp_side_of_diff { BP_BASE, BP_NEW, BP_SIDES };

enum bp_verdict {
	BP_VERDICT_UNCLEAR, /* no change is established */
	BP_VERDICT_GREW,
	BP_VERDICT_SHRANK,
	BP_VERDICT_NEW,	 /* grew; no sample in base, and base's upper limit below new's lower one */
	BP_VERDICT_GONE, /* shrank; the same the other way round */
	BP_VERDICT_COUNT
};
extern const char *const bp_verdict_names[BP_VERDICT_COUNT];

enum bp_diff_sort {
	BP_DIFF_SORT_CHANGE, /* largest change first, whatever its sign */
	BP_DIFF_SORT_RATIO,  /* farthest from 1 first */
	BP_DIFF_SORT_Q,
	BP_DIFF_SORT_BASE,
	BP_DIFF_SORT_NEW,
	BP_DIFF_SORT_NAME,
	BP_DIFF_SORT_COUNT
};
extern const char *const bp_diff_sort_names[BP_DIFF_SORT_COUNT];

struct bp_diff_query {
	bool objects;		/* verdicts, q and order by objects, not by bytes */
	enum bp_diff_sort sort; /* within the rows with a verdict, and the others */
	double rate;  /* of false discoveries among the verdicts, in (0, 1); 0: 0.05. With `growth`
		      * the chance of any false suspect. */
	bool moments; /* one run a side, the same: `shown` and `compared` differ */
	bool growth;  /* one-sided: which keys grew? Suspects in the order of their lower limits */
	/* Run i of base and run i of new are one run, or host, of a sample of more: the mean of
	 * their changes is compared (estimate/diff.h, bp_diff_pairs). As many on each side, two or
	 * more, and `moments`. */
	bool pairs;
	/* Rows are call paths: every beginning of every stack, from the outermost function on, with
	 * all that was allocated under it. The aggregations are by function. Paths of the same
	 * samples (main, and the one function it calls) are one question: tested once, and one
	 * among those that are controlled. */
	bool paths;
	bool until_charged; /* paths end at the function that is charged, as those of a tree do */
};

/* Bytes or objects of a row. */
struct bp_diff_figure {
	struct bp_figure side[BP_SIDES]; /* of several runs: their mean */
	struct bp_figure change;	 /* new - base */
	struct bp_interval ratio;	 /* new / base; high may be INFINITY. `unknown`: no base.
					   * Between moments it has no limits (NAN). */
	double p;			 /* of no change: melded, two-sided; growth: one-sided */
	double lower;			 /* growth: lower limit of the change at rate / keys */
	double deviation[BP_SIDES];	 /* between runs, beyond sampling; NAN with one run */
};

struct bp_diff_row {
	const char *name;		  /* NULL by stack; bytes of any kind */
	const struct bp_profile *profile; /* of the frames */
	const struct bp_frame_id *frames; /* by stack: innermost first, as last seen */
	uint32_t frame_count;
	uint64_t samples[BP_SIDES]; /* of what is compared, summed over runs */
	enum bp_verdict verdict;
	bool tested; /* enough samples to be among the p-values that are controlled */
	double q;    /* adjusted p; NAN if not tested */
	struct bp_diff_figure bytes, objects;
};

struct bp_diff_state; /* private to diff.c */

struct bp_diff {
	struct bp_diff_query query;
	const struct bp_run *runs[BP_SIDES];
	uint32_t run_count[BP_SIDES];
	uint32_t row_count;	/* keys with a sample (or counter) on one side at least */
	uint32_t tested_count;	/* of which have enough samples */
	uint32_t verdict_count; /* the first rows: those with a verdict */
	uint32_t verdicts[BP_VERDICT_COUNT]; /* rows by verdict */
	char **warnings;		     /* sentences; NULL-terminated, never NULL itself */
	struct bp_diff_state *state;
};

/* Is anything known of what the aggregation was asked for, or else of what was allocated? Of a
 * program that was not profiled nothing is known; to compare with nothing would make all of the
 * other side new. `file` is for the error. */
bool bp_diff_has_figures(
	const struct bp_aggregation *aggregation, const char *file, struct bp_error *error);

/* Compares. All aggregations must be of one query but for times. Errors: several runs of metric
 * peak; memory. */
bool bp_diff_make(const struct bp_diff_query *query, const struct bp_run *base, uint32_t base_count,
	const struct bp_run *new, uint32_t new_count, struct bp_diff *ret_diff,
	struct bp_error *error);
void bp_diff_finish(struct bp_diff *diff);

/* Row `i` < row_count: those with a verdict first, then the others, both in the order asked for. */
void bp_diff_row(const struct bp_diff *diff, uint32_t i, struct bp_diff_row *ret_row);

/* The sides as wholes; counted exactly where they are. Its q is its p. */
void bp_diff_total(const struct bp_diff *diff, struct bp_diff_row *ret_row);

/* Rows `first` to `end` - 1 as one (with a cumulative query they overlap, and there is none).
 * False: no such rows, or no memory. */
bool bp_diff_together(
	const struct bp_diff *diff, uint32_t first, uint32_t end, struct bp_diff_row *ret_row);

/* A call path, of a comparison with `paths`. */
struct bp_diff_path {
	const char *name; /* of the innermost function of it */
	uint32_t caller;  /* the path without that; 0: it is the outermost */
	uint32_t same; /* the one path that goes on from here and has the same samples; 0: none */
	enum bp_verdict verdict;
	/* As shown, and not cut off at what was counted: those of what a path calls add up to no
	 * more. */
	double bytes[BP_SIDES], objects[BP_SIDES];
};

/* How many there are, numbered from 1; callers have smaller numbers than what they call. */
uint32_t bp_diff_path_count(const struct bp_diff *diff);
void bp_diff_path(const struct bp_diff *diff, uint32_t number, struct bp_diff_path *ret_path);
/* Its figures: as bp_diff_row. */
void bp_diff_path_row(const struct bp_diff *diff, uint32_t number, struct bp_diff_row *ret_row);

/* Adds a sentence to the warnings. */
BP_PRINTF(2, 3)
bool bp_diff_warn(struct bp_diff *diff, const char *format, ...);

#endif
