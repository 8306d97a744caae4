/* SPDX-License-Identifier: MIT */
/*
 * Samples into cells, and cells into fewer. The table of cells is kept below a limit while it is
 * filled: when it is full it is made coarser where it stands, and the samples that follow go into
 * the coarser cells. What a cell means at a rung follows from what it meant at the one above, so
 * that both ways lead to the same cube. See cube.h.
 */
#include "page/cube.h"

#include <stdlib.h>
#include <string.h>

#include "page/cube_build.h"

/* From fine to coarse. Bins divide the 120 of the start, so that edges stay edges. */
static const struct bp_cube_rung rungs[] = { { 120, 1, 0, false }, { 120, 1, 2, false },
	{ 60, 1, 2, false }, { 60, 1, 4, false }, { 60, 2, 4, false }, { 60, 2, 8, false },
	{ 30, 2, 8, false }, { 30, 2, 16, false }, { 30, 4, 16, false }, { 30, 4, 32, false },
	{ 15, 4, 32, false }, { 15, 4, 64, false }, { 15, 4, 128, false }, { 15, 4, 512, false },
	{ 15, 4, 4096, false }, { 15, 4, UINT32_MAX, false }, { 5, 8, UINT32_MAX, false },
	{ 1, 64, UINT32_MAX, false }, { 1, 64, UINT32_MAX, true } };

static uint8_t class_of_size(uint64_t size)
{
	return size == 0 ? BP_CUBE_NO_BYTES : (uint8_t)(63 - __builtin_clzll(size));
}

/* A key as it is at this rung; `divide`: by so much the bins are fewer than the key's. */
static struct bp_cube_key key_at(
	const struct bp_cube *cube, const struct bp_cube_key *key, uint32_t divide)
{
	const struct bp_cube_rung *rung = &cube->rung;
	struct bp_cube_key coarse = *key;
	coarse.stack = bp_cube_stack_at(cube->build, rung, key->stack);
	if (rung->merged_threads)
		coarse.thread = 0;
	if (key->size_class != BP_CUBE_NO_BYTES)
		coarse.size_class = (uint8_t)(key->size_class / rung->size_step * rung->size_step);
	coarse.made = (uint8_t)(key->made / divide);
	if (key->freed != BP_CUBE_NEVER)
		coarse.freed = (uint8_t)(key->freed / divide);
	return coarse;
}

static bool same_key(const struct bp_cube_key *a, const struct bp_cube_key *b)
{
	return a->stack == b->stack && a->thread == b->thread && a->type_key == b->type_key &&
	       a->size_class == b->size_class && a->made == b->made && a->freed == b->freed &&
	       a->flags == b->flags && a->number == b->number;
}

static uint32_t hash_key(const struct bp_cube_key *key)
{
	uint64_t hash = bp_hash_word(11, (uint64_t)key->stack << 32 | key->thread);
	hash = bp_hash_word(hash, (uint64_t)key->type_key << 32 | (uint32_t)key->size_class << 24 |
					  (uint32_t)key->made << 16 | (uint32_t)key->freed << 8 |
					  key->flags);
	return bp_hash_fold(bp_hash_word(hash, key->number));
}

static bool add(
	struct bp_cube_build *build, const struct bp_cube_key *key, const struct bp_sums *record)
{
	uint32_t hash = hash_key(key), position = hash, number;
	while ((number = bp_id_index_next(&build->index, hash, &position)) != 0)
		if (same_key(&build->sums[number - 1].key, key))
			break;
	if (number == 0) {
		if (!bp_id_index_reserve(&build->index) ||
			!bp_grow((void **)&build->sums, build->sum_count, &build->sum_capacity,
				sizeof *build->sums))
			return false;
		number = ++build->sum_count;
		build->sums[number - 1] = (struct bp_cube_sum){ .key = *key };
		bp_id_index_add(&build->index, hash, number);
	}
	bp_sums_merge(&build->sums[number - 1].record, record);
	return true;
}

/* The table again, with the keys of the rung it is at now; cells keep their order. */
static bool rebuild(struct bp_cube *cube, uint32_t divide)
{
	struct bp_cube_build *build = cube->build;
	const uint32_t count = build->sum_count;
	bp_id_index_finish(&build->index);
	build->sum_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		/* What is added lies at or before what is read. */
		const struct bp_cube_sum sum = build->sums[i];
		const struct bp_cube_key key = key_at(cube, &sum.key, divide);
		if (!add(build, &key, &sum.record))
			return false;
	}
	return true;
}

