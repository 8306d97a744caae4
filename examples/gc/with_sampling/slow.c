/* SPDX-License-Identifier: MIT */
/*
 * The slow path with sampling: the context is full, or a byte of the object was picked, or both, or
 * the object is large. Whether it is sampled is decided before anybody is told, and by nobody here.
 */
#include "heap.h"
#include "samples.h"

/* Nearly always there is nothing to tell. */
static bool is_worth_telling(const struct gc_thread *thread, const struct bp_decision *decision)
{
	return decision->sampled || thread->context.sampler.interval != thread->interval;
}

/* T may be another before the object (at a refill) and behind it. */
static void tell(struct gc_thread *thread, const struct gc_object *object, size_t bytes,
	enum bp_host_kind kind, const struct bp_decision *decision)
{
	const uint64_t interval = thread->context.sampler.interval;
	if (decision->interval != thread->interval)
		gc_samples_interval_changed(
			thread, decision->interval, gc_samples_bytes(thread) - bytes);
	if (decision->sampled)
		gc_samples_tell(thread, object, bytes, kind, decision);
	if (interval != thread->interval)
		gc_samples_interval_changed(thread, interval, gc_samples_bytes(thread));
}

struct gc_object *gc_allocate_slow(
	struct gc_thread *thread, const struct gc_type *type, size_t bytes)
{
	struct bp_decision decision;
	struct gc_object *object;
	if (bytes >= GC_LARGE_BYTES) {
		object = gc_allocate_still(thread, bytes);
		bp_alloc_context_outside(&thread->context, bytes, &decision);
	} else {
		while (!bp_alloc_context_slow(&thread->context, bytes, &decision))
			gc_refill(thread, bytes);
		object = (struct gc_object *)(thread->context.pointer - bytes);
	}
	object->type = type;
	if (is_worth_telling(thread, &decision))
		tell(thread, object, bytes, bytes >= GC_LARGE_BYTES ? BP_HOST_LARGE : BP_HOST_SMALL,
			&decision);
	return object;
}

struct gc_object *gc_allocate_pinned(
	struct gc_thread *thread, const struct gc_type *type, size_t bytes)
{
	struct bp_decision decision;
	struct gc_object *object = gc_allocate_still(thread, bytes);
	bp_alloc_context_outside(&thread->context, bytes, &decision);
	object->type = type;
	if (is_worth_telling(thread, &decision))
		tell(thread, object, bytes, BP_HOST_PINNED, &decision);
	return object;
}
