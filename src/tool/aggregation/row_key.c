/* SPDX-License-Identifier: MIT */
/*
 * From cells to rows, which are known by two words (row_name.h); rows of stacks by the number of
 * the first stack with equal frames, and 0.
 *
 * Equal stacks are found by comparing all frames (function, file, line, module), since two traces
 * of one program, or two calls on one line, give different addresses for what reads the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "query/row_name.h"

/* Stacks of equal frames, seen so far. */
struct stack_merge {
	struct bp_id_index index;
};

static bool same_frame(const struct bp_frame *a, const struct bp_frame *b)
{
	return a->function.i == b->function.i && a->source_file.i == b->source_file.i &&
	       a->line == b->line && a->module.i == b->module.i && a->inlined == b->inlined;
}

bool bp_stacks_read_alike(
	const struct bp_attribution *attribution, struct bp_stack_id a, struct bp_stack_id b)
{
	const struct bp_profile *profile = attribution->profile;
	uint32_t count_a, count_b;
	const struct bp_frame_id *frames_a = bp_attribution_frames(attribution, a, &count_a);
	const struct bp_frame_id *frames_b = bp_attribution_frames(attribution, b, &count_b);
	if (count_a != count_b ||
		profile->stacks.data[a.i].flags != profile->stacks.data[b.i].flags)
		return false;
	for (uint32_t i = 0; i < count_a; i++)
		if (frames_a[i].i != frames_b[i].i &&
			!same_frame(&profile->frames.data[frames_a[i].i],
				&profile->frames.data[frames_b[i].i]))
			return false;
	return true;
}

uint32_t bp_stack_frames_hash(const struct bp_attribution *attribution, struct bp_stack_id stack)
{
	uint32_t count;
	const struct bp_frame_id *frames = bp_attribution_frames(attribution, stack, &count);
	uint64_t hash = bp_hash_word(7, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_frame *frame = &attribution->profile->frames.data[frames[i].i];
		hash = bp_hash_word(hash, (uint64_t)frame->function.i << 32 | frame->line);
	}
	return bp_hash_fold(hash);
}

/* The first stack with the same frames; 0: no memory. */
static uint32_t merged_stack(struct stack_merge *merge, const struct bp_attribution *attribution,
	struct bp_stack_id stack)
{
	uint32_t hash = bp_stack_frames_hash(attribution, stack), position = hash, known;
	while ((known = bp_id_index_next(&merge->index, hash, &position)) != 0)
		if (bp_stacks_read_alike(attribution, stack, (struct bp_stack_id){ known }))
			return known;
	if (!bp_id_index_reserve(&merge->index))
		return 0;
	bp_id_index_add(&merge->index, hash, stack.i);
	return stack.i;
}

/* Appends to the text of names; SIZE_MAX: no memory. */
static size_t add_name(struct bp_aggregation_state *state, const char *name)
{
	size_t bytes = strlen(name) + 1, at = state->name_bytes;
	if (state->name_capacity - at < bytes) {
		size_t capacity = state->name_capacity * 2 + bytes + 4096;
		char *grown = realloc(state->names, capacity);
		if (grown == NULL)
			return SIZE_MAX;
		state->names = grown;
		state->name_capacity = capacity;
	}
	memcpy(state->names + at, name, bytes);
	state->name_bytes += bytes;
	return at;
}

/* For sorting only: a stack reads as its functions, outermost first. */
static const char *name_stack(const struct bp_attribution *attribution, struct bp_stack_id stack,
	char *buffer, size_t bytes)
{
	uint32_t count;
	const struct bp_frame_id *frames = bp_attribution_frames(attribution, stack, &count);
	size_t used = 0;
	buffer[0] = '\0';
	for (uint32_t i = count; i-- > 0 && used < bytes;) {
		const struct bp_frame *frame = &attribution->profile->frames.data[frames[i].i];
		int printed = snprintf(buffer + used, bytes - used, "%s;",
			bp_profile_text(attribution->profile, frame->function));
		used += printed > 0 ? (size_t)printed : 0;
	}
	return buffer;
}

/* The number of the row (a, b), made and named when first seen; UINT32_MAX: no memory. */
static uint32_t row_of(struct bp_aggregation *aggregation, struct bp_id_index *index, uint64_t a,
	uint64_t b, uint32_t cell)
{
	struct bp_aggregation_state *state = aggregation->state;
	enum bp_key by = aggregation->query.by;
	uint32_t hash = bp_hash_fold(bp_hash_word(bp_hash_word(8, a), b)), position = hash, known;
	char buffer[8192];
	while ((known = bp_id_index_next(index, hash, &position)) != 0)
		if (state->rows[known - 1].a == a && state->rows[known - 1].b == b)
			return known - 1;
	if (!bp_id_index_reserve(index) || !bp_grow((void **)&state->rows, state->row_count,
						   &state->row_capacity, sizeof *state->rows))
		return UINT32_MAX;
	struct bp_row_sums row = { .a = a, .b = b, .first_cell = cell };
	const char *name =
		by == BP_KEY_STACK && a != BP_ROW_NO_STACK
			? name_stack(&state->attribution, (struct bp_stack_id){ (uint32_t)a },
				  buffer, sizeof buffer)
			: bp_row_name(aggregation->profile, by, aggregation->query.label, a, b,
				  buffer, sizeof buffer);
	row.name = add_name(state, name);
	if (row.name == SIZE_MAX)
		return UINT32_MAX;
	state->rows[state->row_count++] = row;
	bp_id_index_add(index, hash, state->row_count);
	return state->row_count - 1;
}

