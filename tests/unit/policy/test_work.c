/* SPDX-License-Identifier: MIT */
/* What runs are scaled by, so that more work is compared with less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "policy/work.h"

static void work_is_bytes_or_seconds(void **state)
{
	struct bp_aggregation a = { .duration_ns = 2500000000u };
	struct bp_interval *total = &a.totals[BP_METRIC_ALLOCATED].bytes.interval;
	struct bp_error error;
	double work = 0;
	(void)state;
	*total = (struct bp_interval){ .estimate = 4096, .exact = true };
	assert_true(bp_work_of_run(&a, BP_WORK_DURATION, "a.bpt", &work, &error));
	assert_float_equal(work, 2.5, 1e-12);
	assert_true(bp_work_of_run(&a, BP_WORK_TOTAL, "a.bpt", &work, &error));
	assert_float_equal(work, 4096, 0);
}

static void what_is_not_exact_or_none_is_no_measure(void **state)
{
	struct bp_aggregation a = { .duration_ns = 0 };
	struct bp_interval *total = &a.totals[BP_METRIC_ALLOCATED].bytes.interval;
	struct bp_error error;
	double work;
	(void)state;
	*total = (struct bp_interval){ .estimate = 4096 };
	assert_false(bp_work_of_run(&a, BP_WORK_TOTAL, "a.bpt", &work, &error));
	assert_non_null(strstr(error.text, "not known exactly in a.bpt"));
	*total = (struct bp_interval){ .estimate = 0, .exact = true };
	assert_false(bp_work_of_run(&a, BP_WORK_TOTAL, "a.bpt", &work, &error));
	assert_string_equal(error.text, "--normalize total: a.bpt has none");
	assert_false(bp_work_of_run(&a, BP_WORK_DURATION, "a.bpt", &work, &error));
	assert_string_equal(error.text, "--normalize duration: a.bpt has none");
}

static void runs_are_scaled_to_the_mean_of_new(void **state)
{
	const double work[] = { 50, 100, 200, 400 };
	struct bp_run runs[4] = { 0 };
	(void)state;
	assert_float_equal(bp_work_scale(work, 2, 2, runs), 300, 1e-9);
	assert_float_equal(runs[0].scale, 6, 1e-9);
	assert_float_equal(runs[1].scale, 3, 1e-9);
	assert_float_equal(runs[2].scale, 1.5, 1e-9);
	assert_float_equal(runs[3].scale, .75, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(work_is_bytes_or_seconds),
		cmocka_unit_test(what_is_not_exact_or_none_is_no_measure),
		cmocka_unit_test(runs_are_scaled_to_the_mean_of_new),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