static void take_edges(struct bp_cube *cube, uint32_t divide)
{
	cube->bins /= divide;
	for (uint32_t i = 0; i <= cube->bins; i++)
		cube->edges_ns[i] = cube->edges_ns[i * divide];
}

bool bp_cube_coarsen(struct bp_cube *cube, bool *ret_coarser, struct bp_error *error)
{
	struct bp_cube_build *build = cube->build;
	const uint32_t next = build->rung_number + 1;
	*ret_coarser = next < BP_COUNT(rungs);
	if (!*ret_coarser)
		return true;
	if (build->rung_number == 0) {
		cube->cells_before = build->sum_count;
		cube->cells_before_at_least = !build->done;
	}
	const uint32_t divide = cube->bins > rungs[next].bins ? cube->bins / rungs[next].bins : 1;
	build->rung_number = next;
	cube->rung = rungs[next];
	take_edges(cube, divide);
	cube->rung.bins = cube->bins;
	return rebuild(cube, divide) || bp_error_set(error, "out of memory");
}

static bool add_sample(
	struct bp_cube *cube, struct bp_weight_cache *weights, const struct bp_sample *sample)
{
	const struct bp_aggregation *aggregation = cube->build->aggregation;
	const struct bp_aggregation_state *state = aggregation->state;
	uint32_t charge = aggregation->profile->processes.data[sample->process.i].charge;
	const struct bp_sample_weight *weight =
		bp_sample_weight(weights, sample, charge, aggregation->query.usable);
	struct bp_sample_weight all;
	weight = bp_sample_weight_of_all(weight, sample, &all);
	const unsigned metrics = bp_sample_metrics(state, sample);
	struct bp_cube_key key = { .stack = cube->build->stack_of[sample->stack.i],
		.thread = sample->thread.i,
		.type_key = bp_type_key(sample),
		.size_class = class_of_size(sample->size),
		.flags = (uint8_t)((sample->temporary ? BP_CUBE_TEMPORARY : 0) |
				   (metrics & 1u << BP_METRIC_PEAK ? BP_CUBE_PEAK : 0)),
		.number = (uint8_t)weight->size_class };
	bp_cube_bins_of(cube, &state->view, sample, &key.made, &key.freed);
	key = key_at(cube, &key, 1);
	cube->samples += bp_sample_count(sample);
	return add(cube->build, &key, &weight->sums);
}

static bool is_selected(
	const struct bp_aggregation_state *state, const struct bp_sample *sample, bool *ret_outside)
{
	const bool included = state->view.processes[sample->process.i].included;
	const bool holds = bp_selection_holds(&state->selection, sample);
	*ret_outside = included && !holds;
	return included && holds;
}

