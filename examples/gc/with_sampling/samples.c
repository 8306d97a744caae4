/* SPDX-License-Identifier: MIT */
/*
 * See samples.h. A sample is told when the object has its type and nothing else. Three moments of a
 * thread are told beside: its begin, its counters at every collection, its end. A collection asks
 * of each live sample where it is now, so that nothing is added to the copying of the others.
 */
#include "samples.h"

#include "heap.h"

void gc_samples_init(struct gc_samples *samples, struct bp_host *host, uint64_t seed,
	uint64_t interval, uint32_t law)
{
	*samples = (struct gc_samples){
		.host = host,
		.seed = seed,
		.interval = interval,
		.interval_first = interval,
		.law = law,
	};
}

void gc_samples_type(struct gc_samples *samples, struct gc_type *type)
{
	size_t bytes = 0;
	while (type->name[bytes] != '\0')
		bytes++;
	type->number = bp_host_type(samples->host, type->name, bytes);
}

/* Threads must not share their draws: each has a seed of its own, in the order of their begin. The
 * lock of the heap is held. */
void gc_samples_thread_begin(struct gc_thread *thread, const char *name)
{
	struct gc_samples *samples = thread->heap->samples;
	if (samples == NULL) {
		bp_alloc_context_init(&thread->context, 0, BP_SAMPLER_OFF, BP_SAMPLER_EXACT);
		return;
	}
	const uint64_t seed = samples->seed + ++samples->threads * UINT64_C(0x9E3779B97F4A7C15);
	bp_alloc_context_init(&thread->context, seed, samples->interval, samples->law);
	thread->interval = samples->interval;
	thread->number = bp_host_thread(samples->host, name);
	if (samples->interval != samples->interval_first)
		bp_host_interval(samples->host, thread->number, samples->interval, 0, 0);
}

void gc_samples_thread_end(struct gc_thread *thread)
{
	struct gc_samples *samples = thread->heap->samples;
	if (samples != NULL)
		bp_host_thread_end(samples->host, thread->number, gc_samples_bytes(thread), 0);
}

void gc_samples_set_interval(struct gc_heap *heap, uint64_t interval)
{
	pthread_mutex_lock(&heap->lock);
	heap->samples->interval = interval;
	for (struct gc_thread *thread = heap->threads; thread != NULL; thread = thread->next)
		bp_alloc_context_ask_interval(&thread->context, interval);
	pthread_mutex_unlock(&heap->lock);
}

void gc_samples_interval_changed(struct gc_thread *thread, uint64_t interval, uint64_t allocated)
{
	struct gc_samples *samples = thread->heap->samples;
	thread->interval = interval;
	if (samples != NULL)
		bp_host_interval(samples->host, thread->number, interval, allocated, 0);
}

void gc_samples_push(
	struct gc_thread *thread, const char *function, const char *file, uint32_t line)
{
	struct gc_samples *samples = thread->heap->samples;
	if (samples != NULL && thread->depth < GC_FRAMES_MAX)
		thread->frames[thread->depth] = bp_host_frame(samples->host, function, file, line);
	thread->depth++;
}

void gc_samples_pop(struct gc_thread *thread)
{
	thread->depth--;
}

uint64_t gc_samples_bytes(const struct gc_thread *thread)
{
	return bp_alloc_context_bytes(&thread->context);
}

static uint32_t stack_of(const struct gc_thread *thread)
{
	uint32_t innermost_first[GC_FRAMES_MAX];
	const bool cut = thread->depth > GC_FRAMES_MAX;
	const uint32_t depth = cut ? GC_FRAMES_MAX : thread->depth;
	for (uint32_t i = 0; i < depth; i++)
		innermost_first[i] = thread->frames[depth - 1 - i];
	return bp_host_stack(thread->heap->samples->host, innermost_first, depth, cut);
}

void gc_samples_tell(struct gc_thread *thread, const struct gc_object *object, size_t bytes,
	enum bp_host_kind kind, const struct bp_decision *decision)
{
	struct gc_samples *samples = thread->heap->samples;
	if (samples == NULL)
		return;
	__atomic_fetch_add(&samples->told, 1, __ATOMIC_RELAXED);
	if (samples->host == NULL)
		return;
	(void)bp_host_sampled(samples->host, &(struct bp_host_event){
						     .kind = (uint8_t)kind,
						     .type = object->type->number,
						     .type_id = (uint64_t)(uintptr_t)object->type,
						     .object = object,
						     .size = bytes,
						     .usable = bytes,
						     .thread = thread->number,
						     .stack = stack_of(thread),
						     .decision = *decision,
						     .trials = gc_samples_bytes(thread),
					     });
}

static bool survived(const void *object, void *context)
{
	struct gc_heap *heap = context;
	const struct gc_object *now = gc_survivor(heap, object);
	if (now != NULL && now != object)
		bp_host_moved(heap->samples->host, object, now);
	return now != NULL;
}

void gc_samples_collected(struct gc_heap *heap)
{
	struct gc_samples *samples = heap->samples;
	if (samples == NULL)
		return;
	bp_host_sweep(samples->host, survived, heap);
	bp_host_moves_end(samples->host);
	for (struct gc_thread *thread = heap->threads; thread != NULL; thread = thread->next)
		bp_host_counted(samples->host, thread->number, gc_samples_bytes(thread), 0);
}
