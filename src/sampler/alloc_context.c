/* SPDX-License-Identifier: MIT */
/*
 * See bytepoll/alloc_context.h. The countdown of sampler.c, kept as an address: failed trials left
 * = sample_at - pointer, modulo 2^64. While sampling is off nobody looks at sample_at, the pointer
 * passes it, and the difference wraps; the count of bytes holds all the same, and the countdown is
 * drawn anew before anything is decided by it.
 *
 * sampler.c counts size + 1 trials for an object of `size`; here it makes `size`, so it is told
 * size - 1.
 */
#include "bytepoll/alloc_context.h"

#include "base/attributes.h"

_Static_assert(BP_SAMPLER_CHARGE == 1, "size - 1 is what makes `size` trials");

static uint64_t trials_left(const struct bp_alloc_context *context)
{
	return context->sample_at - context->pointer;
}

/* The pointer is final: sets the countdown behind it, and the limit. */
static void set_countdown(struct bp_alloc_context *context, uint64_t trials)
{
	context->sample_at = context->pointer + trials;
	context->limit = context->end;
	if (context->sampler.interval != BP_SAMPLER_OFF && trials < context->end - context->pointer)
		context->limit = context->sample_at;
}

/* Between two objects a countdown may be drawn anew, since the law has no memory: but not because
 * of what it is. So a slow path that a picked byte has caused decides its object first, under the
 * old T, and takes the change up then; taking it up first would throw away a success, and that
 * alone. A refill and an object outside come whatever the countdown is, and take it up at once. */
static void take_up(struct bp_alloc_context *context)
{
	const uint64_t wanted = __atomic_load_n(&context->interval_wanted, __ATOMIC_RELAXED);
	if (bp_likely(context->sampler.interval == wanted))
		return;
	bp_sampler_set_interval(&context->sampler, wanted);
	set_countdown(context, bp_sampler_restart(&context->sampler, trials_left(context)));
}

/* Charges an object that lies `inside` the context or not. Most come here because a context was
 * full, and pass. */
static void charge(struct bp_alloc_context *context, size_t size, size_t inside,
	struct bp_decision *ret_decision)
{
	const uint64_t left = trials_left(context);
	context->pointer += inside;
	*ret_decision = (struct bp_decision){ .interval = context->sampler.interval };
	if (size <= left || context->sampler.interval == BP_SAMPLER_OFF)
		set_countdown(context, left - size);
	else
		set_countdown(context,
			bp_sampler_decide(&context->sampler, left - size, size - 1, ret_decision));
}

void bp_alloc_context_init(
	struct bp_alloc_context *context, uint64_t seed, uint64_t interval, uint32_t law)
{
	*context = (struct bp_alloc_context){ .interval_wanted = interval };
	bp_sampler_init(&context->sampler, seed, interval, law);
}

bool bp_alloc_context_slow(
	struct bp_alloc_context *context, size_t size, struct bp_decision *ret_decision)
{
	if (size > context->end - context->pointer)
		return false;
	charge(context, size, size, ret_decision);
	take_up(context);
	return true;
}

void bp_alloc_context_refill(struct bp_alloc_context *context, uintptr_t start, uintptr_t end)
{
	const uint64_t left = trials_left(context);
	context->pointer = start;
	context->end = end;
	set_countdown(context, left);
	take_up(context);
}

void bp_alloc_context_leave(struct bp_alloc_context *context)
{
	const uint64_t left = trials_left(context);
	context->pointer = context->end = 0;
	set_countdown(context, left);
}

void bp_alloc_context_outside(
	struct bp_alloc_context *context, size_t size, struct bp_decision *ret_decision)
{
	take_up(context);
	charge(context, size, 0, ret_decision);
}

void bp_alloc_context_ask_interval(struct bp_alloc_context *context, uint64_t interval)
{
	__atomic_store_n(&context->interval_wanted, interval, __ATOMIC_RELAXED);
}

void bp_alloc_context_set_interval(struct bp_alloc_context *context, uint64_t interval)
{
	bp_alloc_context_ask_interval(context, interval);
	take_up(context);
}
