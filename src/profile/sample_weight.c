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
	/* Which T bounds what was not seen is the aggregation's to say, of all samples alike. */
	entry->sums.interval_max = 0;
	entry->whole = certain ? 1 : 1 / bp_inclusion_probability(trials, sample->interval);
	entry->halves = bp_split_in_halves(trials, sample->interval, sample->exact);
	return entry;
}

const struct bp_sample_weight *bp_sample_weight_of_all(const struct bp_sample_weight *weight,
	const struct bp_sample *sample, struct bp_sample_weight *buffer)
{
	const double count = bp_sample_count(sample);
	struct bp_sums *sums = &buffer->sums;
	if (sample->more == 0)
		return weight;
	*buffer = *weight;
	sums->samples *= bp_sample_count(sample);
	sums->bytes *= count;
	sums->c1 *= count;
	sums->c2 *= count;
	sums->c3 *= count;
	sums->n1 *= count;
	sums->n2 *= count;
	sums->n3 *= count;
	sums->log_pi_sum *= count;
	return buffer;
}
