/* SPDX-License-Identifier: MIT */
/*
 * Whole reports of small profiles: JSON and CSV read back by Python's parsers, and the reports for
 * people searched for what must and must not be in them. Arguments: the path of read_report.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/filter.h"
#include "read_report.h"
#include "report/report.h"
#include "small_profile.h"

static const char *reader; /* read_report.py */

static const struct bp_report_options plain = { .rows = 20, .columns = 100, .utf8 = true };

/* The report as text; the caller frees it. */
static char *text_of(const char *name, const struct bp_aggregation *aggregation,
	struct bp_report_options options)
{
	char *text = NULL;
	size_t bytes = 0;
	struct bp_error error;
	const struct bp_report *report = report_named(name);
	FILE *out = open_memstream(&text, &bytes);
	assert_non_null(report);
	assert_non_null(out);
	assert_true(report->write(aggregation, &options, out, &error));
	fclose(out);
	return text;
}

static void make(struct bp_profile *profile)
{
	small_init(profile);
	struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, 1);
	small_sample(profile, process, small_stack(profile, "malloc;parse;main"), 100, 1, -1);
	small_sample(profile, process, small_stack(profile, "in@;out;main"), 30, 2, -1);
	small_sample(profile, process, small_stack(profile, "out;main"), 64, 3, 4)->temporary =
		true;
	small_totals(profile, process, 194, 194, 3, 3);
}

/* Names as a hostile file would have them. */
static void make_hostile(struct bp_profile *profile)
{
	static const char *const names[] = { "\033]0;owned\007", "a\"b,c\\d", "x\ny\r\nz",
		"\xe2\x80\xaetxt.exe", "bad\xff\xfe\xc3", "\xc2\x9b[31m", "=1+1", "{\"a\":1}" };
	small_init(profile);
	struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, 1);
	profile->processes.data[process.i].program = small_string(profile, "/x/\033[2J\xff\n");
	profile->processes.data[process.i].command_line = small_string(profile, "\xed\xa0\x80 \"");
	profile->processes.data[process.i].ended = false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		small_sample(
			profile, process, small_stack(profile, names[i]), 1000 - 10 * i, 1, -1);
	small_totals(profile, process, 7720, 7730, 8, 9);
}

