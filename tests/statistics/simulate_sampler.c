/* SPDX-License-Identifier: MIT */
/*
 * Do the draws of simulate_draws.c have the law of the real sampler? All objects of a population,
 * in shuffled order, are offered to the sampler as a hot path does it, again and again with new
 * seeds. The number of its samples must be distributed as the convolution of the binomial laws of
 * the sizes (each probability, by the exact binomial tails of its frequency, and its mean), and the
 * trials after the hits must have the mean that truncated geometric offsets give.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "bytepoll/sampler.h"
#include "simulate.h"

#define NUMBERS 64 /* of samples in a repetition; larger ones count as the last */

static const double alarm = 1e-10;

/* The law of the number of samples. */
static void convolve(const struct sampling *sampling, double *law)
{
	double next[NUMBERS];
	memset(law, 0, NUMBERS * sizeof *law);
	law[0] = 1;
	for (unsigned g = 0; g < sampling->population->count; g++) {
		const struct group_draw *draw = &sampling->groups[g];
		double certain = sampling->population->groups[g].objects;
		unsigned count = draw->cumulative != NULL ? draw->count : 1;
		memset(next, 0, sizeof next);
		for (unsigned i = 0; i < count; i++) {
			double p = draw->cumulative == NULL
					   ? 1
					   : draw->cumulative[i] -
						     (i > 0 ? draw->cumulative[i - 1] : 0);
			unsigned number =
				draw->cumulative == NULL ? (unsigned)certain : draw->first + i;
			for (unsigned j = 0; j < NUMBERS; j++)
				next[j + number < NUMBERS ? j + number : NUMBERS - 1] += law[j] * p;
		}
		memcpy(law, next, sizeof next);
	}
}

static uint64_t *shuffled_sizes(const struct population *population, struct stream *stream)
{
	size_t count = (size_t)population->objects, at = 0;
	uint64_t *sizes = malloc(count * sizeof *sizes);
	if (sizes == NULL)
		abort();
	for (unsigned g = 0; g < population->count; g++)
		for (double i = 0; i < population->groups[g].objects; i++)
			sizes[at++] = population->groups[g].size;
	for (size_t i = count - 1; i > 0; i--) {
		size_t j = (size_t)(stream_uniform(stream) * (double)(i + 1));
		uint64_t swap = sizes[i];
		sizes[i] = sizes[j];
		sizes[j] = swap;
	}
	return sizes;
}

/* One life of the sampler: how many samples, and the trials after the hits. */
static unsigned live_once(const uint64_t *sizes, size_t count, uint64_t seed,
	const struct design *design, double *after)
{
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	unsigned samples = 0;
	*after = 0;
	bp_sampler_init(&sampler, seed, design->interval,
		design->exact ? BP_SAMPLER_EXACT : BP_SAMPLER_BERNOULLI);
	for (size_t i = 0; i < count; i++) {
		struct bp_decision decision;
		if (!bp_sampler_crosses(&hot, sizes[i]))
			continue;
		hot.trials_left = bp_sampler_decide(&sampler, hot.trials_left, sizes[i], &decision);
		samples += decision.sampled;
		if (decision.sampled && !decision.exact)
			*after += (double)(sizes[i] + BP_SAMPLER_CHARGE - decision.offset);
	}
	return samples;
}

/* E[sum of (m - f)] = sum over the tried objects of m - pi q / p. */
static double mean_after(const struct sampling *sampling)
{
	double mean = 0;
	for (unsigned g = 0; g < sampling->population->count; g++) {
		const struct group_draw *draw = &sampling->groups[g];
		if (!draw->exact)
			mean += sampling->population->groups[g].objects *
				((double)draw->trials -
					draw->inclusion * (double)(draw->interval - 1));
	}
	return mean;
}

static double mean_samples(const struct sampling *sampling, double *ret_variance)
{
	double mean = 0, variance = 0;
	for (unsigned g = 0; g < sampling->population->count; g++) {
		double p = sampling->groups[g].inclusion;
		mean += sampling->population->groups[g].objects * p;
		variance += sampling->population->groups[g].objects * p * (1 - p);
	}
	*ret_variance = variance;
	return mean;
}

static void verdict_of_one(
	struct verdict *verdict, unsigned law, double expected, bool exact, unsigned repetitions)
{
	struct population population;
	struct sampling sampling;
	struct design design = { .exact = exact, .interval = 102400 };
	struct stream stream = { 77 + law };
	double probability[NUMBERS], sum = 0, squares = 0, total = 0, variance = 0;
	unsigned seen[NUMBERS] = { 0 };
	bool good = population_fill(&population, &size_laws[law], expected, design.interval);
	sampling_init(&sampling, &population, &design);
	convolve(&sampling, probability);
	uint64_t *sizes = shuffled_sizes(&population, &stream);
	for (unsigned i = 0; i < repetitions; i++) {
		double after;
		unsigned samples = live_once(
			sizes, (size_t)population.objects, 1000000 * law + i, &design, &after);
		seen[samples < NUMBERS ? samples : NUMBERS - 1]++;
		total += samples;
		sum += after;
		squares += after * after;
	}
	for (unsigned i = 0; i < NUMBERS; i++) {
		double p = fmin(1, probability[i]), n = repetitions;
		if (p < 1e-16 || p > 1 - 1e-16) {
			good = good && (p > .5 ? seen[i] == repetitions : seen[i] == 0);
			continue;
		}
		good = good && seen[i] <= binomial_limit(n, p, alarm) &&
		       repetitions - seen[i] <= binomial_limit(n, 1 - p, alarm);
		verdict->false_alarm += 2 * alarm;
	}
	double mean = sum / repetitions,
	       spread = sqrt((squares / repetitions - mean * mean) / repetitions);
	double z = spread > 0 ? (mean - mean_after(&sampling)) / spread : 0;
	total -= repetitions * mean_samples(&sampling, &variance);
	double z_number = variance > 0 ? total / sqrt(variance * repetitions) : total;
	verdict->false_alarm += 2 * erfc(6 / sqrt(2));
	verdict_line(verdict, good && fabs(z) < 6 && fabs(z_number) < 6,
		"%s, law %s: the sampler's samples have the law of the draws; z of their number "
		"%+.2f, of the trials after hits %+.2f",
		size_laws[law].name, exact ? "exact" : "bernoulli", z_number, z);
	free(sizes);
	sampling_finish(&sampling);
}

void verdict_of_sampler(struct verdict *verdict, unsigned repetitions)
{
	static const struct {
		unsigned law;
		double expected;
		bool exact;
	} cases[] = { { 0, 3, true }, { 2, 10, true }, { 2, 10, false }, { 4, 8, true },
		{ 5, 6, false }, { 5, 6, true }, { 12, 12, false } };
	for (unsigned i = 0; i < BP_COUNT(cases); i++)
		verdict_of_one(
			verdict, cases[i].law, cases[i].expected, cases[i].exact, repetitions);
}
