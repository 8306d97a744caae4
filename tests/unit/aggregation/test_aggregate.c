/* SPDX-License-Identifier: MIT */
/*
 * Aggregation of small profiles. With T = 1 every object is a sample of weight 1, so every figure
 * must be exact, to the byte; with T > 1 figures must be those of estimate/ for the sums that a
 * reader would form by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "query/filter.h"
#include "small_profile.h"

static void assert_same(struct bp_interval a, struct bp_interval b)
{
	assert_true(fabs(a.estimate - b.estimate) <= 1e-9 * fabs(b.estimate));
	assert_true(fabs(a.low - b.low) <= 1e-9 * fabs(b.low));
	assert_true(fabs(a.high - b.high) <= 1e-9 * fabs(b.high));
}

static void totals_at_interval_one_are_exact(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	(void)state;
	small_exact(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	const struct bp_total *totals = a.totals;
	small_assert_exact(totals[BP_METRIC_LIVE].bytes, 137);
	small_assert_exact(totals[BP_METRIC_LIVE].objects, 3);
	small_assert_exact(totals[BP_METRIC_PEAK].bytes, 194);
	small_assert_exact(totals[BP_METRIC_PEAK].objects, 3);
	small_assert_exact(totals[BP_METRIC_ALLOCATED].bytes, 251);
	small_assert_exact(totals[BP_METRIC_ALLOCATED].objects, 5);
	small_assert_exact(totals[BP_METRIC_TEMPORARY].bytes, 64);
	small_assert_exact(totals[BP_METRIC_TEMPORARY].objects, 1);
	assert_int_equal(a.peak_at_ns, 5ull * SMALL_SECOND);
	assert_int_equal(a.duration_ns, 10ull * SMALL_SECOND);
	assert_int_equal(a.samples, 5);
	assert_null(a.warnings[0]);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

/* The objects of the peak are those of its moment, also where there are more of them at the end. */
static void objects_of_an_exact_peak(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_process_id process = { 1 };
	(void)state;
	small_init(&profile);
	small_process(&profile, 10, 1, 0, 0, 10, 1);
	struct bp_stack_id stack = small_stack(&profile, "make;main");
	small_sample(&profile, process, stack, 1000, 1, 5);
	small_sample(&profile, process, stack, 10, 6, -1);
	small_sample(&profile, process, stack, 10, 7, -1);
	small_totals(&profile, process, 1020, 1020, 3, 3);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	small_assert_exact(a.totals[BP_METRIC_LIVE].objects, 2);
	small_assert_exact(a.totals[BP_METRIC_PEAK].bytes, 1000);
	small_assert_exact(a.totals[BP_METRIC_PEAK].objects, 1);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void function_rows_skip_allocators(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_row row;
	(void)state;
	small_exact(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 3);
	bp_aggregation_row(&a, 0, &row);
	assert_string_equal(row.name, "parse");
	small_assert_exact(row.bytes, 100);
	small_assert_exact(row.objects, 1);
	assert_int_equal(row.samples, 1);
	small_assert_exact(small_row(&a, "make").bytes, 30);
	small_assert_exact(small_row(&a, "(no stack recorded)").bytes, 7);
	assert_true(bp_aggregation_rest(&a, 1, &row));
	small_assert_exact(row.bytes, 37);
	small_assert_exact(row.objects, 2);
	assert_int_equal(row.samples, 2);
	assert_false(bp_aggregation_rest(&a, 3, &row));
	bp_aggregation_finish(&a);
	query.metric = BP_METRIC_TEMPORARY;
	a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 1);
	small_assert_exact(small_row(&a, "tiny@").bytes, 64);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void cumulative_counts_each_function_once(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED, .cumulative = true };
	struct bp_row row;
	(void)state;
	small_exact(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	small_assert_exact(small_row(&a, "main").bytes, 244);
	small_assert_exact(small_row(&a, "loop").bytes, 64);
	small_assert_exact(small_row(&a, "loop").objects, 1);
	small_assert_exact(small_row(&a, "malloc").bytes, 150);
	small_assert_exact(small_row(&a, "parse").bytes, 150);
	/* What is under no row shown: main is the first, so the sample without a stack is left. */
	bp_aggregation_row(&a, 0, &row);
	assert_string_equal(row.name, "main");
	assert_true(bp_aggregation_rest(&a, 1, &row));
	small_assert_exact(row.bytes, 7);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void every_key_has_its_rows(void **state)
{
	static const struct {
		enum bp_key by;
		const char *name;
		double bytes;
		uint32_t rows;
	} cases[] = {
		{ BP_KEY_LINE, "src/parse.c:5", 150, 4 },
		{ BP_KEY_FILE, "src/tiny@.c", 64, 4 },
		{ BP_KEY_MODULE, "(no module)", 244, 2 },
		{ BP_KEY_THREAD, "worker-7 (tid 1002)", 94, 2 },
		{ BP_KEY_SIZE, "64", 64, 5 },
		{ BP_KEY_TYPE, "operator new", 30, 2 },
		{ BP_KEY_TYPE, "malloc", 221, 2 },
		{ BP_KEY_PROCESS, "program1 (pid 10)", 251, 1 },
	};
	struct bp_profile profile;
	(void)state;
	small_exact(&profile);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_query query = { .metric = BP_METRIC_ALLOCATED, .by = cases[i].by };
		struct bp_aggregation a = small_aggregate(&profile, &query);
		assert_int_equal(a.row_count, cases[i].rows);
		small_assert_exact(small_row(&a, cases[i].name).bytes, cases[i].bytes);
		bp_aggregation_finish(&a);
	}
	bp_profile_finish(&profile);
}

/* What a runtime names is a row of its own by type; by kind it stays with the call that made it. */
static void kinds_are_calls_whatever_the_type(void **state)
{
	struct bp_profile profile;
	struct bp_error error;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED, .by = BP_KEY_KIND };
	struct bp_type type = { .process = { 1 }, .id = 77 };
	struct bp_filter filter;
	(void)state;
	small_exact(&profile);
	assert_true(bp_profile_string(&profile, "Buffer", 6, &type.name, &error));
	struct bp_type_id buffer;
	assert_true(bp_profile_add_type(&profile, &type, &buffer, &error));
	for (uint32_t i = 1; i < profile.added.count; i++)
		if (profile.added.data[i].size == 64)
			profile.added.data[i].type = buffer;
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 2);
	small_assert_exact(small_row(&a, "malloc").bytes, 221);
	small_assert_exact(small_row(&a, "operator new").bytes, 30);
	bp_aggregation_finish(&a);
	query.by = BP_KEY_TYPE;
	a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 3);
	small_assert_exact(small_row(&a, "Buffer").bytes, 64);
	small_assert_exact(small_row(&a, "malloc").bytes, 157);
	bp_aggregation_finish(&a);
	assert_true(bp_filter_parse("kind=mall*", &filter, &error));
	query.filters = &filter;
	query.filter_count = 1;
	a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 2);
	small_assert_exact(small_row(&a, "Buffer").bytes, 64);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void stack_rows_have_frames(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED, .by = BP_KEY_STACK };
	struct bp_row row;
	(void)state;
	small_exact(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 4);
	bp_aggregation_row(&a, 0, &row);
	assert_null(row.name);
	assert_int_equal(row.frame_count, 4);
	assert_string_equal(
		bp_profile_text(&profile, profile.frames.data[row.frames[0].i].function), "malloc");
	assert_string_equal(
		bp_profile_text(&profile, profile.frames.data[row.frames[3].i].function), "main");
	small_assert_exact(row.bytes, 150);
	bp_aggregation_row(&a, 1, &row);
	assert_int_equal(row.frame_count, 5);
	assert_true(profile.frames.data[row.frames[0].i].inlined);
	bp_aggregation_row(&a, 3, &row);
	assert_int_equal(row.frame_count, 0);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void usable_bytes(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .usable = true };
	(void)state;
	small_exact(&profile);
	profile.added.data[1].usable = 104;
	profile.added.data[3].usable = 40;
	struct bp_aggregation a = small_aggregate(&profile, &query);
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 151);
	assert_true(small_has_warning(&a, "usable size of 3 samples"));
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

