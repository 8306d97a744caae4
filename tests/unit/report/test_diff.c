/* SPDX-License-Identifier: MIT */
/*
 * Differences and growth written out: JSON read back by Python's parser, texts searched for what
 * must and must not be in them, changes as people read them. Argument: the path of read_report.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "read_report.h"
#include "report/diff/diff_report.h"
#include "small_profile.h"
#include "text/quantity.h"

static const char *reader; /* read_report.py */

static const struct bp_report_options plain = { .rows = 20, .columns = 120, .utf8 = true };

/* Two runs of a program at T = 1, compared. */
struct pair {
	struct bp_profile profiles[BP_SIDES];
	struct bp_aggregation aggregations[BP_SIDES];
	struct bp_run runs[BP_SIDES];
	struct bp_diff diff;
};

static void sample(struct bp_profile *profile, const char *stack, uint64_t size)
{
	small_sample(
		profile, (struct bp_process_id){ 1 }, small_stack(profile, stack), size, 1, -1);
}

static void begin(struct pair *pair)
{
	*pair = (struct pair){ 0 };
	for (int side = 0; side < BP_SIDES; side++) {
		small_init(&pair->profiles[side]);
		small_process(&pair->profiles[side], 10, 1, 0, 0, 10, 1);
	}
}

static void compare(struct pair *pair, const struct bp_query *query)
{
	struct bp_diff_query asked = { 0 };
	struct bp_error error;
	static const char *const files[] = { "old.bpt", "new\033[2J.bpt" };
	for (int side = 0; side < BP_SIDES; side++) {
		pair->aggregations[side] = small_aggregate(&pair->profiles[side], query);
		pair->runs[side] = (struct bp_run){ &pair->aggregations[side],
			&pair->aggregations[side], 1, files[side] };
	}
	assert_true(bp_diff_make(
		&asked, &pair->runs[BP_BASE], 1, &pair->runs[BP_NEW], 1, &pair->diff, &error));
}

static void finish(struct pair *pair)
{
	bp_diff_finish(&pair->diff);
	for (int side = 0; side < BP_SIDES; side++) {
		bp_aggregation_finish(&pair->aggregations[side]);
		bp_profile_finish(&pair->profiles[side]);
	}
}

static void make(struct pair *pair, const struct bp_query *query)
{
	begin(pair);
	sample(&pair->profiles[BP_BASE], "malloc;parse;main", 100);
	sample(&pair->profiles[BP_NEW], "malloc;parse;main", 150);
	sample(&pair->profiles[BP_BASE], "malloc;load;main", 64);
	sample(&pair->profiles[BP_NEW], "malloc;load;main", 64);
	sample(&pair->profiles[BP_BASE], "malloc;old;main", 30);
	small_totals(&pair->profiles[BP_BASE], (struct bp_process_id){ 1 }, 194, 194, 3, 3);
	small_totals(&pair->profiles[BP_NEW], (struct bp_process_id){ 1 }, 214, 214, 2, 2);
	compare(pair, query);
}

/* What was written; the caller frees it. */
static char *diff_text(const struct pair *pair, struct bp_diff_options options, bool json)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	assert_non_null(out);
	(json ? bp_write_diff_json : bp_write_diff_text)(&pair->diff, &options, out);
	fclose(out);
	return text;
}

static void json_has_its_fields(void **state)
{
	static const struct {
		const char *place, *value;
	} cases[] = { { "schema", "\"bytepoll-diff-1\"" }, { "metric", "\"live\"" },
		{ "unit", "\"bytes\"" }, { "fdr", "0.05" }, { "moments", "null" },
		{ "variation_between_runs", "false" }, { "base.runs.0.file", "\"old.bpt\"" },
		{ "total.change.bytes.estimate", "20" },
		{ "verdicts",
			"{\"unclear\": 1, \"grew\": 1, \"shrank\": 0, \"new\": 0, \"gone\": 1}" },
		{ "rows.length", "3" },
		{ "rows.0",
			"{\"name\": \"parse\", \"verdict\": \"grew\", \"p\": 0, \"q\": 0, "
			"\"ratio\": {\"estimate\": 1.5, \"low\": 1.5, \"high\": 1.5}, \"base\": "
			"{\"bytes\": {\"estimate\": 100, \"low\": 100, \"high\": 100, \"exact\": "
			"true}, \"objects\": {\"estimate\": 1, \"low\": 1, \"high\": 1, "
			"\"exact\": true}}, \"new\": {\"bytes\": {\"estimate\": 150, \"low\": "
			"150, \"high\": 150, \"exact\": true}, \"objects\": {\"estimate\": 1, "
			"\"low\": 1, \"high\": 1, \"exact\": true}}, \"change\": {\"bytes\": "
			"{\"estimate\": 50, \"low\": 50, \"high\": 50, \"exact\": true}, "
			"\"objects\": {\"estimate\": 0, \"low\": 0, \"high\": 0, \"exact\": "
			"true}}, \"samples\": {\"base\": 1, \"new\": 1}, \"tested\": true}" },
		{ "rows.1.verdict", "\"gone\"" }, { "rows.1.change.bytes.estimate", "-30" },
		{ "rows.2.q", "1" }, { "rest", "null" }, { "warnings", "[]" } };
	struct pair pair;
	struct bp_query query = { 0 };
	struct bp_diff_options options = { .report = plain };
	(void)state;
	make(&pair, &query);
	char *json = diff_text(&pair, options, true);
	for (size_t i = 0; i < BP_COUNT(cases); i++)
		assert_place(reader, "json", json, cases[i].place, cases[i].value);
	free(json);
	options.report.rows = 1;
	json = diff_text(&pair, options, true);
	assert_place(reader, "json", json, "rows.length", "1");
	assert_place(reader, "json", json, "rows_left_out", "2");
	assert_place(reader, "json", json, "rest.base.bytes.estimate", "94");
	free(json);
	finish(&pair);
}

