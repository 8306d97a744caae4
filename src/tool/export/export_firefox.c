/* SPDX-License-Identifier: MIT */
/*
 * The Firefox Profiler's processed format (https://github.com/firefox-devtools/profiler,
 * docs-developer/processed-profile-format.md), version 60, which the profiler goes on reading
 * whatever its own version is. A process is a "thread" of the format with a table of native
 * allocations: when, how many bytes, which stack.
 *
 * For metric live the table is balanced: each sampled object stands there when it was allocated
 * with what it stands for, and when it was freed with as much less, so that the profiler's view of
 * retained memory is ours of what is live, at any moment that one selects. These weights are
 * Horvitz-Thompson's. For other metrics, and where the file does not tell of frees, the table has
 * what the metric counts and nothing is freed. "Addresses" are numbers of samples: what pairs the
 * two events.
 *
 * Tables are shared by all processes: strings, functions, frames, stacks (a tree in which every
 * node names its parent).
 */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "export/export_firefox.h"

static bool node_of(struct bp_firefox *to, uint32_t prefix, uint32_t frame, uint32_t *ret_node)
{
	uint64_t hash = bp_hash_word(prefix, frame);
	uint32_t folded = bp_hash_fold(hash), position = folded, number;
	while ((number = bp_id_index_next(&to->node_index, folded, &position)) != 0) {
		const struct bp_firefox_node *node = &to->nodes[number - 1];
		if (node->prefix != prefix || node->frame != frame)
			continue;
		*ret_node = number - 1;
		return true;
	}
	if (!bp_vec_reserve(
		    &to->nodes, &to->node_capacity, to->node_count + 1ull, sizeof *to->nodes) ||
		!bp_id_index_reserve(&to->node_index))
		return false;
	bp_id_index_add(&to->node_index, folded, to->node_count + 1);
	to->nodes[to->node_count] = (struct bp_firefox_node){ prefix, frame };
	*ret_node = to->node_count++;
	return true;
}

static uint32_t frame_number(
	struct bp_firefox *to, struct bp_frame_id frame, const struct bp_location *place)
{
	uint32_t *number = &to->number_of_frame[frame.i];
	if (*number == BP_FIREFOX_NONE) {
		to->frames[to->frame_count] = frame;
		to->places[to->frame_count] = place;
		*number = to->frame_count++;
	}
	return *number;
}

/* The node of a stack, made when first asked for. Frames go from the outermost location on. */
static bool stack_node(struct bp_firefox *to, struct bp_stack_id id, uint32_t *ret_node)
{
	const struct bp_profile *profile = to->profile;
	const struct bp_stack *stack = &profile->stacks.data[id.i];
	uint32_t node = BP_FIREFOX_NONE;
	if (to->node_of_stack[id.i] != BP_FIREFOX_NONE) {
		*ret_node = to->node_of_stack[id.i];
		return true;
	}
	for (uint32_t i = stack->depth; i-- > 0;) {
		uint32_t number = profile->stack_locations.data[stack->first_location + i].i;
		const struct bp_location *place = &profile->locations.data[number];
		for (uint32_t j = place->frame_count; j-- > 0;) {
			struct bp_frame_id frame = { place->first_frame.i + j };
			if (to->functions.of_frame[frame.i] == BP_FIREFOX_NONE)
				continue; /* on no stack as the report has it */
			if (!node_of(to, node, frame_number(to, frame, place), &node))
				return false;
		}
	}
	if (node == BP_FIREFOX_NONE) { /* frame 0 is for what has no stack */
		struct bp_frame_id nothing = { 0 };
		if (!node_of(to, BP_FIREFOX_NONE, frame_number(to, nothing, NULL), &node))
			return false;
	}
	to->node_of_stack[id.i] = *ret_node = node;
	return true;
}

static bool add_event(struct bp_firefox *to, struct bp_firefox_event event)
{
	if (!bp_vec_reserve(
		    &to->events, &to->event_capacity, to->event_count + 1ull, sizeof *to->events))
		return false;
	to->events[to->event_count++] = event;
	return true;
}

static bool take(void *context, const struct bp_weighted_sample *weighted)
{
	struct bp_firefox *to = context;
	const struct bp_sample *sample = weighted->sample;
	struct bp_firefox_event event = { .time_ns = weighted->birth_ns,
		.number = ++to->samples,
		.process = sample->process.i,
		.tid = to->profile->threads.data[sample->thread.i].tid };
	bool kept = weighted->death_ns == BP_TIME_NEVER;
	event.weight = bp_round_next(kept ? &to->kept : &to->freed, weighted->bytes);
	if (event.weight == 0)
		return true;
	if (!stack_node(to, sample->stack, &event.node) || !add_event(to, event))
		return false;
	if (!to->balanced || kept)
		return true;
	event.time_ns = weighted->death_ns;
	event.weight = -event.weight;
	return add_event(to, event);
}

static int compare_events(const void *left, const void *right)
{
	const struct bp_firefox_event *a = left, *b = right;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->weight > b->weight ? -1 : a->weight < b->weight;
}

static bool allocate(struct bp_firefox *to)
{
	const size_t frames = (size_t)to->profile->frames.count + 1;
	const size_t stacks = (size_t)to->profile->stacks.count + 1;
	to->number_of_frame = malloc(frames * sizeof *to->number_of_frame);
	to->frames = calloc(frames, sizeof *to->frames);
	to->places = calloc(frames, sizeof *to->places);
	to->node_of_stack = malloc(stacks * sizeof *to->node_of_stack);
	if (to->number_of_frame == NULL || to->frames == NULL || to->places == NULL ||
		to->node_of_stack == NULL)
		return false;
	memset(to->number_of_frame, 0xff, frames * sizeof *to->number_of_frame);
	memset(to->node_of_stack, 0xff, stacks * sizeof *to->node_of_stack);
	return true;
}

static bool write_all(struct bp_firefox *to)
{
	if (!allocate(to) || !bp_each_weighted_sample(to->aggregation, to->balanced, take, to))
		return false;
	if (to->event_count > 0)
		qsort(to->events, to->event_count, sizeof *to->events, compare_events);
	bp_firefox_write(to);
	return true;
}

static bool write_firefox(const struct bp_export_source *source, FILE *out, struct bp_error *error)
{
	struct bp_firefox to = { .aggregation = source->asked,
		.profile = source->profile,
		.balanced = source->asked->query.metric == BP_METRIC_LIVE,
		.json = bp_json_begin(out) };
	const struct bp_aggregation *all = source->metrics[BP_METRIC_ALLOCATED] != NULL
						   ? source->metrics[BP_METRIC_ALLOCATED]
						   : source->asked;
	const struct bp_aggregation *both[] = { source->asked, all };
	bool good = bp_entries_build(both, 2, (struct bp_entry_options){ 0 }, &to.entries, error);
	good = good && bp_function_table_init(&to.functions, to.aggregation, &to.entries, error);
	if (good)
		good = write_all(&to) || bp_error_set(error, "out of memory");
	free(to.number_of_frame);
	free(to.frames);
	free(to.places);
	free(to.node_of_stack);
	free(to.nodes);
	free(to.events);
	bp_id_index_finish(&to.node_index);
	bp_function_table_finish(&to.functions);
	bp_entries_finish(&to.entries);
	return good;
}

const struct bp_export bp_export_firefox = { .name = "firefox",
	.keeps_allocators = true,
	.metrics = BP_METRIC_BIT(BP_METRIC_ALLOCATED),
	.write = write_firefox };
