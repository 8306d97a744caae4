/* SPDX-License-Identifier: MIT */
/*
 * The law of the decisions: which objects are sampled, with which offsets, at every combination of
 * T, law and size that differs: below, at and above T, size 0, T = 1 and 2, T above the longest
 * countdown.
 *
 * Each inclusion and each pair score is held to |z| < 6, each offset law to a chi-square of
 * probability above 1e-9. A correct sampler would be rejected with probability 2e-9 per score where
 * the counts are normal; the smallest expected count is 40, where the Poisson tail makes it 3e-8.
 * With some 150 scores that is below 5e-6 in all; the seeds are fixed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "bytepoll/sampler.h"
#include "goodness.h"

#define SEED 7000
#define OBJECTS 400000

struct outcome {
	uint64_t sampled, pairs; /* pairs: objects 2i and 2i + 1 both sampled */
	struct cells offsets;
};

/* One object, as a hook charges it. */
static bool allocate(struct bp_sampler *sampler, struct bp_sampler_hot *hot, size_t size,
	struct bp_decision *ret_decision)
{
	*ret_decision = (struct bp_decision){ 0 };
	if (!bp_sampler_crosses(hot, size))
		return false;
	hot->trials_left = bp_sampler_decide(sampler, hot->trials_left, size, ret_decision);
	return ret_decision->sampled;
}

static void run(
	uint64_t interval, uint32_t law, size_t size, uint64_t objects, struct outcome *ret_outcome)
{
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	struct bp_decision decision;
	bool previous = false;
	const bool certain = law == BP_SAMPLER_EXACT && size + 1 >= interval;
	*ret_outcome = (struct outcome){ 0 };
	cells_of_geometric(&ret_outcome->offsets, interval, size + 1, 0.02);
	bp_sampler_init(&sampler, SEED + interval + size, interval, law);
	for (uint64_t i = 0; i < objects; i++) {
		bool sampled = allocate(&sampler, &hot, size, &decision);
		ret_outcome->sampled += sampled;
		ret_outcome->pairs += i % 2 == 1 && sampled && previous;
		previous = sampled;
		if (!sampled)
			continue;
		assert_true(decision.interval == interval && decision.exact == certain);
		assert_true(decision.offset <= size && (!certain || decision.offset == 0));
		if (!certain)
			cells_add(&ret_outcome->offsets, decision.offset);
	}
	assert_true(hot.objects == objects);
	assert_true(bp_sampler_trials(&sampler, hot.trials_left) == objects * (size + 1));
}

static void check(uint64_t interval, uint32_t law, size_t size)
{
	struct outcome outcome;
	const bool certain = law == BP_SAMPLER_EXACT && size + 1 >= interval;
	const double pi = certain ? 1 : inclusion(size + 1, interval);
	uint64_t objects = OBJECTS;
	while ((double)objects * pi < 40)
		objects *= 2;
	objects += objects % 2;
	run(interval, law, size, objects, &outcome);
	double z = binomial_score(outcome.sampled, objects, pi);
	double z_pairs = binomial_score(outcome.pairs, objects / 2, pi * pi);
	double tail = certain || outcome.sampled < 5000 ? 1 : cells_tail(&outcome.offsets);
	print_message(
		"# T %llu law %u size %zu: %llu sampled, z %+.2f, pairs %+.2f, offsets p %.2g\n",
		(unsigned long long)interval, law, size, (unsigned long long)outcome.sampled, z,
		z_pairs, tail);
	assert_true(fabs(z) < 6);
	if ((double)objects / 2 * pi * pi >= 40)
		assert_true(fabs(z_pairs) < 6);
	assert_true(tail > 1e-9);
}

static void check_interval(uint64_t interval)
{
	const size_t t = (size_t)interval;
	const size_t sizes[] = { 0, 1, t / 20, t / 2, t >= 2 ? t - 2 : 0, t - 1, t, 3 * t + 5 };
	for (uint32_t law = BP_SAMPLER_EXACT; law <= BP_SAMPLER_BERNOULLI; law++)
		for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			bool again = false;
			for (unsigned k = 0; k < i; k++)
				again |= sizes[k] == sizes[i];
			if (!again)
				check(interval, law, sizes[i]);
		}
}

