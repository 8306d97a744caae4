/* SPDX-License-Identifier: MIT */
/*
 * What fits where: at 80 columns, where most people look, tables and trees have their bars and the
 * names of their functions; at no width a line is longer than the terminal, from 60 columns on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "read_report.h"
#include "report/report.h"
#include "small_profile.h"

#define BAR_LEAST 10

static char *text_of(
	const char *name, const struct bp_aggregation *aggregation, unsigned columns, bool utf8)
{
	const struct bp_report_options options = {
		.rows = BP_ROWS_ALL, .columns = columns, .utf8 = utf8
	};
	char *text = NULL;
	size_t bytes = 0;
	struct bp_error error;
	FILE *out = open_memstream(&text, &bytes);
	assert_non_null(out);
	assert_true(report_named(name)->write(aggregation, &options, out, &error));
	fclose(out);
	return text;
}

/* Long figures, and names as the standard library has them. */
static void make(struct bp_profile *profile)
{
	static const char *const stacks[] = {
		"void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>("
		"__gnu_cxx::__normal_iterator<int*, std::vector<int, std::allocator<int> > >, int "
		"const&);Cache::grow(int, long, std::allocator<char> const&);main",
		"std::_Rb_tree_node<std::pair<int const, Row> >* std::_Rb_tree<int, std::pair<int "
		"const, Row>, std::less<int> >::_M_create_node<int const&>(int const&);Cache::fill("
		"int, long, std::allocator<char> const&);main",
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::"
		"_M_construct(unsigned long, char);Cache::fill(int, long, std::allocator<char> "
		"const&);main",
		"sqlite3VdbeSorterWriteOfALongName;main"
	};
	small_init(profile);
	struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, 4096);
	for (unsigned i = 0; i < 400; i++)
		small_sample(profile, process, small_stack(profile, stacks[i % 4]),
			i % 7 == 0 ? 50000 : 900 + 40 * (i % 4), 1 + 0.01 * i,
			i % 5 == 0 ? 6 : -1.0);
	/* Deep, with branches that are pruned. */
	for (unsigned i = 0; i < 20; i++) {
		static const char outer[] = "f3;f2;f1;deepest_of_all_functions;Cache::deep;main";
		char stack[256];
		snprintf(stack, sizeof stack, "tiny%u;h%u;g;f5;f4;%s", i, i % 3, outer);
		small_sample(profile, process, small_stack(profile, stack), 10, 3, -1);
		for (unsigned depth = 0; depth < 3; depth++) {
			snprintf(stack, sizeof stack, "side%u;%s", depth, outer + 3 * depth);
			small_sample(profile, process, small_stack(profile, stack), 5000, 3, -1);
		}
	}
	/* Few samples: a lopsided interval is the longest figure. */
	small_sample(profile, process, small_stack(profile, "once;main"), 12345678, 2, -1);
	small_sample(profile, process, small_stack(profile, "once;main"), 4000, 2, -1);
	small_totals(profile, process, 20000000, 20000000, 30000, 30000);
}

static unsigned longest_line(const char *text)
{
	unsigned longest = 0, columns = 0;
	for (; *text != '\0'; text++) {
		columns = *text == '\n' ? 0 : columns + (((unsigned char)*text & 0xc0) != 0x80);
		longest = columns > longest ? columns : longest;
	}
	return longest;
}

/* The longest run of characters that bars are made of. */
static unsigned longest_bar(const char *text)
{
	static const char marks[] = ".-*o#";
	unsigned longest = 0, columns = 0;
	for (; *text != '\0'; text++) {
		columns = strchr(marks, *text) != NULL ? columns + 1 : 0;
		longest = columns > longest ? columns : longest;
	}
	return longest;
}

static void assert_holds(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is missing in:\n%s", part, text);
}

/* A report of the profile that `make` makes. */
struct view {
	const char *report;
	enum bp_key by;
	enum bp_metric metric;
};

