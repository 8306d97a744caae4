/* SPDX-License-Identifier: MIT */
/* The writer of JSON: every layout, every value, and what stands between and at the ends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "text/json_writer.h"

static char *text;
static size_t bytes;

static struct bp_json begin(void)
{
	FILE *out = open_memstream(&text, &bytes);
	assert_non_null(out);
	return bp_json_begin(out);
}

static void assert_made(struct bp_json *json, const char *expected)
{
	assert_int_equal(json->depth, 0);
	assert_int_equal(fclose(json->out), 0);
	assert_string_equal(text, expected);
	free(text);
}

static void assert_layout(enum bp_json_layout layout, const char *expected, const char *empty)
{
	struct bp_json json = begin();
	bp_json_object(&json, NULL, layout);
	bp_json_whole(&json, "a", 1);
	bp_json_array(&json, "b", layout);
	bp_json_whole(&json, NULL, 2);
	bp_json_whole(&json, NULL, 3);
	bp_json_end(&json);
	bp_json_end(&json);
	assert_made(&json, expected);
	json = begin();
	bp_json_array(&json, NULL, layout);
	bp_json_end(&json);
	assert_made(&json, empty);
}

static void layouts_differ_in_blanks_and_lines(void **state)
{
	(void)state;
	assert_layout(BP_JSON_SPACED, "{\"a\": 1, \"b\": [2, 3]}", "[]");
	assert_layout(BP_JSON_COMPACT, "{\"a\":1,\"b\":[2,3]}", "[]");
	assert_layout(BP_JSON_ROWS, "{\"a\":1,\n\"b\":[2,\n3]}", "[]");
	assert_layout(BP_JSON_LINES, "{\n  \"a\": 1,\n  \"b\": [\n    2,\n    3\n  ]\n}", "[]");
	assert_layout(BP_JSON_TALL, "{\n  \"a\": 1,\n  \"b\": [\n    2,\n    3\n  ]\n}", "[\n]");
	assert_layout(BP_JSON_COMMAS_FIRST, "{\"a\":1,\"b\":[2,3]}", "[]");
}

/* A break holds for one member, and where none follows for the end; what begins on its line is
 * indented from there. */
static void a_break_holds_once(void **state)
{
	struct bp_json json = begin();
	(void)state;
	bp_json_object(&json, NULL, BP_JSON_SPACED);
	bp_json_break(&json, 3);
	bp_json_whole(&json, "a", 1);
	bp_json_whole(&json, "b", 2);
	bp_json_break(&json, 3);
	bp_json_array(&json, "c", BP_JSON_LINES);
	bp_json_whole(&json, NULL, 3);
	bp_json_end(&json);
	bp_json_break(&json, 0);
	bp_json_end_document(&json);
	assert_made(&json, "{\n   \"a\": 1, \"b\": 2,\n   \"c\": [\n     3\n   ]\n}\n");
	json = begin();
	bp_json_array(&json, NULL, BP_JSON_COMMAS_FIRST);
	bp_json_break(&json, 0);
	bp_json_whole(&json, NULL, 1);
	bp_json_break(&json, 0);
	bp_json_whole(&json, NULL, 2);
	bp_json_whole(&json, NULL, 3);
	bp_json_end(&json);
	assert_made(&json, "[\n1\n,2,3]");
}

static void numbers_have_the_digits_asked_for(void **state)
{
	struct bp_json json = begin();
	(void)state;
	bp_json_array(&json, NULL, BP_JSON_COMPACT);
	bp_json_whole(&json, NULL, UINT64_MAX);
	bp_json_signed(&json, NULL, INT64_MIN);
	bp_json_number(&json, NULL, 3);
	bp_json_number(&json, NULL, -0.5);
	bp_json_number(&json, NULL, 1.0 / 3);
	bp_json_number(&json, NULL, 1e300);
	bp_json_fixed(&json, NULL, 2.0 / 3, 3);
	bp_json_digits(&json, NULL, 0.1, 17);
	bp_json_digits(&json, NULL, 1e-30, 6);
	bp_json_seconds(&json, NULL, 1500000000);
	bp_json_end(&json);
	assert_made(&json, "[18446744073709551615,-9223372036854775808,3,-0.5,0.333333333333,"
			   "1e+300,0.667,0.10000000000000001,1e-30,1.500000000]");
}

/* JSON has no numbers for these. */
static void what_is_not_finite_is_null(void **state)
{
	const double values[] = { NAN, INFINITY, -INFINITY };
	(void)state;
	for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
		struct bp_json json = begin();
		bp_json_array(&json, NULL, BP_JSON_COMPACT);
		bp_json_number(&json, NULL, values[i]);
		bp_json_fixed(&json, NULL, values[i], 3);
		bp_json_digits(&json, NULL, values[i], 10);
		bp_json_end(&json);
		assert_made(&json, "[null,null,null]");
	}
}

static void texts_and_keys_are_escaped(void **state)
{
	struct bp_json json = begin();
	(void)state;
	bp_json_object(&json, NULL, BP_JSON_COMPACT);
	bp_json_text(&json, "a \"key\"\n", "\xff\\");
	bp_json_text(&json, "b", NULL);
	bp_json_null(&json, "c");
	bp_json_bool(&json, "d", true);
	bp_json_bool(&json, "e", false);
	bp_json_text_begin(&json, "f");
	bp_json_text_part(&json, "one \"");
	bp_json_text_part(&json, "two");
	bp_json_text_end(&json);
	bp_json_raw(&json, "g", "[1]", 3);
	bp_json_end_document(&json);
	assert_made(&json,
		"{\"a \\\"key\\\"\\u000a\":\"\\ufffd\\\\\",\"b\":null,\"c\":null,\"d\":true,"
		"\"e\":false,\"f\":\"one \\\"two\",\"g\":[1]}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_differ_in_blanks_and_lines),
		cmocka_unit_test(a_break_holds_once),
		cmocka_unit_test(numbers_have_the_digits_asked_for),
		cmocka_unit_test(what_is_not_finite_is_null),
		cmocka_unit_test(texts_and_keys_are_escaped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
