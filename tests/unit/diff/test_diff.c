/* SPDX-License-Identifier: MIT */
/*
 * Differences of small profiles: which rows are one, what cancels, which verdicts are given, what
 * losses leave open. Figures at T = 1 are known, so that most of this needs no statistics; where it
 * does, samples are so many or so few that any method must agree.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "diff/diff.h"
#include "diff_rows.h"
#include "model/gaps/losses.h"
#include "query/filter.h"
#include "small_profile.h"

#define RUNS_MAX 8

/* Profiles and what is made of them; zeroed: nothing yet. */
struct comparison {
	struct bp_profile profiles[RUNS_MAX];
	struct bp_aggregation aggregations[RUNS_MAX];
	struct bp_run runs[RUNS_MAX];
	struct bp_query query;
	struct bp_diff_query asked;
	struct bp_diff diff;
	unsigned count;
};

static struct bp_profile *add_run(struct comparison *c, uint64_t interval)
{
	struct bp_profile *profile = &c->profiles[c->count++];
	small_init(profile);
	small_process(profile, 10, 1, 0, 0, 10, interval);
	return profile;
}

static void sample(struct bp_profile *profile, const char *stack, uint64_t size)
{
	small_sample(
		profile, (struct bp_process_id){ 1 }, small_stack(profile, stack), size, 1, -1);
}

static void samples(struct bp_profile *profile, const char *stack, uint64_t size, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sample(profile, stack, size);
}

static void compare(struct comparison *c, unsigned base)
{
	struct bp_error error;
	for (unsigned i = 0; i < c->count; i++) {
		double scale = c->runs[i].scale > 0 ? c->runs[i].scale : 1;
		c->aggregations[i] = small_aggregate(&c->profiles[i], &c->query);
		c->runs[i] =
			(struct bp_run){ &c->aggregations[i], &c->aggregations[i], scale, "file" };
	}
	if (!bp_diff_make(
		    &c->asked, c->runs, base, c->runs + base, c->count - base, &c->diff, &error))
		fail_msg("%s", error.text);
}

static void finish(struct comparison *c)
{
	bp_diff_finish(&c->diff);
	for (unsigned i = 0; i < c->count; i++) {
		bp_aggregation_finish(&c->aggregations[i]);
		bp_profile_finish(&c->profiles[i]);
	}
}

static bool warns(const struct bp_diff *diff, const char *part)
{
	for (char **w = diff->warnings; *w != NULL; w++)
		if (strstr(*w, part) != NULL)
			return true;
	return false;
}

static void matches_by_stable_name(void **state)
{
	struct comparison c = { 0 };
	(void)state;
	struct bp_profile *base = add_run(&c, 1), *new = add_run(&c, 1);
	sample(base, "malloc;parse.part.0;main", 100);
	sample(base, "malloc;parse;main", 10);
	sample(base, "malloc;load.llvm.77;main", 5);
	sample(new, "calloc;parse.constprop.0.cold;other;main", 150);
	sample(new, "malloc;load;main", 5);
	compare(&c, 1);
	assert_int_equal(c.diff.row_count, 2);
	struct bp_diff_row parse = difference_row(&c.diff, "parse");
	assert_change(parse.bytes, 110, 150);
	assert_change(parse.objects, 2, 1);
	assert_int_equal(parse.verdict, BP_VERDICT_GREW);
	assert_int_equal(parse.samples[BP_BASE], 2);
	assert_int_equal(parse.samples[BP_NEW], 1);
	struct bp_diff_row load = difference_row(&c.diff, "load");
	assert_change(load.bytes, 5, 5);
	assert_int_equal(load.verdict, BP_VERDICT_UNCLEAR);
	/* Rows with a verdict come first. */
	assert_int_equal(c.diff.verdict_count, 1);
	assert_int_equal(c.diff.verdicts[BP_VERDICT_GREW], 1);
	assert_int_equal(c.diff.verdicts[BP_VERDICT_UNCLEAR], 1);
	bp_diff_row(&c.diff, 0, &load);
	assert_string_equal(load.name, "parse");
	finish(&c);
}

