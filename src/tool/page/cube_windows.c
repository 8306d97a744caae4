/* SPDX-License-Identifier: MIT */
/*
 * What a reader of a cube must know of time: the bins of a sample, and for every window between two
 * edges what `report --from --to` knows of it beside samples. Totals come from the counters of
 * threads as in window.c, but for all edges in one walk over the readings: a thread's counters were
 * at least what the last record before an edge says, and at most what the first one after it says.
 * Which totals are believed, and the smallest size that goes with them, follow figures.c and
 * smallest_size.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturated.h"
#include "page/cube_build.h"

/* The edge as the process of a sample sees it: after everything that happened then. */
static struct bp_moment moment_of(const struct bp_cube *cube, const struct bp_view *view,
	const struct bp_sample *sample, uint32_t edge)
{
	const struct bp_process_view *process = &view->processes[sample->process.i];
	if (edge == cube->bins)
		return process->live;
	return (struct bp_moment){ process->base_ns + cube->edges_ns[edge], UINT64_MAX - 1,
		UINT32_MAX };
}

/* The first edge that is not before `event`; bins + 1: there is none. */
static uint32_t first_from(const struct bp_cube *cube, const struct bp_view *view,
	const struct bp_sample *sample, const struct bp_moment *event)
{
	uint32_t low = 0, high = cube->bins + 1;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct bp_moment moment = moment_of(cube, view, sample, middle);
		if (bp_moment_before(&moment, event))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void bp_cube_bins_of(const struct bp_cube *cube, const struct bp_view *view,
	const struct bp_sample *sample, uint8_t *ret_made, uint8_t *ret_freed)
{
	const struct bp_moment birth = bp_view_birth(sample), death = bp_view_death(view, sample);
	const uint32_t made = first_from(cube, view, sample, &birth);
	const uint32_t freed = first_from(cube, view, sample, &death);
	*ret_made = (uint8_t)(made > 0 ? made - 1 : 0);
	*ret_freed = (uint8_t)(freed > cube->bins ? BP_CUBE_NEVER : freed > 0 ? freed - 1 : 0);
}

/* The counters of one thread at one edge. */
struct edge {
	uint64_t bytes_low, bytes_high, objects_low, objects_high;
};

/* The time of an edge of a thread; that of the last one, to which a window is open. */
static uint64_t edge_time(const struct bp_cube *cube, uint64_t base_ns, uint32_t edge)
{
	return edge == cube->bins ? BP_TIME_NEVER : base_ns + cube->edges_ns[edge];
}

/* As window.c begins, for all edges of a thread. */
static void begin(const struct bp_cube *cube, uint32_t number, struct edge *edges)
{
	const struct bp_aggregation *aggregation = cube->build->aggregation;
	const struct bp_view *view = &aggregation->state->view;
	const struct bp_thread *thread = &aggregation->profile->threads.data[number];
	const struct bp_process *process = &aggregation->profile->processes.data[thread->process.i];
	for (uint32_t i = 0; i <= cube->bins; i++) {
		const uint64_t time_ns =
			edge_time(cube, view->processes[thread->process.i].base_ns, i);
		edges[i] = (struct edge){ 0, thread->bytes_allocated.high, 0,
			thread->objects_allocated.high };
		if (time_ns <= process->start_time_ns)
			edges[i] = (struct edge){ 0 };
		if (time_ns > view->processes[thread->process.i].end_ns) {
			edges[i].bytes_low = thread->bytes_allocated.low;
			edges[i].objects_low = thread->objects_allocated.low;
		}
	}
}

/* Into the first edge after it, and the last one at or before it. */
static void look(const struct bp_cube *cube, uint64_t base_ns, const struct bp_reading *reading,
	struct edge *edges)
{
	uint32_t low = 0, high = cube->bins;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (edge_time(cube, base_ns, middle) <= reading->time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	if (reading->bound != BP_READING_AT_MOST) {
		edges[low].bytes_low = bp_max_u64(edges[low].bytes_low, reading->bytes);
		edges[low].objects_low = bp_max_u64(edges[low].objects_low, reading->objects);
	}
	if (low == 0 || reading->bound == BP_READING_AT_LEAST)
		return;
	struct edge *before = &edges[low - 1];
	before->bytes_high = bp_min_u64(before->bytes_high, reading->bytes);
	before->objects_high = bp_min_u64(before->objects_high, reading->objects);
}

/* What holds at an edge holds, downwards and upwards, at all others too. */
static void spread(const struct bp_cube *cube, struct edge *edges)
{
	for (uint32_t i = 1; i <= cube->bins; i++) {
		edges[i].bytes_low = bp_max_u64(edges[i].bytes_low, edges[i - 1].bytes_low);
		edges[i].objects_low = bp_max_u64(edges[i].objects_low, edges[i - 1].objects_low);
	}
	for (uint32_t i = cube->bins; i-- > 0;) {
		edges[i].bytes_high = bp_min_u64(edges[i].bytes_high, edges[i + 1].bytes_high);
		edges[i].objects_high =
			bp_min_u64(edges[i].objects_high, edges[i + 1].objects_high);
	}
}

static void add_thread(struct bp_cube *cube, const struct edge *edges)
{
	struct bp_cube_window *window = cube->windows;
	for (uint32_t from = 0; from < cube->bins; from++)
		for (uint32_t to = from + 1; to <= cube->bins; to++, window++) {
			window->bytes.low +=
				bp_subtract_saturated(edges[to].bytes_low, edges[from].bytes_high);
			bp_grow_saturated(
				&window->bytes.high, bp_subtract_from_limit(edges[to].bytes_high,
							     edges[from].bytes_low));
			window->objects.low += bp_subtract_saturated(
				edges[to].objects_low, edges[from].objects_high);
			bp_grow_saturated(&window->objects.high,
				bp_subtract_from_limit(
					edges[to].objects_high, edges[from].objects_low));
		}
}

static bool add_threads(struct bp_cube *cube)
{
	const struct bp_profile *profile = cube->build->aggregation->profile;
	const struct bp_view *view = &cube->build->aggregation->state->view;
	struct edge *edges = calloc(cube->bins + 1, sizeof *edges);
	struct bp_reading reading;
	if (edges == NULL)
		return false;
	for (uint32_t i = 1; i < profile->threads.count; i++) {
		const struct bp_process_view *process =
			&view->processes[profile->threads.data[i].process.i];
		if (!process->included)
			continue;
		begin(cube, i, edges);
		struct bp_readings_walk walk = bp_readings_of(&profile->readings, i);
		while (bp_readings_next(&walk, &reading))
			look(cube, process->base_ns, &reading, edges);
		spread(cube, edges);
		add_thread(cube, edges);
	}
	free(edges);
	return true;
}

/* What processes allocated beyond the threads that are known may lie in any window. */
static void add_unknown_threads(struct bp_cube *cube)
{
	const struct bp_aggregation *aggregation = cube->build->aggregation;
	const struct bp_profile *profile = aggregation->profile;
	uint64_t bytes = 0, objects = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (aggregation->state->view.processes[i].included) {
			bp_grow_saturated(&bytes, profile->processes.data[i].bytes_allocated.high);
			bp_grow_saturated(
				&objects, profile->processes.data[i].objects_allocated.high);
		}
	for (uint32_t i = 1; i < profile->threads.count; i++) {
		const struct bp_thread *thread = &profile->threads.data[i];
		if (!aggregation->state->view.processes[thread->process.i].included)
			continue;
		bytes = bp_subtract_from_limit(bytes, thread->bytes_allocated.high);
		objects = bp_subtract_from_limit(objects, thread->objects_allocated.high);
	}
	for (uint32_t i = 0; i < cube->window_count; i++) {
		bp_grow_saturated(&cube->windows[i].bytes.high, bytes);
		bp_grow_saturated(&cube->windows[i].objects.high, objects);
	}
}

/* The assumptions of one window whose totals are counted. `ratio_max`: the most usable bytes per
 * trial of a sample of its. */
static void judge_window(
	const struct bp_aggregation *aggregation, double ratio_max, struct bp_cube_window *window)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_counted *all = &state->counted;
	const bool usable = aggregation->query.usable;
	const bool counted = aggregation->profile->keep_readings;
	if (!counted) {
		window->bytes = all->bytes;
		window->objects = all->objects;
	}
	if (state->lacks & BP_LACKS_OBJECT_COUNTERS)
		window->objects = (struct bp_known_total){ 0, window->bytes.high };
	const bool tight =
		counted && window->bytes.high - window->bytes.low <= window->bytes.high / 8;
	const uint64_t unoffered = all->objects.high - all->offered_objects.high;
	window->offered_bytes = (struct bp_known_total){
		bp_subtract_saturated(window->bytes.low, all->bytes.high - all->offered_bytes.high),
		window->bytes.high
	};
	window->offered_objects =
		(struct bp_known_total){ bp_subtract_saturated(window->objects.low, unoffered),
			window->objects.high };
	if (!state->lost_totals)
		window->has |= BP_CUBE_CAPS;
	if (counted && !state->lost_totals && !(state->lacks & BP_LACKS_COUNTERS))
		window->has |= BP_CUBE_NARROWS;
	if (tight && !state->lost_totals && state->profiled &&
		!(state->lacks & BP_LACKS_COUNTERS) && !state->lost_samples && !state->bernoulli)
		window->has |= BP_CUBE_PARTS;
	window->size_min = state->size_min;
	window->ratio_max = usable ? fmax(bp_largest_ratio(aggregation), ratio_max) : 1;
}

/* `ratios`: the most usable bytes per trial of what was made in each bin. */
static void judge_windows(struct bp_cube *cube, const double *ratios)
{
	const struct bp_aggregation *aggregation = cube->build->aggregation;
	struct bp_cube_window *window = cube->windows;
	for (uint32_t from = 0; from < cube->bins; from++) {
		double ratio_max = 0;
		for (uint32_t to = from + 1; to <= cube->bins; to++, window++) {
			/* The last window is open: what was made after the last edge, too. */
			for (uint32_t i = to - 1; i < (to == cube->bins ? to + 1 : to); i++)
				ratio_max = fmax(ratio_max, ratios[i]);
			judge_window(aggregation, ratio_max, window);
		}
	}
}

static bool sum_outside(struct bp_cube *cube)
{
	const struct bp_aggregation *aggregation = cube->build->aggregation;
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_profile *profile = aggregation->profile;
	struct bp_weight_cache *weights = calloc(1, sizeof *weights);
	cube->outside = calloc(cube->bins + 1, sizeof *cube->outside);
	const bool good = weights != NULL && cube->outside != NULL;
	for (uint32_t i = 1; good && i < profile->samples.count; i++) {
		__builtin_prefetch(bp_samples_where(&profile->samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_profile_sample(profile, i);
		struct bp_sample_weight all;
		uint8_t made, freed;
		if (!state->view.processes[sample.process.i].included ||
			bp_selection_holds(&state->selection, &sample))
			continue;
		const struct bp_sample_weight *weight = bp_sample_weight(weights, &sample,
			profile->processes.data[sample.process.i].charge,
			aggregation->query.usable);
		weight = bp_sample_weight_of_all(weight, &sample, &all);
		bp_cube_bins_of(cube, &state->view, &sample, &made, &freed);
		bp_sums_merge(&cube->outside[made], &weight->sums);
	}
	free(weights);
	return good;
}

static void judge_whole(struct bp_cube *cube)
{
	const struct bp_aggregation_state *state = cube->build->aggregation->state;
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		cube->lower_bound[metric] =
			state->lost_samples || bp_lost_frees_lower(state, (enum bp_metric)metric);
		cube->upper_bound[metric] = bp_lost_frees_raise(state, (enum bp_metric)metric);
	}
	cube->by_classes = false;
	for (uint32_t i = 0; i < cube->cell_count; i++)
		cube->by_classes = cube->by_classes || cube->cells[i].number > 0;
	cube->whole = (struct bp_cube_window){ .has = (state->lost_totals ? 0u : BP_CUBE_CAPS) |
						      (state->parts ? BP_CUBE_PARTS : 0u),
		.offered_bytes = state->counted.offered_bytes,
		.offered_objects = state->counted.offered_objects,
		.bytes = state->counted.bytes,
		.objects = state->counted.objects,
		.size_min = state->size_min,
		.ratio_max = cube->build->aggregation->query.usable ? state->ratio_max : 1 };
}

bool bp_cube_count_windows(struct bp_cube *cube, struct bp_error *error)
{
	const struct bp_cube_build *build = cube->build;
	judge_whole(cube);
	free(cube->outside);
	free(cube->windows);
	cube->outside = NULL;
	cube->windows = NULL;
	cube->window_count = cube->bins == 1 ? 0 : cube->bins * (cube->bins + 1) / 2;
	if (build->aggregation->query.filter_count > 0 && !sum_outside(cube))
		return bp_error_set(error, "out of memory");
	if (cube->window_count == 0)
		return true;
	double *ratios = calloc(cube->bins + 1, sizeof *ratios);
	cube->windows = calloc(cube->window_count, sizeof *cube->windows);
	bool good = ratios != NULL && cube->windows != NULL;
	if (good && build->aggregation->profile->keep_readings)
		good = add_threads(cube);
	if (good && build->aggregation->profile->keep_readings)
		add_unknown_threads(cube);
	for (uint32_t i = 0; good && i < build->sum_count; i++) {
		double *ratio = &ratios[build->sums[i].key.made];
		*ratio = fmax(*ratio, build->sums[i].record.ratio_max);
	}
	for (uint32_t i = 0; good && cube->outside != NULL && i <= cube->bins; i++)
		ratios[i] = fmax(ratios[i], cube->outside[i].ratio_max);
	if (good)
		judge_windows(cube, ratios);
	free(ratios);
	return good || bp_error_set(error, "out of memory");
}

bool bp_cube_own_counters(const struct bp_aggregation *aggregation, bool thread, uint32_t id,
	struct bp_known_total *ret_bytes, struct bp_known_total *ret_objects)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_aggregation_state *state = aggregation->state;
	if (aggregation->query.usable || state->lost_totals || !state->profiled ||
		(state->lacks & BP_LACKS_COUNTERS) || (state->lacks & BP_LACKS_OBJECT_COUNTERS) ||
		aggregation->query.filter_count > 0 || id == 0)
		return false;
	*ret_bytes = thread ? profile->threads.data[id].bytes_allocated
			    : profile->processes.data[id].bytes_allocated;
	*ret_objects = thread ? profile->threads.data[id].objects_allocated
			      : profile->processes.data[id].objects_allocated;
	return !bp_total_is_open(*ret_bytes);
}
