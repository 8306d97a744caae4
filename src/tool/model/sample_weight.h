/* SPDX-License-Identifier: MIT */
/*
 * What one sample weighs: its sums by itself, its Horvitz-Thompson weight, and the two independent
 * halves of the samples it is drawn into for the cross-fitted peak (docs/statistics.md, "Peak").
 * Programs allocate few different sizes, so the weights of recent (size, interval) pairs are kept.
 *
 * The draw of the halves is a hash of the sample's identity: a report is reproducible.
 */
#ifndef BP_MODEL_SAMPLE_WEIGHT_H
#define BP_MODEL_SAMPLE_WEIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "estimate/estimate.h"
#include "estimate/size_classes.h"
#include "model/id_index.h"
#include "model/profile.h"

struct bp_sample_weight {
	/* The key; valid if interval is not 0. */
	uint64_t size, interval;
	double value; /* bytes that are summed */
	uint32_t charge;
	bool exact;
	unsigned size_class;
	/* What follows from it. */
	struct bp_sums sums;	     /* of this sample alone */
	double whole;		     /* 1 / pi */
	struct bp_half_split halves; /* 1 / halves.inclusion is the weight in a half */
};

#define BP_WEIGHTS_KEPT 4096u

/* Belongs to one thread. Zeroed memory is empty. */
struct bp_weight_cache {
	struct bp_sample_weight entries[BP_WEIGHTS_KEPT];
};

/* The same by the number of what is alike in samples (samples.h), each with the sums of all samples
 * that one of them stands for. */
struct bp_alike_weights {
	const struct bp_profile *profile;
	bool usable;
	uint32_t numbers[BP_WEIGHTS_KEPT]; /* and 1; 0: none */
	struct bp_sample_weight entries[BP_WEIGHTS_KEPT];
	struct bp_weight_cache by_size; /* many threads ask for the same sizes */
};

void bp_alike_weights_make(struct bp_alike_weights *weights, uint32_t alike);

/* Valid until the next call with these. */
static inline const struct bp_sample_weight *bp_alike_weight(
	struct bp_alike_weights *weights, uint32_t alike)
{
	const uint32_t place = alike & (BP_WEIGHTS_KEPT - 1);
	if (weights->numbers[place] != alike + 1)
		bp_alike_weights_make(weights, alike);
	return &weights->entries[place];
}

/* The bytes of a sample: as requested, or as given by the allocator where that is known. */
static inline double bp_sample_value(const struct bp_sample *sample, bool usable)
{
	return (double)(usable && sample->usable != 0 ? sample->usable : sample->size);
}

/* The weight of a sample, valid until the next call with this cache. */
const struct bp_sample_weight *bp_sample_weight(struct bp_weight_cache *cache,
	const struct bp_sample *sample, uint32_t charge, bool usable);

/* How many samples it stands for. */
static inline uint32_t bp_sample_count(const struct bp_sample *sample)
{
	return sample->more + 1u;
}

/* The weight with the sums of all samples that it stands for; `buffer` holds them if need be. */
const struct bp_sample_weight *bp_sample_weight_of_all(const struct bp_sample_weight *weight,
	const struct bp_sample *sample, struct bp_sample_weight *buffer);

/* The seed of what is drawn for a sample. Many samples of a folded part have one time, and differ
 * in other fields. */
static inline uint64_t bp_sample_identity(const struct bp_sample *sample)
{
	const uint64_t identity = bp_draw_identity(sample->sequence, sample->time_ns);
	if (sample->halves == 0)
		return identity;
	return bp_draw_identity(
		bp_draw_identity(identity, sample->size), sample->offset << 32 | sample->stack.i);
}

/* Is the sample in half 0, and in half 1? In one of them at least. */
static inline bool bp_sample_in_half(
	const struct bp_sample *sample, const struct bp_sample_weight *weight, int half)
{
	const unsigned halves =
		sample->halves != 0 ? sample->halves
				    : bp_draw_halves(weight->halves, bp_sample_identity(sample));
	return (halves >> half & 1) != 0;
}

#endif