/* A sample whose stack has parse and parse.part.0 is one sample under parse. */
static void cumulative_counts_once(void **state)
{
	struct comparison c = { .query.cumulative = true };
	struct bp_diff_row rest;
	(void)state;
	struct bp_profile *base = add_run(&c, 1), *new = add_run(&c, 1);
	sample(base, "malloc;parse.part.0;parse;main", 100);
	sample(new, "malloc;parse;parse;parse;main", 100);
	sample(new, "malloc;main", 7);
	compare(&c, 1);
	assert_change(difference_row(&c.diff, "parse").bytes, 100, 100);
	assert_change(difference_row(&c.diff, "main").bytes, 100, 107);
	assert_false(bp_diff_together(&c.diff, 0, c.diff.row_count, &rest));
	finish(&c);
}

static struct bp_frame nameless_frame(
	struct bp_profile *profile, const char *function, const char *path)
{
	struct bp_module module = { .path = small_string(profile, path), .start = 1 };
	struct bp_module_id id;
	struct bp_error error;
	assert_true(bp_profile_add_module(profile, &module, &id, &error));
	return (struct bp_frame){ .function = small_string(profile, function), .module = id };
}

static void nameless_sample(
	struct bp_profile *profile, const char *function, const char *path, uint64_t size)
{
	struct bp_frame frame = nameless_frame(profile, function, path);
	struct bp_location_id location;
	struct bp_stack_id stack;
	struct bp_error error;
	assert_true(bp_profile_add_location(profile, frame.module, size, false, &location, &error));
	assert_true(bp_profile_set_frames(profile, location, &frame, 1, &error));
	assert_true(bp_profile_add_stack(profile, &location, 1, 0, &stack, &error));
	small_sample(profile, (struct bp_process_id){ 1 }, stack, size, 1, -1);
}

/* Functions without a name, libraries of other versions, and a program that was renamed. */
static void nameless_functions_match_by_module(void **state)
{
	struct comparison c = { 0 };
	(void)state;
	struct bp_profile *base = add_run(&c, 1), *new = add_run(&c, 1);
	new->processes.data[1].program = small_string(new, "/opt/next/program2");
	nameless_sample(base, "libx.so.1+0x1234", "/usr/lib/libx.so.1", 40);
	nameless_sample(base, "libx.so.1+0x99", "/usr/lib/libx.so.1", 2);
	nameless_sample(base, "program1+0x10", "/usr/bin/program1", 3);
	nameless_sample(new, "libx.so.2+0x777", "/opt/libx.so.2", 42);
	nameless_sample(new, "program2+0x20", "/opt/next/program2", 3);
	compare(&c, 1);
	assert_int_equal(c.diff.row_count, 2);
	assert_change(difference_row(&c.diff, "libx.so (no name)").bytes, 42, 42);
	assert_change(difference_row(&c.diff, "(program) (no name)").bytes, 3, 3);
	assert_true(warns(&c.diff, "different names (program1 and program2)"));
	assert_true(warns(&c.diff, "without a name"));
	finish(&c);
	/* All that is left of a large side has none: that is no reason to look for names. */
	c = (struct comparison){ 0 };
	base = add_run(&c, 1), new = add_run(&c, 1);
	sample(base, "load;main", 1000);
	nameless_sample(new, "libx.so.2+0x777", "/opt/libx.so.2", 42);
	compare(&c, 1);
	assert_false(warns(&c.diff, "without a name"));
	finish(&c);
}

