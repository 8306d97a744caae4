/* SPDX-License-Identifier: MIT */
/*
 * Changes of T, off included: each object is decided wholly under the T that held when it came,
 * and nothing of what held before or after shows. T changes as it does in a recorder: by what was
 * sampled so far (coarser when much was), by what was allocated, and by a coin.
 *
 * For each T and size the objects offered and those sampled are counted: a binomial score each,
 * held to |z| < 6 (a correct sampler fails with probability 2e-9 each, 56 of them), and the sum of
 * their squares over a law, a chi-square with an exact tail held above 1e-9, twice. Under T = off
 * the count must be zero. Seeds are fixed. The planted error draws anew before it decides, which
 * throws successes away, and must be found.
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

#define OBJECTS 10000000

static const uint64_t intervals[] = { BP_SAMPLER_OFF, 40, 300, 2000, 20000 };
static const size_t sizes[] = { 0, 24, 100, 299, 700, 5000, 60000 };
/* How many looks a T lasts, about: so that each sees as many objects as the others. */
static const uint64_t stay[] = { 1, 1000, 1000, 300, 60 };
#define INTERVALS (sizeof intervals / sizeof *intervals)
#define SIZES (sizeof sizes / sizeof *sizes)

struct cell {
	uint64_t offered, sampled;
};

enum order { DECIDE_THEN_CHANGE, CHANGE_THEN_DECIDE };

/* Which T comes next: by the past alone. */
static unsigned next_interval(unsigned now, uint64_t samples, uint64_t coin)
{
	if (coin % 3 == 0)
		return 0;
	if (coin % 3 == 1)
		return 1 + (unsigned)(coin / 3 % (INTERVALS - 1));
	return samples % 2 == 1 && now + 1 < INTERVALS ? now + 1 : 1;
}

static void run(uint32_t law, enum order order, struct cell cells[INTERVALS][SIZES])
{
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	struct bp_decision decision;
	uint64_t random[4], trials = 0, samples = 0;
	unsigned now = 2, wanted = 2;
	bp_random_seed(random, 77 + law);
	bp_sampler_init(&sampler, 501 + law, intervals[now], law);
	for (uint64_t i = 0; i < OBJECTS; i++) {
		const uint64_t coin = bp_random_next(random);
		const unsigned k = (unsigned)(coin % 8 == 0 ? coin / 64 % SIZES : coin / 64 % 5);
		trials += (uint64_t)sizes[k] + 1;
		cells[now][k].offered++;
		if (!bp_sampler_crosses(&hot, sizes[k]))
			continue;
		/* As in the recorder: what is wanted is looked at before the decision. */
		if ((coin >> 24) % stay[now] == 0) {
			wanted = next_interval(now, samples, coin >> 40);
			bp_sampler_set_interval(&sampler, intervals[wanted]);
		}
		if (order == CHANGE_THEN_DECIDE && wanted != now) {
			uint64_t left = hot.trials_left + sizes[k] + 1;
			hot.trials_left = bp_sampler_restart(&sampler, left);
			if (!bp_sampler_crosses(
				    &(struct bp_sampler_hot){ hot.trials_left, 0 }, sizes[k])) {
				hot.trials_left -= sizes[k] + 1;
				now = wanted;
				continue;
			}
			hot.trials_left -= sizes[k] + 1;
		}
		hot.trials_left = bp_sampler_decide(&sampler, hot.trials_left, sizes[k], &decision);
		if (order == DECIDE_THEN_CHANGE)
			assert_true(decision.interval == intervals[now]);
		cells[now][k].sampled += decision.sampled;
		samples += decision.sampled;
		now = wanted;
		assert_true(sampler.interval == intervals[now]);
	}
	assert_true(hot.objects == OBJECTS);
	assert_true(bp_sampler_trials(&sampler, hot.trials_left) == trials);
}

/* Degrees of freedom and the sum of squares of the cells of a law; the largest |z|. */
static double score(
	uint32_t law, struct cell cells[INTERVALS][SIZES], unsigned *ret_degrees, double *ret_sum)
{
	double worst = 0;
	*ret_degrees = 0;
	*ret_sum = 0;
	for (unsigned t = 0; t < INTERVALS; t++)
		for (unsigned k = 0; k < SIZES; k++) {
			const struct cell *cell = &cells[t][k];
			const bool off = intervals[t] == BP_SAMPLER_OFF;
			const bool certain =
				!off && law == BP_SAMPLER_EXACT && sizes[k] + 1 >= intervals[t];
			assert_true(cell->offered > 1000);
			double pi = off ? 0 : certain ? 1 : inclusion(sizes[k] + 1, intervals[t]);
			double z = binomial_score(cell->sampled, cell->offered, pi);
			worst = fabs(z) > worst ? fabs(z) : worst;
			/* Counts that are not normal have the first test only. */
			if (cell->offered * pi < 40 || cell->offered * (1 - pi) < 40)
				continue;
			*ret_sum += z * z;
			(*ret_degrees)++;
		}
	return worst;
}

