/* SPDX-License-Identifier: MIT */
/*
 * What is summed of a set of samples, a row's or a total's, so that every figure of it can be made
 * afterwards: the sums of N3 always, and what other methods need where the query asks for them or
 * the samples demand it. Tallies add up like the sums in them. Called by the files that build an
 * aggregation.
 */
#ifndef BP_AGGREGATION_TALLY_H
#define BP_AGGREGATION_TALLY_H

#include <stdbool.h>

#include "estimate/estimate.h"
#include "estimate/size_classes.h"
#include "model/sample_weight.h"

/* For the negative binomial intervals: samples not taken exactly, and apart from them those that
 * were. The three estimates are of .NET's approach 2. */
struct bp_hit_sums {
	uint64_t samples;
	double after_hits;    /* trials from the successful one on, summed */
	double trials, bytes; /* estimated */
	double exact_bytes;
};

/* What other methods than N3 need of samples. */
struct bp_other_sums {
	double bytes, objects;	 /* the query's estimate, where it is not Horvitz-Thompson's */
	struct bp_hit_sums hits; /* zeros unless the query's method needs them */
};

/* Zeroed memory is an empty, valid tally. */
struct bp_tally {
	struct bp_sums sums;
	struct bp_other_sums other;
	struct bp_size_classes *classes; /* NULL: no sample of T trials and more was taken by trial,
					  * `sums` are class 0 */
};

void bp_tally_finish(struct bp_tally *tally);

/* Adds the sums of one sample that is in this size class. False: no memory. */
bool bp_tally_add(struct bp_tally *tally, const struct bp_sums *sample, unsigned size_class);

/* The same with what other methods make of the sample (other_methods.c); NULL: nothing. */
bool bp_tally_add_sample(struct bp_tally *tally, const struct bp_sample_weight *weight,
	const struct bp_other_sums *other);

/* Adds all of `other`. False: no memory. */
bool bp_tally_merge(struct bp_tally *tally, const struct bp_tally *other);

#endif
