/* SPDX-License-Identifier: MIT */
/*
 * The form of the allocation context that was not chosen, kept as an executable specification and
 * to be measured against (bench/contexts.py): the implicit sampling limit. A context that is given
 * up takes its countdown with it, whatever that was, and the next one draws its own; so nothing
 * would have to be kept between contexts. bytepoll/alloc_context.h keeps the countdown
 * (`sample_at`) and draws only after a sample. Same law; docs/embedding.md has the figures. For
 * tests and measurements only.
 */
#ifndef BP_TESTS_SAMPLER_IMPLICIT_CONTEXT_H
#define BP_TESTS_SAMPLER_IMPLICIT_CONTEXT_H

#include "bytepoll/alloc_context.h"

/* In place of bp_alloc_context_refill. Discards without looking at what is discarded: whether a
 * refill comes depends on sizes and addresses alone. */
static inline void implicit_context_refill(
	struct bp_alloc_context *context, uintptr_t start, uintptr_t end)
{
	struct bp_sampler *sampler = &context->sampler;
	bp_sampler_set_interval(sampler, context->interval_wanted);
	const uint64_t trials = bp_sampler_restart(sampler, context->sample_at - context->pointer);
	context->pointer = start;
	context->limit = context->end = end;
	context->sample_at = start + trials; /* for the count of bytes */
	if (sampler->interval != BP_SAMPLER_OFF && trials < end - start)
		context->limit = context->sample_at;
}

#endif