static bool fill(struct bp_cube *cube, struct bp_error *error)
{
	struct bp_cube_build *build = cube->build;
	const struct bp_profile *profile = build->aggregation->profile;
	struct bp_weight_cache *weights = calloc(1, sizeof *weights);
	bool good = weights != NULL, coarser = true, outside;
	for (uint32_t i = 1; good && i < profile->samples.count; i++) {
		__builtin_prefetch(bp_samples_where(&profile->samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_profile_sample(profile, i);
		if (!is_selected(build->aggregation->state, &sample, &outside))
			continue;
		good = add_sample(cube, weights, &sample);
		while (good && coarser && build->sum_count > build->cells_max)
			good = bp_cube_coarsen(cube, &coarser, error);
	}
	free(weights);
	build->done = true;
	if (build->rung_number == 0)
		cube->cells_before = build->sum_count;
	return good || bp_error_set(error, "out of memory");
}

static uint64_t birth_ns(const struct bp_profile *profile, uint32_t i)
{
	return bp_packed_get(
		&profile->samples.births, bp_samples_entry(&profile->samples, i), BP_BIRTH_TIME);
}

static bool has_sample_at(const struct bp_aggregation *aggregation, uint64_t since_ns)
{
	const struct bp_profile *profile = aggregation->profile;
	const uint64_t time_ns =
		aggregation->state->view.processes[profile->root.i].base_ns + since_ns;
	uint32_t low = 1, high = profile->samples.count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (birth_ns(profile, middle) < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < profile->samples.count && birth_ns(profile, low) == time_ns;
}

/* Even steps; an edge moves on by nanoseconds until no sample lies on it. Without times, or where
 * several programs have several clocks, there is one bin. */
static bool set_edges(struct bp_cube *cube)
{
	const struct bp_aggregation *aggregation = cube->build->aggregation;
	const struct bp_aggregation_state *state = aggregation->state;
	const uint64_t length_ns = state->view.at_ns;
	cube->bins = BP_CUBE_BINS_MAX;
	if (aggregation->profile->merged_unrelated || (state->lacks & BP_LACKS_TIMES) ||
		length_ns < 1000 * BP_CUBE_BINS_MAX)
		cube->bins = 1;
	cube->bins_wanted = cube->bins;
	cube->rung = rungs[0];
	cube->rung.bins = cube->bins;
	cube->edges_ns = calloc(cube->bins + 1, sizeof *cube->edges_ns);
	if (cube->edges_ns == NULL)
		return false;
	for (uint32_t i = 1; i < cube->bins; i++) {
		uint64_t edge_ns = (uint64_t)((double)length_ns * i / cube->bins);
		while (has_sample_at(aggregation, edge_ns))
			edge_ns++;
		cube->edges_ns[i] = edge_ns;
	}
	cube->edges_ns[cube->bins] = length_ns;
	return true;
}

bool bp_cube_init(const struct bp_aggregation *aggregation, uint32_t cells_max,
	struct bp_cube *ret_cube, struct bp_error *error)
{
	struct bp_cube cube = { 0 };
	cube.build = calloc(1, sizeof *cube.build);
	if (cube.build == NULL)
		return bp_error_set(error, "out of memory");
	cube.build->aggregation = aggregation;
	cube.build->cells_max = cells_max;
	bool good = bp_cube_stacks_init(cube.build, error);
	if (good && !set_edges(&cube))
		good = bp_error_set(error, "out of memory");
	if (!good || !fill(&cube, error)) {
		bp_cube_finish(&cube);
		return false;
	}
	*ret_cube = cube;
	return true;
}

/* Adds what is live at an edge to `tally`, all else to `others`. */
static bool merge_live(
	const struct bp_cube *cube, uint32_t edge, struct bp_tally *tally, struct bp_sums *others)
{
	const struct bp_cube_build *build = cube->build;
	for (uint32_t i = 0; i < build->sum_count; i++) {
		const struct bp_cube_key *key = &build->sums[i].key;
		if (key->made >= edge || key->freed < edge)
			bp_sums_merge(others, &build->sums[i].record);
		else if (!bp_tally_add(tally, &build->sums[i].record, key->number))
			return false;
	}
	for (uint32_t i = 0; cube->outside != NULL && i <= cube->bins; i++)
		bp_sums_merge(others, &cube->outside[i]);
	return true;
}

bool bp_cube_timeline(const struct bp_cube *cube, const struct bp_aggregation *live,
	struct bp_moment_figures *ret_moments, struct bp_error *error)
{
	for (uint32_t edge = 0; edge <= cube->bins; edge++) {
		struct bp_tally tally = { 0 };
		struct bp_sums others = { 0 };
		struct bp_row row;
		/* With the end a pause that nobody ended ends too. */
		const uint64_t time_ns = cube->edges_ns[edge];
		const uint64_t before_ns =
			edge == cube->bins && time_ns > 0 ? time_ns - 1 : time_ns;
		const bool good = merge_live(cube, edge, &tally, &others);
		if (good)
			bp_figures_of_tally(live, &tally, &others, &row);
		bp_tally_finish(&tally);
		if (!good)
			return bp_error_set(error, "out of memory");
		ret_moments[edge] = (struct bp_moment_figures){ time_ns, row.samples, row.bytes,
			row.objects, bp_sampling_is_off(&live->sampling, before_ns),
			bp_sampling_has_outage(&live->sampling, before_ns) };
	}
	return true;
}

void bp_cube_finish(struct bp_cube *cube)
{
	struct bp_cube_build *build = cube->build;
	if (build != NULL) {
		bp_id_index_finish(&build->index);
		free(build->sums);
		free(build->stack_of);
		free(build->frame_of);
		free(build->stack_samples);
		free(build);
	}
	free(cube->edges_ns);
	free(cube->cells);
	free(cube->records);
	free(cube->stacks);
	free(cube->stack_frames);
	free(cube->type_keys);
	free(cube->outside);
	free(cube->windows);
	memset(cube, 0, sizeof *cube);
}