/* P(chi-square of `degrees` > sum), for even degrees; an odd number is rounded up, which is
 * larger. */
static double tail_of(unsigned degrees, double sum)
{
	double term = exp(-sum / 2), tail = 0;
	for (unsigned i = 0; i < (degrees + 1) / 2; i++) {
		tail += term;
		term *= sum / 2 / (i + 1);
	}
	return tail;
}

static void each_under_its_own(void **state)
{
	(void)state;
	for (uint32_t law = BP_SAMPLER_EXACT; law <= BP_SAMPLER_BERNOULLI; law++) {
		struct cell cells[INTERVALS][SIZES] = { 0 };
		unsigned degrees;
		double sum;
		run(law, DECIDE_THEN_CHANGE, cells);
		double worst = score(law, cells, &degrees, &sum);
		print_message("# law %u: worst z %.2f, chi-square %.1f of %u, p %.2g\n", law, worst,
			sum, degrees, tail_of(degrees, sum));
		assert_true(degrees > 12);
		assert_true(worst < 6);
		assert_true(tail_of(degrees, sum) > 1e-9);
	}
}

static void planted_error(void **state)
{
	struct cell cells[INTERVALS][SIZES] = { 0 };
	unsigned degrees;
	double sum;
	(void)state;
	run(BP_SAMPLER_EXACT, CHANGE_THEN_DECIDE, cells);
	double worst = score(BP_SAMPLER_EXACT, cells, &degrees, &sum);
	print_message("# drawn anew before it is decided: worst z %.0f\n", worst);
	assert_true(worst > 6);
}

/* Off: nothing is sampled, of any size; everything is counted; looks come every LOOK_MAX. */
static void off(void **state)
{
	static const size_t any[] = { 0, 1, 100, 70000, (size_t)1 << 20, (size_t)5 << 20,
		(size_t)1 << 40, PTRDIFF_MAX };
	(void)state;
	for (uint32_t law = BP_SAMPLER_EXACT; law <= BP_SAMPLER_BERNOULLI; law++) {
		struct bp_sampler sampler;
		struct bp_sampler_hot hot = { 0 };
		struct bp_decision decision;
		uint64_t trials = 0;
		bp_sampler_init(&sampler, 1, BP_SAMPLER_OFF, law);
		for (int i = 0; i < 1000; i++) {
			const size_t size = any[i % 7];
			const uint64_t before = hot.trials_left;
			trials += (uint64_t)size + 1;
			if (!bp_sampler_crosses(&hot, size)) {
				assert_true(before > size);
				continue;
			}
			hot.trials_left =
				bp_sampler_decide(&sampler, hot.trials_left, size, &decision);
			assert_false(decision.sampled || decision.exact || decision.interrupted);
			assert_true(decision.interval == BP_SAMPLER_OFF);
			assert_true(hot.trials_left == BP_SAMPLER_LOOK_MAX);
		}
		hot.trials_left = bp_sampler_restart(&sampler, hot.trials_left);
		hot.trials_left = bp_sampler_look_next(&sampler, hot.trials_left);
		assert_true(bp_sampler_crosses(&hot, 0));
		bp_sampler_set_interval(&sampler, 1);
		hot.trials_left = bp_sampler_decide(&sampler, hot.trials_left, 0, &decision);
		assert_false(decision.sampled); /* the object at hand: under the old state */
		assert_true(bp_sampler_trials(&sampler, hot.trials_left) == trials + 1);
		assert_true(bp_sampler_crosses(&hot, 0)); /* the next one: under the new */
		hot.trials_left = bp_sampler_decide(&sampler, hot.trials_left, 0, &decision);
		assert_true(decision.sampled && decision.interval == 1);
	}
}

/* Two draws at most, however large the object: the generator tells. */
static void constant_time(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		struct bp_sampler sampler, twin;
		struct bp_sampler_hot hot = { 0 };
		struct bp_decision decision;
		const uint32_t law = seed % 2 ? BP_SAMPLER_EXACT : BP_SAMPLER_BERNOULLI;
		bp_sampler_init(&sampler, seed, (uint64_t)1 << (20 + seed % 20), law);
		for (int i = 0; i < 4; i++) {
			const size_t size = (size_t)1 << (20 + (seed + (unsigned)i) % 26);
			twin = sampler;
			if (!bp_sampler_crosses(&hot, size))
				continue;
			hot.trials_left =
				bp_sampler_decide(&sampler, hot.trials_left, size, &decision);
			int draws = 0;
			while (sampler.random[0] != twin.random[0] ||
				sampler.random[1] != twin.random[1]) {
				bp_random_next(twin.random);
				assert_true(++draws <= 2);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_under_its_own),
		cmocka_unit_test(planted_error),
		cmocka_unit_test(off),
		cmocka_unit_test(constant_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
