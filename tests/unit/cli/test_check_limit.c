/* SPDX-License-Identifier: MIT */
/* The language of limits: what each text means, and what every wrong one says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "cli/check/check_limit.h"

static void limits_mean(void **state)
{
	static const struct {
		const char *text;
		enum bp_metric metric;
		bool objects;
		double most;
		const char *filter;
	} cases[] = {
		{ "live=200MiB", BP_METRIC_LIVE, false, 200 * 0x1p20, NULL },
		{ "peak=1G", BP_METRIC_PEAK, false, 0x1p30, NULL },
		{ "temporary=0", BP_METRIC_TEMPORARY, false, 0, NULL },
		{ "live.objects=10000", BP_METRIC_LIVE, true, 10000, NULL },
		{ "allocated:parse_*=10M", BP_METRIC_ALLOCATED, false, 10 * 0x1p20,
			"function=parse_*" },
		{ "allocated.objects:parse_*=7", BP_METRIC_ALLOCATED, true, 7, "function=parse_*" },
		{ "live:stack=load_*=1.5K", BP_METRIC_LIVE, false, 1536, "stack=load_*" },
		{ "live:module=libfoo*=4096", BP_METRIC_LIVE, false, 4096, "module=libfoo*" },
		{ "live:size=64..4K=1M", BP_METRIC_LIVE, false, 0x1p20, "size=64..4K" },
		{ "live:operator==*=1M", BP_METRIC_LIVE, false, 0x1p20, "function=operator==*" },
		{ "live:a::b<c>::d=1M", BP_METRIC_LIVE, false, 0x1p20, "function=a::b<c>::d" },
		{ "live:stack=a=b=1", BP_METRIC_LIVE, false, 1, "stack=a=b" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_limit limit;
		struct bp_error error = { 0 };
		if (!bp_check_limit_parse(cases[i].text, &limit, &error))
			fail_msg("%s: %s", cases[i].text, error.text);
		assert_string_equal(limit.text, cases[i].text);
		assert_int_equal(limit.metric, cases[i].metric);
		assert_int_equal(limit.objects, cases[i].objects);
		assert_true(limit.most == cases[i].most);
		assert_false(limit.growth);
		if (cases[i].filter == NULL)
			assert_null(limit.filter_text);
		else
			assert_string_equal(limit.filter_text, cases[i].filter);
		if (cases[i].filter != NULL)
			assert_string_equal(limit.filter.text, cases[i].filter);
		bp_check_limit_finish(&limit);
	}
}

static void wrong_limits_say_why(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "live", "write METRIC=SIZE" },
		{ "", "write METRIC=SIZE" },
		{ "=5M", "'' is no metric" },
		{ "lives=5M", "'lives' is no metric" },
		{ "live.bytes=5M", "'live.bytes' is no metric" },
		{ ".objects=5", "'.objects' is no metric" },
		{ "live=", "is no size" },
		{ "live=many", "is no size" },
		{ "live=-5M", "is no size" },
		{ "live=5%", "is no size" },
		{ "live=nan", "is no size" },
		{ "live.objects=5K", "is no number" },
		{ "live:=5M", "no filter after the colon" },
		{ "live:size=x=5M", "no range of sizes" },
		{ "averyveryveryveryveryverylongmetricname=5M", "is no metric" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_limit limit = { .most = 77 };
		struct bp_error error = { 0 };
		assert_false(bp_check_limit_parse(cases[i].text, &limit, &error));
		if (strstr(error.text, cases[i].says) == NULL)
			fail_msg("%s: %s", cases[i].text, error.text);
		assert_true(limit.most == 77); /* untouched */
	}
}

static void growths_mean(void **state)
{
	static const struct {
		const char *text, *shown;
		enum bp_metric metric;
		double most;
	} cases[] = {
		{ "5%", "peak=5%", BP_METRIC_PEAK, 1.05 },
		{ "0%", "peak=0%", BP_METRIC_PEAK, 1 },
		{ "150%", "peak=150%", BP_METRIC_PEAK, 2.5 },
		{ "live=12.5%", "live=12.5%", BP_METRIC_LIVE, 1.125 },
		{ "allocated:parse_*=5%", "allocated:parse_*=5%", BP_METRIC_ALLOCATED, 1.05 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_limit limit;
		struct bp_error error = { 0 };
		if (!bp_check_growth_parse(cases[i].text, BP_METRIC_PEAK, &limit, &error))
			fail_msg("%s: %s", cases[i].text, error.text);
		assert_string_equal(limit.text, cases[i].shown);
		assert_int_equal(limit.metric, cases[i].metric);
		assert_true(limit.growth && limit.most == cases[i].most);
		bp_check_limit_finish(&limit);
	}
}

static void wrong_growths_say_why(void **state)
{
	static const char *const cases[] = { "5", "", "%", "-5%", "5%%", "live=5M", "live=x%",
		"0x5%", "nan%", "inf%", "live=1e99%" };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_limit limit;
		struct bp_error error = { 0 };
		assert_false(bp_check_growth_parse(cases[i], BP_METRIC_PEAK, &limit, &error));
		if (strstr(error.text, "%") == NULL || strstr(error.text, "--max-growth") == NULL)
			fail_msg("'%s': %s", cases[i], error.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_mean),
		cmocka_unit_test(wrong_limits_say_why),
		cmocka_unit_test(growths_mean),
		cmocka_unit_test(wrong_growths_say_why),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
