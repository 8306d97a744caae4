/* SPDX-License-Identifier: MIT */
/*
 * What a query selects: filters, moments, windows, processes of a tree, unrelated files. All at
 * T = 1, where every figure must be exact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "model/gaps/losses.h"
#include "query/filter.h"
#include "small_profile.h"

static struct bp_aggregation filtered(struct bp_profile *profile, struct bp_query query,
	struct bp_filter *filters, uint32_t count)
{
	query.filters = filters;
	query.filter_count = count;
	return small_aggregate(profile, &query);
}

static void filters_select(void **state)
{
	static const struct {
		const char *text;
		bool cumulative;
		double bytes;
	} cases[] = {
		{ "function=parse", false, 150 },
		{ "function=malloc", false, 0 },
		{ "function=malloc", true, 150 },
		{ "function=p*", false, 150 },
		{ "function=parse|make", false, 180 },
		{ "function=nothing|m?ke|pars[ef|]", false, 180 },
		{ "function=parse\\|make", false, 0 },
		{ "function=p*|(no stack*", false, 157 },
		{ "file=nothing.c|parse.c", false, 150 },
		{ "thread=main|1001|worker-*", false, 251 },
		{ "process=11|10", false, 251 },
		{ "stack=load", false, 150 },
		{ "stack=*n", false, 244 },
		{ "file=parse.c", false, 150 },
		{ "file=src/p*", false, 150 },
		{ "line=parse.c:5", false, 150 },
		{ "line=parse.c:6", false, 0 },
		{ "thread=worker-*", false, 94 },
		{ "thread=1001", false, 157 },
		{ "type=operator new", false, 30 },
		{ "process=program1", false, 251 },
		{ "process=10", false, 251 },
		{ "process=11", false, 0 },
		{ "size=30..64", false, 144 },
		{ "size=64..", false, 164 },
		{ "size=..30", false, 37 },
		{ "size=50", false, 50 },
		{ "size=1K..4K", false, 0 },
		{ "time=..", false, 251 },
		{ "time=2..5", false, 80 },
		{ "time=2s..5.5s", false, 144 },
		{ "time=2001ms..", false, 101 },
		{ "time=..1000000001ns", false, 100 },
		{ "time=..1000000us", false, 0 },
		{ "time=0m..1h", false, 251 },
	};
	struct bp_profile profile;
	(void)state;
	small_exact(&profile);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_filter filter;
		struct bp_error error;
		struct bp_query query = { .metric = BP_METRIC_ALLOCATED,
			.cumulative = cases[i].cumulative };
		assert_true(bp_filter_parse(cases[i].text, &filter, &error));
		struct bp_aggregation a = filtered(&profile, query, &filter, 1);
		small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, cases[i].bytes);
		bp_aggregation_finish(&a);
	}
	struct bp_filter both[2];
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	assert_true(bp_filter_parse("function=parse", &both[0], NULL));
	assert_true(bp_filter_parse("size=60..200", &both[1], NULL));
	struct bp_aggregation a = filtered(&profile, query, both, 2);
	small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, 100);
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 100);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

/* The peak of what was allocated from 2 s on: 50 is freed at 4 s, 64 at 5.5 s. The window alone says
 * which moments are looked at, and leaves in what was allocated before. */
