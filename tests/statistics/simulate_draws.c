/* SPDX-License-Identifier: MIT */
/*
 * Which objects are sampled. Trials are independent byte by byte, so the objects of one size are
 * sampled independently with probability pi, and their number is binomial: one draw per size
 * instead of one per byte, with the same law (simulate_sampler.c holds it against the real
 * sampler). Where in an object the hit is, given that there is one, is a truncated geometric
 * variable.
 *
 * Of a group with one sample's sums times the number, all sums follow. With one varying group there
 * is nothing to simulate: its outcomes are listed with their probabilities.
 */
#include "simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate/weighting.h"
#include "weights_in_theory.h"

static void *checked(void *memory)
{
	if (memory == NULL)
		abort();
	return memory;
}

/* Outwards from the mode, as far as the probabilities are above 1e-16 of its own; then made to sum
 * to one, which also takes out the error of lgamma at large n. */
double *binomial_probabilities(double n, double p, unsigned *ret_first, unsigned *ret_count)
{
	static const double least = 1e-16;
	double mode = floor((n + 1) * p), reach = ceil(20 + 10 * sqrt(n * p * (1 - p)));
	double low = fmax(0, mode - reach), high = fmin(n, mode + reach), sum = 0;
	unsigned count = (unsigned)(high - low) + 1, middle = (unsigned)(mode - low);
	double *table = checked(calloc(count, sizeof *table));
	table[middle] = 1;
	for (unsigned i = middle; i + 1 < count && table[i] > least; i++)
		table[i + 1] = table[i] * (n - low - i) / (low + i + 1) * p / (1 - p);
	for (unsigned i = middle; i > 0 && table[i] > least; i--)
		table[i - 1] = table[i] * (low + i) / (n - low - i + 1) * (1 - p) / p;
	for (unsigned i = 0; i < count; i++)
		sum += table[i];
	for (unsigned i = 0; i < count; i++)
		table[i] /= sum;
	*ret_first = (unsigned)low;
	*ret_count = count;
	return table;
}

static void init_group(struct sampling *sampling, unsigned i)
{
	const struct group *group = &sampling->population->groups[i];
	const struct design *design = &sampling->design;
	struct group_draw *draw = &sampling->groups[i];
	uint64_t usable = usable_of(group->size);
	draw->interval = design->interval_other != 0 && i % 2 == 1 ? design->interval_other
								   : design->interval;
	draw->trials = bp_trials(group->size, SIMULATE_CHARGE);
	draw->exact = design->exact && draw->trials >= draw->interval;
	draw->inclusion = draw->exact ? 1 : bp_inclusion_probability(draw->trials, draw->interval);
	draw->size_class = bp_size_class(draw->trials, draw->interval, draw->exact);
	bp_sums_add(&draw->one, (double)group->size, group->size, SIMULATE_CHARGE, draw->interval,
		draw->exact);
	bp_sums_add(&draw->one_usable, (double)usable, group->size, SIMULATE_CHARGE, draw->interval,
		draw->exact);
	sampling->ratio_max = fmax(sampling->ratio_max, draw->one_usable.ratio_max);
	if (draw->exact)
		return;
	double odds = 1 / expm1(bp_lambda(draw->interval) * (double)draw->trials);
	sampling->variance += group->objects * (double)group->size * (double)group->size * odds;
	sampling->has_large = sampling->has_large || draw->trials >= draw->interval;
	if (1 - draw->inclusion < 1e-15)
		return;
	sampling->varying++;
	draw->cumulative =
		binomial_probabilities(group->objects, draw->inclusion, &draw->first, &draw->count);
	for (unsigned j = 1; j < draw->count; j++)
		draw->cumulative[j] += draw->cumulative[j - 1];
}

void sampling_init(
	struct sampling *sampling, const struct population *population, const struct design *design)
{
	*sampling = (struct sampling){ .population = population, .design = *design };
	for (unsigned i = 0; i < population->count; i++)
		init_group(sampling, i);
}

void sampling_finish(struct sampling *sampling)
{
	for (unsigned i = 0; i < sampling->population->count; i++)
		free(sampling->groups[i].cumulative);
}

static unsigned draw_number(
	const struct group_draw *draw, const struct group *group, struct stream *stream)
{
	if (draw->cumulative == NULL)
		return (unsigned)group->objects;
	double u = stream_uniform(stream);
	unsigned low = 0, high = draw->count - 1;
	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (draw->cumulative[middle] < u)
			low = middle + 1;
		else
			high = middle;
	}
	return draw->first + low;
}

