/* SPDX-License-Identifier: MIT */
/*
 * Estimates are right on average where samplers go wrong: programs with a period, changes of T,
 * interruptions. Each wrong way stands beside the right one and must be found out, so that the
 * tests are known to see.
 *
 * Every score is that of a mean over independent repetitions with recorded seeds, held to |z| < 6:
 * a correct sampler fails with probability 2e-9 each, some 20 times. The planted errors must give
 * |z| > 6.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "bytepoll/sampler.h"
#include "goodness.h"
#include "sampler/prng.h"

#define REPETITIONS 3000
#define SITES_MAX 16

struct thread {
	struct bp_sampler sampler;
	struct bp_sampler_hot hot;
};

static void begin(struct thread *thread, uint64_t seed, uint64_t interval, uint32_t law)
{
	thread->hot = (struct bp_sampler_hot){ 0 };
	bp_sampler_init(&thread->sampler, seed, interval, law);
}

/* The Horvitz-Thompson value of one object of `size`: what its sample is worth. */
static double allocate(struct thread *thread, size_t size, bool *ret_sampled)
{
	struct bp_decision decision;
	*ret_sampled = false;
	if (!bp_sampler_crosses(&thread->hot, size))
		return 0;
	thread->hot.trials_left =
		bp_sampler_decide(&thread->sampler, thread->hot.trials_left, size, &decision);
	*ret_sampled = decision.sampled;
	if (!decision.sampled)
		return 0;
	return decision.exact ? (double)size
			      : (double)size / inclusion((uint64_t)size + 1, decision.interval);
}

/* ---- programs with a period ---- */

/* Takes the object that holds every T-th byte, weight T: what a byte counter does. */
struct strided {
	uint64_t interval, left;
};

static double allocate_strided(struct strided *strided, uint64_t trials)
{
	double hits = 0;
	for (; strided->left < trials; strided->left += strided->interval)
		hits++;
	strided->left -= trials;
	return hits * (double)strided->interval;
}

/* Sites in turn, `rounds` times. Scores of the worst site: ours, and the strided sampler's, which
 * starts at a random byte and weighs in bytes of `stride_charge` more per object. */
static void score_cycle(const size_t *sizes, unsigned sites, uint64_t interval, unsigned rounds,
	uint64_t stride_charge, double *ret_ours, double *ret_strided)
{
	struct moments ours[SITES_MAX] = { 0 }, strides[SITES_MAX] = { 0 };
	uint64_t random[4];
	bool sampled;
	bp_random_seed(random, 11);
	for (uint64_t seed = 1; seed <= REPETITIONS; seed++) {
		struct thread thread;
		struct strided strided = { interval, bp_random_next(random) % interval };
		double sum[SITES_MAX] = { 0 }, sum_strided[SITES_MAX] = { 0 };
		begin(&thread, seed, interval, BP_SAMPLER_EXACT);
		for (unsigned round = 0; round < rounds; round++)
			for (unsigned i = 0; i < sites; i++) {
				sum[i] += allocate(&thread, sizes[i], &sampled);
				sum_strided[i] +=
					allocate_strided(&strided, sizes[i] + stride_charge);
			}
		for (unsigned i = 0; i < sites; i++) {
			moments_add(&ours[i], sum[i]);
			moments_add(&strides[i], sum_strided[i]);
		}
	}
	*ret_ours = *ret_strided = 0;
	for (unsigned i = 0; i < sites; i++) {
		double truth = (double)rounds * (double)sizes[i];
		double z = fabs(moments_score(&ours[i], truth));
		*ret_ours = z > *ret_ours ? z : *ret_ours;
		/* Its error within one run: it sees nothing of a site, or everything as one's. */
		double variance = strides[i].sum_of_squares / REPETITIONS - truth * truth;
		double relative = sqrt(variance > 0 ? variance : 0) / truth;
		*ret_strided = relative > *ret_strided ? relative : *ret_strided;
	}
}

/* Over random starts a strided sampler is right on average, and each single run is wrong: its error
 * does not shrink with the length of the run. Ours does. */
static void periodic_programs(void **state)
{
	static const size_t small_and_large[] = { 20, 80 };
	static const size_t sixteen[] = { 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63,
		63, 63 };
	double ours, strided;
	(void)state;
	score_cycle(small_and_large, 2, 100, 500, 0, &ours, &strided);
	print_message("# 20 and 80 at T = 100: worst z %.2f, a strided sampler is off by %.0f %%\n",
		ours, 100 * strided);
	assert_true(ours < 6);
	assert_true(strided > 0.4);
	score_cycle(sixteen, 16, 1024, 300, 1, &ours, &strided);
	print_message("# a loop of 1024 at T = 1024: worst z %.2f, strided off by %.0f %%\n", ours,
		100 * strided);
	assert_true(ours < 6);
	assert_true(strided > 3);
}

