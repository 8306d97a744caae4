/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a cube. Stacks whose frames read alike are one from the start (two calls on one
 * line give two addresses). Where a cube must be smaller, a stack of few samples gives way to a
 * merged one: the frame that is charged, and in the place of its callers BP_CUBE_CALLERS. Merged
 * stacks have the numbers from the profile's count of stacks on, by the frame.
 */
#include <stdlib.h>
#include <string.h>

#include "page/cube_build.h"

static const struct bp_attribution *attribution_of(const struct bp_cube_build *build)
{
	return &build->aggregation->state->attribution;
}

static bool same_frame(const struct bp_frame *a, const struct bp_frame *b)
{
	return a->function.i == b->function.i && a->source_file.i == b->source_file.i &&
	       a->line == b->line && a->module.i == b->module.i && a->inlined == b->inlined;
}

static bool join_frames(struct bp_cube_build *build)
{
	const struct bp_profile *profile = build->aggregation->profile;
	struct bp_id_index index = { 0 };
	bool good = true;
	for (uint32_t i = 1; good && i < profile->frames.count; i++) {
		const struct bp_frame *frame = &profile->frames.data[i];
		uint64_t hash = bp_hash_word(12, (uint64_t)frame->function.i << 32 | frame->line);
		hash = bp_hash_word(hash, (uint64_t)frame->module.i << 32 | frame->source_file.i);
		uint32_t folded = bp_hash_fold(hash), position = folded, known;
		while ((known = bp_id_index_next(&index, folded, &position)) != 0)
			if (same_frame(frame, &profile->frames.data[known]))
				break;
		build->frame_of[i] = known != 0 ? known : i;
		if (known == 0 && (good = bp_id_index_reserve(&index)))
			bp_id_index_add(&index, folded, i);
	}
	bp_id_index_finish(&index);
	return good;
}

static bool same_frames(const struct bp_cube_build *build, uint32_t a, uint32_t b)
{
	const struct bp_attribution *attribution = attribution_of(build);
	uint32_t count_a, count_b;
	const struct bp_frame_id *frames_a =
		bp_attribution_frames(attribution, (struct bp_stack_id){ a }, &count_a);
	const struct bp_frame_id *frames_b =
		bp_attribution_frames(attribution, (struct bp_stack_id){ b }, &count_b);
	if (count_a != count_b)
		return false;
	for (uint32_t i = 0; i < count_a; i++)
		if (build->frame_of[frames_a[i].i] != build->frame_of[frames_b[i].i])
			return false;
	return true;
}

static bool join_stacks(struct bp_cube_build *build)
{
	struct bp_id_index index = { 0 };
	bool good = true;
	for (uint32_t i = 1; good && i < build->stack_count; i++) {
		uint32_t count, known;
		const struct bp_frame_id *frames = bp_attribution_frames(
			attribution_of(build), (struct bp_stack_id){ i }, &count);
		uint64_t hash = bp_hash_word(13, count);
		if (count == 0)
			continue; /* as stack 0 */
		for (uint32_t k = 0; k < count; k++)
			hash = bp_hash_word(hash, build->frame_of[frames[k].i]);
		uint32_t folded = bp_hash_fold(hash), position = folded;
		while ((known = bp_id_index_next(&index, folded, &position)) != 0)
			if (same_frames(build, i, known))
				break;
		build->stack_of[i] = known != 0 ? known : i;
		if (known == 0 && (good = bp_id_index_reserve(&index)))
			bp_id_index_add(&index, folded, i);
	}
	bp_id_index_finish(&index);
	return good;
}

