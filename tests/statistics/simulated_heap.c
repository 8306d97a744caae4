/* SPDX-License-Identifier: MIT */
/*
 * See simulated_heap.h. The live objects are an array of slots, each with its row and, if the
 * object was sampled, the number of its sample. A replaced object gives its slot, and so its row,
 * to the new one: the size of every row is known all the time without counting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulated_heap.h"
#include "small_profile.h"

struct slot {
	uint32_t sample; /* 0: not sampled */
	uint32_t row;
};

struct builder {
	struct heap *heap;
	struct stream *stream;
	struct bp_process_id process;
	struct bp_stack_id stacks[HEAP_ROWS];
	struct slot *slots;
	uint32_t live, most;
	uint32_t of_rows[HEAP_ROWS];
	double inclusion;
	uint64_t births, capacity; /* of the history */
};

/* Shares of the rows: a half, .3, .15, .05. */
static uint32_t row_of(const struct builder *builder, uint32_t slot)
{
	double place = (slot + .5) / builder->most;
	return place < .5 ? 0 : place < .8 ? 1 : place < .95 ? 2 : 3;
}

static void end_event(struct builder *builder)
{
	struct heap *heap = builder->heap;
	heap->events++;
	if (heap->live_of_rows == NULL)
		return;
	assert_true(heap->events < builder->capacity);
	memcpy(heap->live_of_rows[heap->events], builder->of_rows, sizeof builder->of_rows);
}

static uint64_t now_ns(const struct builder *builder)
{
	return SMALL_BASE_NS + (builder->heap->events + 1) * HEAP_EVENT_NS;
}

static void be_born(struct builder *builder, uint32_t slot, uint32_t row)
{
	struct bp_profile *profile = &builder->heap->profile;
	builder->slots[slot] = (struct slot){ 0, row };
	builder->of_rows[row]++;
	builder->births++;
	if (stream_uniform(builder->stream) < builder->inclusion) {
		struct bp_sample *sample = small_sample(
			profile, builder->process, builder->stacks[row], HEAP_SIZE, 0, -1);
		sample->time_ns = now_ns(builder);
		sample->sequence = 2 * builder->births;
		builder->slots[slot].sample = profile->added.count - 1;
	}
	end_event(builder);
}

static void die(struct builder *builder, uint32_t slot)
{
	const struct slot *dead = &builder->slots[slot];
	builder->of_rows[dead->row]--;
	if (dead->sample != 0) {
		struct bp_sample *sample = &builder->heap->profile.added.data[dead->sample];
		sample->free_time_ns = now_ns(builder);
		sample->free_sequence = 2 * builder->births + 1;
	}
	end_event(builder);
}

static void grow(struct builder *builder, uint32_t live)
{
	while (builder->live < live) {
		be_born(builder, builder->live, row_of(builder, builder->live));
		builder->live++;
	}
}

static uint32_t any_slot(struct builder *builder)
{
	return (uint32_t)(stream_uniform(builder->stream) * builder->live);
}

static void shrink(struct builder *builder, uint32_t live)
{
	while (builder->live > live) {
		uint32_t slot = any_slot(builder);
		die(builder, slot);
		builder->slots[slot] = builder->slots[--builder->live];
	}
}

static void replace(struct builder *builder, uint32_t slot)
{
	uint32_t row = builder->slots[slot].row;
	die(builder, slot);
	be_born(builder, slot, row);
}

/* Row 0 and row 1 trade objects: `share` of what is replaced in either becomes row 0. */
static void shift(struct builder *builder, uint32_t slot, double share)
{
	uint32_t row = builder->slots[slot].row;
	die(builder, slot);
	if (row <= 1)
		row = stream_uniform(builder->stream) < share ? 0 : 1;
	be_born(builder, slot, row);
}

static void make_flat(struct builder *builder, const struct heap_plan *plan)
{
	uint64_t steps = (uint64_t)(plan->turnovers * builder->most);
	grow(builder, builder->most);
	for (uint64_t i = 0; i < steps; i++) {
		double phase = 2 * M_PI * 3 * (double)i / (double)steps;
		if (plan->kind == HEAP_ORDERED)
			replace(builder, (uint32_t)(i % builder->most));
		else if (plan->kind == HEAP_SHIFTING)
			shift(builder, any_slot(builder), .5 + .45 * sin(phase));
		else
			replace(builder, any_slot(builder));
	}
}