static void stacks_match_by_frames(void **state)
{
	struct comparison c = { .query.by = BP_KEY_STACK };
	struct bp_diff_row row;
	(void)state;
	struct bp_profile *base = add_run(&c, 1), *new = add_run(&c, 1);
	sample(base, "malloc;in@;f.isra.0;main", 100);
	sample(base, "malloc;f;main", 1);
	sample(new, "malloc;in@;f;main", 160);
	sample(new, "malloc;f;f;main", 2);
	compare(&c, 1);
	/* Recursion is another stack. */
	assert_int_equal(c.diff.row_count, 3);
	bp_diff_row(&c.diff, 0, &row);
	assert_null(row.name);
	assert_int_equal(row.frame_count, 4);
	assert_ptr_equal(row.profile, new);
	assert_change(row.bytes, 100, 160);
	finish(&c);
}

static void other_keys(void **state)
{
	static const struct {
		enum bp_key by;
		const char *name;
		double base, new;
	} cases[] = { { BP_KEY_SIZE, "100", 100, 200 }, { BP_KEY_SIZE, "30", 30, 0 },
		{ BP_KEY_TYPE, "malloc", 130, 200 }, { BP_KEY_MODULE, "(no module)", 130, 200 },
		{ BP_KEY_THREAD, "(thread not known)", 130, 200 } };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct comparison c = { .query.by = cases[i].by };
		struct bp_profile *base = add_run(&c, 1), *new = add_run(&c, 1);
		sample(base, "parse;main", 100);
		sample(base, "load;main", 30);
		samples(new, "parse;main", 100, 2);
		compare(&c, 1);
		assert_change(
			difference_row(&c.diff, cases[i].name).bytes, cases[i].base, cases[i].new);
		finish(&c);
	}
}

/* Threads go by name, and have counters of their own. */
static void threads_are_counted(void **state)
{
	struct comparison c = { .query = { .by = BP_KEY_THREAD, .metric = BP_METRIC_ALLOCATED } };
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		struct bp_profile *profile = add_run(&c, 4096);
		struct bp_process_id process = { 1 };
		uint64_t bytes = 0;
		for (uint32_t j = 1; j <= 2 + i; j++) {
			struct bp_thread_id thread = small_thread(profile, process, j, "worker");
			struct bp_known_total own = { 500 * j, 500 * j }, one = { 5, 5 };
			profile->threads.data[thread.i].bytes_allocated = own;
			profile->threads.data[thread.i].objects_allocated = one;
			bytes += 500 * j;
		}
		small_totals(profile, process, bytes, bytes, 10 + 5 * i, 10 + 5 * i);
	}
	compare(&c, 1);
	struct bp_diff_row row = difference_row(&c.diff, "worker");
	assert_change(row.bytes, 1500, 3000);
	assert_change(row.objects, 10, 15);
	assert_int_equal(row.verdict, BP_VERDICT_GREW);
	assert_true(row.q == 0);
	finish(&c);
}

static void verdicts(void **state)
{
	struct comparison c = { 0 };
	(void)state;
	struct bp_profile *base = add_run(&c, 1000), *new = add_run(&c, 1000);
	samples(base, "grew;main", 10, 200);
	samples(new, "grew;main", 10, 400);
	samples(base, "shrank;main", 10, 400);
	samples(new, "shrank;main", 10, 200);
	samples(new, "new;main", 10, 40);
	samples(base, "gone;main", 10, 40);
	samples(base, "same;main", 10, 100);
	samples(new, "same;main", 10, 104);
	samples(new, "few;main", 10, 7);
	samples(new, "large;main", 100000, 1);
	compare(&c, 1);
	const struct {
		const char *name;
		enum bp_verdict verdict;
	} cases[] = { { "grew", BP_VERDICT_GREW }, { "shrank", BP_VERDICT_SHRANK },
		{ "new", BP_VERDICT_NEW }, { "gone", BP_VERDICT_GONE },
		{ "same", BP_VERDICT_UNCLEAR }, { "few", BP_VERDICT_UNCLEAR },
		{ "large", BP_VERDICT_NEW } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_diff_row row = difference_row(&c.diff, cases[i].name);
		const struct bp_interval *change = &row.bytes.change.interval;
		if (row.verdict != cases[i].verdict)
			fail_msg("%s is %s", cases[i].name, bp_verdict_names[row.verdict]);
		assert_int_equal(row.tested, strcmp(cases[i].name, "few") != 0);
		assert_true(isnan(row.q) == !row.tested);
		bool up = row.verdict == BP_VERDICT_GREW || row.verdict == BP_VERDICT_NEW;
		if (row.verdict == BP_VERDICT_UNCLEAR)
			assert_true(row.q > 0.05 || !row.tested);
		else
			assert_true(up ? change->low > 0 : change->high < 0);
	}
	assert_int_equal(c.diff.tested_count, 6);
	assert_int_equal(c.diff.verdict_count, 5);
	finish(&c);
}