/* Counts a cell under a row, once. */
static bool put_under(struct bp_aggregation *aggregation, struct bp_id_index *index,
	struct bp_cell *cell, uint64_t a, uint64_t b)
{
	struct bp_aggregation_state *state = aggregation->state;
	uint32_t row = row_of(aggregation, index, a, b, (uint32_t)(cell - state->cells));
	if (row == UINT32_MAX)
		return false;
	for (uint32_t i = 0; i < cell->row_count; i++)
		if (state->cell_rows[cell->first_row + i] == row)
			return true;
	if (!bp_grow((void **)&state->cell_rows, state->cell_row_count, &state->cell_row_capacity,
		    sizeof *state->cell_rows))
		return false;
	state->cell_rows[state->cell_row_count++] = row;
	cell->row_count++;
	return bp_tally_merge(&state->rows[row].tally, &cell->tally);
}

static bool place_stack(struct bp_aggregation *aggregation, struct bp_id_index *index,
	struct stack_merge *merge, struct bp_cell *cell)
{
	struct bp_aggregation_state *state = aggregation->state;
	struct bp_stack_id stack = { (uint32_t)cell->id };
	enum bp_key by = aggregation->query.by;
	uint64_t a, b;
	uint32_t count;
	const struct bp_frame_id *frames =
		bp_attribution_frames(&state->attribution, stack, &count);
	if (count == 0)
		return put_under(aggregation, index, cell, BP_ROW_NO_STACK, 0);
	if (by == BP_KEY_STACK) {
		uint32_t merged = merged_stack(merge, &state->attribution, stack);
		return merged != 0 && put_under(aggregation, index, cell, merged, 0);
	}
	if (!aggregation->query.cumulative) {
		uint32_t i = bp_attribution_index(&state->attribution, stack);
		while (aggregation->query.named_callers && i + 1 < count &&
			!aggregation->profile->frames.data[frames[i].i].named)
			i++;
		bp_frame_row_key(aggregation->profile, by, frames[i], &a, &b);
		return put_under(aggregation, index, cell, a, b);
	}
	for (uint32_t i = 0; i < count; i++) {
		bp_frame_row_key(aggregation->profile, by, frames[i], &a, &b);
		if (!put_under(aggregation, index, cell, a, b))
			return false;
	}
	return true;
}

/* Sets of labels that agree in the one asked for are one row. */
static bool place_label(
	struct bp_aggregation *aggregation, struct bp_id_index *index, struct bp_cell *cell)
{
	struct bp_string_id value = { 0 };
	const bool has_label = bp_label_value(aggregation->profile, aggregation->query.label,
		(struct bp_labels_id){ (uint32_t)cell->id }, &value);
	return put_under(aggregation, index, cell, value.i, has_label);
}

/* Adds up the counters of the threads or processes of each row, whose cells are under one row each.
 * (What is not known is number 0.) False: no memory. */
static bool count_rows(struct bp_aggregation *aggregation)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_profile *profile = aggregation->profile;
	const bool of_threads = aggregation->query.by == BP_KEY_THREAD;
	state->row_counters = calloc(state->row_count + 1u, sizeof *state->row_counters);
	for (uint32_t i = 0; state->row_counters != NULL && i < state->cell_count; i++) {
		const struct bp_cell *cell = &state->cells[i];
		struct bp_row_counters *counters =
			&state->row_counters[state->cell_rows[cell->first_row]];
		const struct bp_thread *thread =
			of_threads ? &profile->threads.data[cell->id] : NULL;
		const struct bp_process *process =
			of_threads ? NULL : &profile->processes.data[cell->id];
		counters->unknown = counters->unknown || cell->id == 0;
		bp_known_total_add(&counters->bytes,
			of_threads ? thread->bytes_allocated : process->bytes_allocated);
		bp_known_total_add(&counters->objects,
			of_threads ? thread->objects_allocated : process->objects_allocated);
	}
	return state->row_counters != NULL;
}

bool bp_make_rows(struct bp_aggregation *aggregation, struct bp_error *error)
{
	struct bp_aggregation_state *state = aggregation->state;
	struct stack_merge merge = { 0 };
	struct bp_id_index index = { 0 };
	bool good = true;
	for (uint32_t i = 0; good && i < state->cell_count; i++) {
		struct bp_cell *cell = &state->cells[i];
		cell->first_row = state->cell_row_count;
		if (aggregation->query.by <= BP_KEY_MODULE)
			good = place_stack(aggregation, &index, &merge, cell);
		else if (aggregation->query.by == BP_KEY_LABEL)
			good = place_label(aggregation, &index, cell);
		else if (aggregation->query.by == BP_KEY_ORIGIN)
			good = put_under(aggregation, &index, cell,
				aggregation->profile->processes.data[cell->id].origin.i, 0);
		else
			good = put_under(aggregation, &index, cell, cell->id, 0);
	}
	if (good && state->counted_rows)
		good = count_rows(aggregation);
	bp_id_index_finish(&merge.index);
	bp_id_index_finish(&index);
	return good || bp_error_set(error, "out of memory");
}
