/* SPDX-License-Identifier: MIT */
/*
 * What an aggregation keeps behind its public face; shared by the files that build it:
 *
 *	aggregate.c   goes from a query to rows
 *	sample_sums.c  walks the samples into cells and the sums of the totals
 *	row_key.c     turns cells into rows: which rows a cell counts under, and their names
 *	figures.c     turns sums into figures: which estimator, which limits, which losses
 *	interval_*.c  the interval methods
 *	other_methods.c  what other estimators and intervals make of one sample
 *	warnings.c    says what a reader of the figures must know
 *
 * A cell is the smallest thing samples are summed in: a stack, or for other keys the thread, size,
 * kind or process itself. A row is what is shown; with `cumulative` a cell counts under several.
 */
#ifndef BP_AGGREGATION_AGGREGATION_STATE_H
#define BP_AGGREGATION_AGGREGATION_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregation/aggregate.h"
#include "aggregation/tally.h"
#include "model/id_index.h"
#include "query/attribution.h"
#include "query/selection.h"
#include "query/view.h"
#include "time/timeline.h"

struct bp_cell {
	struct bp_tally tally;
	uint64_t id;	    /* of the stack, thread ..., or the size itself */
	uint32_t first_row; /* into cell_rows */
	uint32_t row_count;
};

struct bp_row_sums {
	struct bp_tally tally;
	uint64_t a, b;	     /* the key, see row_key.c */
	uint32_t first_cell; /* a cell that counts under it */
	size_t name;	     /* into names */
	double order;	     /* what rows are sorted by, largest first */
	uint32_t place;	     /* in the order; UINT32_MAX: left out */
};

/* The sums of the counters of a row's threads or processes. */
struct bp_row_counters {
	struct bp_known_total bytes, objects;
	bool unknown; /* one of them has none */
};

/* What the counters of the recorder say of the processes looked at. */
struct bp_counted {
	struct bp_known_total bytes, objects;		      /* all that was allocated */
	struct bp_known_total offered_bytes, offered_objects; /* of which could be sampled */
};

struct bp_aggregation_state {
	struct bp_view view;
	struct bp_attribution attribution;
	struct bp_selection selection;
	struct bp_weight_cache weights;
	struct bp_peak peak;
	bool lost_samples, lost_frees, lost_totals;

	struct bp_cell *cells;
	uint32_t cell_count, cell_capacity;
	uint32_t *cell_of; /* cell number + 1, by id; not used by size */
	struct bp_id_index size_cells;

	struct bp_row_sums *rows;
	uint32_t row_count, row_capacity;
	struct bp_row_counters *row_counters; /* by row; only with counted_rows */
	uint32_t *cell_rows;
	uint32_t cell_row_count, cell_row_capacity;
	uint32_t *order; /* row numbers as shown; rows without a sample left out */
	char *names;
	size_t name_bytes, name_capacity;

	struct bp_tally totals[BP_METRIC_COUNT];
	struct bp_tally reach;	/* live where the peak's upper limit is largest */
	double cross_bytes;	/* the cross-fitted estimate of the peak */
	struct bp_sums outside; /* in the processes and the window looked at, not selected */
	/* selected, in the window: 1 live, 2 temporary, 3 both, 0 neither */
	struct bp_sums apart[4];
	struct bp_sums rest[BP_METRIC_COUNT]; /* all else of the counted total: see sum_rests */
	uint32_t *at_peak; /* entries that lived at the peak's moment, by what is alike in them */
	struct bp_sums *before, *after; /* rows below and from a number on, for complements */
	uint64_t usable_unknown;	/* samples without a usable size */
	uint64_t freed_somewhere; /* where filters look at that: samples freed by no known stack */

	struct bp_counted counted; /* of the whole run */
	struct bp_counted window;  /* of the query's window; the same if there is none, or if it is
				    * not known (has_window) */
	bool has_window;
	bool profiled;		/* the recorder was on in one of the processes at least */
	uint32_t lacks;		/* of the processes looked at: bits of enum bp_lack */
	unsigned absent;	/* metrics that are not known, bits of enum bp_metric */
	bool parts;		/* figures but the peak's are parts of the counted totals ... */
	bool calibrated;	/* ... and so are their bytes */
	bool counted_rows;	/* rows have counters: of threads, processes, origins */
	bool looks_at_offsets;	/* for other methods than ours */
	bool several_intervals; /* not all samples were drawn with interval_max */
	bool bernoulli;		/* a process looked at took large objects by trial */
	double share_bytes, share_objects; /* what calibration adds to a variance of 1 */
	double alpha, turnovers;
	double ratio_max;		     /* largest usable byte per trial */
	uint64_t interval_min, interval_max; /* bytes, at least 1 */
	uint64_t interval_unseen; /* the T that bounds what may be there unseen (sampling.h) */
	uint64_t size_min; /* the smallest size that can be selected, bytes: what the query states,
			    * what the kind of profile implies, what its filters leave; else 0 */
	uint64_t size_min_beside; /* the same of what the filters leave out, too */
	uint32_t charge;
};

/* Is the sample of a process that is looked at, and do the filters pass it? (When it was allocated
 * is asked by bp_view_in_window.) */
static inline bool bp_sample_is_meant(
	const struct bp_aggregation_state *state, const struct bp_sample *sample)
{
	return state->view.processes[sample->process.i].included &&
	       bp_selection_holds(&state->selection, sample);
}

/* sample_sums.c: finds the peak, where there is one, and fills cells and totals; which metrics
 * count a sample that is looked at, a bit each. */
bool bp_sum_samples(struct bp_aggregation *aggregation, struct bp_error *error);
unsigned bp_sample_metrics(
	const struct bp_aggregation_state *state, const struct bp_sample *sample);
