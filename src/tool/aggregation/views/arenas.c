/* SPDX-License-Identifier: MIT */
/* See arenas.h. One walk over the ranges, which are the samples of such a profile. */
#include "aggregation/views/arenas.h"

#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "model/gaps/python_state.h"

/* What CPython takes at a time for small objects: up to 3.9, and from 3.10 on. */
static const uint64_t python_arena_bytes[] = { 262144, 1048576 };

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash == NULL ? path : slash + 1;
}

/* The path of the file of the innermost function of a stack; "": not known. */
static const char *mapped_by(const struct bp_profile *profile, struct bp_stack_id id)
{
	const struct bp_stack *stack = &profile->stacks.data[id.i];
	if (stack->depth == 0)
		return "";
	const struct bp_location_id location = profile->stack_locations.data[stack->first_location];
	const struct bp_module_id module = profile->locations.data[location.i].module;
	return bp_profile_text(profile, profile->modules.data[module.i].path);
}

static bool is_arena(const struct bp_profile *profile, const struct bp_sample *sample)
{
	const struct bp_process *process = &profile->processes.data[sample->process.i];
	const char *file = mapped_by(profile, sample->stack);
	const char *name = last_part(file);
	if (*file != '\0' && strcmp(file, bp_profile_text(profile, process->allocator)) == 0)
		return true;
	/* (The C library maps what its malloc needs where no hook sees it.) */
	if (!process->python.known || process->python.objects_state != BP_PROFILE_PYTHON_RECORDED ||
		sample->kind != BP_PROFILE_KIND_MAPPED ||
		(strncmp(name, "python", 6) != 0 && strncmp(name, "libpython", 9) != 0))
		return false;
	return sample->size == python_arena_bytes[0] || sample->size == python_arena_bytes[1];
}

static void add(struct bp_arena_sums *sums, const struct bp_sample *sample)
{
	sums->bytes += (double)sample->size * bp_sample_count(sample);
	sums->objects += bp_sample_count(sample);
}

bool bp_arenas_of_rows(const struct bp_aggregation *aggregation, struct bp_arena_sums **ret_sums)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_samples *samples = &aggregation->profile->samples;
	struct bp_arena_sums *sums = calloc((size_t)aggregation->row_count + 1, sizeof *sums);
	if (sums == NULL)
		return false;
	for (uint32_t i = 1; i < samples->count; i++) {
		const struct bp_sample sample = bp_samples_get(samples, i);
		if (!bp_sample_is_meant(state, &sample) ||
			!(bp_sample_metrics(state, &sample) & 1u << aggregation->query.metric) ||
			!is_arena(aggregation->profile, &sample))
			continue;
		const uint32_t number = bp_cell_of_sample(aggregation, &sample);
		for (uint32_t j = 0; number != UINT32_MAX && j < state->cells[number].row_count;
			j++) {
			const uint32_t row = state->cell_rows[state->cells[number].first_row + j];
			if (state->rows[row].place < aggregation->row_count)
				add(&sums[state->rows[row].place], &sample);
		}
		add(&sums[aggregation->row_count], &sample);
	}
	*ret_sums = sums;
	return true;
}

void bp_row_without_samples(const struct bp_aggregation *aggregation, struct bp_row *ret_row)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_tally nothing = { 0 };
	struct bp_sums others = state->rest[aggregation->query.metric];
	*ret_row = (struct bp_row){ 0 };
	for (uint32_t i = 0; i < state->cell_count; i++)
		bp_sums_merge(&others, &state->cells[i].tally.sums);
	bp_figures_of_tally(aggregation, &nothing, &others, ret_row);
}
