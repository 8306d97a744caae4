/* SPDX-License-Identifier: MIT */
/*
 * Where the objects of each row ended: pairs of the place that allocated and the place that freed,
 * from recordings with stacks of frees (run --free-stacks). What still lives is a pair of its own
 * for each allocating place, and so is what was freed by a stack that is not known: all pairs
 * together are what was allocated.
 *
 * The figures of a pair are those of a row (figures.c), since a pair is a part of what was
 * allocated. Its lifetimes are of the objects that ended there, until the end of the recording or
 * of the query's window, and not of those that may end there later (docs/statistics.md,
 * "Lifetimes by pairs").
 *
 * Called by report/pairs.c. Pure but for memory. Thread-safety: as an aggregation.
 */
#ifndef BP_AGGREGATION_VIEWS_PAIRS_H
#define BP_AGGREGATION_VIEWS_PAIRS_H

#include "aggregation/aggregate.h"
#include "aggregation/views/lifetimes.h"

enum bp_pair_end {
	BP_PAIR_FREED,		 /* in the place that the pair names */
	BP_PAIR_FREED_SOMEWHERE, /* its stack is not known */
	BP_PAIR_LIVE
};

/* Of the bytes of a pair, or of its objects. */
struct bp_pair_lifetime {
	struct bp_figure by_another; /* share of what was freed; `unknown`: nobody knows */
	struct bp_figure on_another; /* likewise, on another processor; only with `processors` */
	/* age by which half of it was freed; of a BP_PAIR_LIVE, the age of half of it when it was
	 * last seen; as in estimate/lifetime.h */
	struct bp_interval median;
};

struct bp_pair {
	uint32_t row; /* where it was allocated: a row of the aggregation; UINT32_MAX: several */
	enum bp_pair_end end;
	/* Of BP_PAIR_FREED, where: a name, or by stack frames, as a row has them. */
	char *freed_name; /* NULL by stack; owned */
	const struct bp_frame_id *freed_frames;
	uint32_t freed_frame_count;
	uint8_t freed_stack_flags;
	struct bp_row figures; /* samples, bytes and objects alone */
	struct bp_pair_lifetime bytes, objects;
};

struct bp_pairs {
	bool known;	       /* false: the file tells no lifetimes, and there is nothing else */
	enum bp_age_unit unit; /* of the medians */
	bool processors;       /* as of struct bp_lifetimes */
	uint64_t width;	       /* in bytes, as of struct bp_lifetimes */
	struct bp_pair *pairs; /* `count`, in the order of the query's --sort */
	uint32_t count;
	uint32_t left_out;   /* so many pairs beyond them, which are summed in `rest` */
	struct bp_pair rest; /* without samples where none is left out */
	struct bp_pair all;
};

/* Can the aggregation's rows be places where something is freed? By function, line, file, module or
 * stack they can. */
bool bp_pairs_are_by(enum bp_key by);

/* The first `most` pairs of an aggregation whose metric is allocated, by a key as above, not
 * cumulative. `complete`: what was not freed is left out. Ages in bytes need a profile that kept
 * its readings. Errors: memory. */
bool bp_pairs_make(const struct bp_aggregation *aggregation, uint32_t most, bool complete,
	enum bp_age_unit unit, struct bp_pairs *ret_pairs, struct bp_error *error);
void bp_pairs_finish(struct bp_pairs *pairs);

#endif