/* The number of the cell of a sample that has one; UINT32_MAX: no memory. The unseen unit with
 * which upper limits are searched. */
uint32_t bp_cell_of_sample(
	const struct bp_aggregation *aggregation, const struct bp_sample *sample);
double bp_reach_unit(const struct bp_aggregation *aggregation);

/* row_key.c: fills rows, their counters, cell_rows and names from the cells. */
bool bp_make_rows(struct bp_aggregation *aggregation, struct bp_error *error);
/* Do two stacks have the same frames, so that they read the same? Such have one hash, too. */
bool bp_stacks_read_alike(
	const struct bp_attribution *attribution, struct bp_stack_id a, struct bp_stack_id b);
uint32_t bp_stack_frames_hash(const struct bp_attribution *attribution, struct bp_stack_id stack);

/* figures_prepare.c: what the query and the profile imply for estimation. */
bool bp_figures_prepare(struct bp_aggregation *aggregation, struct bp_error *error);

/* figures.c: the four totals; one row. */
void bp_figures_totals(struct bp_aggregation *aggregation);
/* The largest value at any time, of both ends together at error `alpha` instead of the query's. The
 * peak is known. */
struct bp_interval bp_figures_peak(const struct bp_aggregation *aggregation, double alpha);
/* The interval of the bytes, or of the objects, of these sums by themselves, at error `alpha`. */
struct bp_interval bp_figures_of_sums(const struct bp_aggregation *aggregation,
	const struct bp_sums *sums, bool objects, double alpha);
/* Once everything is summed: what calibration by the counted totals will move estimates by. */
void bp_figures_share(struct bp_aggregation *aggregation);
/* By how much it moves the estimate of a part of the query's metric; 0: it is not calibrated. */
double bp_figures_shift(
	const struct bp_aggregation *aggregation, const struct bp_sums *sums, bool objects);
/* The most usable bytes that a trial of an unsampled object can stand for. */
double bp_largest_ratio(const struct bp_aggregation *aggregation);
/* Expected order of a row by the sort key. */
double bp_figures_order(const struct bp_aggregation *aggregation, const struct bp_row_sums *row);

/* Negative when a row or node of order `a` stands before one of order `b`, 0 when other things
 * decide. The orders are sums of weights: samples that are read in another order (of a folded
 * trace, for instance) give sums that differ in their last bits. They are therefore compared as
 * numbers of 24 bits, so that what is equal but for rounding is a tie, and the rows stand in the
 * same order. Pure. */
int bp_figures_compare_order(double a, double b);
/* The figures of a set of cells (call_tree.c): their tally, and the sums of everything else in the
 * processes looked at. */
void bp_figures_of_tally(const struct bp_aggregation *aggregation, const struct bp_tally *tally,
	const struct bp_sums *others, struct bp_row *ret_row);

/* The interval of the objects of a tally, by the method that its samples need. */
struct bp_interval bp_figures_objects(const struct bp_aggregation_state *state,
	const struct bp_tally *tally, double alpha, uint64_t size_min);

/* other_methods.c: what other methods than our own make of one sample, in `buffer`; NULL if the
 * query asks for none of them. */
const struct bp_other_sums *bp_look_at_offset(const struct bp_query *query,
	const struct bp_sample *sample, const struct bp_sample_weight *weight,
	struct bp_other_sums *buffer);

/* warnings.c */
bool bp_make_warnings(struct bp_aggregation *aggregation, struct bp_error *error);
/* Adds what is not known of usable sizes. False: no memory. */
bool bp_warn_of_usable_sizes(struct bp_aggregation *aggregation);
/* warnings_freed.c: what lost frees do to the figures, as the end of a sentence. */
const char *bp_effect_of_lost_frees(const struct bp_aggregation_state *state);
/* Adds what is not known of where objects were freed. False: no memory. */
bool bp_warn_of_freed_somewhere(struct bp_aggregation *aggregation);

/* warnings_together.c. Are these two traces of one process: a runtime in it has recorded its own
 * objects (`host`), and the recorder those of malloc, or another runtime its own? Where the two
 * clocks of the traces agree, they are of one system. */
bool bp_is_one_process(const struct bp_profile *profile, const struct bp_process *host,
	const struct bp_process *other);
/* Is each process that is looked at of a file without times, which shows one moment? */
bool bp_are_snapshots(const struct bp_aggregation *aggregation);

/* Grows an array so that one more entry fits. */
bool bp_grow(void **data, uint32_t count, uint32_t *capacity, size_t entry_bytes);

/* Is there no upper limit of a total (docs/trace-format.md 1.6, `armed`)? */
static inline bool bp_total_is_open(struct bp_known_total total)
{
	return total.high - total.low >= UINT64_C(1) << 56;
}

/* An object whose free was lost seems to live on, and it is not known where it was freed. Is a
 * figure of this metric a lower limit therefore; or an upper one? */
static inline bool bp_lost_frees_lower(
	const struct bp_aggregation_state *state, enum bp_metric metric)
{
	return state->lost_frees &&
	       (metric == BP_METRIC_TEMPORARY || state->selection.free_stacks != NULL);
}
static inline bool bp_lost_frees_raise(
	const struct bp_aggregation_state *state, enum bp_metric metric)
{
	return state->lost_frees && state->selection.free_stacks == NULL &&
	       (metric == BP_METRIC_LIVE || metric == BP_METRIC_PEAK);
}

/* Adds `more` to a total; an open upper limit stays open. */
static inline void bp_known_total_add(struct bp_known_total *sum, struct bp_known_total more)
{
	sum->low += more.low;
	sum->high = sum->high > UINT64_MAX - more.high ? UINT64_MAX : sum->high + more.high;
}

#endif