static void json_of_stacks_and_work(void **state)
{
	struct pair pair;
	struct bp_query query = { .by = BP_KEY_STACK };
	double work[BP_SIDES] = { 10, 12 };
	struct bp_diff_options options = { .report = plain,
		.normalize = BP_WORK_COUNT,
		.work = { &work[BP_BASE], &work[BP_NEW] },
		.work_reference = 12 };
	(void)state;
	make(&pair, &query);
	char *json = diff_text(&pair, options, true);
	assert_place(reader, "json", json, "rows.0.stack.0.function", "\"malloc\"");
	assert_place(reader, "json", json, "rows.0.stack.1.function", "\"parse\"");
	assert_place(reader, "json", json, "rows.0.stack.1.line", "5");
	assert_place(reader, "json", json, "normalize", "{\"by\": \"count\", \"reference\": 12}");
	assert_place(reader, "json", json, "base.runs.0.work", "10");
	free(json);
	finish(&pair);
}

static void text_says_what_matters(void **state)
{
	static const char *const parts[] = { "old.bpt: program1", "live by function at exit",
		"verdict", "grew", "+50 B", "1.5", "parse", "gone", "-30 B", "old",
		"1 unclear, together", "Verdicts: 2 of 3 rows", "One run on a side",
		"--all shows" };
	struct pair pair;
	struct bp_query query = { 0 };
	struct bp_diff_options options = { .report = plain };
	(void)state;
	make(&pair, &query);
	char *text = diff_text(&pair, options, false);
	for (size_t i = 0; i < BP_COUNT(parts); i++)
		if (strstr(text, parts[i]) == NULL)
			fail_msg("%s is not in:\n%s", parts[i], text);
	assert_null(strchr(text, '\033'));
	assert_null(strstr(text, "load"));
	free(text);
	options.all = true;
	text = diff_text(&pair, options, false);
	assert_non_null(strstr(text, "load"));
	assert_null(strstr(text, "together"));
	free(text);
	/* Narrow terminals lose columns, never verdicts or names. */
	options.report.columns = 40;
	text = diff_text(&pair, options, false);
	assert_non_null(strstr(text, "gone"));
	assert_non_null(strstr(text, "parse"));
	assert_null(strstr(text, "ratio"));
	free(text);
	options.report.colour = true;
	text = diff_text(&pair, options, false);
	assert_non_null(strstr(text, "\033[31mgrew"));
	assert_non_null(strstr(text, "\033[32mgone"));
	free(text);
	finish(&pair);
}

static void hostile_names_are_harmless(void **state)
{
	static const char *const names[] = { "\033]0;owned\007", "a\"b,c\\d", "x\ny\r\nz",
		"\xe2\x80\xaetxt.exe", "bad\xff\xfe\xc3", "\xc2\x9b[31m" };
	struct pair pair;
	struct bp_diff_options options = { .report = plain, .all = true };
	(void)state;
	for (int by = BP_KEY_FUNCTION; by <= BP_KEY_STACK; by++) {
		struct bp_query query = { .by = (enum bp_key)by };
		begin(&pair);
		for (size_t i = 0; i < BP_COUNT(names); i++) {
			sample(&pair.profiles[BP_BASE], names[i], 10 + i);
			sample(&pair.profiles[BP_NEW], names[i], 100 - i);
		}
		compare(&pair, &query);
		char *text = diff_text(&pair, options, false);
		for (const char *c = text; *c != '\0'; c++)
			assert_true(*c == '\n' || (unsigned char)*c >= 0x20);
		assert_null(strstr(text, "\xe2\x80\xae"));
		assert_null(strstr(text, "\xff"));
		free(text);
		text = diff_text(&pair, options, true);
		assert_place(reader, "json", text, "rows.length", "6");
		free(text);
		finish(&pair);
	}
}

