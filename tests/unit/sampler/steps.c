/* SPDX-License-Identifier: MIT */
/*
 * See steps.h. Steps 1 to 3 use the same coins in the same order, so they decide alike, object by
 * object, from one seed; so do 4 to 7. From 3 to 4 and from 7 to 8 the law stays and the draws
 * differ.
 *
 * The generator is 64 bits wide and libm's logarithm is used, as nothing of src/sampler/gap.c is to
 * be its own judge.
 */
#include "steps.h"

#include <math.h>
#include <string.h>

#include "sampler/prng.h"

/* One trial; its probability is 1/interval within interval/2^64. */
static bool throw_coin(struct step_thread *thread)
{
	return bp_random_next(thread->random) < UINT64_MAX / thread->interval;
}

/* ---- 1 ---- */

static bool next_trial_of_batch(struct step_thread *thread);

static bool allocate_trials(struct step_thread *thread, uint64_t size, uint64_t *ret_offset)
{
	for (uint64_t i = 0; i < size; i++)
		if (thread->step == STEP_BATCHES ? next_trial_of_batch(thread)
						 : throw_coin(thread)) {
			*ret_offset = i;
			return true;
		}
	return false;
}

/* ---- 2 ---- */

static bool next_trial_of_batch(struct step_thread *thread)
{
	if (thread->batch_left == 0) {
		for (unsigned i = 0; i < STEP_BATCH; i++)
			thread->batch[STEP_BATCH - 1 - i] = throw_coin(thread);
		thread->batch_left = STEP_BATCH;
	}
	return thread->batch[--thread->batch_left];
}

/* ---- 3 and 4 ---- */

static uint64_t draw_failures(struct step_thread *thread)
{
	uint64_t failures = 0;
	if (thread->step == STEP_RUNS) {
		while (!throw_coin(thread))
			failures++;
		return failures;
	}
	/* 53 bits of (0, 1]; the inverse of P(failures < x) = 1 - (1 - 1/T)^x. */
	const double u = (double)((bp_random_next(thread->random) >> 11) + 1) * 0x1p-53;
	return (uint64_t)floor(log(u) / log1p(-1 / (double)thread->interval));
}

static bool allocate_runs(struct step_thread *thread, uint64_t size, uint64_t *ret_offset)
{
	for (uint64_t i = 0; i < size; i++) {
		if (thread->failures-- > 0)
			continue;
		thread->failures = draw_failures(thread);
		*ret_offset = i;
		return true;
	}
	return false;
}

/* ---- 5 ---- */

static bool allocate_objects(struct step_thread *thread, uint64_t size, uint64_t *ret_offset)
{
	if (thread->failures >= size) {
		thread->failures -= size;
		return false;
	}
	*ret_offset = thread->failures;
	thread->failures = draw_failures(thread);
	return true;
}

/* ---- 6, 7 and 8: in contexts ---- */

/* The GC's answer: another context, for an object of `size` at least, somewhere. Nothing is stored
 * in it. */
static void refill(struct step_thread *thread, uint64_t size)
{
	thread->refills++;
	thread->pointer = (thread->refills * UINT64_C(0x9E3779B97F4A7C15)) >> 20 << 4;
	thread->end =
		thread->pointer + (size > thread->context_bytes ? size : thread->context_bytes);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool allocate_two_limits(struct step_thread *thread, uint64_t size, uint64_t *ret_offset)
{
	if (thread->end - thread->pointer < size) {
		const uint64_t failures = thread->sampling_limit - thread->pointer;
		refill(thread, size);
		thread->sampling_limit = thread->pointer + failures;
	}
	const bool sampled = thread->sampling_limit < thread->pointer + size;
	*ret_offset = thread->sampling_limit - thread->pointer;
	thread->pointer += size;
	if (sampled)
		thread->sampling_limit = thread->pointer + draw_failures(thread);
	return sampled;
}

static bool allocate_combined(struct step_thread *thread, uint64_t size, uint64_t *ret_offset)
{
	if (thread->pointer + size <= thread->combined) { /* the fast path */
		thread->pointer += size;
		return false;
	}
	const bool sampled = allocate_two_limits(thread, size, ret_offset);
	thread->combined = least(thread->sampling_limit, thread->end);
	return sampled;
}

/* A combined limit before the end is a chosen byte; at the end it says that no byte up to there is
 * one, and nothing about the bytes behind. */
static bool allocate_implicit(struct step_thread *thread, uint64_t size, uint64_t *ret_offset)
{
	if (thread->pointer + size <= thread->combined) {
		thread->pointer += size;
		return false;
	}
	uint64_t failures = thread->combined - thread->pointer;
	if (thread->combined == thread->end)
		failures += draw_failures(thread);
	if (thread->end - thread->pointer < size)
		refill(thread, size);
	thread->pointer += size;
	thread->combined =
		thread->pointer + least(draw_failures(thread), thread->end - thread->pointer);
	*ret_offset = failures;
	return failures < size;
}

/* ---- all ---- */

void step_init(struct step_thread *thread, enum step step, uint64_t seed, uint64_t interval,
	uint64_t context_bytes)
{
	memset(thread, 0, sizeof *thread);
	thread->step = step;
	thread->interval = interval;
	thread->context_bytes = context_bytes;
	bp_random_seed(thread->random, seed);
	if (step == STEP_RUNS || step == STEP_GEOMETRIC || step == STEP_OBJECTS)
		thread->failures = draw_failures(thread);
	if (step == STEP_TWO_LIMITS || step == STEP_COMBINED)
		thread->sampling_limit = draw_failures(thread);
}

bool step_allocate(struct step_thread *thread, uint64_t size, uint64_t *ret_offset)
{
	switch (thread->step) {
	case STEP_TRIALS:
	case STEP_BATCHES:
		return allocate_trials(thread, size, ret_offset);
	case STEP_RUNS:
	case STEP_GEOMETRIC:
		return allocate_runs(thread, size, ret_offset);
	case STEP_OBJECTS:
		return allocate_objects(thread, size, ret_offset);
	case STEP_TWO_LIMITS:
		return allocate_two_limits(thread, size, ret_offset);
	case STEP_COMBINED:
		return allocate_combined(thread, size, ret_offset);
	default:
		return allocate_implicit(thread, size, ret_offset);
	}
}

const char *step_name(enum step step)
{
	static const char *const names[STEP_COUNT] = { "1 a trial for every byte",
		"2 trials in batches", "3 runs of failures", "4 runs drawn at once",
		"5 whole objects", "6 two limits", "7 combined limit, explicit",
		"8 combined limit, implicit" };
	return names[step];
}