static void interval_1(void **state)
{
	(void)state;
	check_interval(1);
}

static void interval_2(void **state)
{
	(void)state;
	check_interval(2);
}

static void interval_64(void **state)
{
	(void)state;
	check_interval(64);
}

static void interval_200(void **state)
{
	(void)state;
	check_interval(200);
}

static void interval_10240(void **state)
{
	(void)state;
	check_interval(10240);
}

/* Longer than the longest countdown: success may come only after several looks. */
static void interval_4m(void **state)
{
	(void)state;
	check((uint64_t)4 << 20, BP_SAMPLER_EXACT, 20000);
	check((uint64_t)4 << 20, BP_SAMPLER_EXACT, (size_t)3 << 20);
	check((uint64_t)4 << 20, BP_SAMPLER_BERNOULLI, (size_t)9 << 20);
}

/* A small object's chance does not depend on its neighbours: large ones, exact ones, empty ones. */
static void mixed_sizes(void **state)
{
	static const size_t sizes[] = { 0, 900, 24, 5000, 300, 1023, 1022, 24, 70000, 1 };
	enum { COUNT = sizeof sizes / sizeof *sizes, ROUNDS = 300000, T = 1024 };
	(void)state;
	for (uint32_t law = BP_SAMPLER_EXACT; law <= BP_SAMPLER_BERNOULLI; law++) {
		struct bp_sampler sampler;
		struct bp_sampler_hot hot = { 0 };
		struct bp_decision decision;
		uint64_t sampled[COUNT] = { 0 };
		bp_sampler_init(&sampler, SEED + law, T, law);
		for (int round = 0; round < ROUNDS; round++)
			for (unsigned i = 0; i < COUNT; i++)
				sampled[i] += allocate(&sampler, &hot, sizes[i], &decision);
		for (unsigned i = 0; i < COUNT; i++) {
			bool certain = law == BP_SAMPLER_EXACT && sizes[i] + 1 >= T;
			double pi = certain ? 1 : inclusion(sizes[i] + 1, T);
			assert_true(fabs(binomial_score(sampled[i], ROUNDS, pi)) < 6);
		}
	}
}

/* The tests can fail: a countdown one trial too long, and a sampler that keeps the countdown of an
 * object it took (instead of drawing anew), are found. */
static void planted_errors(void **state)
{
	enum { T = 64, SIZE = 20, N = 2000000 };
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	struct bp_decision decision;
	uint64_t late = 0, kept = 0;
	(void)state;
	bp_sampler_init(&sampler, 1, T, BP_SAMPLER_EXACT);
	for (int i = 0; i < N; i++)
		if (allocate(&sampler, &hot, SIZE, &decision)) {
			late++;
			hot.trials_left++;
		}
	assert_true(fabs(binomial_score(late, N, inclusion(SIZE + 1, T))) > 6);
	bp_sampler_init(&sampler, 1, T, BP_SAMPLER_EXACT);
	hot = (struct bp_sampler_hot){ 0 };
	for (int i = 0; i < N; i++) {
		const uint64_t before = hot.trials_left;
		if (allocate(&sampler, &hot, SIZE, &decision)) {
			kept++;
			if (i % 10 == 0)
				hot.trials_left = before;
		}
	}
	assert_true(fabs(binomial_score(kept, N, inclusion(SIZE + 1, T))) > 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interval_1),
		cmocka_unit_test(interval_2),
		cmocka_unit_test(interval_64),
		cmocka_unit_test(interval_200),
		cmocka_unit_test(interval_10240),
		cmocka_unit_test(interval_4m),
		cmocka_unit_test(mixed_sizes),
		cmocka_unit_test(planted_errors),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