/* Lost samples may hide what is there: a direction that they could feign has no verdict. */
static void losses_close_a_direction(void **state)
{
	(void)state;
	for (int lossy = 0; lossy < 2; lossy++) {
		struct comparison c = { 0 };
		struct bp_profile *base = add_run(&c, 1000), *new = add_run(&c, 1000);
		c.profiles[lossy].processes.data[1].lost[0] = 3; /* samples and frees */
		samples(base, "grew;main", 10, 100);
		samples(new, "grew;main", 10, 400);
		samples(base, "shrank;main", 10, 400);
		samples(new, "shrank;main", 10, 100);
		c.query.metric = BP_METRIC_ALLOCATED;
		compare(&c, 1);
		struct bp_diff_row grew = difference_row(&c.diff, "grew");
		struct bp_diff_row shrank = difference_row(&c.diff, "shrank");
		assert_int_equal(grew.verdict, lossy == 0 ? BP_VERDICT_UNCLEAR : BP_VERDICT_GREW);
		assert_int_equal(
			shrank.verdict, lossy == 0 ? BP_VERDICT_SHRANK : BP_VERDICT_UNCLEAR);
		assert_int_equal(grew.bytes.change.lower_bound, lossy == 1);
		assert_int_equal(grew.bytes.change.upper_bound, lossy == 0);
		assert_true(warns(&c.diff, "records were lost"));
		finish(&c);
		/* Live memory with lost frees may be less than it seems, too: nothing is open. */
		struct comparison live = { 0 };
		base = add_run(&live, 1000);
		new = add_run(&live, 1000);
		live.profiles[lossy].processes.data[1].lost[0] = 3;
		samples(base, "grew;main", 10, 100);
		samples(new, "grew;main", 10, 400);
		compare(&live, 1);
		assert_int_equal(difference_row(&live.diff, "grew").verdict, BP_VERDICT_UNCLEAR);
		finish(&live);
	}
}

static void scales_and_sums(void **state)
{
	struct comparison c = { .runs = { { .scale = 2 }, { .scale = 1 } } };
	struct bp_diff_row row;
	(void)state;
	struct bp_profile *base = add_run(&c, 1), *new = add_run(&c, 1);
	sample(base, "a;main", 100);
	sample(base, "b;main", 10);
	sample(base, "c;main", 1);
	sample(new, "a;main", 200);
	sample(new, "b;main", 30);
	compare(&c, 1);
	assert_change(difference_row(&c.diff, "a").bytes, 200, 200);
	assert_change(difference_row(&c.diff, "b").bytes, 20, 30);
	bp_diff_total(&c.diff, &row);
	assert_change(row.bytes, 222, 230);
	assert_int_equal(row.verdict, BP_VERDICT_GREW);
	assert_true(bp_diff_together(&c.diff, 0, 3, &row));
	assert_change(row.bytes, 222, 230);
	assert_change(row.objects, 6, 2);
	assert_false(bp_diff_together(&c.diff, 3, 3, &row));
	/* b is the only one that grew, c the only one that went. */
	bp_diff_row(&c.diff, 0, &row);
	assert_string_equal(row.name, "b");
	assert_true(fabs(row.bytes.ratio.estimate - 1.5) < 1e-12);
	assert_int_equal(difference_row(&c.diff, "c").verdict, BP_VERDICT_GONE);
	finish(&c);
}