static void make_hump(struct builder *builder, const struct heap_plan *plan)
{
	uint64_t steps = (uint64_t)(plan->turnovers * builder->most);
	for (uint64_t i = 0; i <= steps; i++) {
		double x = ((double)i / (double)steps - .5) / .18;
		uint32_t live = (uint32_t)lround(builder->most * exp(-x * x / 2));
		grow(builder, live);
		shrink(builder, live);
		if (live > 0)
			replace(builder, any_slot(builder));
	}
}

static void make_spike(struct builder *builder, const struct heap_plan *plan)
{
	uint32_t base = (uint32_t)(.3 * builder->most);
	uint64_t steps = (uint64_t)(plan->turnovers * base);
	grow(builder, base);
	for (uint64_t i = 0; i < steps; i++) {
		if (i == steps / 2) {
			grow(builder, builder->most);
			shrink(builder, base);
		}
		replace(builder, any_slot(builder));
	}
}

static void make_kind(struct builder *builder, const struct heap_plan *plan)
{
	switch (plan->kind) {
	case HEAP_TEETH:
		for (unsigned tooth = 0; tooth < 20; tooth++) {
			grow(builder, builder->most);
			shrink(builder, 0);
		}
		return;
	case HEAP_HUMP:
		make_hump(builder, plan);
		return;
	case HEAP_SPIKE:
		make_spike(builder, plan);
		return;
	default:
		make_flat(builder, plan);
	}
}

void heap_make(struct heap *heap, const struct heap_plan *plan, struct stream *stream, bool history)
{
	struct builder builder = { .heap = heap,
		.stream = stream,
		.most = (uint32_t)lround(plan->live_intervals * 32),
		.inclusion = bp_inclusion_probability(HEAP_SIZE + 1, HEAP_INTERVAL) };
	static const char *const names[HEAP_ROWS] = { "row0;main", "row1;main", "row2;main",
		"row3;main" };
	*heap = (struct heap){ 0 };
	small_init(&heap->profile);
	builder.process = small_process(&heap->profile, 1, 1, 0, 0, 0, HEAP_INTERVAL);
	for (unsigned i = 0; i < HEAP_ROWS; i++)
		builder.stacks[i] = small_stack(&heap->profile, names[i]);
	builder.slots = calloc(builder.most, sizeof *builder.slots);
	assert_non_null(builder.slots);
	if (history) {
		builder.capacity = (uint64_t)((2 * plan->turnovers + 50) * builder.most) + 16;
		heap->live_of_rows = calloc(builder.capacity, sizeof *heap->live_of_rows);
		assert_non_null(heap->live_of_rows);
	}
	make_kind(&builder, plan);
	if (plan->emptied)
		shrink(&builder, 0);
	heap->peak_bytes = (double)builder.most * (double)HEAP_SIZE;
	heap->allocated_bytes = (double)builder.births * (double)HEAP_SIZE;
	struct bp_process *process = &heap->profile.processes.data[builder.process.i];
	process->end_time_ns = now_ns(&builder) + SMALL_SECOND;
	process->size_min = HEAP_SIZE;
	small_totals(&heap->profile, builder.process, builder.births * HEAP_SIZE,
		builder.births * HEAP_SIZE, builder.births, builder.births);
	free(builder.slots);
}

void heap_finish(struct heap *heap)
{
	bp_profile_finish(&heap->profile);
	free(heap->live_of_rows);
}

double heap_row_bytes(const struct heap *heap, unsigned row, uint64_t time_ns)
{
	uint64_t event = time_ns / HEAP_EVENT_NS;
	assert_non_null(heap->live_of_rows);
	if (event > heap->events) /* nothing happens any more */
		event = heap->events;
	return heap->live_of_rows[event][row] * (double)HEAP_SIZE;
}
