/* SPDX-License-Identifier: MIT */
/*
 * See mixed_heap.h. Which objects are sampled is drawn by the gaps between them, so that a heap
 * costs no more than its samples, where nothing is replaced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "estimate/estimate.h"
#include "mixed_heap.h"
#include "small_profile.h"

struct builder {
	struct mixed_heap *heap;
	struct stream *stream;
	struct bp_process_id process;
	struct bp_stack_id stack;
	uint64_t events, births, interval, size;
	double inclusion;
	uint32_t *samples; /* by object of the phase; 0: not sampled */
};

uint64_t mixed_size(const struct mixed_phase *phase)
{
	const uint64_t trials = (uint64_t)llround(phase->trials * (double)MIXED_INTERVAL);
	return trials > 1 ? trials - 1 : 1;
}

uint64_t mixed_objects(const struct mixed_phase *phase)
{
	const double trials = (double)mixed_size(phase) + 1;
	const uint64_t count = (uint64_t)llround(phase->live * (double)MIXED_INTERVAL / trials);
	return count > 1 ? count : 1;
}

static uint64_t replacements(const struct mixed_phase *phase)
{
	return (uint64_t)llround(phase->turnovers * (double)mixed_objects(phase));
}

static uint64_t interval_of(const struct mixed_phase *phase)
{
	return (uint64_t)llround(
		(phase->interval > 0 ? phase->interval : 1) * (double)MIXED_INTERVAL);
}

static uint64_t ns_of(uint64_t events)
{
	return SMALL_BASE_NS + (events + 1) * MIXED_EVENT_NS;
}

static void sample(struct builder *builder, uint64_t object, uint64_t event)
{
	struct bp_profile *profile = &builder->heap->profile;
	struct bp_sample *made =
		small_sample(profile, builder->process, builder->stack, builder->size, 0, -1);
	made->time_ns = ns_of(event);
	made->sequence = 2 * event;
	made->interval = builder->interval;
	made->exact = builder->size + 1 >= builder->interval;
	builder->samples[object] = profile->added.count - 1;
}

static void die(struct builder *builder, uint64_t object, uint64_t event)
{
	const uint32_t number = builder->samples[object];
	if (number == 0)
		return;
	struct bp_sample *dead = &builder->heap->profile.added.data[number];
	dead->free_time_ns = ns_of(event);
	dead->free_sequence = 2 * event + 1;
	builder->samples[object] = 0;
}

/* Failures before the next object that is sampled. */
static uint64_t gap(struct builder *builder)
{
	if (builder->inclusion >= 1)
		return 0;
	return (uint64_t)fmin(
		0x1p60, floor(log(stream_uniform(builder->stream)) / log1p(-builder->inclusion)));
}

static void make_phase(struct builder *builder, const struct mixed_phase *phase)
{
	const uint64_t objects = mixed_objects(phase), steps = replacements(phase);
	builder->size = mixed_size(phase);
	builder->interval = interval_of(phase);
	builder->inclusion =
		builder->size + 1 >= builder->interval
			? 1
			: bp_inclusion_probability(builder->size + 1, builder->interval);
	builder->samples = calloc(objects, sizeof *builder->samples);
	assert_non_null(builder->samples);
	for (uint64_t i = gap(builder); i < objects; i += 1 + gap(builder))
		sample(builder, i, builder->events + i);
	builder->events += objects;
	for (uint64_t step = 0; step < steps; step++, builder->events += 2) {
		const uint64_t object =
			(uint64_t)(stream_uniform(builder->stream) * (double)objects);
		die(builder, object, builder->events);
		if (stream_uniform(builder->stream) < builder->inclusion)
			sample(builder, object, builder->events + 1);
	}
	builder->births += objects + steps;
	if (!phase->kept) {
		for (uint64_t i = 0; i < objects; i++)
			die(builder, i, builder->events + i);
		builder->events += objects;
	}
	free(builder->samples);
}

/* The largest moment, and what was allocated in all. */
static uint64_t add_up(struct mixed_heap *heap)
{
	double kept = 0;
	uint64_t allocated = 0;
	heap->peak_bytes = 0;
	for (unsigned i = 0; i < heap->plan->phase_count; i++) {
		const struct mixed_phase *phase = &heap->plan->phases[i];
		const double bytes = (double)(mixed_objects(phase) * mixed_size(phase));
		heap->peak_bytes = fmax(heap->peak_bytes, kept + bytes);
		kept += phase->kept ? bytes : 0;
		allocated += (mixed_objects(phase) + replacements(phase)) * mixed_size(phase);
	}
	return allocated;
}

void mixed_make(struct mixed_heap *heap, const struct mixed_plan *plan, struct stream *stream)
{
	static const char *const names[MIXED_ROWS] = { "row0;main", "row1;main", "row2;main",
		"row3;main" };
	struct builder builder = { .heap = heap, .stream = stream };
	uint64_t least = UINT64_MAX, most = 0, smallest = UINT64_MAX;
	*heap = (struct mixed_heap){ .plan = plan };
	small_init(&heap->profile);
	builder.process = small_process(&heap->profile, 1, 1, 0, 0, 0, MIXED_INTERVAL);
	for (unsigned i = 0; i < plan->phase_count; i++) {
		const struct mixed_phase *phase = &plan->phases[i];
		const uint64_t interval = interval_of(phase), size = mixed_size(phase);
		heap->first_events[i] = builder.events;
		builder.stack = small_stack(&heap->profile, names[phase->row]);
		make_phase(&builder, phase);
		least = interval < least ? interval : least;
		most = interval > most ? interval : most;
		smallest = size < smallest ? size : smallest;
	}
	struct bp_process *process = &heap->profile.processes.data[builder.process.i];
	process->end_time_ns = ns_of(builder.events) + SMALL_SECOND;
	process->size_min = smallest;
	process->interval_min = least;
	process->interval_max = most;
	const uint64_t allocated = add_up(heap);
	small_totals(&heap->profile, builder.process, allocated, allocated, builder.births,
		builder.births);
}

void mixed_finish(struct mixed_heap *heap)
{
	bp_profile_finish(&heap->profile);
}

/* Objects of a phase that are live so many events after its first one. */
static uint64_t live_after(const struct mixed_phase *phase, uint64_t events)
{
	const uint64_t objects = mixed_objects(phase), churned = 2 * replacements(phase);
	if (events < objects)
		return events;
	if (events < objects + churned)
		return objects - (events - objects) % 2;
	if (phase->kept)
		return objects;
	const uint64_t dead = events - objects - churned;
	return dead < objects ? objects - dead : 0;
}

double mixed_row(const struct mixed_heap *heap, unsigned row, bool objects, uint64_t time_ns)
{
	const uint64_t events = time_ns / MIXED_EVENT_NS;
	double sum = 0;
	for (unsigned i = 0; i < heap->plan->phase_count; i++) {
		const struct mixed_phase *phase = &heap->plan->phases[i];
		if (phase->row == row && events > heap->first_events[i])
			sum += (double)(live_after(phase, events - heap->first_events[i]) *
					(objects ? 1 : mixed_size(phase)));
	}
	return sum;
}