static void several_runs(void **state)
{
	struct comparison c = { 0 };
	struct bp_diff refused;
	struct bp_diff_row row;
	struct bp_error error;
	static const unsigned steady[] = { 1000, 1010, 990, 1400, 1410, 1390 };
	static const unsigned wild[] = { 600, 1000, 1400, 900, 1410, 1800 };
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct bp_profile *profile = add_run(&c, 1);
		sample(profile, "steady;main", steady[i]);
		sample(profile, "wild;main", wild[i]);
	}
	compare(&c, 3);
	row = difference_row(&c.diff, "steady");
	assert_int_equal(row.verdict, BP_VERDICT_GREW);
	assert_true(fabs(row.bytes.change.interval.estimate - 400) < 1e-9);
	assert_true(fabs(row.bytes.deviation[BP_BASE] - 10) < 1e-9);
	assert_true(row.bytes.change.interval.low > 300 && row.bytes.change.interval.high < 500);
	assert_true(row.bytes.side[BP_BASE].interval.low < 1000);
	assert_true(row.bytes.side[BP_BASE].interval.high > 1000);
	row = difference_row(&c.diff, "wild");
	assert_int_equal(row.verdict, BP_VERDICT_UNCLEAR);
	assert_true(row.bytes.change.interval.low < 0);
	assert_true(fabs(row.bytes.deviation[BP_BASE] - 400) < 1e-9);
	finish(&c);
	/* Sides of different numbers of runs are compared by their means. */
	struct comparison uneven = { 0 };
	for (unsigned i = 0; i < 3; i++) {
		struct bp_profile *profile = add_run(&uneven, 1);
		sample(profile, "same;main", 1000);
		sample(profile, "more;main", i < 2 ? 100 : 150);
	}
	compare(&uneven, 2);
	bp_diff_row(&uneven.diff, 0, &row);
	assert_string_equal(row.name, "more");
	assert_int_equal(uneven.diff.verdict_count, 1);
	row = difference_row(&uneven.diff, "same");
	assert_true(row.bytes.side[BP_BASE].interval.estimate == 1000);
	assert_true(row.bytes.change.interval.estimate == 0);
	finish(&uneven);
	/* Peaks are at different moments. */
	struct comparison peaks = { .query = { .metric = BP_METRIC_PEAK, .all_cells = true } };
	for (unsigned i = 0; i < 3; i++) {
		sample(add_run(&peaks, 1), "a;main", 10);
		peaks.aggregations[i] = small_aggregate(&peaks.profiles[i], &peaks.query);
		peaks.runs[i] = (struct bp_run){ &peaks.aggregations[i], &peaks.aggregations[i], 1,
			"file" };
	}
	assert_false(
		bp_diff_make(&peaks.asked, peaks.runs, 2, peaks.runs + 2, 1, &refused, &error));
	assert_non_null(strstr(error.text, "one run with one"));
	finish(&peaks);
}

