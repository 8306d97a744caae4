/* SPDX-License-Identifier: MIT */
/* Names from hostile files: nothing that steers a terminal gets through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "text/escape.h"

static void utf8_is_decoded_strictly(void **state)
{
	static const struct {
		const char *text;
		uint32_t code;
		unsigned bytes;
	} cases[] = { { "a", 'a', 1 }, { "\xc3\xa9", 0xe9, 2 }, { "\xe2\x82\xac", 0x20ac, 3 },
		{ "\xf0\x9f\x98\x80", 0x1f600, 4 }, { "\x80", UINT32_MAX, 1 },
		{ "\xc0\x80", UINT32_MAX, 1 }, { "\xe0\x80\x80", UINT32_MAX, 1 },
		{ "\xed\xa0\x80", UINT32_MAX, 1 }, { "\xf4\x90\x80\x80", UINT32_MAX, 1 },
		{ "\xf8\x88\x80\x80\x80", UINT32_MAX, 1 }, { "\xc3", UINT32_MAX, 1 },
		{ "\xe2\x82", UINT32_MAX, 1 }, { "\xff", UINT32_MAX, 1 } };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		unsigned bytes;
		assert_int_equal(bp_utf8_next(cases[i].text, &bytes), cases[i].code);
		assert_int_equal(bytes, cases[i].bytes);
	}
}

static void terminal_text_is_harmless(void **state)
{
	static const struct {
		const char *text;
		bool utf8;
		const char *shown;
		unsigned columns;
	} cases[] = { { "plain", true, "plain", 5 }, { "\033[31mred", true, "\\x1b[31mred", 11 },
		{ "a\nb\tc\x7f", true, "a\\x0ab\\x09c\\x7f", 15 },
		{ "\xc2\x9b"
		  "2J",
			true, "\\u{9b}2J", 8 },
		{ "x\xe2\x80\xaegpj", true, "x\\u{202e}gpj", 12 },
		{ "\xe2\x81\xa6x", true, "\\u{2066}x", 9 }, { "bad\xff", true, "bad\\xff", 7 },
		{ "caf\xc3\xa9", true, "caf\xc3\xa9", 4 },
		{ "caf\xc3\xa9", false, "caf\\u{e9}", 9 },
		{ "\xf3\xa0\x80\x81", true, "\\u{e0001}", 9 }, { "", true, "", 0 } };
	char buffer[256];
	(void)state;
	setlocale(LC_CTYPE, "C.UTF-8");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(
			bp_terminal_text(cases[i].text, cases[i].utf8, 100, buffer, sizeof buffer),
			cases[i].columns);
		assert_string_equal(buffer, cases[i].shown);
	}
}

/* Every single byte and every pair after an escape: only printable ASCII comes out. */
static void no_byte_gets_through(void **state)
{
	char text[3] = { 0 }, buffer[64];
	(void)state;
	for (unsigned a = 1; a < 256; a++)
		for (unsigned b = 0; b < 256; b++) {
			text[0] = (char)a;
			text[1] = (char)b;
			bp_terminal_text(text, false, 60, buffer, sizeof buffer);
			for (const char *c = buffer; *c != '\0'; c++)
				assert_true(*c >= 0x20 && *c < 0x7f);
		}
}

static void long_names_are_cut_in_the_middle(void **state)
{
	char buffer[256], *large = malloc(100001);
	(void)state;
	assert_int_equal(
		bp_terminal_text("std::vector<int>::push_back", true, 15, buffer, sizeof buffer),
		15);
	assert_string_equal(buffer, "std::ve…sh_back");
	assert_true(bp_terminal_text(
			    "std::vector<int>::push_back", false, 15, buffer, sizeof buffer) <= 15);
	assert_non_null(strstr(buffer, "..."));
	memset(large, 'x', 100000);
	large[100000] = '\0';
	assert_true(bp_terminal_text(large, true, 40, buffer, sizeof buffer) <= 40);
	/* A buffer too small holds what fits, terminated. */
	bp_terminal_text(large, true, 200, buffer, 32);
	assert_true(strlen(buffer) < 32);
	free(large);
}

/* `write` into memory. */
static void assert_written(
	void (*write)(FILE *, const char *), const char *text, const char *expected)
{
	char *written = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&written, &bytes);
	assert_non_null(out);
	write(out, text);
	fclose(out);
	assert_string_equal(written, expected);
	free(written);
}

static void json_strings(void **state)
{
	(void)state;
	assert_written(bp_write_json_string, "a\"b\\c\n", "\"a\\\"b\\\\c\\u000a\"");
	assert_written(bp_write_json_string, "\xff\xc3", "\"\\ufffd\\ufffd\"");
	assert_written(bp_write_json_string, "caf\xc3\xa9", "\"caf\xc3\xa9\"");
	assert_written(bp_write_json_string, "\xe2\x80\xae", "\"\\u202e\"");
	assert_written(bp_write_json_string, "\xf3\xa0\x80\x81", "\"\\udb40\\udc01\"");
}

static void csv_strings(void **state)
{
	(void)state;
	assert_written(bp_write_csv_string, "f(int, \"x\")", "\"f(int, \"\"x\"\")\"");
	assert_written(bp_write_csv_string, "a\x1b[31m\xc2\x9b\xe2\x80\xae\tb\nc",
		"\"a\\x1b[31m\\u{9b}\\u{202e}\tb\nc\"");
	assert_written(bp_write_csv_string, "a\xff", "\"a\xef\xbf\xbd\"");
	assert_written(bp_write_csv_string, "", "\"\"");
	/* No spreadsheet takes a name for a formula. */
	assert_written(bp_write_csv_string, "=cmd|' /C calc'!A0", "\"'=cmd|' /C calc'!A0\"");
	assert_written(bp_write_csv_string, "+1", "\"'+1\"");
	assert_written(bp_write_csv_string, "-[Object new]", "\"'-[Object new]\"");
	assert_written(bp_write_csv_string, "@SUM(1)", "\"'@SUM(1)\"");
	assert_written(bp_write_csv_string, "\t=1", "\"'\t=1\"");
	assert_written(bp_write_csv_string, "a=1", "\"a=1\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(utf8_is_decoded_strictly),
		cmocka_unit_test(terminal_text_is_harmless),
		cmocka_unit_test(no_byte_gets_through),
		cmocka_unit_test(long_names_are_cut_in_the_middle),
		cmocka_unit_test(json_strings),
		cmocka_unit_test(csv_strings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
