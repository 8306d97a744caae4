/* SPDX-License-Identifier: MIT */
/*
 * Bytes and objects are known exactly at every moment, whatever happens: objects of every size,
 * changes of T, discarded countdowns, threads about to end. Nothing here is left to chance but the
 * order of events (recorded seeds): there are no false alarms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bytepoll/sampler.h"
#include "sampler/prng.h"

struct pair {
	struct bp_sampler sampler;
	struct bp_sampler_hot hot;
	uint64_t trials, objects; /* the truth */
};

static void allocate(struct pair *pair, size_t size)
{
	struct bp_decision decision;
	pair->trials += (uint64_t)size + 1;
	pair->objects++;
	if (!bp_sampler_crosses(&pair->hot, size))
		return;
	pair->hot.trials_left =
		bp_sampler_decide(&pair->sampler, pair->hot.trials_left, size, &decision);
	assert_true(decision.sampled || (!decision.exact && decision.offset == 0));
}

static void check(const struct pair *pair)
{
	assert_true(pair->hot.objects == pair->objects);
	assert_true(bp_sampler_trials(&pair->sampler, pair->hot.trials_left) == pair->trials);
	assert_true(pair->hot.trials_left <= BP_SAMPLER_LOOK_MAX);
	assert_true(pair->hot.trials_left <= pair->sampler.armed);
}

static size_t any_size(uint64_t random[4])
{
	const uint64_t r = bp_random_next(random);
	switch (r % 16) {
	case 0:
		return 0;
	case 1:
		return (size_t)(bp_random_next(random) >> 40); /* up to 16 MiB */
	case 2:
		return (size_t)(bp_random_next(random) >> 34); /* up to 1 GiB */
	default:
		return (size_t)(bp_random_next(random) >> (50 + r / 16 % 12));
	}
}

static void every_event(void **state)
{
	static const uint64_t intervals[] = { 1, 2, 3, 64, 100, 4096, 524288, 1 << 20, 3 << 20,
		(uint64_t)1 << 40, BP_SAMPLER_OFF };
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct pair pair = { .trials = 0 };
		uint64_t random[4];
		bp_random_seed(random, seed);
		bp_sampler_init(&pair.sampler, seed, intervals[seed % 11], seed % 2);
		check(&pair);
		for (int i = 0; i < 20000; i++) {
			const uint64_t event = bp_random_next(random) >> 32;
			uint64_t *left = &pair.hot.trials_left;
			if (event % 64 == 0)
				bp_sampler_set_interval(&pair.sampler, intervals[event / 64 % 11]);
			else if (event % 64 == 1)
				*left = bp_sampler_restart(&pair.sampler, *left);
			else if (event % 64 == 2)
				*left = bp_sampler_look_next(&pair.sampler, *left);
			else
				allocate(&pair, any_size(random));
			check(&pair);
		}
	}
}

/* The countdown never exceeds what makes an object of m >= T trip it, whatever came before. */
static void certain_objects_always_trip(void **state)
{
	(void)state;
	for (uint64_t interval = 1; interval < 400; interval += 7) {
		struct pair pair = { .trials = 0 };
		struct bp_decision decision;
		uint64_t random[4];
		bp_random_seed(random, interval);
		bp_sampler_init(&pair.sampler, interval, interval, BP_SAMPLER_EXACT);
		for (int i = 0; i < 3000; i++) {
			allocate(&pair, (size_t)(bp_random_next(random) % (2 * interval)));
			assert_true(pair.hot.trials_left <= interval - 1);
			assert_true(bp_sampler_crosses(&pair.hot, (size_t)interval - 1));
			pair.hot.trials_left = bp_sampler_decide(&pair.sampler,
				pair.hot.trials_left, (size_t)interval - 1, &decision);
			assert_true(decision.sampled && decision.exact);
			pair.trials += interval;
			pair.objects++;
			check(&pair);
		}
	}
}

/* The two instructions at their edges. */
static void crossing(void **state)
{
	static const struct {
		uint64_t left;
		size_t size;
		bool crosses;
	} cases[] = {
		{ 0, 0, true },
		{ 1, 0, false },
		{ 5, 4, false },
		{ 5, 5, true },
		{ 5, 6, true },
		{ 0, SIZE_MAX, true },
		{ 1, SIZE_MAX, true },
		{ UINT64_MAX, SIZE_MAX, true },
		{ UINT64_MAX, SIZE_MAX - 1, false },
		{ 0, SIZE_MAX - 1, true },
		{ (uint64_t)1 << 62, PTRDIFF_MAX, true },
		{ BP_SAMPLER_LOOK_MAX, PTRDIFF_MAX, true },
		{ UINT64_MAX, 0, false },
	};
	(void)state;
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_sampler_hot hot = { .trials_left = cases[i].left, .objects = 7 };
		assert_int_equal(bp_sampler_crosses(&hot, cases[i].size), cases[i].crosses);
		assert_true(hot.objects == 8);
		assert_true(hot.trials_left + cases[i].size + 1 == cases[i].left);
	}
}

/* What is charged and taken back (a failed request) leaves no trace. */
static void taken_back(void **state)
{
	struct pair pair = { .trials = 0 };
	uint64_t random[4];
	(void)state;
	bp_random_seed(random, 9);
	bp_sampler_init(&pair.sampler, 9, 1000, BP_SAMPLER_EXACT);
	for (int i = 0; i < 50000; i++) {
		allocate(&pair, (size_t)(bp_random_next(random) % 300));
		const struct bp_sampler_hot before = pair.hot;
		const size_t size = SIZE_MAX - (size_t)(i % 5000);
		assert_true(bp_sampler_crosses(&pair.hot, size));
		pair.hot.trials_left += (uint64_t)size + 1;
		pair.hot.objects--;
		assert_memory_equal(&before, &pair.hot, sizeof before);
		check(&pair);
	}
}

/* A changed T decides nothing about the object at hand, and everything about the next draw. */
static void change_of_interval(void **state)
{
	struct bp_decision decision;
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	(void)state;
	bp_sampler_init(&sampler, 3, 1, BP_SAMPLER_EXACT);
	bp_sampler_set_interval(&sampler, (uint64_t)1 << 40);
	assert_true(bp_sampler_crosses(&hot, 10));
	hot.trials_left = bp_sampler_decide(&sampler, hot.trials_left, 10, &decision);
	assert_true(decision.sampled && decision.exact && decision.interval == 1);
	assert_true(sampler.interval == (uint64_t)1 << 40);
	assert_true(hot.trials_left == BP_SAMPLER_LOOK_MAX); /* with probability 1 - 1e-6 */
	/* Back to 1: at most one countdown of 1 MiB later everything is sampled again. */
	bp_sampler_set_interval(&sampler, 1);
	assert_true(bp_sampler_crosses(&hot, 2 * BP_SAMPLER_LOOK_MAX));
	hot.trials_left =
		bp_sampler_decide(&sampler, hot.trials_left, 2 * BP_SAMPLER_LOOK_MAX, &decision);
	assert_true(decision.interval == (uint64_t)1 << 40);
	for (int i = 0; i < 100; i++) {
		assert_true(bp_sampler_crosses(&hot, (size_t)i));
		hot.trials_left =
			bp_sampler_decide(&sampler, hot.trials_left, (size_t)i, &decision);
		assert_true(decision.sampled && decision.exact && decision.interval == 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event),
		cmocka_unit_test(certain_objects_always_trip),
		cmocka_unit_test(crossing),
		cmocka_unit_test(taken_back),
		cmocka_unit_test(change_of_interval),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
