/* SPDX-License-Identifier: MIT */
/* The slow path as it was before there was sampling: the context is full, or the object is large.
 * */
#include "heap.h"

static struct gc_object *allocate_still(
	struct gc_thread *thread, const struct gc_type *type, size_t bytes)
{
	struct gc_object *object = gc_allocate_still(thread, bytes);
	object->type = type;
	return object;
}

struct gc_object *gc_allocate_slow(
	struct gc_thread *thread, const struct gc_type *type, size_t bytes)
{
	if (bytes >= GC_LARGE_BYTES)
		return allocate_still(thread, type, bytes);
	gc_refill(thread, bytes);
	struct gc_object *object = (struct gc_object *)thread->context.pointer;
	thread->context.pointer += bytes;
	object->type = type;
	return object;
}

struct gc_object *gc_allocate_pinned(
	struct gc_thread *thread, const struct gc_type *type, size_t bytes)
{
	return allocate_still(thread, type, bytes);
}