static struct bp_aggregation aggregate(struct bp_profile *profile, const struct view *view)
{
	const struct bp_query query = { .by = view->by, .metric = view->metric };
	make(profile);
	return small_aggregate(profile, &query);
}

static void bars_and_functions_at_80_columns(void **state)
{
	static const char *const functions[] = { "_M_realloc_insert", "_M_create_node",
		"_M_construct", "sqlite3Vdbe" };
	static const struct view cases[] = { { "table", BP_KEY_FUNCTION, BP_METRIC_LIVE },
		{ "tree", BP_KEY_STACK, BP_METRIC_LIVE },
		{ "summary", BP_KEY_FUNCTION, BP_METRIC_LIVE },
		{ "stats", BP_KEY_SIZE, BP_METRIC_ALLOCATED } };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_profile profile;
		struct bp_aggregation a = aggregate(&profile, &cases[i]);
		char *text = text_of(cases[i].report, &a, 80, false);
		if (longest_bar(text) < BAR_LEAST)
			fail_msg("%s has no bars:\n%s", cases[i].report, text);
		for (size_t f = 0; f < sizeof functions / sizeof *functions; f++)
			if (cases[i].by != BP_KEY_SIZE)
				assert_holds(text, functions[f]);
		if (cases[i].by == BP_KEY_SIZE)
			assert_holds(text, "\n  allocated by size ");
		free(text);
		bp_aggregation_finish(&a);
		bp_profile_finish(&profile);
	}
}

static void nothing_is_wider_than_the_terminal(void **state)
{
	static const struct view cases[] = { { "table", BP_KEY_FUNCTION, BP_METRIC_LIVE },
		{ "table", BP_KEY_FUNCTION, BP_METRIC_PEAK },
		{ "tree", BP_KEY_STACK, BP_METRIC_PEAK },
		{ "stats", BP_KEY_SIZE, BP_METRIC_ALLOCATED } };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_profile profile;
		struct bp_aggregation a = aggregate(&profile, &cases[i]);
		for (unsigned columns = 60; columns < 260; columns++) {
			char *text = text_of(cases[i].report, &a, columns, columns % 2 == 0);
			if (longest_line(text) > columns)
				fail_msg("%s, %u columns:\n%s", cases[i].report, columns, text);
			free(text);
		}
		bp_aggregation_finish(&a);
		bp_profile_finish(&profile);
	}
}

/* Names take what a wide terminal has. */
static void wide_terminals_show_whole_names(void **state)
{
	static const struct view view = { "table", BP_KEY_FUNCTION, BP_METRIC_LIVE };
	struct bp_profile profile;
	(void)state;
	struct bp_aggregation a = aggregate(&profile, &view);
	char *text = text_of("table", &a, 400, true);
	assert_holds(text, "_M_realloc_insert<int const&>(__gnu_cxx::__normal_iterator<int*, ");
	free(text);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

/* One of a kind is one. */
static void one_branch_is_a_branch(void **state)
{
	struct bp_profile profile;
	const struct bp_query query = { .by = BP_KEY_STACK };
	(void)state;
	small_init(&profile);
	struct bp_process_id process = small_process(&profile, 10, 1, 0, 0, 10, 1);
	small_sample(&profile, process, small_stack(&profile, "large;main"), 1000, 1, -1);
	small_sample(&profile, process, small_stack(&profile, "below;tiny;main"), 1, 1, -1);
	small_totals(&profile, process, 1001, 1001, 2, 2);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	char *text = text_of("tree", &a, 100, true);
	assert_holds(text, "1 more, below 1 %");
	assert_holds(text, "1 branch below 1 % of the whole is pruned");
	free(text);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bars_and_functions_at_80_columns),
		cmocka_unit_test(nothing_is_wider_than_the_terminal),
		cmocka_unit_test(wide_terminals_show_whole_names),
		cmocka_unit_test(one_branch_is_a_branch) };
	setlocale(LC_CTYPE, "C.UTF-8");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
