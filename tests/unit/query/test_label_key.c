/* SPDX-License-Identifier: MIT */
/* Rows by label and filters by label, at T = 1, where every figure must be exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "query/filter.h"
#include "small_profile.h"

/* Sizes are powers of two, so that a sum says which objects are in it. */
static void make(struct bp_profile *profile)
{
	static const char *const sets[] = { "", "tenant=1", "phase=load\ntenant=1",
		"phase=parse\ntenant=2", "phase=", "tenantry=1", "a\x1b=\xff" };
	struct bp_error error;
	small_init(profile);
	const struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, 1);
	const struct bp_stack_id stack = small_stack(profile, "work;main");
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		struct bp_labels_id labels;
		assert_true(
			bp_profile_add_labels(profile, sets[i], strlen(sets[i]), &labels, &error));
		small_sample(profile, process, stack, (uint64_t)1 << i, 1 + (double)i, -1)->labels =
			labels;
	}
	small_totals(profile, process, 127, 127, 7, 7);
}

static void assert_row(const struct bp_aggregation *aggregation, const char *name, double bytes)
{
	const struct bp_row row = small_row(aggregation, name);
	small_assert_exact(row.bytes, bytes);
}

static void rows_by_one_label(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	struct bp_error error;
	(void)state;
	make(&profile);
	assert_true(bp_query_set_by(&query, "label:tenant", &error));
	assert_string_equal(bp_query_by(&query), "label:tenant");
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 3);
	assert_row(&a, "1", 2 + 4);
	assert_row(&a, "2", 8);
	assert_row(&a, "(no such label)", 1 + 16 + 32 + 64);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void an_empty_value_is_not_none(void **state)
{
	struct bp_profile profile;
	struct bp_query query = {
		.metric = BP_METRIC_ALLOCATED, .by = BP_KEY_LABEL, .label = "label:phase"
	};
	(void)state;
	make(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 4);
	assert_row(&a, "load", 4);
	assert_row(&a, "parse", 8);
	assert_row(&a, "(empty)", 16);
	assert_row(&a, "(no such label)", 1 + 2 + 32 + 64);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void rows_by_the_whole_set(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	struct bp_error error;
	(void)state;
	make(&profile);
	assert_true(bp_query_set_by(&query, "label", &error));
	assert_string_equal(bp_query_by(&query), "label");
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 7);
	assert_row(&a, "(no label)", 1);
	assert_row(&a, "phase=load, tenant=1", 4);
	assert_row(&a, "a\x1b=\xff", 64);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void filters_by_label(void **state)
{
	static const struct {
		const char *text;
		double bytes;
	} cases[] = {
		{ "label:tenant=1", 2 + 4 },
		{ "label:tenant=?", 2 + 4 + 8 },
		{ "label:tenant=", 1 + 16 + 32 + 64 },
		{ "label:phase=", 1 + 2 + 16 + 32 + 64 },
		{ "label:phase=*a*", 4 + 8 },
		{ "label=tenant=1", 2 + 4 },
		{ "label=tenant*=1", 2 + 4 + 32 },
		{ "label=*", 2 + 4 + 8 + 16 + 32 + 64 },
		{ "label:nothing=x", 0 },
		{ "label:nothing=*", 127 },
	};
	struct bp_profile profile;
	(void)state;
	make(&profile);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_filter filter;
		struct bp_error error;
		assert_true(bp_filter_parse(cases[i].text, &filter, &error));
		const struct bp_query query = {
			.metric = BP_METRIC_ALLOCATED, .filters = &filter, .filter_count = 1
		};
		struct bp_aggregation a = small_aggregate(&profile, &query);
		small_assert_exact(a.totals[BP_METRIC_ALLOCATED].bytes, cases[i].bytes);
		bp_aggregation_finish(&a);
	}
	bp_profile_finish(&profile);
}

static void wrong_words_are_refused(void **state)
{
	static const char *const words[] = { "label:", "label:a=b", "label:a\"b", "label:a\\b",
		"label:\x1b[31m", "label:\xc3\xa4", "labels", "lab", "" };
	static const char *const filters[] = { "label:=x", "label:a", "label:", "label:\x07=x" };
	char long_key[200] = "label:";
	struct bp_query query = { .by = BP_KEY_FILE };
	struct bp_filter filter;
	struct bp_error error;
	(void)state;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		assert_false(bp_query_set_by(&query, words[i], &error));
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
		assert_false(bp_filter_parse(filters[i], &filter, &error));
	memset(long_key + 6, 'k', 101);
	assert_false(bp_query_set_by(&query, long_key, &error));
	assert_int_equal(query.by, BP_KEY_FILE);
	long_key[106] = '\0';
	assert_true(bp_query_set_by(&query, long_key, &error));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_by_one_label),
		cmocka_unit_test(an_empty_value_is_not_none),
		cmocka_unit_test(rows_by_the_whole_set),
		cmocka_unit_test(filters_by_label),
		cmocka_unit_test(wrong_words_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
