/* SPDX-License-Identifier: MIT */
/*
 * The cube: what its cells add up to is what an aggregation of the same question says, at every
 * edge, in windows, by function, with filters; and still does after every rung of coarsening, down
 * to the last.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "page/cube.h"
#include "query/filter.h"
#include "small_profile.h"

#define SAMPLES 3000u
#define FUNCTIONS 7u
#define STACKS 60u

static uint64_t draw(uint64_t seed, uint64_t below)
{
	return bp_hash_u64(seed + 77) % below;
}

/* Ten seconds, two threads, T = 512; every third object is never freed. */
static void make(struct bp_profile *profile)
{
	struct bp_stack_id stacks[STACKS];
	struct bp_thread_id threads[2];
	small_init(profile);
	struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 10, 512);
	for (unsigned i = 0; i < 2; i++)
		threads[i] = small_thread(profile, process, i + 1, i == 0 ? "main" : "worker");
	for (unsigned i = 0; i < STACKS; i++) {
		char text[64];
		snprintf(text, sizeof text, "function%u;caller%u;main", i % FUNCTIONS, i);
		stacks[i] = small_stack(profile, text);
	}
	for (unsigned i = 0; i < SAMPLES; i++) {
		const double time_s = (double)draw(4 * i, 9999999) / 1e6;
		const double free_s = time_s + (double)draw(4 * i + 1, 4000000) / 1e6;
		/* Some stacks have many samples, most have few. */
		const unsigned stack = (unsigned)draw(4 * i + 2, 1 + draw(4 * i + 3, STACKS));
		struct bp_sample *sample = small_sample(profile, process, stacks[stack],
			draw(i, 3) == 0 ? 16 : draw(5 * i, 9000), time_s,
			i % 3 == 0 || free_s >= 10 ? -1 : free_s);
		sample->thread = threads[i % 2];
		sample->temporary = i % 3 != 0 && free_s < 10 && i % 5 == 0;
	}
}

static void assert_near(double value, double wanted)
{
	assert_true(fabs(value - wanted) <= 1e-9 * fabs(wanted));
}

struct sums {
	uint64_t samples;
	double bytes, objects;
};

static void add(struct sums *sums, const struct bp_sums *more)
{
	sums->samples += more->samples;
	sums->bytes += more->bytes + more->c1;
	sums->objects += (double)more->samples + more->n1;
}

static void assert_same(struct sums cube, const struct bp_aggregation *aggregation)
{
	const struct bp_sums *all =
		bp_aggregation_total_sums(aggregation, aggregation->query.metric);
	struct sums wanted = { 0 };
	add(&wanted, all);
	assert_int_equal(cube.samples, wanted.samples);
	assert_near(cube.bytes, wanted.bytes);
	assert_near(cube.objects, wanted.objects);
}

static void check_edge(const struct bp_cube *cube, const struct bp_profile *profile,
	struct bp_query query, uint32_t edge)
{
	struct bp_aggregation aggregation;
	struct bp_error error;
	struct sums live = { 0 };
	query.metric = BP_METRIC_LIVE;
	query.has_at = edge < cube->bins;
	query.at_ns = cube->edges_ns[edge];
	for (uint32_t i = 0; i < cube->cell_count; i++)
		if (cube->cells[i].made < edge && cube->cells[i].freed >= edge)
			add(&live, &cube->records[cube->cells[i].record]);
	assert_true(bp_aggregate(profile, &query, &aggregation, &error));
	assert_same(live, &aggregation);
	bp_aggregation_finish(&aggregation);
}

static void check_window(const struct bp_cube *cube, const struct bp_profile *profile,
	struct bp_query query, uint32_t from, uint32_t to)
{
	struct bp_aggregation aggregation;
	struct bp_error error;
	struct sums allocated = { 0 };
	query.metric = BP_METRIC_ALLOCATED;
	query.has_from = true;
	query.from_ns = cube->edges_ns[from];
	query.has_to = to < cube->bins;
	query.to_ns = cube->edges_ns[to];
	for (uint32_t i = 0; i < cube->cell_count; i++)
		if (cube->cells[i].made >= from && (cube->cells[i].made < to || to == cube->bins))
			add(&allocated, &cube->records[cube->cells[i].record]);
	assert_true(bp_aggregate(profile, &query, &aggregation, &error));
	assert_same(allocated, &aggregation);
	bp_aggregation_finish(&aggregation);
}

static bool is_charged(const struct bp_cube *cube, const struct bp_profile *profile, uint32_t stack,
	const char *name)
{
	const struct bp_cube_stack *of = &cube->stacks[stack];
	const uint32_t frame = cube->stack_frames[of->first + of->charged].i;
	return strcmp(bp_profile_text(profile, profile->frames.data[frame].function), name) == 0;
}