/* Peaks are compared by their own, widened intervals. */
static void peaks(void **state)
{
	struct comparison c = { .query = { .metric = BP_METRIC_PEAK, .all_cells = true } };
	(void)state;
	struct bp_profile *base = add_run(&c, 1000), *new = add_run(&c, 1000);
	samples(base, "much;main", 10, 100);
	samples(new, "much;main", 10, 1000);
	samples(base, "little;main", 10, 100);
	samples(new, "little;main", 10, 115);
	samples(base, "some;main", 10, 100);
	samples(new, "some;main", 10, 160);
	compare(&c, 1);
	struct bp_diff_row much = difference_row(&c.diff, "much");
	struct bp_diff_figure *bytes = &much.bytes;
	assert_int_equal(much.verdict, BP_VERDICT_GREW);
	/* Each side at half the error, of moments that were not chosen. */
	assert_true(bytes->change.interval.low <
		    bytes->side[BP_NEW].interval.estimate - bytes->side[BP_BASE].interval.high);
	assert_true(bytes->change.interval.high >
		    bytes->side[BP_NEW].interval.high - bytes->side[BP_BASE].interval.estimate);
	assert_true(bytes->p > 0 && bytes->p < 1e-6);
	assert_int_equal(difference_row(&c.diff, "little").verdict, BP_VERDICT_UNCLEAR);
	/* 0 is left out of the interval just where p is below its error, here by the way that the
	 * columns of "some" do not meet. */
	static const char *const names[] = { "much", "little", "some" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct bp_diff_figure row = difference_row(&c.diff, names[i]).bytes;
		assert_int_equal(row.change.interval.low > 0, row.p < 0.05);
		assert_int_equal(row.ratio.low > 1, row.p < 0.05);
	}
	struct bp_diff_figure some = difference_row(&c.diff, "some").bytes;
	assert_true(some.side[BP_NEW].interval.low > some.side[BP_BASE].interval.high);
	assert_true(some.p > 0.05);
	finish(&c);
}

/* A program that holds one block, and at another time as much in small objects, names either moment
 * as its peak's by chance. Here one run names the first and the other the second: nothing has
 * changed. */
static void moments_that_compete_give_no_verdicts(void **state)
{
	struct comparison c = { .query = { .metric = BP_METRIC_PEAK, .all_cells = true } };
	struct bp_process_id process = { 1 };
	(void)state;
	for (unsigned run = 0; run < 2; run++) {
		struct bp_profile *profile = add_run(&c, 1000);
		const unsigned seen = run == 0 ? 95 : 115;
		for (unsigned i = 0; i < seen; i++)
			small_sample(profile, process, small_stack(profile, "small;main"), 9,
				1 + .001 * i, 2);
		small_sample(profile, process, small_stack(profile, "block;main"), 100000, 3, 4);
	}
	compare(&c, 1);
	assert_string_equal(difference_row(&c.diff, "block").name, "block");
	assert_true(difference_row(&c.diff, "block").bytes.side[BP_BASE].interval.low >= 1e5);
	assert_true(difference_row(&c.diff, "block").bytes.side[BP_NEW].interval.low == 0);
	assert_int_equal(c.diff.verdict_count, 0);
	assert_true(warns(&c.diff, "two moments compete for the peak"));
	finish(&c);
}

static void warns_of_what_differs(void **state)
{
	struct comparison c = { 0 };
	(void)state;
	struct bp_profile *base = add_run(&c, 1000), *new = add_run(&c, 2000);
	new->processes.data[1].law = 1;
	samples(base, "a;main", 10, 5);
	nameless_sample(new, "x+0x1", "/usr/lib/x.so", 10);
	compare(&c, 1);
	assert_true(warns(&c.diff, "T = 1000 bytes and 2000 bytes"));
	assert_true(warns(&c.diff, "laws differ (exact and bernoulli)"));
	assert_true(warns(&c.diff, "0 % of base but 100 % of new"));
	assert_false(warns(&c.diff, "different names"));
	finish(&c);
	/* Two moments of one run have the same names. */
	struct comparison moments = { .asked.moments = true };
	samples(add_run(&moments, 1000), "a;main", 10, 5);
	nameless_sample(add_run(&moments, 1000), "x+0x1", "/usr/lib/x.so", 10);
	compare(&moments, 1);
	assert_false(warns(&moments.diff, "cannot be matched"));
	finish(&moments);
}