static void time_and_window_give_the_peak_of_a_window(void **state)
{
	struct bp_query query = {
		.metric = BP_METRIC_PEAK, .has_from = true, .from_ns = 2000000000
	};
	struct bp_profile profile;
	struct bp_filter filter;
	(void)state;
	small_exact(&profile);
	assert_true(bp_filter_parse("time=2..7", &filter, NULL));
	struct bp_aggregation a = filtered(&profile, query, &filter, 1);
	small_assert_exact(a.totals[BP_METRIC_PEAK].bytes, 94);
	bp_aggregation_finish(&a);
	a = filtered(&profile, query, &filter, 0);
	small_assert_exact(a.totals[BP_METRIC_PEAK].bytes, 194);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

/* A frame of which no more is known than a name, or not even that. */
static struct bp_stack_id bare_stack(
	struct bp_profile *profile, const char *function, uint64_t address)
{
	const struct bp_module_id none = { 0 };
	const struct bp_frame frame = { .function = small_string(profile, function),
		.named = *function != '\0' };
	struct bp_location_id location;
	struct bp_stack_id stack;
	assert_true(bp_profile_add_location(profile, none, address, false, &location, NULL));
	assert_true(bp_profile_set_frames(profile, location, &frame, 1, NULL));
	assert_true(bp_profile_add_stack(profile, &location, 1, 0, &stack, NULL));
	return stack;
}

/* `KEY=NAME`, with what a glob would take for more than itself made plain. */
static const char *filter_of(const char *key, const char *name, char *text)
{
	size_t used = (size_t)sprintf(text, "%s=", key);
	for (; *name != '\0'; name++) {
		if (strchr("*?[\\", *name) != NULL)
			text[used++] = '\\';
		text[used++] = *name;
	}
	text[used] = '\0';
	return text;
}

/* Whatever rows are called, that name as a filter selects them, and their bytes. */
static void rows_are_found_by_their_names(void **state)
{
	static const char *const keys[] = { "function", "line", "file", "module", "thread", "size",
		"type", "kind", "process", "label", "label:tenant" };
	struct bp_profile profile;
	struct bp_labels_id labels;
	uint32_t found = 0;
	(void)state;
	struct bp_process_id process = small_exact(&profile);
	assert_true(bp_profile_add_labels(&profile, "tenant=42\nx=[1]", 15, &labels, NULL));
	small_sample(&profile, process, bare_stack(&profile, "dict_add(int*)", 1), 11, 2, -1)
		->labels = labels;
	small_sample(&profile, process, bare_stack(&profile, "", 2), 13, 2, -1);
	small_sample(&profile, process, (struct bp_stack_id){ 0 }, 17, 2, -1);
	small_totals(&profile, process, 251 + 41, 251 + 41, 8, 8);
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
		struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
		assert_true(bp_query_set_by(&query, keys[k], NULL));
		struct bp_aggregation all = small_aggregate(&profile, &query);
		for (uint32_t i = 0; i < all.row_count; i++) {
			struct bp_filter filter;
			struct bp_row row;
			char text[512];
			bp_aggregation_row(&all, i, &row);
			assert_true(
				bp_filter_parse(filter_of(keys[k], row.name, text), &filter, NULL));
			struct bp_aggregation a = filtered(&profile, query, &filter, 1);
			small_assert_exact(
				small_row(&a, row.name).bytes, row.bytes.interval.estimate);
			small_assert_exact(
				a.totals[BP_METRIC_ALLOCATED].bytes, row.bytes.interval.estimate);
			bp_aggregation_finish(&a);
			found++;
		}
		bp_aggregation_finish(&all);
	}
	assert_true(found > 30);
	static const struct {
		const char *text;
		double bytes;
	} cases[] = { { "line=*dict*", 11 }, { "line=dict_add", 11 }, { "function=*no*", 0 },
		{ "function=(no name)", 13 }, { "line=*name*", 0 }, { "stack=(no stack*", 17 + 7 },
		{ "label=*", 11 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
		struct bp_filter filter;
		assert_true(bp_filter_parse(cases[i].text, &filter, NULL));
		struct bp_aggregation a = filtered(&profile, query, &filter, 1);
		small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, cases[i].bytes);
		bp_aggregation_finish(&a);
	}
	bp_profile_finish(&profile);
}

static void bad_filters_are_refused(void **state)
{
	static const char *const bad[] = { "parse", "=x", "functions=x", "size=", "size=a..b",
		"size=4K..64", "size=1x", "size=0x10", "size=1..2..3", "size=-1", "time=", "time=1",
		"time=2..1", "time=1..1", "time=1d..", "time=-1..2", "time=a..b", "time=0x1..2" };
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct bp_filter filter;
		struct bp_error error = { 0 };
		assert_false(bp_filter_parse(bad[i], &filter, &error));
		assert_non_null(strstr(error.text, "--filter"));
	}
	struct bp_filter filter;
	assert_true(bp_filter_parse("freed-by=drop_*", &filter, NULL));
	assert_true(filter.of_free);
	assert_string_equal(filter.glob, "drop_*");
	assert_false(bp_filter_parse("freed=drop_*", &filter, NULL));
	assert_true(bp_filter_parse("size=1.5K..2MiB", &filter, NULL));
	assert_false(filter.of_free);
	assert_int_equal(filter.size_low, 1536);
	assert_int_equal(filter.size_high, 2 << 20);
}

