/* SPDX-License-Identifier: MIT */
/*
 * The estimators on samples of the real sampler: means, variances, and how they hang together.
 *
 * A life of a made-up program offers a few thousand objects of six sizes, from tiny to 5 T, to
 * the sampler; every sample is weighed by every estimator, and the estimate of each size and of
 * all is compared with the truth over 4000 lives. Held to |z| < 6: the mean against the truth,
 * the mean squared error against weighting_variance, and the mean product of
 * Horvitz-Thompson's error with what another estimator adds to it, which is 0 if the one is the
 * conditional mean of the other (Rao and Blackwell). Then thinning: samples of T kept for 2 T and
 * 8 T, at once and in two steps, are as samples of those.
 *
 * False alarms: |z| > 6 has probability 2e-9 where sums are normal; the fewest events behind a
 * score are 270 missed objects (5 T), whose Poisson law makes it 1e-8. With some 140 scores,
 * below 2e-6 for a first run; the seeds are fixed (the number of the life, and life x object for
 * drawn hits), so that a run that passed passes again. What chance cannot decide is in
 * test_weighting.c.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "bytepoll/sampler.h"
#include "estimate/estimate.h"
#include "estimate/weighting.h"
#include "weights_in_theory.h"

#define INTERVAL UINT64_C(4096)
#define LIVES 4000
#define SIZES 6
#define TOTAL SIZES /* the place of the sum over all sizes */

/* m, the trials of an object, and how many there are of it. */
static const struct {
	uint64_t trials, objects;
} population[SIZES] = { { 17, 2000 }, { 300, 200 }, { 1000, 60 }, { 4096, 20 }, { 9000, 10 },
	{ 20480, 10 } };

static const char *const names[BP_WEIGHTING_COUNT] = { "Horvitz-Thompson", "failed trials", "hits",
	"memray" };

/* Sums over the lives: of a number, of its square. */
struct mean {
	double sum, squares;
};

static void add(struct mean *mean, double value)
{
	mean->sum += value;
	mean->squares += value * value;
}

/* Deviation of a mean from `truth`, in its standard errors; 0 if nothing ever varied. */
static double score(const struct mean *mean, double truth)
{
	double average = mean->sum / LIVES;
	double variance = mean->squares / LIVES - average * average;
	if (mean->squares <= 0 && truth == 0)
		return 0;
	return (average - truth) / sqrt(variance / LIVES);
}

struct sample {
	uint64_t trials, offset, seed;
	unsigned size; /* index in the population */
	bool exact;
};

/* One life: the objects in an order that mixes the sizes. */
static unsigned live(uint64_t seed, uint32_t law, struct sample *ret_samples, unsigned room)
{
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	struct bp_decision decision;
	unsigned count = 0;
	bp_sampler_init(&sampler, seed, INTERVAL, law);
	for (uint64_t round = 0; round < 2000; round++)
		for (unsigned i = 0; i < SIZES; i++) {
			uint64_t trials = population[i].trials;
			if (round >= population[i].objects)
				continue;
			/* The sampler charges one trial more than the size. */
			if (!bp_sampler_crosses(&hot, trials - BP_SAMPLER_CHARGE))
				continue;
			hot.trials_left = bp_sampler_decide(
				&sampler, hot.trials_left, trials - BP_SAMPLER_CHARGE, &decision);
			if (!decision.sampled)
				continue;
			assert_true(count < room);
			ret_samples[count++] = (struct sample){ trials, decision.offset,
				seed << 32 | hot.objects, i, decision.exact };
		}
	return count;
}

struct scores {
	struct mean error[SIZES + 1], square[SIZES + 1], product[SIZES + 1];
};

/* Errors of the estimates of trials, per size and in total, of one life. */
static void errors_of(enum bp_weighting weighting, const struct sample *samples, unsigned count,
	double errors[SIZES + 1])
{
	errors[TOTAL] = 0;
	for (unsigned i = 0; i < SIZES; i++)
		errors[i] = -(double)(population[i].trials * population[i].objects);
	for (unsigned i = 0; i < count; i++)
		errors[samples[i].size] +=
			(double)samples[i].trials * bp_weighting_of(weighting, samples[i].trials,
							    INTERVAL, samples[i].offset,
							    samples[i].exact, samples[i].seed);
	for (unsigned i = 0; i < SIZES; i++)
		errors[TOTAL] += errors[i];
}

static double variance_of(enum bp_weighting weighting, uint32_t law, unsigned size)
{
	double variance = 0;
	for (unsigned i = 0; i < SIZES; i++) {
		double trials = (double)population[i].trials;
		bool exact = law == BP_SAMPLER_EXACT && population[i].trials >= INTERVAL;
		if (size == TOTAL || size == i)
			variance += (double)population[i].objects * trials * trials *
				    weighting_variance(
					    weighting, population[i].trials, INTERVAL, exact);
	}
	return variance;
}

static double judge(enum bp_weighting weighting, uint32_t law, const struct scores *scores)
{
	double worst = 0;
	for (unsigned i = 0; i <= SIZES; i++) {
		double z_mean = score(&scores->error[i], 0);
		double z_variance = score(&scores->square[i], variance_of(weighting, law, i));
		double z_product = score(&scores->product[i], 0);
		if (variance_of(weighting, law, i) <= 0) { /* taken exactly */
			assert_true(scores->square[i].sum == 0);
			continue;
		}
		if (i == TOTAL)
			print_message("# %s, law %u, total: z of mean %.2f, variance %.2f, product "
				      "with Horvitz-Thompson %.2f\n",
				names[weighting], law, z_mean, z_variance, z_product);
		worst = fmax(worst, fmax(fabs(z_mean), fmax(fabs(z_variance), fabs(z_product))));
	}
	return worst;
}

