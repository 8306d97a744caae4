/* SPDX-License-Identifier: MIT */
/*
 * A difference by call paths: every beginning of a stack is a row with all that was allocated under
 * it, callers come first, and paths of the same samples are one question. At T = 1 figures are
 * known; where verdicts need samples, there are many or hardly any.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"
#include "diff_rows.h"
#include "small_profile.h"

struct comparison {
	struct bp_profile profiles[BP_SIDES];
	struct bp_aggregation aggregations[BP_SIDES];
	struct bp_run runs[BP_SIDES];
	struct bp_diff diff;
};

static void start(struct comparison *c, uint64_t interval)
{
	memset(c, 0, sizeof *c);
	for (int side = 0; side < BP_SIDES; side++) {
		small_init(&c->profiles[side]);
		small_process(&c->profiles[side], 10, 1, 0, 0, 10, interval);
	}
}

static void add(struct comparison *c, int side, const char *stack, uint64_t size, unsigned count)
{
	struct bp_profile *profile = &c->profiles[side];
	for (unsigned i = 0; i < count; i++)
		small_sample(profile, (struct bp_process_id){ 1 }, small_stack(profile, stack),
			size, 1, -1);
}

static void compare(struct comparison *c)
{
	const struct bp_query query = { .metric = BP_METRIC_LIVE,
		.by = BP_KEY_FUNCTION,
		.estimator = BP_ESTIMATOR_HT,
		.confidence = 0.95 };
	const struct bp_diff_query asked = { .paths = true };
	struct bp_error error;
	for (int side = 0; side < BP_SIDES; side++) {
		c->aggregations[side] = small_aggregate(&c->profiles[side], &query);
		c->runs[side] = (struct bp_run){ &c->aggregations[side], &c->aggregations[side], 1,
			"file" };
	}
	if (!bp_diff_make(&asked, &c->runs[BP_BASE], 1, &c->runs[BP_NEW], 1, &c->diff, &error))
		fail_msg("%s", error.text);
}

static void finish(struct comparison *c)
{
	bp_diff_finish(&c->diff);
	for (int side = 0; side < BP_SIDES; side++) {
		bp_aggregation_finish(&c->aggregations[side]);
		bp_profile_finish(&c->profiles[side]);
	}
}

/* The number of a path, written from the outermost function on: "main/parse". 0: there is none. */
static uint32_t find(const struct comparison *c, const char *names)
{
	for (uint32_t i = 1; i <= bp_diff_path_count(&c->diff); i++) {
		char text[256] = "";
		for (uint32_t at = i; at != 0;) {
			struct bp_diff_path path;
			char longer[256];
			bp_diff_path(&c->diff, at, &path);
			assert_true(path.caller < at);
			snprintf(
				longer, sizeof longer, "%s%s%s", path.name, *text ? "/" : "", text);
			strcpy(text, longer);
			at = path.caller;
		}
		if (strcmp(text, names) == 0)
			return i;
	}
	return 0;
}

static struct bp_diff_path path_of(const struct comparison *c, const char *names)
{
	struct bp_diff_path path;
	const uint32_t number = find(c, names);
	assert_int_not_equal(number, 0);
	bp_diff_path(&c->diff, number, &path);
	return path;
}

static struct bp_diff_row row_of(const struct comparison *c, const char *names)
{
	struct bp_diff_row row;
	const uint32_t number = find(c, names);
	assert_int_not_equal(number, 0);
	bp_diff_path_row(&c->diff, number, &row);
	return row;
}

static void figures_of_beginnings(void **state)
{
	struct comparison c;
	(void)state;
	start(&c, 1);
	add(&c, BP_BASE, "get;parse;main", 100, 2);
	add(&c, BP_BASE, "get;main", 10, 1);
	add(&c, BP_NEW, "get;parse;main", 100, 5);
	add(&c, BP_NEW, "parse;main", 7, 1);
	add(&c, BP_NEW, "get;parse;get;main", 1000, 1);
	compare(&c);
	assert_int_equal(bp_diff_path_count(&c.diff), 6);
	assert_change(row_of(&c, "main").bytes, 210, 1507);
	assert_change(row_of(&c, "main/parse").bytes, 200, 507);
	assert_change(row_of(&c, "main/parse/get").bytes, 200, 500);
	assert_change(row_of(&c, "main/get").bytes, 10, 1000);
	assert_change(row_of(&c, "main/get/parse").bytes, 0, 1000);
	assert_change(row_of(&c, "main/get/parse/get").bytes, 0, 1000);
	assert_change(row_of(&c, "main").objects, 3, 7);
	assert_int_equal(find(&c, "parse"), 0);
	assert_true(fabs(path_of(&c, "main/parse").bytes[BP_NEW] - 507) < 1e-9);
	assert_true(fabs(path_of(&c, "main/parse").objects[BP_BASE] - 2) < 1e-9);
	finish(&c);
}

