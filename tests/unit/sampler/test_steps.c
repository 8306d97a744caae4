/* SPDX-License-Identifier: MIT */
/*
 * The steps of steps.h decide alike, object by object, where they use the same draws: 1 = 2 = 3,
 * and 4 = 5 = 6 = 7 = the byte counter = the allocation context = lists. (That 3 and 4, and 7 and
 * 8, have the same law is a matter of statistics: tests/statistics/laws.c, where all are judged.)
 * So what is true of a trial for every byte is true of the code that is shipped.
 *
 * No false alarms: nothing here is left to chance. libm's logarithm and ours may differ in the last
 * digit, which moves one gap in 10^13 at these intervals; seeds are fixed. A step that was changed
 * must be found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bytepoll/alloc_context.h"
#include "sampler/prng.h"
#include "steps.h"

#define SEED 20260
#define OBJECTS 1000000

static const uint64_t intervals[] = { 2, 17, 100, 4096 };

/* Mostly small, now and then larger than a context. */
static uint64_t any_size(uint64_t random[4])
{
	const uint64_t bits = bp_random_next(random);
	return bits % 64 == 0 ? 1 + (bits >> 8) % 20000 : 1 + (bits >> 8) % 200;
}

/* How many of `objects` two steps decide differently. */
static uint64_t differences(enum step a, enum step b, uint64_t interval, uint64_t context_bytes,
	uint64_t objects, uint64_t *ret_sampled)
{
	struct step_thread thread[2];
	uint64_t random[4], count = 0;
	step_init(&thread[0], a, SEED + interval, interval, context_bytes);
	step_init(&thread[1], b, SEED + interval, interval, context_bytes);
	bp_random_seed(random, SEED);
	*ret_sampled = 0;
	for (uint64_t i = 0; i < objects; i++) {
		const uint64_t size = any_size(random);
		uint64_t offset[2] = { 0, 0 };
		const bool sampled[2] = { step_allocate(&thread[0], size, &offset[0]),
			step_allocate(&thread[1], size, &offset[1]) };
		count += sampled[0] != sampled[1] || (sampled[0] && offset[0] != offset[1]);
		*ret_sampled += sampled[0];
	}
	return count;
}

static void assert_alike(enum step a, enum step b, uint64_t objects)
{
	for (unsigned i = 0; i < sizeof intervals / sizeof *intervals; i++) {
		uint64_t sampled;
		assert_int_equal(differences(a, b, intervals[i], 256, objects, &sampled), 0);
		assert_int_equal(differences(a, b, intervals[i], 8192, objects, &sampled), 0);
		assert_true(sampled > objects / 100);
	}
}

static void thrown_coins_decide_alike(void **state)
{
	(void)state;
	assert_alike(STEP_TRIALS, STEP_BATCHES, OBJECTS / 4);
	assert_alike(STEP_BATCHES, STEP_RUNS, OBJECTS / 4);
}

static void drawn_runs_decide_alike(void **state)
{
	(void)state;
	for (enum step step = STEP_GEOMETRIC; step < STEP_COMBINED; step++)
		assert_alike(step, step + 1, OBJECTS / 2);
}

/* Step 7 against one that is wrong by one byte, and against the next, whose draws are others. */
static void what_differs_is_found(void **state)
{
	uint64_t sampled;
	(void)state;
	assert_true(differences(STEP_RUNS, STEP_GEOMETRIC, 100, 256, OBJECTS, &sampled) > 1000);
	assert_true(differences(STEP_COMBINED, STEP_IMPLICIT, 100, 256, OBJECTS, &sampled) > 1000);
}

/* What is shipped. The first gap of a step is the first that its generator yields; so is the first
 * gap of a sampler, drawn at its first object. */
struct shipped {
	struct bp_alloc_context context;
	struct bp_sampler counter, listing;
	struct bp_sampler_hot counter_hot, listing_hot;
	uint64_t refills;
};

static void allocate_in_context(
	struct shipped *shipped, uint64_t size, struct bp_decision *ret_decision)
{
	struct bp_alloc_context *context = &shipped->context;
	*ret_decision = (struct bp_decision){ 0 };
	if (size <= context->limit - context->pointer) {
		context->pointer += size;
		return;
	}
	while (!bp_alloc_context_slow(context, size, ret_decision)) {
		const uintptr_t start = (uintptr_t)++shipped->refills << 20;
		bp_alloc_context_refill(context, start, start + (size > 8192 ? size : 8192));
	}
}

static void assert_decided(const struct bp_decision *decision, bool sampled, uint64_t offset)
{
	assert_int_equal(decision->sampled, sampled);
	if (sampled)
		assert_int_equal(decision->offset, offset);
}

static void compare_with_shipped(uint64_t interval)
{
	struct step_thread thread;
	struct shipped shipped = { 0 };
	struct bp_decision decision;
	struct bp_list_hit hit;
	uint64_t random[4], offset;
	step_init(&thread, STEP_COMBINED, SEED, interval, 8192);
	bp_alloc_context_init(&shipped.context, SEED, interval, BP_SAMPLER_BERNOULLI);
	bp_sampler_init(&shipped.counter, SEED, interval, BP_SAMPLER_BERNOULLI);
	bp_sampler_init(&shipped.listing, SEED, interval, BP_SAMPLER_BERNOULLI);
	bp_random_seed(random, SEED);
	for (unsigned i = 0; i < OBJECTS; i++) {
		const uint64_t size = any_size(random);
		const bool sampled = step_allocate(&thread, size, &offset);
		allocate_in_context(&shipped, size, &decision);
		assert_decided(&decision, sampled, offset);
		decision = (struct bp_decision){ 0 };
		if (bp_sampler_crosses(&shipped.counter_hot, size - 1))
			shipped.counter_hot.trials_left = bp_sampler_decide(&shipped.counter,
				shipped.counter_hot.trials_left, size - 1, &decision);
		assert_decided(&decision, sampled, offset);
		hit.decision = (struct bp_decision){ 0 };
		(void)bp_sampler_charge_list(
			&shipped.listing, &shipped.listing_hot, size - 1, 1, &hit, 1);
		assert_decided(&hit.decision, sampled, offset);
	}
}

static void what_is_shipped_decides_alike(void **state)
{
	(void)state;
	for (unsigned i = 0; i < sizeof intervals / sizeof *intervals; i++)
		compare_with_shipped(intervals[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thrown_coins_decide_alike),
		cmocka_unit_test(drawn_runs_decide_alike),
		cmocka_unit_test(what_differs_is_found),
		cmocka_unit_test(what_is_shipped_decides_alike),
	};
	return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
