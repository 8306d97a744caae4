/* SPDX-License-Identifier: MIT */
/*
 * The fast path: one comparison. It is the same machine code with sampling and without
 * (tests/scenario/test_gc.py compares the bytes): `limit` is the end of the context in the one, and
 * whichever comes first of that and the sampled byte in the other.
 */
#include "gc.h"

struct gc_object *gc_allocate(struct gc_thread *thread, const struct gc_type *type, size_t bytes)
{
	struct gc_object *object = (struct gc_object *)thread->context.pointer;
	if (bytes > thread->context.limit - thread->context.pointer)
		return gc_allocate_slow(thread, type, bytes);
	thread->context.pointer += bytes;
	object->type = type;
	return object;
}
