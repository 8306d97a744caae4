/* SPDX-License-Identifier: MIT */
/*
 * The intervals under test. Those of DUTY_HOLDS are what reports show; the others stand beside
 * them: plain N3 where it does not belong, the interval of the .NET document in its forms, and
 * Wald's, estimate -+ 1.96 standard errors, which must fail or the suite is blind.
 */
#include "simulate.h"

#include <math.h>

#include "base/attributes.h"
#include "estimate/numeric/negative_binomial.h"
#include "estimate/numeric/special.h"

static struct bp_interval n3_bytes(const struct evidence *evidence, double alpha)
{
	return bp_estimate_bytes(&evidence->drawn->sums, evidence->interval_max, alpha);
}

static struct bp_interval n3_objects(const struct evidence *evidence, double alpha)
{
	return bp_estimate_objects(&evidence->drawn->sums, evidence->interval_max, alpha,
		evidence->sampling->population->size_min, SIMULATE_CHARGE);
}

/* With the smallest size that was sampled in place of the smallest there is: what a report has to
 * do that is not told better. Here the key is all there is; a report looks at the whole process. */
static struct bp_interval n3_objects_as_sampled(const struct evidence *evidence, double alpha)
{
	const struct population *population = evidence->sampling->population;
	uint64_t size_min = UINT64_MAX;
	for (unsigned i = 0; i < population->count; i++)
		if (evidence->drawn->numbers[i] > 0 && population->groups[i].size < size_min)
			size_min = population->groups[i].size;
	return bp_estimate_objects(&evidence->drawn->sums, evidence->interval_max, alpha,
		size_min == UINT64_MAX ? 0 : size_min, SIMULATE_CHARGE);
}

static struct bp_interval n3_usable(const struct evidence *evidence, double alpha)
{
	return bp_estimate_values(&evidence->drawn->usable, evidence->interval_max,
		evidence->sampling->ratio_max, alpha);
}

static struct bp_interval classes_bytes(const struct evidence *evidence, double alpha)
{
	if (!evidence->sampling->has_large)
		return n3_bytes(evidence, alpha);
	return bp_estimate_values_by_classes(
		&evidence->drawn->classes, evidence->interval_max, 1, alpha);
}

static struct bp_interval classes_objects(const struct evidence *evidence, double alpha)
{
	if (!evidence->sampling->has_large)
		return n3_objects(evidence, alpha);
	return bp_estimate_objects_by_classes(&evidence->drawn->classes, evidence->interval_max,
		alpha, evidence->sampling->population->size_min, SIMULATE_CHARGE);
}

static struct bp_interval part_bytes(const struct evidence *evidence, double alpha)
{
	uint64_t total = (uint64_t)evidence->total_bytes;
	return bp_estimate_known_total(&evidence->drawn->sums, &evidence->others->sums,
		evidence->interval_max, total, total, alpha);
}

static struct bp_interval part_objects(const struct evidence *evidence, double alpha)
{
	uint64_t total = (uint64_t)evidence->total_objects;
	return bp_estimate_known_objects(&evidence->drawn->sums, &evidence->others->sums,
		evidence->interval_max, total, total, alpha,
		(struct bp_size_min){ evidence->size_min, evidence->size_min }, SIMULATE_CHARGE);
}

/* Without trials after the hits, which only move it, the negative binomial interval is one of the
 * number of samples: made once for each, and kept. */
#define KEPT_SAMPLES 2048

static struct bp_interval negative_binomial(const struct evidence *evidence, double alpha,
	enum bp_negative_binomial method, enum bp_window_edges edges)
{
	static _Thread_local struct {
		uint64_t interval; /* 0: not made yet */
		double alpha;
		struct bp_interval of_samples;
	} kept[2][BP_EDGES_COUNT][KEPT_SAMPLES];
	const struct drawn *drawn = evidence->drawn;
	uint64_t place = drawn->tried % KEPT_SAMPLES;
	struct bp_interval interval = kept[method][edges][place].of_samples;
	if (drawn->tried >= KEPT_SAMPLES ||
		kept[method][edges][place].interval != evidence->interval_max ||
		kept[method][edges][place].alpha != alpha) {
		interval = bp_estimate_negative_binomial(
			method, edges, drawn->tried, 0, evidence->interval_max, alpha);
		if (drawn->tried < KEPT_SAMPLES) {
			kept[method][edges][place].interval = evidence->interval_max;
			kept[method][edges][place].alpha = alpha;
			kept[method][edges][place].of_samples = interval;
		}
	}
	double known = drawn->after_hits + drawn->exact_trials;
	interval.estimate += known;
	interval.low += known;
	interval.high += known;
	return interval;
}

static struct bp_interval nb_at_samples(const struct evidence *evidence, double alpha)
{
	return negative_binomial(evidence, alpha, BP_NEGATIVE_BINOMIAL_EXACT, BP_EDGES_AT_SAMPLES);
}

static struct bp_interval nb_end(const struct evidence *evidence, double alpha)
{
	return negative_binomial(evidence, alpha, BP_NEGATIVE_BINOMIAL_EXACT, BP_EDGES_END);
}

