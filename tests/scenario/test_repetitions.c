/* SPDX-License-Identifier: MIT */
/*
 * The truth of the sampler and the estimator together, without a recorder between them: one process
 * allocates (on paper) the same objects of known sites 2000 times with the seeds 1 to 2000, offers
 * each to the sampler as the hot path does, sums its decisions as a profile does, and compares
 * every estimate and interval with the truth.
 *
 * Mean rule: the mean over all repetitions lies within 4.5 standard errors of the truth; a correct
 * pair fails with probability about erfc(4.5 / sqrt 2) = 6.8e-6 for each figure. Interval rule: no
 * more than 150 of 2000 nominal 95 % intervals miss; P(a binomial of 2000 and 0.05 > 150) = 6.1e-7
 * for each figure. With 48 means and 24 coverages that is at most 3.3e-4 and 1.5e-5 in all; seeds
 * are fixed, so a run that passed passes again.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <math.h>

#include "bytepoll/sampler.h"
#include "estimate/estimate.h"

#define INTERVAL 2048u
#define REPETITIONS 2000
#define MISSES_MAX 150
#define ALPHA 0.05
#define SITE_COUNT 12

/* `objects` objects of sizes from `low` to `high`, spread by a rule that depends on nothing else.
 */
struct site {
	const char *name;
	uint32_t objects;
	uint64_t low, high;
};

static const struct site sites[SITE_COUNT] = {
	{ "fixed 24", 4000, 24, 24 },
	{ "mixed small", 2000, 1, 256 },
	{ "mixed across T", 60, 16, 8000 },
	{ "large", 20, 2047, 40000 },
	{ "zero", 20000, 0, 0 },
	{ "just below T", 60, 2046, 2046 },
	{ "just at T", 60, 2047, 2047 },
	{ "half of T", 30, 1023, 1023 },
	{ "rare", 3, 100, 100 },
	{ "one object", 1, 700, 700 },
	{ "few samples", 100, 64, 64 },
	{ "wide", 300, 0, 3000 },
};

struct figure {
	double sum, sum_of_squares, truth;
	int misses;
};

static uint64_t size_of(const struct site *site, uint32_t object)
{
	uint64_t spread = (uint64_t)object * 0x9E3779B97F4A7C15u >> 20;
	return site->low + spread % (site->high - site->low + 1);
}

static uint64_t smallest_of(const struct site *site)
{
	uint64_t smallest = UINT64_MAX;
	for (uint32_t i = 0; i < site->objects; i++)
		if (size_of(site, i) < smallest)
			smallest = size_of(site, i);
	return smallest;
}

/* Offers one object as the hooks do and adds it to the sums if it is sampled. */
static void offer(
	struct bp_sampler *sampler, struct bp_sampler_hot *hot, uint64_t size, struct bp_sums *sums)
{
	struct bp_decision decision;
	if (!bp_sampler_crosses(hot, size))
		return;
	hot->trials_left = bp_sampler_decide(sampler, hot->trials_left, size, &decision);
	if (decision.sampled)
		bp_sums_add(sums, (double)size, size, BP_SAMPLER_CHARGE, decision.interval,
			decision.exact);
}

static void add(struct figure *figure, struct bp_interval interval)
{
	double slack = 1e-9 * (1 + figure->truth);
	figure->sum += interval.estimate;
	figure->sum_of_squares += interval.estimate * interval.estimate;
	figure->misses +=
		figure->truth < interval.low - slack || figure->truth > interval.high + slack;
}

/* One life of the process: every site's objects, sites interleaved in rounds. */
static void repeat(uint64_t seed, uint32_t law, struct figure *bytes, struct figure *objects)
{
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	struct bp_sums sums[SITE_COUNT] = { 0 };
	uint64_t bytes_offered = 0, objects_offered = 0;
	bp_sampler_init(&sampler, seed, INTERVAL, law);
	for (uint32_t round = 0; round < 100; round++)
		for (int s = 0; s < SITE_COUNT; s++)
			for (uint32_t i = round; i < sites[s].objects; i += 100) {
				uint64_t size = size_of(&sites[s], i);
				offer(&sampler, &hot, size, &sums[s]);
				bytes_offered += size;
				objects_offered++;
			}
	assert_int_equal(hot.objects, objects_offered);
	assert_int_equal(bp_sampler_trials(&sampler, hot.trials_left),
		bytes_offered + BP_SAMPLER_CHARGE * objects_offered);
	for (int s = 0; s < SITE_COUNT; s++) {
		add(&bytes[s], bp_estimate_bytes(&sums[s], INTERVAL, ALPHA));
		add(&objects[s], bp_estimate_objects(&sums[s], INTERVAL, ALPHA,
					 smallest_of(&sites[s]), BP_SAMPLER_CHARGE));
	}
}

static void judge_mean(const char *name, const char *unit, const struct figure *figure)
{
	double mean = figure->sum / REPETITIONS;
	double variance = (figure->sum_of_squares - mean * figure->sum) / (REPETITIONS - 1);
	double error = sqrt(variance > 0 ? variance / REPETITIONS : 0);
	double off = fabs(mean - figure->truth);
	print_message("# %s, %s: truth %.0f, mean off by %+.2f standard errors, %d misses\n", name,
		unit, figure->truth, error > 0 ? (mean - figure->truth) / error : 0,
		figure->misses);
	assert_true(off <= 4.5 * error + 1e-6 * (1 + figure->truth));
}

static void run_law(uint32_t law, bool intervals)
{
	static struct figure bytes[SITE_COUNT], objects[SITE_COUNT];
	for (int s = 0; s < SITE_COUNT; s++) {
		bytes[s] = objects[s] = (struct figure){ 0 };
		objects[s].truth = sites[s].objects;
		for (uint32_t i = 0; i < sites[s].objects; i++)
			bytes[s].truth += (double)size_of(&sites[s], i);
	}
	for (uint64_t seed = 1; seed <= REPETITIONS; seed++)
		repeat(seed, law, bytes, objects);
	for (int s = 0; s < SITE_COUNT; s++) {
		judge_mean(sites[s].name, "bytes", &bytes[s]);
		judge_mean(sites[s].name, "objects", &objects[s]);
		if (!intervals)
			continue;
		assert_in_range(bytes[s].misses, 0, MISSES_MAX);
		assert_in_range(objects[s].misses, 0, MISSES_MAX);
	}
}

static void test_law_exact(void **state)
{
	(void)state;
	run_law(BP_SAMPLER_EXACT, true);
}

/* Intervals of this law go by size classes, which are not the subject here. */
static void test_law_bernoulli(void **state)
{
	(void)state;
	run_law(BP_SAMPLER_BERNOULLI, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_law_exact),
		cmocka_unit_test(test_law_bernoulli),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