/* By function, in the metric whose cells have this flag. */
static void check_functions(const struct bp_cube *cube, const struct bp_profile *profile,
	struct bp_query query, enum bp_metric metric, uint8_t flag)
{
	struct bp_aggregation aggregation;
	struct bp_error error;
	query.metric = metric;
	assert_true(bp_aggregate(profile, &query, &aggregation, &error));
	assert_true(aggregation.row_count > 0 || metric == BP_METRIC_TEMPORARY);
	for (uint32_t row = 0; row < aggregation.row_count; row++) {
		struct bp_row wanted;
		uint64_t samples = 0;
		bp_aggregation_row(&aggregation, row, &wanted);
		for (uint32_t i = 0; i < cube->cell_count; i++) {
			const struct bp_sums *record = &cube->records[cube->cells[i].record];
			if (!is_charged(cube, profile, cube->cells[i].stack, wanted.name))
				continue;
			if ((cube->cells[i].flags & flag) == flag)
				samples += record->samples;
		}
		assert_int_equal(samples, wanted.samples);
	}
	bp_aggregation_finish(&aggregation);
}

static void check_all(
	const struct bp_cube *cube, const struct bp_profile *profile, struct bp_query query)
{
	for (uint32_t edge = 1; edge <= cube->bins; edge += 1 + cube->bins / 7)
		check_edge(cube, profile, query, edge);
	check_edge(cube, profile, query, cube->bins);
	for (uint32_t from = 0; from < cube->bins; from += 1 + cube->bins / 4) {
		check_window(cube, profile, query, from, from + 1);
		check_window(cube, profile, query, from, cube->bins);
	}
	check_functions(cube, profile, query, BP_METRIC_PEAK, BP_CUBE_PEAK);
	check_functions(cube, profile, query, BP_METRIC_TEMPORARY, BP_CUBE_TEMPORARY);
	check_functions(cube, profile, query, BP_METRIC_ALLOCATED, 0);
}

/* Down all rungs, to so few cells as make sense. */
static void go_down(struct bp_query query, uint32_t cells_max)
{
	struct bp_profile profile;
	struct bp_cube cube;
	struct bp_error error;
	uint32_t cells = UINT32_MAX, stacks = UINT32_MAX, rungs = 0;
	make(&profile);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	assert_true(bp_cube_init(&aggregation, cells_max, &cube, &error));
	for (bool coarser = true; coarser; rungs++) {
		assert_true(bp_cube_pack(&cube, &error));
		check_all(&cube, &profile, query);
		assert_true(cube.cell_count <= cells && cube.stack_count <= stacks);
		assert_true(
			cube.window_count == (cube.bins > 1 ? cube.bins * (cube.bins + 1) / 2 : 0));
		cells = cube.cell_count;
		stacks = cube.stack_count;
		assert_true(bp_cube_coarsen(&cube, &coarser, &error));
	}
	assert_true(rungs > 1);
	assert_int_equal(cube.bins, 1);
	assert_true(cells < 200);
	/* Nothing but the charged function is left of them. */
	assert_true(stacks <= FUNCTIONS);
	assert_true(cube.stacks_merged > FUNCTIONS && cube.samples_merged <= cube.samples);
	bp_cube_finish(&cube);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

static void test_all_rungs(void **state)
{
	(void)state;
	go_down((struct bp_query){ 0 }, UINT32_MAX);
}

static void test_coarser_while_built(void **state)
{
	(void)state;
	go_down((struct bp_query){ 0 }, 300);
}

static void test_filtered(void **state)
{
	struct bp_filter filter;
	struct bp_error error;
	(void)state;
	assert_true(bp_filter_parse("size=0..3000", &filter, &error));
	go_down((struct bp_query){ .filters = &filter, .filter_count = 1 }, UINT32_MAX);
}

/* No edge but the first and the last lies on a sample's time, however many there are. */
static void test_edges_apart(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_cube cube;
	struct bp_error error;
	(void)state;
	small_init(&profile);
	struct bp_process_id process = small_process(&profile, 1, 1, 0, 0, 12, 1);
	struct bp_stack_id stack = small_stack(&profile, "f;main");
	/* One on every edge that is asked for, and one behind each. */
	for (unsigned i = 0; i <= 120; i++)
		for (unsigned k = 0; k < 2; k++)
			small_sample(&profile, process, stack, 8, i / 10.0 + k * 1e-9, -1);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	assert_true(bp_cube_init(&aggregation, UINT32_MAX, &cube, &error));
	assert_true(bp_cube_pack(&cube, &error));
	for (uint32_t edge = 1; edge < cube.bins; edge++)
		for (uint32_t i = 1; i < profile.samples.count; i++)
			assert_int_not_equal(bp_profile_sample(&profile, i).time_ns,
				SMALL_BASE_NS + cube.edges_ns[edge]);
	check_all(&cube, &profile, query);
	bp_cube_finish(&cube);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

static void test_nothing(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_cube cube;
	struct bp_error error;
	bool coarser = true;
	(void)state;
	small_init(&profile);
	small_process(&profile, 1, 1, 0, 0, 10, 512);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	assert_true(bp_cube_init(&aggregation, 0, &cube, &error));
	while (coarser) {
		assert_true(bp_cube_pack(&cube, &error));
		assert_int_equal(cube.cell_count, 0);
		assert_true(bp_cube_coarsen(&cube, &coarser, &error));
	}
	bp_cube_finish(&cube);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_rungs),
		cmocka_unit_test(test_coarser_while_built),
		cmocka_unit_test(test_filtered),
		cmocka_unit_test(test_edges_apart),
		cmocka_unit_test(test_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