/* T = 4096: two stacks of small objects and one of large ones, which are taken exactly. */
static void make_sampled(struct bp_profile *profile)
{
	small_init(profile);
	struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, 4096);
	struct bp_stack_id small = small_stack(profile, "malloc;small;main");
	struct bp_stack_id mixed = small_stack(profile, "malloc;mixed;main");
	struct bp_stack_id large = small_stack(profile, "malloc;large;main");
	for (unsigned i = 0; i < 40; i++)
		small_sample(
			profile, process, small, 64, 0.1 * i, i % 4 == 0 ? -1 : 0.1 * i + 0.35);
	for (unsigned i = 0; i < 25; i++)
		small_sample(profile, process, mixed, 100 + 30 * i, 0.2 * i, i % 2 == 0 ? -1 : 9);
	small_sample(profile, process, large, 8192, 2, -1);
	small_totals(profile, process, 300000, 300000, 2600, 2600);
}

/* The samples of a stack, or those of them that live; and all others. */
static void parts_of(const struct bp_profile *profile, uint32_t stack, bool live_only,
	struct bp_sums *inside, struct bp_sums *others)
{
	for (uint32_t i = 1; i < profile->samples.count; i++) {
		const struct bp_sample s = bp_profile_sample(profile, i);
		const bool lives = !live_only || s.free_time_ns == BP_TIME_NEVER;
		bp_sums_add(s.stack.i == stack && lives ? inside : others, (double)s.size, s.size,
			1, s.interval, s.exact);
	}
}

