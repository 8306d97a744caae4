/* SPDX-License-Identifier: MIT */
/*
 * The sampler for allocators that hand out memory by moving a pointer (allocation contexts of
 * garbage collectors, arenas, thread-local buffers): at no cost at all on their fast path.
 *
 * Such an allocator compares already: does the object fit before the end of the context? The
 * sampled byte is folded into that comparison. `limit` is min(end of the context, sampled byte),
 * and the fast path of the host stays what it was, reading `limit` where it read its own end:
 *
 *	if (size > context->limit - context->pointer)
 *		return slow_path(size);
 *	object = context->pointer;
 *	context->pointer += size;
 *
 * The slow path asks bp_alloc_context_slow, which tells a context that is full from a byte that was
 * sampled, or finds both, one after the other:
 *
 *	while (!bp_alloc_context_slow(context, size, &decision))
 *		... get memory; bp_alloc_context_refill(context, start, end) ...
 *	object = context->pointer - size;
 *	if (decision.sampled)
 *		... tell ...
 *
 * A trial is a byte of the object as the host sizes it (header and rounding included), so an object
 * of `size` bytes makes `size` trials and the charge is 0: estimates of bytes are of those sizes.
 * What is left at the end of a context when it is given up makes no trial.
 *
 * The countdown is independent of contexts: it goes on from one to the next (`sample_at`, the
 * explicit sampling limit). The other way, to draw anew at every refill and keep nothing (the
 * implicit one), has the same law and costs a draw per context.
 *
 * While sampling is off `limit` is the end of the context and nothing else. Bytes are counted
 * exactly all the same: bp_alloc_context_bytes.
 *
 * Objects that are allocated elsewhere (large ones, other heaps) go through
 * bp_alloc_context_outside, and make their trials with the same countdown. Lists of objects handed
 * out at once: bytepoll/sampler.h, bp_sampler_charge_list.
 *
 * Freestanding: no libc, no libm. Thread-safety: a context belongs to one thread, or to whoever has
 * stopped it; bp_alloc_context_ask_interval may be called by any.
 */
#ifndef BYTEPOLL_ALLOC_CONTEXT_H
#define BYTEPOLL_ALLOC_CONTEXT_H

#include "bytepoll/sampler.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first two are the host's fast path; the rest is touched on its slow path alone. Addresses. */
struct bp_alloc_context {
	uintptr_t pointer;   /* next free byte: the host adds to it what it allocates */
	uintptr_t limit;     /* min(end, sample_at); end while sampling is off */
	uintptr_t end;	     /* of the memory that the host gave */
	uintptr_t sample_at; /* pointer plus the failed trials left; it may lie behind the end */
	uint64_t interval_wanted; /* T to be taken up; written by any thread */
	struct bp_sampler sampler;
};

/* An empty context. Interval, law and seed: see bp_sampler_init. */
void bp_alloc_context_init(
	struct bp_alloc_context *context, uint64_t seed, uint64_t interval, uint32_t law);

/* To be called when an object of `size` >= 1 bytes did not fit before `limit`. False: it does not
 * fit before the end either; nothing was decided and nothing changed, refill and ask again. True:
 * it is the `size` bytes before `pointer` now, and `ret_decision` says whether it was sampled. */
bool bp_alloc_context_slow(
	struct bp_alloc_context *context, size_t size, struct bp_decision *ret_decision);

/* The context is now [start, end); what was left of the old one is given up. */
void bp_alloc_context_refill(struct bp_alloc_context *context, uintptr_t start, uintptr_t end);

/* The context is given up, and empty until the next refill: before a collection moves or frees what
 * it points into, before its thread ends. The countdown stays. `pointer` must still be the host's.
 * */
void bp_alloc_context_leave(struct bp_alloc_context *context);

/* An object of `size` >= 1 bytes was allocated outside the context. */
void bp_alloc_context_outside(
	struct bp_alloc_context *context, size_t size, struct bp_decision *ret_decision);

/* Changes T, or switches sampling off (BP_SAMPLER_OFF) or on: from the next object on. By the
 * thread of the context. */
void bp_alloc_context_set_interval(struct bp_alloc_context *context, uint64_t interval);

/* The same from any thread: the context takes it up at its next refill, or behind the next object
 * that takes the slow path, whichever comes first. */
void bp_alloc_context_ask_interval(struct bp_alloc_context *context, uint64_t interval);

/* Bytes allocated so far, in the context and outside. */
static inline uint64_t bp_alloc_context_bytes(const struct bp_alloc_context *context)
{
	return bp_sampler_trials(&context->sampler, context->sample_at - context->pointer);
}

#ifdef __cplusplus
}
#endif

#endif