static void orders_rows(void **state)
{
	static const struct {
		enum bp_diff_sort sort;
		const char *first;
	} cases[] = { { BP_DIFF_SORT_CHANGE, "b" }, { BP_DIFF_SORT_RATIO, "c" },
		{ BP_DIFF_SORT_BASE, "a" }, { BP_DIFF_SORT_NEW, "b" }, { BP_DIFF_SORT_NAME, "a" } };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct comparison c = { .asked.sort = cases[i].sort };
		struct bp_diff_row row;
		struct bp_profile *base = add_run(&c, 1), *new = add_run(&c, 1);
		sample(base, "a;main", 1000);
		sample(new, "a;main", 1001);
		sample(base, "b;main", 900);
		sample(new, "b;main", 1100);
		sample(base, "c;main", 1);
		sample(new, "c;main", 9);
		compare(&c, 1);
		bp_diff_row(&c.diff, 0, &row);
		assert_string_equal(row.name, cases[i].first);
		finish(&c);
	}
}

/* What was allocated while sampling was off is counted: totals are compared with it; live ones
 * not. */
static void totals_across_a_pause(void **state)
{
	static const enum bp_metric metrics[] = { BP_METRIC_ALLOCATED, BP_METRIC_LIVE };
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct comparison c = { .query = { .metric = metrics[i] } };
		struct bp_diff_row total;
		for (int side = 0; side < 2; side++) {
			struct bp_profile *profile = add_run(&c, 1);
			struct bp_process *process = &profile->processes.data[1];
			const uint64_t count = side == 0 ? 40 : 10;
			samples(profile, "main>a", 100, (unsigned)count);
			small_totals(profile, (struct bp_process_id){ 1 }, 100 * count, 100 * count,
				count, count);
			process->has_pauses = side == 1;
			process->bytes_off.low = process->bytes_off.high = side == 1 ? 3000 : 0;
			process->objects_off.low = process->objects_off.high = side == 1 ? 30 : 0;
		}
		compare(&c, 1);
		bp_diff_total(&c.diff, &total);
		assert_int_equal(total.verdict, BP_VERDICT_UNCLEAR);
		if (metrics[i] == BP_METRIC_ALLOCATED)
			assert_change(total.bytes, 4000, 4000);
		assert_true(warns(&c.diff, "sampling was off"));
		finish(&c);
	}
}

/* Two that were killed: their counters tell limits, which are compared as they are. */
static void totals_within_limits(void **state)
{
	struct comparison c = { .query = { .metric = BP_METRIC_ALLOCATED } };
	struct bp_diff_row total;
	(void)state;
	for (unsigned side = 0; side < 2; side++) {
		struct bp_profile *profile = add_run(&c, 100000);
		const uint64_t low = side == 0 ? 10000000 : 20000000;
		samples(profile, "main>a", 100, 60 + 60 * side);
		small_totals(profile, (struct bp_process_id){ 1 }, low, low + 1, 1000, 1000);
	}
	compare(&c, 1);
	bp_diff_total(&c.diff, &total);
	assert_true(total.bytes.change.interval.low == 9999999);
	assert_true(total.bytes.change.interval.high == 10000001);
	assert_int_equal(total.verdict, BP_VERDICT_GREW);
	finish(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches_by_stable_name),
		cmocka_unit_test(cumulative_counts_once),
		cmocka_unit_test(nameless_functions_match_by_module),
		cmocka_unit_test(stacks_match_by_frames),
		cmocka_unit_test(other_keys),
		cmocka_unit_test(threads_are_counted),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(losses_close_a_direction),
		cmocka_unit_test(scales_and_sums),
		cmocka_unit_test(several_runs),
		cmocka_unit_test(totals_across_a_pause),
		cmocka_unit_test(totals_within_limits),
		cmocka_unit_test(peaks),
		cmocka_unit_test(moments_that_compete_give_no_verdicts),
		cmocka_unit_test(warns_of_what_differs),
		cmocka_unit_test(orders_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