static void sampled_rows_are_estimated(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_sums inside = { 0 }, others = { 0 };
	(void)state;
	make_sampled(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	parts_of(&profile, 1, true, &inside, &others);
	struct bp_row row = small_row(&a, "small");
	assert_int_equal(row.samples, 10);
	assert_same(row.bytes.interval,
		bp_estimate_known_total(&inside, &others, 4096, 300000, 300000, 0.05));
	const struct bp_size_min any = { 0, 0 };
	assert_same(row.objects.interval,
		bp_estimate_known_objects(&inside, &others, 4096, 2600, 2600, 0.05, any, 1));
	/* What was seen is certain, but small objects may be unseen beside it. */
	row = small_row(&a, "large");
	assert_true(row.bytes.interval.low == 8192 && row.bytes.interval.estimate == 8192);
	assert_true(row.bytes.interval.high > 8192 + 3 * 4096);
	/* No more than was allocated. */
	struct bp_interval live = a.totals[BP_METRIC_LIVE].bytes.interval;
	assert_true(live.high <= 300000 && live.low < live.estimate);
	small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, 300000);
	bp_aggregation_finish(&a);
	query.confidence = 0.8;
	a = small_aggregate(&profile, &query);
	assert_same(small_row(&a, "small").bytes.interval,
		bp_estimate_known_total(&inside, &others, 4096, 300000, 300000, 0.2));
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void allocated_rows_are_parts_of_the_total(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	struct bp_sums inside = { 0 }, others = { 0 };
	const struct bp_size_min any = { 0, 0 }, some = { 32, 32 };
	struct bp_row row;
	double sum = 0;
	(void)state;
	make_sampled(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	parts_of(&profile, 2, false, &inside, &others);
	row = small_row(&a, "mixed");
	assert_same(row.bytes.interval,
		bp_estimate_known_total(&inside, &others, 4096, 300000, 300000, 0.05));
	assert_same(row.objects.interval,
		bp_estimate_known_objects(&inside, &others, 4096, 2600, 2600, 0.05, any, 1));
	for (uint32_t i = 0; i < a.row_count; i++) {
		bp_aggregation_row(&a, i, &row);
		sum += row.bytes.interval.estimate;
	}
	assert_true(fabs(sum - 300000) < 1e-6 * 300000);
	assert_true(bp_aggregation_rest(&a, 1, &row));
	sum = row.bytes.interval.estimate;
	bp_aggregation_row(&a, 0, &row);
	assert_true(fabs(sum + row.bytes.interval.estimate - 300000) < 1e-6 * 300000);
	bp_aggregation_finish(&a);
	/* Cumulative: everything is under main, which is then the total. */
	query.cumulative = true;
	a = small_aggregate(&profile, &query);
	row = small_row(&a, "main");
	assert_true(fabs(row.bytes.interval.estimate - 300000) < 0.01);
	bp_aggregation_finish(&a);
	query = (struct bp_query){ .metric = BP_METRIC_ALLOCATED,
		.estimator = BP_ESTIMATOR_CALIBRATED };
	a = small_aggregate(&profile, &query);
	row = small_row(&a, "mixed");
	assert_same(row.objects.interval,
		bp_estimate_known_objects(&inside, &others, 4096, 2600, 2600, 0.05, any, 1));
	bp_aggregation_finish(&a);
	query = (struct bp_query){
		.metric = BP_METRIC_ALLOCATED, .has_size_min = true, .size_min = 32
	};
	a = small_aggregate(&profile, &query);
	assert_same(small_row(&a, "mixed").objects.interval,
		bp_estimate_known_objects(&inside, &others, 4096, 2600, 2600, 0.05, some, 1));
	bp_aggregation_finish(&a);
	query = (struct bp_query){ .metric = BP_METRIC_ALLOCATED, .estimator = BP_ESTIMATOR_HT };
	a = small_aggregate(&profile, &query);
	assert_same(small_row(&a, "mixed").bytes.interval, bp_estimate_bytes(&inside, 4096, 0.05));
	bp_aggregation_finish(&a);
	/* A window has no counted total. */
	query = (struct bp_query){
		.metric = BP_METRIC_ALLOCATED, .has_to = true, .to_ns = 20ull * SMALL_SECOND
	};
	a = small_aggregate(&profile, &query);
	assert_false(a.totals[BP_METRIC_ALLOCATED].bytes.interval.exact);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void a_killed_process_has_totals_within_limits(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	(void)state;
	make_sampled(&profile);
	profile.processes.data[1].ended = false;
	small_totals(&profile, (struct bp_process_id){ 1 }, 290000, 310000, 3700, 3900);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	struct bp_figure bytes = a.totals[BP_METRIC_ALLOCATED].bytes;
	assert_true(bytes.interval.unknown);
	assert_false(bytes.interval.exact);
	assert_true(bytes.interval.low == 290000 && bytes.interval.high == 310000);
	assert_true(small_has_warning(&a, "did not end in order"));
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void losses_make_bounds(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	(void)state;
	make_sampled(&profile);
	profile.processes.data[1].lost[4] = 9; /* stacks: no figure changes */
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_false(a.totals[BP_METRIC_LIVE].bytes.lower_bound);
	assert_true(small_has_warning(&a, "9 stacks lost"));
	assert_int_equal(a.lost_samples, 0);
	bp_aggregation_finish(&a);
	profile.processes.data[1].lost[2] = 3; /* samples */
	a = small_aggregate(&profile, &query);
	assert_true(a.totals[BP_METRIC_LIVE].bytes.lower_bound);
	assert_true(a.totals[BP_METRIC_PEAK].objects.lower_bound);
	assert_false(a.totals[BP_METRIC_LIVE].bytes.upper_bound);
	/* Counted, not sampled: still exact. */
	small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, 300000);
	assert_false(a.totals[BP_METRIC_ALLOCATED].bytes.lower_bound);
	assert_true(small_row(&a, "small").bytes.lower_bound);
	assert_int_equal(a.lost_samples, 3);
	bp_aggregation_finish(&a);
	profile.processes.data[1].lost[2] = 0;
	profile.processes.data[1].lost[8] = 1; /* a free */
	a = small_aggregate(&profile, &query);
	assert_true(a.totals[BP_METRIC_LIVE].bytes.upper_bound);
	assert_false(a.totals[BP_METRIC_LIVE].bytes.lower_bound);
	bp_aggregation_finish(&a);
	profile.processes.data[1].lost[10] = 1; /* a child without a trace */
	a = small_aggregate(&profile, &query);
	assert_true(a.totals[BP_METRIC_ALLOCATED].bytes.lower_bound);
	assert_false(a.totals[BP_METRIC_ALLOCATED].bytes.interval.exact);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void no_smallest_size_is_assumed(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	(void)state;
	make_sampled(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_int_equal(a.size_min, 0);
	bp_aggregation_finish(&a);
	/* A hundred thousand objects of a byte each that no sample shows: they may be any row's,
	 * and are no row's for certain. */
	small_totals(&profile, (struct bp_process_id){ 1 }, 400000, 400000, 103800, 103800);
	a = small_aggregate(&profile, &query);
	assert_int_equal(a.size_min, 0);
	struct bp_row row = small_row(&a, "small");
	assert_true(row.objects.interval.high > 10000 && row.objects.interval.estimate < 3000);
	bp_aggregation_finish(&a);
	/* Stated otherwise, the count contradicts. */
	query.has_size_min = true;
	query.size_min = 64;
	a = small_aggregate(&profile, &query);
	assert_int_equal(a.size_min, 64);
	assert_true(small_has_warning(&a, "--min-size"));
	bp_aggregation_finish(&a);
	/* What the kind of profile implies is no assumption. */
	query.has_size_min = false;
	profile.processes.data[1].size_floor = 24;
	a = small_aggregate(&profile, &query);
	assert_int_equal(a.size_min, 24);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void empty_profiles_say_why(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	(void)state;
	small_init(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_true(small_has_warning(&a, "no process"));
	assert_false(a.totals[BP_METRIC_LIVE].known);
	assert_int_equal(a.row_count, 0);
	bp_aggregation_finish(&a);
	struct bp_process_id process = small_process(&profile, 10, 1, 0, 0, 10, 4096);
	a = small_aggregate(&profile, &query);
	assert_true(small_has_warning(&a, "no allocation at all"));
	small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, 0);
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 0);
	bp_aggregation_finish(&a);
	small_totals(&profile, process, 100, 100, 2, 2);
	a = small_aggregate(&profile, &query);
	assert_true(small_has_warning(&a, "no sample"));
	/* 3.69 T, but no more than was allocated. */
	assert_true(a.totals[BP_METRIC_LIVE].bytes.interval.high == 100);
	bp_aggregation_finish(&a);
	profile.processes.data[process.i].profiled = false;
	profile.processes.data[process.i].unprofiled_reason = 1;
	profile.processes.data[process.i].unseen_execs = 2;
	profile.processes.data[process.i].unseen_example = small_string(&profile, "/bin/su");
	profile.processes.data[process.i].unseen_reason = 1;
	a = small_aggregate(&profile, &query);
	assert_true(small_has_warning(&a, "nothing was profiled"));
	assert_true(small_has_warning(&a, "its malloc is linked in"));
	assert_true(small_has_warning(&a, "2 processes not seen: /bin/su"));
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void meaningless_queries_are_refused(void **state)
{
	static const struct bp_query bad[] = {
		{ .confidence = 1 },
		{ .confidence = -0.5 },
		{ .cumulative = true, .by = BP_KEY_THREAD },
		{ .cumulative = true, .by = BP_KEY_STACK },
		{ .metric = BP_METRIC_PEAK, .has_at = true },
		{ .has_from = true, .from_ns = 5, .has_to = true, .to_ns = 5 },
		{ .estimator = BP_ESTIMATOR_CALIBRATED },
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct bp_error error = { 0 };
		assert_false(bp_query_check(&bad[i], &error));
		assert_true(error.text[0] != '\0');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_at_interval_one_are_exact),
		cmocka_unit_test(objects_of_an_exact_peak),
		cmocka_unit_test(function_rows_skip_allocators),
		cmocka_unit_test(cumulative_counts_each_function_once),
		cmocka_unit_test(every_key_has_its_rows),
		cmocka_unit_test(kinds_are_calls_whatever_the_type),
		cmocka_unit_test(stack_rows_have_frames),
		cmocka_unit_test(usable_bytes),
		cmocka_unit_test(sampled_rows_are_estimated),
		cmocka_unit_test(allocated_rows_are_parts_of_the_total),
		cmocka_unit_test(a_killed_process_has_totals_within_limits),
		cmocka_unit_test(losses_make_bounds),
		cmocka_unit_test(no_smallest_size_is_assumed),
		cmocka_unit_test(empty_profiles_say_why),
		cmocka_unit_test(meaningless_queries_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
