/* SPDX-License-Identifier: MIT */
/*
 * See sampled_heap.h. It follows docs/hosts.md step by step; beyond that page's example it has a
 * stack of functions (inside.h), labels, and reallocation that may fail.
 *
 * Nothing here calls Duktape: Duktape is in the middle of something whenever it allocates. Types are
 * not known, because Duktape does not say what it allocates for.
 */
#include "sampled_heap.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inside.h"

static char name[40]; /* of the runtime, with its version */
static struct bp_host *host;
static struct bp_host_options settings = {
	.name = name, .charge = BP_SAMPLER_CHARGE, .follows_control = true
};
static uint32_t heaps_begun;

static uint64_t trials(const struct sampled_heap *heap)
{
	return bp_sampler_trials(&heap->sampler, heap->hot.trials_left);
}

bool sampled_heaps_open(char *problem)
{
	snprintf(name, sizeof name, "Duktape %ld.%ld.%ld", DUK_VERSION / 10000,
		DUK_VERSION / 100 % 100, DUK_VERSION % 100);
	if (!bp_host_settings(&settings, problem))
		return false;
	host = bp_host_open(&settings);
	if (host == NULL)
		bp_host_open_problem(&settings, errno, problem);
	return host != NULL;
}

void sampled_heaps_close(void)
{
	bp_host_close(host);
	host = NULL;
}

void sampled_heap_begin(struct sampled_heap *heap, const char *thread_name, size_t limit)
{
	const uint64_t number = __atomic_add_fetch(&heaps_begun, 1, __ATOMIC_RELAXED);
	*heap = (struct sampled_heap){ .ordinal = (uint32_t)number - 1, .limit = limit };
	heap->thread = bp_host_thread(host, thread_name);
	bp_sampler_init(&heap->sampler, settings.seed + number * UINT64_C(0x9E3779B97F4A7C15),
		settings.dormant ? BP_SAMPLER_OFF : settings.interval, settings.law);
	bp_host_follow(host, heap->thread, &heap->sampler, &heap->hot);
}

void sampled_heap_made(struct sampled_heap *heap, duk_context *context)
{
	heap->context = context;
}

void sampled_heap_does(struct sampled_heap *heap, const char *what, const char *file)
{
	const uint32_t frame = bp_host_frame(host, what, file, 0);
	heap->outside = bp_host_stack(host, &frame, 1, false);
}

void sampled_heap_labels(
	struct sampled_heap *heap, const struct bp_host_label *labels, uint32_t count)
{
	heap->labels = count == 0 ? 0 : bp_host_labels(host, labels, count);
}

void sampled_heap_end(struct sampled_heap *heap)
{
	bp_host_thread_end(host, heap->thread, trials(heap), heap->hot.objects);
}

struct frames {
	uint32_t numbers[BP_HOST_DEPTH_MAX], depth;
	bool cut;
};

static bool take_frame(const struct duktape_frame *frame, void *to)
{
	struct frames *frames = to;
	frames->cut = frames->depth == BP_HOST_DEPTH_MAX;
	if (frames->cut)
		return false;
	const char *function = frame->function[0] != '\0' ? frame->function : "(anonymous)";
	frames->numbers[frames->depth++] = bp_host_frame(host, function, frame->file, frame->line);
	return true;
}

static uint32_t stack_of(const struct sampled_heap *heap)
{
	struct frames frames;
	frames.depth = 0;
	frames.cut = false;
	if (heap->context != NULL)
		duktape_frames(heap->context, take_frame, &frames);
	if (frames.depth == 0)
		return heap->outside;
	return bp_host_stack(host, frames.numbers, frames.depth, frames.cut);
}

/* The countdown has ended within this object. */
static void __attribute__((noinline))
look(struct sampled_heap *heap, const void *object, size_t size, size_t usable)
{
	struct bp_decision decision;
	heap->hot.trials_left =
		bp_sampler_decide(&heap->sampler, heap->hot.trials_left, size, &decision);
	if (decision.sampled)
		bp_host_sampled(host, &(struct bp_host_event){ .kind = BP_HOST_SMALL,
					      .runtime = heap->ordinal,
					      .object = object,
					      .size = size,
					      .usable = usable,
					      .thread = heap->thread,
					      .stack = stack_of(heap),
					      .labels = heap->labels,
					      .decision = decision,
					      .trials = trials(heap),
					      .objects = heap->hot.objects });
	else
		bp_host_counted(host, heap->thread, trials(heap), heap->hot.objects);
	bp_host_follow(host, heap->thread, &heap->sampler, &heap->hot);
}

/* Would the heap still be within its limit, if it used `others` and an object of `size` bytes? */
static bool fits(const struct sampled_heap *heap, size_t others, size_t size)
{
	return heap->limit == 0 || (others < heap->limit && size <= heap->limit - others);
}

/* An object has been made, or could not be. */
static void *made(struct sampled_heap *heap, void *object, size_t size)
{
	if (object == NULL)
		return NULL;
	const size_t usable = malloc_usable_size(object);
	heap->used += usable;
	if (bp_sampler_crosses(&heap->hot, size))
		look(heap, object, size, usable);
	return object;
}

void *sampled_heap_alloc(void *of, duk_size_t size)
{
	struct sampled_heap *heap = of;
	return fits(heap, heap->used, size) ? made(heap, malloc(size), size) : NULL;
}

void sampled_heap_free(void *of, void *object)
{
	struct sampled_heap *heap = of;
	if (bp_host_may_hold(host, object))
		bp_host_freed(host, object, heap->thread, trials(heap), heap->hot.objects);
	heap->used -= malloc_usable_size(object);
	free(object);
}

/* A new object and a free, in this order: if there is no memory the old object lives on. */
static void *move(struct sampled_heap *heap, void *object, size_t size, size_t room)
{
	void *copy = malloc(size);
	if (copy == NULL)
		return NULL;
	memcpy(copy, object, size < room ? size : room);
	sampled_heap_free(heap, object);
	return made(heap, copy, size);
}

void *sampled_heap_realloc(void *of, void *object, duk_size_t size)
{
	struct sampled_heap *heap = of;
	if (object == NULL)
		return sampled_heap_alloc(heap, size);
	if (size == 0) {
		sampled_heap_free(heap, object);
		return NULL;
	}
	const size_t room = malloc_usable_size(object);
	if (!fits(heap, heap->used - room, size))
		return NULL;
	/* realloc may fail, or give the old memory to another thread before it returns: so its free
	 * can be recorded neither before nor after, and a sample is moved by hand. */
	if (bp_host_holds(host, object))
		return move(heap, object, size, room);
	void *resized = realloc(object, size);
	if (resized != NULL)
		heap->used -= room;
	return made(heap, resized, size);
}
