/* SPDX-License-Identifier: MIT */
/*
 * The collection (C. J. Cheney, "A nonrecursive list compacting algorithm", 1970): what the roots
 * reach is copied to a new space, which is then walked from its start, what the copies reach is
 * copied behind them, and so on until there is nothing behind. Objects that are never moved are put
 * on a list, to be walked likewise, when they are first met.
 *
 * It is handed the stopped world and knows no threads but their roots.
 */
#include "heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool is_in(const struct gc_space *space, const void *object)
{
	return (const char *)object >= space->start && (const char *)object < space->end;
}

static struct gc_still *still_of(const struct gc_object *object)
{
	return (struct gc_still *)(uintptr_t)((const char *)object -
					      offsetof(struct gc_still, object));
}

static bool is_forwarded(const struct gc_object *object)
{
	return (uintptr_t)object->type & 1;
}

static struct gc_object *forwarded(const struct gc_object *object)
{
	return (struct gc_object *)((uintptr_t)object->type & ~(uintptr_t)1);
}

static size_t bytes_of(const struct gc_object *object)
{
	return gc_bytes(object->type, object->elements);
}

static struct gc_object *copy(struct gc_heap *heap, struct gc_space *to, struct gc_object *object)
{
	const size_t bytes = bytes_of(object);
	struct gc_object *moved = (struct gc_object *)to->next;
	memcpy(moved, object, bytes);
	to->next += bytes;
	object->type = (const struct gc_type *)((uintptr_t)moved | 1);
	heap->totals.moved_objects++;
	heap->totals.moved_bytes += bytes;
	return moved;
}

static void update(struct gc_heap *heap, struct gc_space *to, struct gc_object **place)
{
	struct gc_object *object = *place;
	if (object == NULL || is_in(to, object))
		return;
	if (is_in(&heap->space, object)) {
		*place = is_forwarded(object) ? forwarded(object) : copy(heap, to, object);
		return;
	}
	struct gc_still *still = still_of(object);
	if (still->marked)
		return;
	still->marked = true;
	still->grey = heap->grey;
	heap->grey = still;
}

static void scan(struct gc_heap *heap, struct gc_space *to, struct gc_object *object)
{
	const struct gc_type *type = object->type;
	for (uint32_t i = 0; i < type->references; i++)
		update(heap, to, &object->fields[i]);
	if (!type->of_references)
		return;
	struct gc_object **elements = (struct gc_object **)((char *)object + type->bytes);
	for (uint64_t i = 0; i < object->elements; i++)
		update(heap, to, &elements[i]);
}

static void scan_all(struct gc_heap *heap, struct gc_space *to)
{
	char *next = to->start;
	while (next < to->next || heap->grey != NULL) {
		if (next < to->next) {
			struct gc_object *object = (struct gc_object *)next;
			scan(heap, to, object);
			next += bytes_of(object);
		} else {
			struct gc_still *still = heap->grey;
			heap->grey = still->grey;
			scan(heap, to, (struct gc_object *)still->object);
		}
	}
}

struct gc_object *gc_survivor(struct gc_heap *heap, const struct gc_object *object)
{
	if (is_in(&heap->space, object))
		return is_forwarded(object) ? forwarded(object) : NULL;
	struct gc_still *still = still_of(object);
	return still->marked ? (struct gc_object *)still->object : NULL;
}

static void free_unmarked(struct gc_heap *heap)
{
	struct gc_still **place = &heap->still;
	while (*place != NULL) {
		struct gc_still *still = *place;
		if (still->marked) {
			still->marked = false;
			place = &still->next;
			continue;
		}
		*place = still->next;
		munmap(still, still->bytes);
	}
}

/* The new space could hold all there is. What it will not need is given back at once, so that the
 * next collection comes when as much has been allocated as lives now, and `space_bytes` at least.
 * */
void gc_copy_all(struct gc_heap *heap, size_t bytes)
{
	const size_t used = (size_t)(heap->space.next - heap->space.start);
	const size_t room = 2 * used + bytes + heap->space_bytes;
	struct gc_space to;
	to.start = to.next = mmap(NULL, room, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (to.start == MAP_FAILED) {
		fprintf(stderr, "gc: no memory for %zu bytes\n", room);
		exit(1);
	}
	to.end = to.start + room;
	for (struct gc_thread *thread = heap->threads; thread != NULL; thread = thread->next)
		for (uint32_t i = 0; i < thread->root_count; i++)
			update(heap, &to, thread->roots[i]);
	scan_all(heap, &to);
	gc_samples_collected(heap);
	free_unmarked(heap);
	munmap(heap->space.start, (size_t)(heap->space.end - heap->space.start));
	size_t live = (size_t)(to.next - to.start);
	size_t wanted = (2 * live + bytes + heap->space_bytes + 4095) & ~(size_t)4095;
	if (wanted < room) {
		munmap(to.start + wanted, room - wanted);
		to.end = to.start + wanted;
	}
	heap->space = to;
}