/* The stacks that freed are not known in this profile: scenario/test_pairs.py has known ones. */
static void what_was_freed_and_where_nobody_knows(void **state)
{
	static const struct {
		const char *text;
		bool freed;
	} cases[] = { { "freed-by=(not known*", true }, { "freed-by=x|(*", true },
		{ "freed-by=*", false }, { "freed-by=parse", false } };
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	struct bp_profile profile;
	struct bp_filter filter;
	struct bp_error error;
	struct bp_aggregation a;
	(void)state;
	small_exact(&profile);
	assert_true(bp_filter_parse("freed-by=(*", &filter, NULL));
	query.filters = &filter;
	query.filter_count = 1;
	assert_false(bp_aggregate(&profile, &query, &a, &error));
	assert_non_null(strstr(error.text, "run --free-stacks"));
	profile.processes.data[1].free_stacks = true;
	a = filtered(&profile, query, NULL, 0);
	const double freed = a.totals[BP_METRIC_ALLOCATED].bytes.interval.estimate -
			     a.totals[BP_METRIC_LIVE].bytes.interval.estimate;
	assert_true(freed > 0);
	bp_aggregation_finish(&a);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_true(bp_filter_parse(cases[i].text, &filter, NULL));
		a = filtered(&profile, query, &filter, 1);
		small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, cases[i].freed ? freed : 0);
		assert_false(a.totals[BP_METRIC_LIVE].known);
		bp_aggregation_finish(&a);
	}
	query.metric = BP_METRIC_LIVE;
	assert_false(bp_aggregate(&profile, &query, &a, &error));
	assert_non_null(strstr(error.text, "not freed"));
	profile.mapped = true;
	assert_false(bp_aggregate(&profile, &query, &a, &error));
	assert_non_null(strstr(error.text, "unmaps"));
	bp_profile_finish(&profile);
}

/* A free that was lost is missing from what was freed, and adds to what seems to live. */
static void lost_frees_make_what_was_freed_a_lower_limit(void **state)
{
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	struct bp_profile profile;
	struct bp_filter filter;
	uint32_t reason = 0;
	(void)state;
	small_exact(&profile);
	while (!bp_loss_kind(reason).frees || bp_loss_kind(reason).samples)
		assert_true(++reason < BP_PROFILE_LOSSES);
	profile.processes.data[1].free_stacks = true;
	profile.processes.data[1].lost[reason] = 1;
	assert_true(bp_filter_parse("freed-by=(*", &filter, NULL));
	struct bp_aggregation a = filtered(&profile, query, &filter, 1);
	assert_true(a.totals[BP_METRIC_ALLOCATED].bytes.lower_bound);
	assert_false(a.totals[BP_METRIC_ALLOCATED].bytes.interval.exact);
	assert_true(a.totals[BP_METRIC_PEAK].bytes.lower_bound);
	assert_false(a.totals[BP_METRIC_PEAK].bytes.upper_bound);
	bp_aggregation_finish(&a);
	a = filtered(&profile, query, NULL, 0);
	assert_false(a.totals[BP_METRIC_ALLOCATED].bytes.lower_bound);
	assert_true(a.totals[BP_METRIC_PEAK].bytes.upper_bound);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void moments_and_windows(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .has_at = true, .at_ns = 3500000000u };
	struct bp_error error;
	(void)state;
	small_exact(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 180);
	bp_aggregation_finish(&a);
	query.at_ns = 4u * SMALL_SECOND; /* freed at that moment: gone */
	a = small_aggregate(&profile, &query);
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 130);
	bp_aggregation_finish(&a);
	query.at_ns = 11ull * SMALL_SECOND;
	assert_false(bp_aggregate(&profile, &query, &a, &error));
	query = (struct bp_query){ .metric = BP_METRIC_ALLOCATED,
		.has_from = true,
		.from_ns = 2u * SMALL_SECOND,
		.has_to = true,
		.to_ns = 5ull * SMALL_SECOND };
	a = small_aggregate(&profile, &query);
	small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, 80);
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 30);
	small_assert_exact(a.totals[BP_METRIC_TEMPORARY].bytes, 0);
	small_assert_exact(a.totals[BP_METRIC_PEAK].bytes, 180);
	bp_aggregation_finish(&a);
	query.from_ns = 4u * SMALL_SECOND; /* what was live at the start of the window counts */
	a = small_aggregate(&profile, &query);
	small_assert_exact(a.totals[BP_METRIC_PEAK].bytes, 130);
	bp_aggregation_finish(&a);
	query.from_ns = 7ull * SMALL_SECOND;
	query.to_ns = 8ull * SMALL_SECOND;
	a = small_aggregate(&profile, &query);
	small_assert_exact(a.totals[BP_METRIC_PEAK].bytes, 137);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