static struct bp_interval nb_both(const struct evidence *evidence, double alpha)
{
	return negative_binomial(evidence, alpha, BP_NEGATIVE_BINOMIAL_EXACT, BP_EDGES_BOTH);
}

static struct bp_interval camp_paulson(const struct evidence *evidence, double alpha)
{
	return negative_binomial(evidence, alpha, BP_NEGATIVE_BINOMIAL_CAMP_PAULSON, BP_EDGES_END);
}

static struct bp_interval wald(const struct evidence *evidence, double alpha)
{
	const struct bp_sums *sums = &evidence->drawn->sums;
	double estimate = sums->bytes + sums->c1;
	double half = bp_normal_quantile(1 - alpha / 2) * sqrt(sums->c2);
	return (struct bp_interval){ estimate, estimate - half, estimate + half, false, false };
}

const struct method methods[] = {
	{ "N3, bytes", FAMILY_EXACT, TRUTH_BYTES, DUTY_HOLDS, .025, false, n3_bytes },
	{ "N3, objects", FAMILY_EXACT, TRUTH_OBJECTS, DUTY_HOLDS, .025, false, n3_objects },
	{ "N3, objects, smallest size as sampled", FAMILY_EXACT, TRUTH_OBJECTS, DUTY_SHOWN, .025,
		false, n3_objects_as_sampled },
	{ "N3, one-sided .01", FAMILY_EXACT, TRUTH_BYTES, DUTY_HOLDS, .01, false, n3_bytes },
	{ "N3, two T in a key, bytes", FAMILY_TWO_INTERVALS, TRUTH_BYTES, DUTY_HOLDS, .025, false,
		n3_bytes },
	{ "N3, two T in a key, objects", FAMILY_TWO_INTERVALS, TRUTH_OBJECTS, DUTY_HOLDS, .025,
		false, n3_objects },
	{ "N3, usable bytes", FAMILY_USABLE, TRUTH_USABLE, DUTY_HOLDS, .025, false, n3_usable },
	{ "part of a known total, bytes", FAMILY_PART, TRUTH_BYTES, DUTY_HOLDS, .025, false,
		part_bytes },
	{ "part of a known total, objects", FAMILY_PART, TRUTH_OBJECTS, DUTY_HOLDS, .025, false,
		part_objects },
	{ "N3 of the same keys", FAMILY_PART, TRUTH_BYTES, DUTY_HOLDS, .025, false, n3_bytes },
	{ "N3 by size classes, bytes", FAMILY_BERNOULLI, TRUTH_BYTES, DUTY_HOLDS, .025, false,
		classes_bytes },
	{ "N3 by size classes, objects", FAMILY_BERNOULLI, TRUTH_OBJECTS, DUTY_HOLDS, .025, false,
		classes_objects },
	{ "N3 by size classes, one-sided .01", FAMILY_BERNOULLI, TRUTH_BYTES, DUTY_HOLDS, .01,
		false, classes_bytes },
	{ "plain N3", FAMILY_BERNOULLI, TRUTH_BYTES, DUTY_SHOWN, .025, false, n3_bytes },
	{ "part of a known total, bytes", FAMILY_PART_BERNOULLI, TRUTH_BYTES, DUTY_SHOWN, .025,
		false, part_bytes },
	{ "part of a known total, objects", FAMILY_PART_BERNOULLI, TRUTH_OBJECTS, DUTY_SHOWN, .025,
		false, part_objects },
	{ "negative binomial [s, s]", FAMILY_BERNOULLI, TRUTH_TRIALS, DUTY_SHOWN, .025, true,
		nb_at_samples },
	{ "negative binomial [s, s + 1]", FAMILY_BERNOULLI, TRUTH_TRIALS, DUTY_SHOWN, .025, true,
		nb_end },
	{ "negative binomial [s - 1, s + 1]", FAMILY_BERNOULLI, TRUTH_TRIALS, DUTY_SHOWN, .025,
		true, nb_both },
	{ "Camp-Paulson [s, s + 1]", FAMILY_BERNOULLI, TRUTH_TRIALS, DUTY_SHOWN, .025, true,
		camp_paulson },
	{ "negative binomial [s, s + 1], large ones added", FAMILY_EXACT, TRUTH_TRIALS, DUTY_SHOWN,
		.025, true, nb_end },
	{ "Wald", FAMILY_BERNOULLI, TRUTH_BYTES, DUTY_MUST_FAIL, .025, false, wald },
	{ "Wald", FAMILY_EXACT, TRUTH_BYTES, DUTY_MUST_FAIL, .025, false, wald },
};
const unsigned method_count = BP_COUNT(methods);

unsigned method_place(unsigned method)
{
	unsigned place = 0;
	for (unsigned i = 0; i < method; i++)
		place += methods[i].family == methods[method].family;
	return place;
}

unsigned method_at(enum family family, unsigned place)
{
	for (unsigned i = 0; i < method_count; i++)
		if (methods[i].family == family && method_place(i) == place)
			return i;
	return method_count;
}

double truth_of(const struct population *population, enum truth truth)
{
	switch (truth) {
	case TRUTH_OBJECTS:
		return population->objects;
	case TRUTH_USABLE:
		return population->usable;
	case TRUTH_TRIALS:
		return population->trials;
	default:
		return population->bytes;
	}
}
