/* SPDX-License-Identifier: MIT */
/*
 * N3 by size classes: the interval of a key under the law `bernoulli`, where objects of T bytes and
 * more are sampled by trial like all others (docs/statistics.md, "N3 by size classes"). Plain N3
 * cannot follow a rest that is either nothing or one object of many T; here the sums are kept once
 * per class of m/T, and what may be unseen of the large classes is counted out object by object.
 *
 * Called by aggregation/ and the statistics tests. Pure, no allocation, safe to call from any
 * thread (about 100 KiB of stack); preconditions as in estimate.h. Without a sample of m >= T that
 * was made by trial these are the intervals of estimate.h, to the last digit. A key costs 10 to
 * 300 us.
 */
#ifndef BP_ESTIMATE_SIZE_CLASSES_H
#define BP_ESTIMATE_SIZE_CLASSES_H

#include "estimate/estimate.h"

/* Class b holds samples with b <= lambda m < b + 1, the last one all beyond; 0 also those that were
 * taken exactly. */
#define BP_SIZE_CLASSES 17

/* The sums of a key, class by class: 17 records of bp_sums, nearly 3 KiB. Zeroed memory is an
 * empty, valid value. `single_size` is set in of[0], for the whole key, and kept by add and
 * merge. */
struct bp_size_classes {
	struct bp_sums of[BP_SIZE_CLASSES];
};

/* The class of a sample of `trials` >= 1 made at `interval` >= 1, the T it was drawn with; 0 if
 * `exact`. 0 means m < T or certain. */
unsigned bp_size_class(uint64_t trials, uint64_t interval, bool exact);

/* Adds a sample's sums (or any sums of samples of one class) to its class. */
void bp_size_classes_add(
	struct bp_size_classes *classes, unsigned size_class, const struct bp_sums *sums);

/* Adds all of `other`, class by class. */
void bp_size_classes_merge(struct bp_size_classes *classes, const struct bp_size_classes *other);

/* Horvitz-Thompson estimate and interval, as bp_estimate_values and bp_estimate_objects give it for
 * the merge of all classes, but valid where objects of m >= T were sampled by trial. `ratio_max` >
 * 0 is 1 for bytes as requested. low <= estimate <= high; exact at T = 1. */
struct bp_interval bp_estimate_values_by_classes(const struct bp_size_classes *classes,
	uint64_t interval_max, double ratio_max, double alpha);
struct bp_interval bp_estimate_objects_by_classes(const struct bp_size_classes *classes,
	uint64_t interval_max, double alpha, uint64_t size_min, uint32_t charge);

#endif
