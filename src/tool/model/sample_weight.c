/* SPDX-License-Identifier: MIT */
/* Caches of weights: direct-mapped, an entry is replaced when its place is wanted. */
#include "model/sample_weight.h"

static struct bp_sample_weight weight_of(
	const struct bp_sample *sample, double value, uint32_t charge)
{
	const uint64_t trials = bp_trials(sample->size, charge);
	const bool certain = sample->exact || sample->interval == 1;
	struct bp_sample_weight weight = { .size = sample->size,
		.interval = sample->interval,
		.value = value,
		.charge = charge,
		.exact = sample->exact,
		.size_class = bp_size_class(trials, sample->interval, certain) };
	bp_sums_add(&weight.sums, value, sample->size, charge, sample->interval, sample->exact);
	/* Which T bounds what was not seen is the aggregation's to say, of all samples alike. */
	weight.sums.interval_max = 0;
	weight.whole = certain ? 1 : 1 / bp_inclusion_probability(trials, sample->interval);
	weight.halves = bp_split_in_halves(trials, sample->interval, sample->exact);
	return weight;
}

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
	*entry = weight_of(sample, value, charge);
	return entry;
}

void bp_alike_weights_make(struct bp_alike_weights *weights, uint32_t alike)
{
	const struct bp_profile *profile = weights->profile;
	const uint32_t place = alike & (BP_WEIGHTS_KEPT - 1);
	const struct bp_sample sample = bp_sample_of_alike(&profile->samples.alike[alike]);
	const struct bp_sample_weight *one = bp_sample_weight(&weights->by_size, &sample,
		profile->processes.data[sample.process.i].charge, weights->usable);
	struct bp_sample_weight all;
	weights->entries[place] = *bp_sample_weight_of_all(one, &sample, &all);
	weights->numbers[place] = alike + 1;
}

const struct bp_sample_weight *bp_sample_weight_of_all(const struct bp_sample_weight *weight,
	const struct bp_sample *sample, struct bp_sample_weight *buffer)
{
	if (sample->more == 0)
		return weight;
	*buffer = *weight;
	buffer->sums = bp_sums_times(&weight->sums, bp_sample_count(sample));
	return buffer;
}
