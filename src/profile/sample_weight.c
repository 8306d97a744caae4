/* SPDX-License-Identifier: MIT */
/* The cache of weights: direct-mapped, an entry is replaced when its place is wanted. */
#include "profile/sample_weight.h"

const struct bp_sample_weight *bp_sample_weight(
	struct bp_weight_cache *cache, const struct bp_sample *sample, uint32_t charge, bool usable)
{
	double value = bp_sample_value(sample, usable);
	uint64_t hash = bp_hash_word(bp_hash_word(9, sample->size), sample->interval);
	struct bp_sample_weight *entry =
		&cache->entries[bp_hash_fold(hash) & (BP_WEIGHTS_KEPT - 1)];
	if (entry->interval == sample->interval && entry->size == sample->size &&
		entry->value == value && entry->charge == charge && entry->exact == sample->exact)
		return entry;
	uint64_t trials = bp_trials(sample->size, charge);
	bool certain = sample->exact || sample->interval == 1;
	*entry = (struct bp_sample_weight){ .size = sample->size,
		.interval = sample->interval,
		.value = value,
		.charge = charge,
		.exact = sample->exact,
		.size_class = bp_size_class(trials, sample->interval, certain) };
	bp_sums_add(&entry->sums, value, sample->size, charge, sample->interval, sample->exact);
	entry->whole = certain ? 1 : 1 / bp_inclusion_probability(trials, sample->interval);
	entry->halves = bp_split_in_halves(trials, sample->interval, sample->exact);
	return entry;
}
