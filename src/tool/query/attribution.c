/* SPDX-License-Identifier: MIT */
/* Frames of stacks, and which of them belong to allocation functions; see attribution.h. */
#include "query/attribution.h"

#include <stdlib.h>
#include <string.h>

#include "model/names/allocators.h"

#define NAMELESS_MAX 4 /* frames; of sqlite3Malloc there are two */

/* Our own library in the target, should it ever appear on a stack. */
static bool is_recorder(const struct bp_profile *profile, const struct bp_frame *frame)
{
	const char *path = bp_profile_text(profile, profile->modules.data[frame->module.i].path);
	return strstr(path, "/libbytepoll-recorder") != NULL;
}

static uint64_t count_frames(const struct bp_profile *profile)
{
	uint64_t count = 0;
	for (uint32_t i = 1; i < profile->stack_locations.count; i++) {
		uint32_t location = profile->stack_locations.data[i].i;
		uint32_t frames = profile->locations.data[location].frame_count;
		count += frames == 0 ? 1 : frames;
	}
	return count;
}

/* Writes the frames of one location; returns how many. */
static uint32_t expand(
	const struct bp_profile *profile, struct bp_location_id id, struct bp_frame_id *frames)
{
	const struct bp_location *location = &profile->locations.data[id.i];
	if (location->frame_count == 0) {
		frames[0].i = 0;
		return 1;
	}
	for (uint32_t i = 0; i < location->frame_count; i++)
		frames[i].i = location->first_frame.i + i;
	return location->frame_count;
}

bool bp_attribution_init(struct bp_attribution *attribution, const struct bp_profile *profile,
	struct bp_error *error)
{
	uint64_t at = 0;
	memset(attribution, 0, sizeof *attribution);
	attribution->profile = profile;
	attribution->first = calloc((size_t)profile->stacks.count + 1, sizeof *attribution->first);
	attribution->frames = calloc(count_frames(profile) + 1, sizeof *attribution->frames);
	attribution->allocator = calloc(profile->frames.count, sizeof *attribution->allocator);
	if (attribution->first == NULL || attribution->frames == NULL ||
		attribution->allocator == NULL) {
		bp_attribution_finish(attribution);
		return bp_error_set(error, "out of memory");
	}
	for (uint32_t i = 0; i < profile->stacks.count; i++) {
		const struct bp_stack *stack = &profile->stacks.data[i];
		attribution->first[i] = at;
		for (uint32_t j = 0; j < stack->depth; j++)
			at += expand(profile,
				profile->stack_locations.data[stack->first_location + j],
				&attribution->frames[at]);
	}
	attribution->first[profile->stacks.count] = at;
	for (uint32_t i = 1; i < profile->frames.count; i++) {
		const struct bp_frame *frame = &profile->frames.data[i];
		if (frame->interpreted) {
			attribution->has_python = true;
			continue;
		}
		/* (What an allocator maps is its own, and not its caller's.) */
		attribution->allocator[i] =
			(!profile->mapped && bp_allocators_hold(profile->allocators,
						     bp_profile_text(profile, frame->function))) ||
			is_recorder(profile, frame);
	}
	return true;
}

void bp_attribution_finish(struct bp_attribution *attribution)
{
	free(attribution->first);
	free(attribution->frames);
	free(attribution->allocator);
	memset(attribution, 0, sizeof *attribution);
}

const struct bp_frame_id *bp_attribution_frames(
	const struct bp_attribution *attribution, struct bp_stack_id stack, uint32_t *ret_count)
{
	uint64_t first = attribution->first[stack.i];
	*ret_count = (uint32_t)(attribution->first[stack.i + 1] - first);
	return &attribution->frames[first];
}

/* The first frame from `i` on that has a name, as long as those before it lie in its module: what
 * has none there and is called by an allocation function is a part of it, in a library that was
 * stripped. */
static uint32_t past_nameless(const struct bp_profile *profile, const struct bp_frame_id *frames,
	uint32_t count, uint32_t i)
{
	const uint32_t module = profile->frames.data[frames[i].i].module.i;
	uint32_t named = i;
	while (named + 1 < count && named - i < NAMELESS_MAX && module != 0 &&
		!profile->frames.data[frames[named].i].named &&
		profile->frames.data[frames[named + 1].i].module.i == module)
		named++;
	return named;
}

/* The innermost frame of Python; `count` if there is none. */
static uint32_t innermost_of_python(
	const struct bp_attribution *attribution, const struct bp_frame_id *frames, uint32_t count)
{
	uint32_t i = attribution->has_python ? 0 : count;
	while (i < count && !attribution->profile->frames.data[frames[i].i].interpreted)
		i++;
	return i;
}

uint32_t bp_attribution_index(const struct bp_attribution *attribution, struct bp_stack_id stack)
{
	uint32_t count, i = 0;
	const struct bp_frame_id *frames = bp_attribution_frames(attribution, stack, &count);
	const uint32_t python = innermost_of_python(attribution, frames, count);
	if (python < count)
		return python;
	while (i + 1 < count) {
		const uint32_t named = past_nameless(attribution->profile, frames, count, i);
		if (named + 1 >= count || !attribution->allocator[frames[named].i])
			break;
		i = named + 1;
	}
	return i;
}