/* What a recursion calls is under each of its rounds, and counts once in each. */
static void recursion(void **state)
{
	struct comparison c;
	(void)state;
	start(&c, 1);
	add(&c, BP_BASE, "down;down;down;main", 10, 1);
	add(&c, BP_NEW, "down;down;main", 10, 1);
	compare(&c);
	assert_int_equal(bp_diff_path_count(&c.diff), 4);
	assert_change(row_of(&c, "main/down").bytes, 10, 10);
	assert_change(row_of(&c, "main/down/down").bytes, 10, 10);
	assert_change(row_of(&c, "main/down/down/down").bytes, 10, 0);
	finish(&c);
}

/* main and start have the same samples: one question. So do grow and its get, but not parse and
 * its. */
static void one_question(void **state)
{
	struct comparison c;
	(void)state;
	start(&c, 65536);
	for (int side = 0; side < BP_SIDES; side++) {
		add(&c, side, "get;parse;main;start", 64, 400);
		add(&c, side, "parse;main;start", 64, 400);
		add(&c, side, "get;grow;main;start", 64, side == BP_BASE ? 40 : 400);
		add(&c, side, "few;main;start", 64, 2);
	}
	compare(&c);
	assert_int_equal(bp_diff_path_count(&c.diff), 7);
	assert_int_equal(path_of(&c, "start").same, find(&c, "start/main"));
	assert_int_equal(path_of(&c, "start/main").same, 0);
	assert_int_equal(path_of(&c, "start/main/grow").same, find(&c, "start/main/grow/get"));
	assert_int_equal(path_of(&c, "start/main/parse").same, 0);
	/* main, parse, parse/get, grow/get */
	assert_int_equal(c.diff.tested_count, 4);
	const struct bp_diff_row grow = row_of(&c, "start/main/grow");
	const struct bp_diff_row get = row_of(&c, "start/main/grow/get");
	assert_int_equal(grow.verdict, BP_VERDICT_GREW);
	assert_int_equal(get.verdict, BP_VERDICT_GREW);
	assert_true(grow.q == get.q && grow.tested);
	assert_int_equal(row_of(&c, "start").verdict, row_of(&c, "start/main").verdict);
	assert_int_equal(row_of(&c, "start/main/parse").verdict, BP_VERDICT_UNCLEAR);
	assert_int_equal(row_of(&c, "start/main/parse/get").verdict, BP_VERDICT_UNCLEAR);
	assert_false(row_of(&c, "start/main/few").tested);
	assert_true(isnan(row_of(&c, "start/main/few").q));
	finish(&c);
}

/* q is that of five tests, though nine paths have an answer. */
static void adjusted_once(void **state)
{
	struct comparison c;
	(void)state;
	start(&c, 65536);
	for (int side = 0; side < BP_SIDES; side++) {
		add(&c, side, "a;wrap;main", 64, 100);
		add(&c, side, "b;wrap;main", 64, side == BP_BASE ? 100 : 133);
		add(&c, side, "deep;d4;d3;d2;d1;main", 64, side == BP_BASE ? 100 : 180);
	}
	compare(&c);
	assert_int_equal(c.diff.tested_count, 5); /* main, wrap, a, b, deep */
	const struct bp_diff_row deep = row_of(&c, "main/d1/d2/d3/d4/deep");
	assert_true(fabs(deep.q - deep.bytes.p * 5) < 1e-12);
	assert_int_equal(row_of(&c, "main/d1").verdict, BP_VERDICT_GREW);
	/* Third of five: 5/3 p. Were the paths to deep five questions: 9/7 p, and a verdict. */
	const struct bp_diff_row b = row_of(&c, "main/wrap/b");
	assert_true(fabs(b.q - b.bytes.p * 5 / 3) < 1e-12);
	assert_true(b.q > 0.05 && b.bytes.p * 9 / 7 < 0.05);
	assert_int_equal(b.verdict, BP_VERDICT_UNCLEAR);
	finish(&c);
}

static void without_stack(void **state)
{
	struct comparison c;
	struct bp_diff_row row;
	(void)state;
	start(&c, 1);
	small_sample(&c.profiles[BP_BASE], (struct bp_process_id){ 1 }, (struct bp_stack_id){ 0 },
		50, 1, -1);
	add(&c, BP_NEW, "main", 60, 1);
	compare(&c);
	assert_change(row_of(&c, "(no stack recorded)").bytes, 50, 0);
	assert_change(row_of(&c, "main").bytes, 0, 60);
	/* Rows overlap: there is no rest. */
	assert_false(bp_diff_together(&c.diff, 0, 2, &row));
	finish(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_of_beginnings),
		cmocka_unit_test(recursion),
		cmocka_unit_test(one_question),
		cmocka_unit_test(adjusted_once),
		cmocka_unit_test(without_stack),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