/* Root 0 to 10 s, a child 2 to 5 s that leaks, a child 6 to 20 s that outlives the root. */
static void process_trees_are_merged(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .by = BP_KEY_PROCESS };
	(void)state;
	small_init(&profile);
	struct bp_process_id root = small_process(&profile, 10, 1, 0, 0, 10, 1);
	struct bp_process_id early = small_process(&profile, 11, 2, 1, 2, 5, 1);
	struct bp_process_id late = small_process(&profile, 12, 3, 1, 6, 20, 1);
	struct bp_stack_id stack = small_stack(&profile, "work;main");
	small_sample(&profile, root, stack, 100, 1, 10);
	small_sample(&profile, root, stack, 10, 1, -1);
	small_sample(&profile, early, stack, 1000, 3, -1);
	small_sample(&profile, late, stack, 40, 7, 12);
	small_sample(&profile, late, stack, 5000, 15, -1);
	small_totals(&profile, root, 110, 110, 2, 2);
	small_totals(&profile, early, 1000, 1000, 1, 1);
	small_totals(&profile, late, 5040, 5040, 2, 2);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 50);
	small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, 6150);
	small_assert_exact(a.totals[BP_METRIC_PEAK].bytes, 5000);
	small_assert_exact(small_row(&a, "program1 (pid 10)").bytes, 10);
	small_assert_exact(small_row(&a, "program3 (pid 12)").bytes, 40);
	assert_false(small_has_row(&a, "program2 (pid 11)"));
	bp_aggregation_finish(&a);
	query.metric = BP_METRIC_ALLOCATED;
	a = small_aggregate(&profile, &query);
	small_assert_exact(small_row(&a, "program2 (pid 11)").bytes, 1000);
	bp_aggregation_finish(&a);
	/* A process by itself: live at its own end. */
	query = (struct bp_query){ .pid = 11 };
	a = small_aggregate(&profile, &query);
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 1000);
	small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, 1000);
	assert_int_equal(a.samples, 1);
	bp_aggregation_finish(&a);
	struct bp_error error;
	query.pid = 13;
	assert_false(bp_aggregate(&profile, &query, &a, &error));
	bp_profile_finish(&profile);
}

/* The heap of an image is gone after its exec; the process lives on. */
static void exit_follows_execs(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	(void)state;
	small_init(&profile);
	struct bp_process_id shell = small_process(&profile, 10, 1, 0, 0, 1, 1);
	profile.processes.data[shell.i].end_reason = 5;
	struct bp_process_id program = small_process(&profile, 10, 2, 0, 1, 8, 1);
	struct bp_stack_id stack = small_stack(&profile, "work;main");
	small_sample(&profile, shell, stack, 100, 0.5, -1);
	small_sample(&profile, program, stack, 30, 2, -1);
	small_totals(&profile, shell, 100, 100, 1, 1);
	small_totals(&profile, program, 30, 30, 1, 1);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 30);
	small_assert_exact(a.totals[BP_METRIC_PEAK].bytes, 100);
	assert_int_equal(a.duration_ns, 8ull * SMALL_SECOND);
	assert_int_equal(a.subject.i, program.i);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void unrelated_files_have_no_peak(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_aggregation a;
	struct bp_error error;
	(void)state;
	small_init(&profile);
	struct bp_process_id one = small_process(&profile, 10, 1, 0, 0, 10, 1);
	struct bp_process_id two = small_process(&profile, 20, 2, 0, 100, 110, 1);
	struct bp_stack_id stack = small_stack(&profile, "work;main");
	small_sample(&profile, one, stack, 100, 1, -1);
	small_sample(&profile, two, stack, 30, 101, -1);
	small_sample(&profile, two, stack, 5, 101, 102);
	small_totals(&profile, one, 100, 100, 1, 1);
	small_totals(&profile, two, 35, 35, 2, 2);
	assert_true(bp_profile_finish_import(&profile, true, &error));
	assert_true(bp_aggregate(&profile, &query, &a, &error));
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 130);
	small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, 135);
	assert_false(a.totals[BP_METRIC_PEAK].known);
	assert_true(small_has_warning(&a, "unrelated"));
	bp_aggregation_finish(&a);
	query = (struct bp_query){ .has_at = true, .at_ns = 1500000000 };
	assert_true(bp_aggregate(&profile, &query, &a, &error));
	small_assert_exact(a.totals[BP_METRIC_LIVE].bytes, 135);
	bp_aggregation_finish(&a);
	query = (struct bp_query){ .metric = BP_METRIC_PEAK };
	assert_false(bp_aggregate(&profile, &query, &a, &error));
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(filters_select),
		cmocka_unit_test(time_and_window_give_the_peak_of_a_window),
		cmocka_unit_test(rows_are_found_by_their_names),
		cmocka_unit_test(bad_filters_are_refused),
		cmocka_unit_test(what_was_freed_and_where_nobody_knows),
		cmocka_unit_test(lost_frees_make_what_was_freed_a_lower_limit),
		cmocka_unit_test(moments_and_windows),
		cmocka_unit_test(process_trees_are_merged),
		cmocka_unit_test(exit_follows_execs),
		cmocka_unit_test(unrelated_files_have_no_peak),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