bool bp_cube_stacks_init(struct bp_cube_build *build, struct bp_error *error)
{
	const struct bp_profile *profile = build->aggregation->profile;
	const struct bp_aggregation_state *state = build->aggregation->state;
	build->stack_count = profile->stacks.count;
	build->stack_of = calloc(profile->stacks.count, sizeof *build->stack_of);
	build->stack_samples = calloc(profile->stacks.count, sizeof *build->stack_samples);
	build->frame_of = calloc(profile->frames.count, sizeof *build->frame_of);
	if (build->stack_of == NULL || build->stack_samples == NULL || build->frame_of == NULL ||
		!join_frames(build) || !join_stacks(build))
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 1; i < profile->samples.count; i++) {
		__builtin_prefetch(bp_samples_where(&profile->samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_profile_sample(profile, i);
		if (state->view.processes[sample.process.i].included &&
			bp_selection_holds(&state->selection, &sample))
			build->stack_samples[build->stack_of[sample.stack.i]] +=
				bp_sample_count(&sample);
	}
	return true;
}

static struct bp_frame_id charged_frame(const struct bp_cube_build *build, uint32_t stack)
{
	uint32_t count;
	const struct bp_attribution *attribution = attribution_of(build);
	const struct bp_stack_id id = { stack };
	const struct bp_frame_id *frames = bp_attribution_frames(attribution, id, &count);
	return frames[bp_attribution_index(attribution, id)];
}

uint32_t bp_cube_stack_at(
	const struct bp_cube_build *build, const struct bp_cube_rung *rung, uint32_t stack)
{
	uint32_t count;
	if (stack >= build->stack_count || build->stack_samples[stack] >= rung->stack_samples)
		return stack;
	bp_attribution_frames(attribution_of(build), (struct bp_stack_id){ stack }, &count);
	if (count < 2)
		return stack; /* there is nothing to leave out */
	return build->stack_count + build->frame_of[charged_frame(build, stack).i];
}

/* Which numbers the cells use, in growing order: 1 + the packed number, 0 elsewhere. */
static uint32_t number_stacks(const struct bp_cube_build *build, uint32_t *packed, uint32_t all)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < build->sum_count; i++)
		packed[build->sums[i].key.stack] = 1;
	for (uint32_t i = 0; i < all; i++)
		if (packed[i] != 0)
			packed[i] = ++count;
	return count;
}

static void add_frame(struct bp_cube *cube, uint32_t frame)
{
	cube->stack_frames[cube->stack_frame_count++] = (struct bp_frame_id){ frame };
}

/* The frames of one packed stack. */
static void write_stack(struct bp_cube *cube, uint32_t number, struct bp_cube_stack *ret_stack)
{
	const struct bp_cube_build *build = cube->build;
	const struct bp_stack_id id = { number };
	*ret_stack = (struct bp_cube_stack){ .first = cube->stack_frame_count };
	if (number >= build->stack_count) {
		add_frame(cube, number - build->stack_count);
		add_frame(cube, BP_CUBE_CALLERS);
		ret_stack->count = 2;
		return;
	}
	const struct bp_frame_id *frames =
		bp_attribution_frames(attribution_of(build), id, &ret_stack->count);
	for (uint32_t i = 0; i < ret_stack->count; i++)
		add_frame(cube, build->frame_of[frames[i].i]);
	if (ret_stack->count > 0)
		ret_stack->charged = bp_attribution_index(attribution_of(build), id);
}

static size_t frames_of(const struct bp_cube_build *build, uint32_t number)
{
	uint32_t count = 2;
	if (number < build->stack_count)
		bp_attribution_frames(
			attribution_of(build), (struct bp_stack_id){ number }, &count);
	return count;
}

static void count_merged(struct bp_cube *cube)
{
	const struct bp_cube_build *build = cube->build;
	cube->stacks_merged = 0;
	cube->samples_merged = 0;
	for (uint32_t i = 0; i < build->stack_count; i++) {
		if (build->stack_samples[i] == 0 || bp_cube_stack_at(build, &cube->rung, i) == i)
			continue;
		cube->stacks_merged++;
		cube->samples_merged += build->stack_samples[i];
	}
}

bool bp_cube_pack_stacks(struct bp_cube *cube, struct bp_error *error)
{
	struct bp_cube_build *build = cube->build;
	const uint32_t all = build->stack_count + build->aggregation->profile->frames.count;
	size_t frames = 0;
	uint32_t *packed = calloc(all, sizeof *packed);
	if (packed == NULL)
		return bp_error_set(error, "out of memory");
	cube->stack_count = number_stacks(build, packed, all);
	for (uint32_t i = 0; i < all; i++)
		frames += packed[i] != 0 ? frames_of(build, i) : 0;
	free(cube->stacks);
	free(cube->stack_frames);
	cube->stack_frame_count = 0;
	cube->stacks = calloc((size_t)cube->stack_count + 1, sizeof *cube->stacks);
	cube->stack_frames = calloc(frames + 1, sizeof *cube->stack_frames);
	const bool good = cube->stacks != NULL && cube->stack_frames != NULL;
	for (uint32_t i = 0; good && i < all; i++)
		if (packed[i] != 0)
			write_stack(cube, i, &cube->stacks[packed[i] - 1]);
	for (uint32_t i = 0; good && i < cube->cell_count; i++)
		cube->cells[i].stack = packed[cube->cells[i].stack] - 1;
	free(packed);
	count_merged(cube);
	return good || bp_error_set(error, "out of memory");
}