static void json_has_its_fields(void **state)
{
	static const struct {
		const char *place, *value;
	} cases[] = { { "schema", "\"bytepoll-report-1\"" }, { "program", "\"/usr/bin/program1\"" },
		{ "pid", "10" }, { "duration_s", "10.0" }, { "intervals", "[1]" },
		{ "law", "\"exact\"" }, { "samples", "3" }, { "lost", "0" },
		{ "confidence", "0.95" }, { "metric", "\"live\"" }, { "by", "\"function\"" },
		{ "at", "10.0" },
		{ "totals.live.bytes",
			"{\"estimate\": 130, \"low\": 130, \"high\": 130, \"exact\": true}" },
		{ "totals.allocated.objects",
			"{\"estimate\": 3, \"low\": 3, \"high\": 3, \"exact\": true}" },
		{ "totals.temporary.bytes.estimate", "64" },
		{ "totals.peak.bytes.estimate", "194" }, { "rows.length", "2" },
		{ "rows.0.name", "\"parse\"" }, { "rows.0.samples", "1" },
		{ "rows.1.name", "\"in@\"" }, { "rows.1.bytes.high", "30" },
		{ "rest.bytes.estimate", "0" }, { "processes.0.pid", "10" },
		{ "processes.0.ended", "true" }, { "losses.trace_full", "0" },
		{ "losses.length", "12" }, { "warnings", "[]" } };
	struct bp_profile profile;
	struct bp_query query = { 0 };
	(void)state;
	make(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	char *json = text_of("json", &a, plain);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_place(reader, "json", json, cases[i].place, cases[i].value);
	free(json);
	struct bp_report_options one = plain;
	one.rows = 1;
	json = text_of("json", &a, one);
	assert_place(reader, "json", json, "rest.bytes.estimate", "30");
	assert_place(reader, "json", json, "rows_left_out", "1");
	free(json);
	bp_aggregation_finish(&a);
	query.by = BP_KEY_STACK;
	a = small_aggregate(&profile, &query);
	json = text_of("json", &a, plain);
	assert_place(reader, "json", json, "rows.1.stack.0.function", "\"in@\"");
	assert_place(reader, "json", json, "rows.1.stack.0.inlined", "true");
	assert_place(reader, "json", json, "rows.1.stack.1.file", "\"src/out.c\"");
	assert_place(reader, "json", json, "rows.1.stack.2.line", "4");
	free(json);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void json_survives_hostile_names(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	struct bp_filter filter;
	(void)state;
	make_hostile(&profile);
	assert_true(bp_filter_parse("function=*", &filter, NULL));
	query.filters = &filter;
	query.filter_count = 1;
	struct bp_aggregation a = small_aggregate(&profile, &query);
	char *json = text_of("json", &a, plain);
	assert_place(reader, "json", json, "rows.length", "8");
	assert_place(reader, "json", json, "rows.1.name", "\"a\\\"b,c\\\\d\"");
	assert_place(reader, "json", json, "rows.4.name", "\"bad\\ufffd\\ufffd\\ufffd\"");
	assert_place(reader, "json", json, "program", "\"/x/\\u001b[2J\\ufffd\\n\"");
	assert_place(reader, "json", json, "filters", "[\"function=*\"]");
	for (const char *c = json; *c != '\0'; c++)
		assert_true((unsigned char)*c >= 0x20 || *c == '\n');
	free(json);
	bp_aggregation_finish(&a);
	query.filter_count = 0;
	a = small_aggregate(&profile, &query);
	json = text_of("json", &a, plain);
	assert_place(reader, "json", json, "totals.allocated.bytes",
		"{\"estimate\": null, \"low\": 7720, \"high\": 7730}");
	free(json);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void json_of_nothing(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	(void)state;
	small_init(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	char *json = text_of("json", &a, plain);
	assert_place(reader, "json", json, "rows", "[]");
	assert_place(reader, "json", json, "totals.peak.bytes",
		"{\"estimate\": null, \"low\": null, \"high\": null}");
	assert_place(reader, "json", json, "processes", "[]");
	assert_place(reader, "json", json, "warnings.length", "1");
	free(json);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void csv_is_read_back(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	(void)state;
	make_hostile(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	struct bp_report_options options = plain;
	options.rows = 4;
	char *csv = text_of("csv", &a, options);
	assert_place(reader, "csv", csv, "length", "6");
	assert_place(reader, "csv", csv, "0.0", "\"function\"");
	assert_place(reader, "csv", csv, "0.1", "\"samples\"");
	assert_place(reader, "csv", csv, "2.0", "\"a\\\"b,c\\\\d\"");
	assert_place(reader, "csv", csv, "2.2", "\"990\"");
	assert_place(reader, "csv", csv, "5.0", "\"(rest)\"");
	assert_place(reader, "csv", csv, "5.1", "\"4\"");
	free(csv);
	bp_aggregation_finish(&a);
	/* A stack is one field; what separates its functions does not stand in a name. */
	small_sample(&profile, (struct bp_process_id){ 1 }, small_stack(&profile, "inner;outer"),
		5000, 1, -1);
	query.by = BP_KEY_STACK;
	a = small_aggregate(&profile, &query);
	csv = text_of("csv", &a, options);
	assert_place(reader, "csv", csv, "0.0", "\"stack\"");
	assert_place(reader, "csv", csv, "1.0", "\"inner;outer\"");
	assert_place(reader, "csv", csv, "3.0", "\"a\\\"b,c\\\\d\"");
	free(csv);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void assert_clean(const char *text, bool utf8)
{
	for (const char *c = text; *c != '\0'; c++) {
		assert_true((unsigned char)*c >= 0x20 || *c == '\n');
		assert_true(*c != 0x7f && (utf8 || (unsigned char)*c < 0x80));
	}
	assert_null(strstr(text, "\xe2\x80\xae"));
	assert_null(strstr(text, "\xc2\x9b"));
}

static void texts_are_harmless(void **state)
{
	struct bp_profile profile;
	(void)state;
	make_hostile(&profile);
	for (int by = 0; by < BP_KEY_COUNT; by++) {
		struct bp_query query = { .by = (enum bp_key)by };
		struct bp_aggregation a = small_aggregate(&profile, &query);
		for (int utf8 = 0; utf8 < 2; utf8++) {
			struct bp_report_options options = plain;
			options.utf8 = utf8 != 0;
			char *text = text_of("table", &a, options);
			assert_clean(text, options.utf8);
			free(text);
			text = by == BP_KEY_STACK ? text_of("tree", &a, options) : NULL;
			if (text != NULL)
				assert_clean(text, options.utf8);
			free(text);
		}
		bp_aggregation_finish(&a);
	}
	bp_profile_finish(&profile);
}

/* Width of the longest line of rows, characters. */
static unsigned longest_line(const char *text)
{
	unsigned longest = 0, columns = 0;
	for (; *text != '\0'; text++) {
		if (*text == '\n')
			columns = 0;
		else if (((unsigned char)*text & 0xc0) != 0x80)
			columns++;
		if (columns > longest)
			longest = columns;
	}
	return longest;
}

static void the_table_fits(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	(void)state;
	small_init(&profile);
	struct bp_process_id process = small_process(&profile, 10, 1, 0, 0, 10, 4096);
	char name[512];
	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	for (unsigned i = 0; i < 60; i++)
		small_sample(&profile, process, small_stack(&profile, i % 3 ? name : "short"), 300,
			1, -1);
	small_totals(&profile, process, 500000, 500000, 1500, 1500);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	static const unsigned widths[] = { 80, 100, 132, 200 };
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		struct bp_report_options options = plain;
		options.columns = widths[i];
		char *text = text_of("table", &a, options);
		const char *rows = strstr(text, "live by function");
		assert_non_null(rows);
		assert_true(longest_line(rows) <= widths[i]);
		free(text);
	}
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void the_table_says_it_all(void **state)
{
	static const char *const parts[] = { "program1", "pid 10", "10.0 s", "every object sampled",
		"3 samples", "0 lost", "95 % intervals", "live at exit", "130 B", "peak", "194 B",
		"allocated", "both exact", "temporary", "64 B", "live by function", "parse", "in@",
		"■" };
	struct bp_profile profile;
	struct bp_query query = { 0 };
	(void)state;
	make(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	char *text = text_of("table", &a, plain);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strstr(text, parts[i]) == NULL)
			fail_msg("'%s' is missing in:\n%s", parts[i], text);
	assert_null(strchr(text, '\033'));
	free(text);
	struct bp_report_options options = plain;
	options.colour = true;
	options.rows = 1;
	text = text_of("table", &a, options);
	assert_non_null(strstr(text, "\033[1m"));
	assert_non_null(strstr(text, "1 more, together"));
	free(text);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void the_tree_says_what_is_pruned(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .by = BP_KEY_STACK };
	(void)state;
	make(&profile);
	for (unsigned i = 0; i < 3; i++) {
		char stack[32];
		snprintf(stack, sizeof stack, "tiny%u;main", i);
		small_sample(&profile, (struct bp_process_id){ 1 }, small_stack(&profile, stack), 1,
			1, -1);
	}
	struct bp_aggregation a = small_aggregate(&profile, &query);
	struct bp_report_options options = plain;
	options.rows = BP_ROWS_ALL;
	char *text = text_of("tree", &a, options);
	assert_non_null(strstr(text, "3 more, each below 1 %"));
	assert_non_null(strstr(text, "3 branches below 1 %"));
	assert_non_null(strstr(text, "133 B"));
	free(text);
	options.rows = 2;
	text = text_of("tree", &a, options);
	assert_non_null(strstr(text, "more lines"));
	free(text);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void the_timeline_in_three_forms(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_report_options options = plain;
	(void)state;
	make(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	options.moments = 11;
	char *json = text_of("json", &a, options);
	assert_place(reader, "json", json, "timeline.length", "11");
	assert_place(reader, "json", json, "timeline.0.bytes",
		"{\"estimate\": 0, \"low\": 0, \"high\": 0, \"exact\": true}");
	assert_place(reader, "json", json, "timeline.3.time_s", "3.0");
	assert_place(reader, "json", json, "timeline.3.bytes.estimate", "194");
	assert_place(reader, "json", json, "timeline.10.objects.estimate", "2");
	free(json);
	char *csv = text_of("csv", &a, options);
	assert_place(reader, "csv", csv, "length", "12");
	assert_place(reader, "csv", csv, "0.2", "\"bytes\"");
	assert_place(reader, "csv", csv, "4.2", "\"194\"");
	free(csv);
	char *text = text_of("timeline", &a, options);
	assert_non_null(strstr(text, "3.00 s"));
	assert_non_null(strstr(text, "194 B\n"));
	free(text);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_has_its_fields),
		cmocka_unit_test(json_survives_hostile_names),
		cmocka_unit_test(json_of_nothing),
		cmocka_unit_test(csv_is_read_back),
		cmocka_unit_test(texts_are_harmless),
		cmocka_unit_test(the_table_fits),
		cmocka_unit_test(the_table_says_it_all),
		cmocka_unit_test(the_tree_says_what_is_pruned),
		cmocka_unit_test(the_timeline_in_three_forms),
	};
	if (argc < 2)
		return 2;
	reader = argv[1];
	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