/* The same through the first bytes alone: a run of ours is right within its own error. */
static void periodic_runs_are_each_right(void **state)
{
	static const size_t sizes[] = { 20, 80 };
	struct thread thread;
	double sum[2] = { 0 };
	bool sampled;
	enum { ROUNDS = 1000000 };
	(void)state;
	begin(&thread, 5, 100, BP_SAMPLER_EXACT);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < 2; i++)
			sum[i] += allocate(&thread, sizes[i], &sampled);
	for (int i = 0; i < 2; i++) {
		double pi = inclusion(sizes[i] + 1, 100);
		double error = (double)sizes[i] * sqrt(ROUNDS * (1 - pi) / pi);
		assert_true(fabs(sum[i] - ROUNDS * (double)sizes[i]) < 6 * error);
	}
}

/* ---- changes of T ---- */

enum weighing { EACH_BY_ITS_OWN, ALL_BY_THE_LAST };

/* T doubles at the 60th sample, and goes on to 8 T; or follows the number of samples up and
 * down. */
static double score_changes(uint32_t law, bool up_and_down, enum weighing weighing)
{
	static const size_t sizes[] = { 24, 100, 700, 0, 3000, 9, 24, 5000 };
	struct moments moments = { 0 };
	double truth = 0;
	for (uint64_t seed = 1; seed <= REPETITIONS; seed++) {
		struct thread thread;
		uint64_t interval = 1000;
		unsigned samples = 0;
		double sum = 0;
		bool sampled;
		truth = 0;
		begin(&thread, seed, interval, law);
		for (int i = 0; i < 4000; i++) {
			const size_t size = sizes[i % 8];
			double worth = allocate(&thread, size, &sampled);
			truth += (double)size;
			if (weighing == ALL_BY_THE_LAST && sampled)
				worth = (double)size / inclusion((uint64_t)size + 1, 8000);
			sum += worth;
			samples += sampled;
			if (!sampled || samples % 60 != 0)
				continue;
			if (up_and_down)
				interval = samples / 60 % 2 ? 8000 : 1000;
			else if (interval < 8000)
				interval *= 2;
			bp_sampler_set_interval(&thread.sampler, interval);
		}
		moments_add(&moments, sum);
	}
	return moments_score(&moments, truth);
}

static void changes_of_interval(void **state)
{
	(void)state;
	for (uint32_t law = BP_SAMPLER_EXACT; law <= BP_SAMPLER_BERNOULLI; law++) {
		assert_true(fabs(score_changes(law, false, EACH_BY_ITS_OWN)) < 6);
		assert_true(fabs(score_changes(law, true, EACH_BY_ITS_OWN)) < 6);
	}
	assert_true(fabs(score_changes(BP_SAMPLER_EXACT, false, ALL_BY_THE_LAST)) > 6);
}

/* ---- interruptions ---- */

enum interruption {
	NOTHING,
	RESTART,	  /* discards the gap and draws anew: the rule */
	LOOK_NEXT,	  /* arms zero: the next object looks, whatever its size */
	SELECTIVE_DISCARD /* what would have been taken is passed over, its countdown kept */
};

/* Every second object is the recorder's own business, which must not count; the rest is sampled. */
static double score_interruptions(enum interruption interruption)
{
	struct moments moments = { 0 };
	enum { ROUNDS = 3000, SIZE = 40, OWN = 400, T = 2000 };
	for (uint64_t seed = 1; seed <= REPETITIONS; seed++) {
		struct thread thread;
		double sum = 0;
		bool sampled;
		begin(&thread, seed, T, BP_SAMPLER_EXACT);
		for (int i = 0; i < ROUNDS; i++) {
			uint64_t *left = &thread.hot.trials_left;
			sum += allocate(&thread, SIZE, &sampled);
			if (interruption == RESTART && i % 3 == 0)
				*left = bp_sampler_restart(&thread.sampler, *left);
			if (interruption == LOOK_NEXT && i % 3 == 0)
				*left = bp_sampler_look_next(&thread.sampler, *left);
			if (interruption == SELECTIVE_DISCARD && *left > OWN)
				*left -= OWN + 1; /* not taken: charged as any other */
		}
		moments_add(&moments, sum);
	}
	return moments_score(&moments, (double)ROUNDS * SIZE);
}

static void interruptions(void **state)
{
	(void)state;
	assert_true(fabs(score_interruptions(NOTHING)) < 6);
	assert_true(fabs(score_interruptions(RESTART)) < 6);
	assert_true(fabs(score_interruptions(LOOK_NEXT)) < 6);
	double z = score_interruptions(SELECTIVE_DISCARD);
	print_message("# a selective discard is off by %.0f standard errors\n", z);
	assert_true(fabs(z) > 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periodic_programs),
		cmocka_unit_test(periodic_runs_are_each_right),
		cmocka_unit_test(changes_of_interval),
		cmocka_unit_test(interruptions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
