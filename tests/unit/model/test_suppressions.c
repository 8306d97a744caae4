/* SPDX-License-Identifier: MIT */
/* Patterns of suppressions, files of them that are good and bad, and which stacks they hide. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/names/suppressions.h"
#include "query/filter.h"
#include "small_profile.h"

/* What each matches was asked of LeakSanitizer's own matcher (LLVM 14). */
static void patterns_match(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} cases[] = {
		{ "parse", "json_parse_value", true },
		{ "parse", "pars", false },
		{ "^parse", "parse_value", true },
		{ "^parse", "json_parse", false },
		{ "parse$", "json_parse", true },
		{ "parse$", "parse_json", false },
		{ "parse$", "parse_and_parse", false }, /* its first place counts */
		{ "*parse$", "parse_and_parse", false },
		{ "parse*$", "parse_and_parse", true },
		{ "^parse$", "parse", true },
		{ "^parse$", "parses", false },
		{ "^a*b$", "a-b-b", false },
		{ "^a*b$", "a-b", true },
		{ "^a*b$", "ab", true },
		{ "^a*b$", "a-bc", false },
		{ "^a*b$", "b", false },
		{ "a*c*b", "abc", false },
		{ "a*c*b", "xacb", true },
		{ "*", "x", true },
		{ "*", "", false },
		{ "^*x", "wx", true },
		{ "ab*bc$", "abc", false },
		{ "$", "x", false },
		{ "^", "x", true },
		{ "^$", "x", false },
		{ "*$", "x", true },
		{ "^*$", "x", true },
		{ "**x", "wx", true },
		{ "x$y", "x", true },
		{ "x$y", "xy", false },
		{ "a^b", "a^b", true },
		{ "^^a", "^a", true },
		{ "^a*", "ba", false },
		{ "*^a", "ba", false },
		{ "f(int)", "ns::f(int)", true },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (bp_suppression_matches(cases[i].pattern, cases[i].text) != cases[i].matches)
			fail_msg("%s on %s", cases[i].pattern, cases[i].text);
}

/* Writes a file of this text; the caller unlinks it. */
static void write_file(char *path, const char *text, size_t bytes)
{
	int descriptor = mkstemp(path);
	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, text, bytes), (ssize_t)bytes);
	close(descriptor);
}

static void files_are_read(void **state)
{
	static const struct {
		const char *text;
		size_t bytes;
		int patterns; /* -1: refused */
	} cases[] = {
		{ "", 0, 0 },
		{ "# nothing\n\n  \t\r\n", 16, 0 },
		{ "leak:a\nleak:b*\r\n leak:^c$ ", 25, 3 },
		{ "leak:", 5, -1 },
		{ "race:a\n", 7, -1 },
		{ "leak:a\nb\n", 9, -1 },
		{ "leak:a\0b", 8, -1 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char path[] = "/tmp/bytepoll-suppressions-XXXXXX";
		struct bp_suppressions suppressions = { 0 };
		struct bp_error error = { { 0 } };
		write_file(path, cases[i].text, cases[i].bytes);
		bool good = bp_suppressions_read(path, &suppressions, &error);
		assert_int_equal(good ? (int)suppressions.count : -1, cases[i].patterns);
		assert_true(good || strstr(error.text, path) != NULL);
		bp_suppressions_finish(&suppressions);
		unlink(path);
	}
	struct bp_suppressions none;
	struct bp_error error;
	assert_false(bp_suppressions_read("/nonexistent", &none, &error));
	assert_false(bp_suppressions_read("/tmp", &none, &error));
}

static double live_of(
	struct bp_profile *profile, const struct bp_suppressions *suppressions, bool suppressed)
{
	struct bp_filter filter = { .key = BP_KEY_STACK,
		.text = "suppressions",
		.glob = "",
		.suppressions = suppressions,
		.suppressed = suppressed };
	struct bp_query query = { .filters = &filter, .filter_count = 1 };
	struct bp_aggregation aggregation = small_aggregate(profile, &query);
	double bytes = aggregation.totals[BP_METRIC_LIVE].bytes.interval.estimate;
	bp_aggregation_finish(&aggregation);
	return bytes;
}

/* Anywhere on the stack, by function, file or module; what is hidden and what is not is
 * everything. */
static void stacks_are_hidden(void **state)
{
	static const struct {
		char *pattern;
		double hidden;
	} cases[] = { { "^load$", 100 }, { "main", 130 }, { "parse.c", 100 }, { "none", 0 } };
	struct bp_profile profile;
	(void)state;
	small_exact(&profile);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char *patterns[] = { cases[i].pattern };
		struct bp_suppressions suppressions = { .patterns = patterns, .count = 1 };
		double hidden = live_of(&profile, &suppressions, true);
		assert_float_equal(hidden, cases[i].hidden, 1e-9);
		assert_float_equal(hidden + live_of(&profile, &suppressions, false), 137, 1e-9);
	}
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match),
		cmocka_unit_test(files_are_read),
		cmocka_unit_test(stacks_are_hidden),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