/* Growth of 100 bytes in 5 s, at T = 1. */
static void growth_is_written(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_diff_query asked = { .growth = true };
	struct bp_diff_moments moments;
	struct bp_error error;
	struct bp_process_id process = { 1 };
	static const uint64_t at_ns[BP_SIDES] = { 4 * (uint64_t)SMALL_SECOND,
		9 * (uint64_t)SMALL_SECOND };
	char *text = NULL;
	size_t bytes = 0;
	(void)state;
	small_init(&profile);
	small_process(&profile, 10, 1, 0, 0, 10, 1);
	small_sample(&profile, process, small_stack(&profile, "leak;main"), 100, 5, -1);
	small_sample(&profile, process, small_stack(&profile, "kept;main"), 1000, 1, -1);
	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_true(bp_diff_moments_make(&profile, &query, at_ns, &asked, "f", &moments, &error));
	FILE *out = open_memstream(&text, &bytes);
	bp_write_growth_json(&moments, &plain, out);
	fclose(out);
	assert_place(reader, "json", text, "schema", "\"bytepoll-growth-1\"");
	assert_place(reader, "json", text, "from_s", "4.0");
	assert_place(reader, "json", text, "to_s", "9.0");
	assert_place(reader, "json", text, "suspects", "1");
	assert_place(reader, "json", text, "rows.0.name", "\"leak\"");
	assert_place(reader, "json", text, "rows.0.suspect", "true");
	assert_place(reader, "json", text, "rows.0.at_least_bytes_per_s", "20");
	assert_place(reader, "json", text, "rows.0.bytes_per_s.estimate", "20");
	assert_place(reader, "json", text, "rows.0.from.bytes.estimate", "0");
	assert_place(reader, "json", text, "rows.1.suspect", "false");
	assert_place(reader, "json", text, "rows.1.to.bytes.estimate", "1000");
	free(text);
	out = open_memstream(&text, &bytes);
	bp_write_growth_text(&moments, &plain, out);
	fclose(out);
	assert_non_null(strstr(text, "suspect  +20 B/s"));
	assert_non_null(strstr(text, "1 suspect among 2 rows"));
	free(text);
	bp_diff_moments_finish(&moments);
	bp_profile_finish(&profile);
}

static void changes_as_people_read_them(void **state)
{
	static const struct {
		double low, estimate, high;
		bool lower_bound, upper_bound;
		const char *bytes;
	} cases[] = {
		{ 50, 50, 50, false, false, "+50 B" },
		{ -2048, -2048, -2048, false, false, "-2 KiB" },
		{ 0, 0, 0, false, false, "+0 B" },
		{ 9000000, 10000000, 11000000, false, false, "+9.5 MiB ±1.0" },
		{ -11000000, -10000000, -9000000, false, false, "-9.5 MiB ±1.0" },
		{ 8000000, 10000000, 20000000, false, false, "+10 MiB [+8, +19]" },
		{ -3000000, 500000, 4000000, false, false, "[-2.9, +3.8] MiB" },
		{ 2048, 4096, 8192, true, false, "at least +2.0 KiB" },
		{ 2048, 4096, 8192, false, true, "at most +8.0 KiB" },
		{ 2048, 4096, 8192, true, true, "not known" },
		{ -INFINITY, 0, 5, false, false, "not known" },
	};
	const struct bp_quantity_style style = { .utf8 = true };
	char text[BP_QUANTITY_BYTES];
	(void)state;
	for (size_t i = 0; i < BP_COUNT(cases); i++) {
		struct bp_figure figure = { .interval = { cases[i].estimate, cases[i].low,
						    cases[i].high, false, false },
			.lower_bound = cases[i].lower_bound,
			.upper_bound = cases[i].upper_bound };
		bp_bytes_change_text(&figure, style, "", text);
		assert_string_equal(text, cases[i].bytes);
	}
	struct bp_figure figure = { .interval = { 10000, 9000, 11000, false, false } };
	bp_objects_change_text(&figure, style, "/s", text);
	assert_string_equal(text, "+10.0 k/s ±1.0");
	bp_bytes_estimate_text(&figure, style, text);
	assert_string_equal(text, "9.8 KiB");
	bp_objects_estimate_text(&figure, style, text);
	assert_string_equal(text, "10.0 k");
	figure.interval = (struct bp_interval){ 10, 0, 5000, false, false };
	bp_bytes_estimate_text(&figure, style, text);
	assert_string_equal(text, "≤ 4.9 KiB");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_its_fields),
		cmocka_unit_test(json_of_stacks_and_work),
		cmocka_unit_test(text_says_what_matters),
		cmocka_unit_test(hostile_names_are_harmless),
		cmocka_unit_test(growth_is_written),
		cmocka_unit_test(changes_as_people_read_them),
	};
	if (argc < 2)
		return 2;
	reader = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