static void run_law(uint32_t law, unsigned estimators)
{
	static struct scores scores[BP_WEIGHTING_COUNT];
	static struct sample samples[4096];
	for (unsigned w = 0; w < BP_WEIGHTING_COUNT; w++)
		scores[w] = (struct scores){ 0 };
	for (uint64_t life = 1; life <= LIVES; life++) {
		unsigned count = live(life, law, samples, BP_COUNT(samples));
		double ht[SIZES + 1], errors[SIZES + 1];
		errors_of(BP_WEIGHTING_HT, samples, count, ht);
		for (unsigned w = 0; w < estimators; w++) {
			errors_of(w, samples, count, errors);
			for (unsigned i = 0; i <= SIZES; i++) {
				add(&scores[w].error[i], errors[i]);
				add(&scores[w].square[i], errors[i] * errors[i]);
				/* Of HT with itself there is nothing to say. */
				add(&scores[w].product[i], ht[i] * (errors[i] - ht[i]));
			}
		}
	}
	for (unsigned w = 0; w < estimators; w++)
		assert_true(judge(w, law, &scores[w]) < 6);
}

/* All but memray's, which is for a sampler that takes large objects with certainty. */
static void test_law_bernoulli(void **state)
{
	(void)state;
	run_law(BP_SAMPLER_BERNOULLI, BP_WEIGHTING_MEMRAY);
}

static void test_law_exact(void **state)
{
	(void)state;
	run_law(BP_SAMPLER_EXACT, BP_WEIGHTING_COUNT);
}

/* The papers' totals, of this population: Var HT <= (T^2 - T) E[s] = Var of failed trials <= Var
 * of hits <= T M, and Var HT <= N q/p. */
static void test_bounds(void **state)
{
	(void)state;
	double t = (double)INTERVAL, expected = 0, trials = 0, variance[BP_WEIGHTING_COUNT];
	for (unsigned i = 0; i < SIZES; i++) {
		double objects = (double)population[i].objects;
		expected += objects * bp_inclusion_probability(population[i].trials, INTERVAL);
		trials += objects * (double)population[i].trials;
	}
	for (unsigned w = 0; w < BP_WEIGHTING_MEMRAY; w++)
		variance[w] = variance_of(w, BP_SAMPLER_BERNOULLI, TOTAL);
	assert_true(variance[BP_WEIGHTING_HT] < variance[BP_WEIGHTING_FAILED_TRIALS]);
	assert_true(
		fabs(variance[BP_WEIGHTING_FAILED_TRIALS] / ((t * t - t) * expected) - 1) < 1e-12);
	assert_true(variance[BP_WEIGHTING_FAILED_TRIALS] < variance[BP_WEIGHTING_HITS]);
	assert_true(variance[BP_WEIGHTING_HITS] < t * trials);
	assert_true(variance[BP_WEIGHTING_HT] < trials * (t - 1));
}

/* splitmix64, for the coins of the thinning. */
static double coin(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((z ^ z >> 31) >> 11) + 0.5) * 0x1p-53;
}

static unsigned thin(struct sample *samples, unsigned count, uint64_t from, uint64_t to,
	bool exact_law, uint64_t *state)
{
	unsigned kept = 0;
	for (unsigned i = 0; i < count; i++)
		if (coin(state) < thinning_keep_probability(samples[i].trials, from, to, exact_law))
			samples[kept++] = samples[i];
	return kept;
}

/* The number kept of each size is binomial with the pi of the new T, whatever the steps. */
static void check_thinning(uint32_t law, uint64_t between, uint64_t to)
{
	static struct sample samples[4096];
	double worst = 0, kept[SIZES] = { 0 };
	uint64_t coins = to + between + law;
	for (uint64_t life = 1; life <= LIVES; life++) {
		bool exact = law == BP_SAMPLER_EXACT;
		unsigned count = live(life, law, samples, BP_COUNT(samples));
		count = thin(samples, count, INTERVAL, between, exact, &coins);
		count = thin(samples, count, between, to, exact, &coins);
		for (unsigned i = 0; i < count; i++)
			kept[samples[i].size]++;
	}
	for (unsigned i = 0; i < SIZES; i++) {
		double objects = (double)population[i].objects * LIVES;
		double pi = law == BP_SAMPLER_EXACT && population[i].trials >= to
				    ? 1
				    : bp_inclusion_probability(population[i].trials, to);
		double deviation = sqrt(objects * pi * (1 - pi));
		if (pi == 1)
			assert_true(kept[i] == objects);
		else
			worst = fmax(worst, fabs(kept[i] - objects * pi) / deviation);
	}
	print_message("# thinned to %u by way of %u, law %u: worst z %.2f\n", (unsigned)to,
		(unsigned)between, law, worst);
	assert_true(worst < 6);
}

static void test_thinning(void **state)
{
	(void)state;
	for (uint32_t law = BP_SAMPLER_EXACT; law <= BP_SAMPLER_BERNOULLI; law++) {
		check_thinning(law, INTERVAL, 2 * INTERVAL);
		check_thinning(law, INTERVAL, 8 * INTERVAL);
		check_thinning(law, 2 * INTERVAL, 8 * INTERVAL);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_law_bernoulli),
		cmocka_unit_test(test_law_exact),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_thinning),
	};
	return cmocka_run_group_tests_name("estimators", tests, NULL, NULL);
}