/* The sums of `number` equal samples. */
static struct bp_sums times(const struct bp_sums *one, unsigned number)
{
	struct bp_sums sums = *one;
	sums.samples *= number;
	sums.bytes *= number;
	sums.c1 *= number;
	sums.c2 *= number;
	sums.c3 *= number;
	sums.n1 *= number;
	sums.n2 *= number;
	sums.n3 *= number;
	sums.log_pi_sum *= number;
	return sums;
}

static void add_number(
	const struct sampling *sampling, unsigned i, unsigned number, struct drawn *drawn)
{
	const struct group_draw *draw = &sampling->groups[i];
	drawn->numbers[i] = number;
	if (number == 0)
		return;
	struct bp_sums sums = times(&draw->one, number);
	struct bp_sums usable = times(&draw->one_usable, number);
	bp_sums_merge(&drawn->sums, &sums);
	bp_sums_merge(&drawn->usable, &usable);
	if (sampling->has_large)
		bp_size_classes_add(&drawn->classes, draw->size_class, &sums);
	if (draw->exact)
		drawn->exact_trials += number * (double)draw->trials;
	else
		drawn->tried += number;
}

static void clear(const struct sampling *sampling, struct drawn *drawn)
{
	if (sampling->has_large)
		memset(&drawn->classes, 0, sizeof drawn->classes);
	drawn->sums = drawn->usable = (struct bp_sums){ .interval_max = sampling->design.interval };
	drawn->tried = 0;
	drawn->after_hits = drawn->exact_trials = 0;
	memset(drawn->weighted, 0, sizeof drawn->weighted);
}

static const enum bp_weighting weightings[WEIGHTED_COUNT] = { BP_WEIGHTING_FAILED_TRIALS,
	BP_WEIGHTING_HITS, BP_WEIGHTING_MEMRAY };

double sampling_variance(const struct sampling *sampling, unsigned weighted)
{
	double variance = 0;
	for (unsigned i = 0; i < sampling->population->count; i++) {
		const struct group *group = &sampling->population->groups[i];
		const struct group_draw *draw = &sampling->groups[i];
		variance += group->objects * (double)group->size * (double)group->size *
			    weighting_variance(weightings[weighted], draw->trials, draw->interval,
				    draw->exact);
	}
	return variance;
}

static void draw_offsets(const struct sampling *sampling, unsigned i, struct stream *stream,
	bool weights, struct drawn *drawn)
{
	const struct group_draw *draw = &sampling->groups[i];
	double size = (double)sampling->population->groups[i].size;
	double lambda = bp_lambda(draw->interval);
	for (unsigned j = 0; j < drawn->numbers[i]; j++) {
		uint64_t offset = 0;
		if (!draw->exact) {
			double u = stream_uniform(stream) * draw->inclusion;
			offset = (uint64_t)(-log1p(-u) / lambda);
			if (offset >= draw->trials)
				offset = draw->trials - 1;
			drawn->after_hits += (double)(draw->trials - offset);
		}
		if (!weights)
			continue;
		uint64_t seed = stream_next(stream);
		for (unsigned k = 0; k < WEIGHTED_COUNT; k++)
			drawn->weighted[k] +=
				size * bp_weighting_of(weightings[k], draw->trials, draw->interval,
					       offset, draw->exact, seed);
	}
}

void sampling_draw(const struct sampling *sampling, struct stream *stream, bool offsets,
	bool weights, struct drawn *ret_drawn)
{
	const struct population *population = sampling->population;
	clear(sampling, ret_drawn);
	for (unsigned i = 0; i < population->count; i++)
		add_number(sampling, i,
			draw_number(&sampling->groups[i], &population->groups[i], stream),
			ret_drawn);
	if (!offsets && !weights)
		return;
	for (unsigned i = 0; i < population->count; i++)
		draw_offsets(sampling, i, stream, weights, ret_drawn);
}

unsigned sampling_outcomes(const struct sampling *sampling)
{
	if (sampling->varying == 0)
		return 1;
	for (unsigned i = 0; i < sampling->population->count && sampling->varying == 1; i++)
		if (sampling->groups[i].cumulative != NULL)
			return sampling->groups[i].count;
	return 0;
}

double sampling_outcome(const struct sampling *sampling, unsigned number, struct drawn *ret_drawn)
{
	double probability = 1;
	clear(sampling, ret_drawn);
	for (unsigned i = 0; i < sampling->population->count; i++) {
		const struct group_draw *draw = &sampling->groups[i];
		if (draw->cumulative == NULL) {
			add_number(sampling, i, (unsigned)sampling->population->groups[i].objects,
				ret_drawn);
			continue;
		}
		probability =
			draw->cumulative[number] - (number > 0 ? draw->cumulative[number - 1] : 0);
		add_number(sampling, i, draw->first + number, ret_drawn);
	}
	return probability;
}
