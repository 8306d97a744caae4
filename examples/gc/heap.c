/* SPDX-License-Identifier: MIT */
/*
 * Contexts, threads, and stopping them. All of it is slow path and takes the heap's lock; a thread
 * that allocates comes here once per context. A collection begins when all threads that run have
 * come, or wait for something else.
 */
#include "heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define CONTEXT_BYTES 8192
#define SPACE_BYTES ((size_t)64 << 20)
#define STILL_BYTES_PER_COLLECTION ((size_t)256 << 20)

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		fprintf(stderr, "gc: no memory for %zu bytes\n", bytes);
		exit(1);
	}
	return memory;
}

struct gc_heap *gc_create(const struct gc_options *options)
{
	struct gc_heap *heap = map(sizeof *heap);
	pthread_mutex_init(&heap->lock, NULL);
	pthread_cond_init(&heap->changed, NULL);
	heap->context_bytes = options->context_bytes != 0 ? options->context_bytes : CONTEXT_BYTES;
	heap->space_bytes = options->space_bytes != 0 ? options->space_bytes : SPACE_BYTES;
	heap->samples = options->samples;
	heap->space.start = heap->space.next = map(heap->space_bytes);
	heap->space.end = heap->space.start + heap->space_bytes;
	return heap;
}

void gc_destroy(struct gc_heap *heap)
{
	for (struct gc_still *still = heap->still; still != NULL;) {
		struct gc_still *next = still->next;
		munmap(still, still->bytes);
		still = next;
	}
	munmap(heap->space.start, (size_t)(heap->space.end - heap->space.start));
	pthread_cond_destroy(&heap->changed);
	pthread_mutex_destroy(&heap->lock);
	munmap(heap, sizeof *heap);
}

struct gc_totals gc_totals(struct gc_heap *heap)
{
	pthread_mutex_lock(&heap->lock);
	const struct gc_totals totals = heap->totals;
	pthread_mutex_unlock(&heap->lock);
	return totals;
}

/* ---- stopping; the lock is held ---- */

static void come_to_a_stop(struct gc_heap *heap)
{
	while (heap->stopping) {
		heap->running--;
		pthread_cond_broadcast(&heap->changed);
		pthread_cond_wait(&heap->changed, &heap->lock);
		heap->running++;
	}
}

static void collect(struct gc_heap *heap, size_t bytes)
{
	heap->stopping = true;
	while (heap->running > 1)
		pthread_cond_wait(&heap->changed, &heap->lock);
	for (struct gc_thread *thread = heap->threads; thread != NULL; thread = thread->next)
		gc_context_leave(&thread->context);
	gc_copy_all(heap, bytes);
	heap->totals.collections++;
	heap->still_bytes = 0;
	heap->stopping = false;
	pthread_cond_broadcast(&heap->changed);
}

/* ---- threads ---- */

void gc_thread_begin(struct gc_heap *heap, struct gc_thread *thread, const char *name)
{
	*thread = (struct gc_thread){ .heap = heap };
	pthread_mutex_lock(&heap->lock);
	while (heap->stopping)
		pthread_cond_wait(&heap->changed, &heap->lock);
	gc_samples_thread_begin(thread, name);
	heap->running++;
	thread->next = heap->threads;
	heap->threads = thread;
	pthread_mutex_unlock(&heap->lock);
}

void gc_thread_end(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;
	struct gc_thread **place = &heap->threads;
	pthread_mutex_lock(&heap->lock);
	come_to_a_stop(heap);
	gc_context_leave(&thread->context);
	gc_samples_thread_end(thread);
	while (*place != thread)
		place = &(*place)->next;
	*place = thread->next;
	heap->running--;
	pthread_mutex_unlock(&heap->lock);
}

void gc_thread_wait_begin(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;
	pthread_mutex_lock(&heap->lock);
	heap->running--;
	pthread_cond_broadcast(&heap->changed);
	pthread_mutex_unlock(&heap->lock);
}

void gc_thread_wait_end(struct gc_thread *thread)
{
	struct gc_heap *heap = thread->heap;
	pthread_mutex_lock(&heap->lock);
	while (heap->stopping)
		pthread_cond_wait(&heap->changed, &heap->lock);
	heap->running++;
	pthread_mutex_unlock(&heap->lock);
}

void gc_root(struct gc_thread *thread, struct gc_object **place)
{
	if (thread->root_count == GC_ROOTS_MAX) {
		fprintf(stderr, "gc: more than %d roots\n", GC_ROOTS_MAX);
		exit(1);
	}
	thread->roots[thread->root_count++] = place;
}

void gc_unroot(struct gc_thread *thread, unsigned count)
{
	thread->root_count -= count;
}

void gc_safepoint(struct gc_thread *thread)
{
	pthread_mutex_lock(&thread->heap->lock);
	come_to_a_stop(thread->heap);
	pthread_mutex_unlock(&thread->heap->lock);
}

void gc_collect(struct gc_thread *thread)
{
	pthread_mutex_lock(&thread->heap->lock);
	come_to_a_stop(thread->heap);
	collect(thread->heap, 0);
	pthread_mutex_unlock(&thread->heap->lock);
}

/* ---- memory ---- */

void gc_refill(struct gc_thread *thread, size_t bytes)
{
	struct gc_heap *heap = thread->heap;
	struct gc_space *space = &heap->space;
	pthread_mutex_lock(&heap->lock);
	come_to_a_stop(heap);
	if (bytes < heap->context_bytes)
		bytes = heap->context_bytes;
	if (bytes > (size_t)(space->end - space->next))
		collect(heap, bytes);
	gc_context_refill(&thread->context, (uintptr_t)space->next, (uintptr_t)space->next + bytes);
	space->next += bytes;
	heap->totals.refills++;
	pthread_mutex_unlock(&heap->lock);
}

struct gc_object *gc_allocate_still(struct gc_thread *thread, size_t bytes)
{
	struct gc_heap *heap = thread->heap;
	pthread_mutex_lock(&heap->lock);
	come_to_a_stop(heap);
	if (heap->still_bytes > STILL_BYTES_PER_COLLECTION)
		collect(heap, 0);
	struct gc_still *still = map(sizeof *still + bytes);
	still->bytes = sizeof *still + bytes;
	still->next = heap->still;
	heap->still = still;
	heap->still_bytes += still->bytes;
	pthread_mutex_unlock(&heap->lock);
	return (struct gc_object *)still->object;
}
