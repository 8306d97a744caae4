/* SPDX-License-Identifier: MIT */
/* Which metric is shown where nobody said, and which allocation functions go unsaid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "policy/shown.h"
#include "query/filter.h"
#include "small_profile.h"

/* A program at T = 1 with `left` objects of 10 bytes at its end, of `most` at its peak. */
static enum bp_metric shown(unsigned left, unsigned most, bool by_default, bool at)
{
	struct bp_profile profile;
	struct bp_aggregation aggregation;
	struct bp_error error;
	struct bp_query query = { .has_at = at, .at_ns = SMALL_SECOND };
	small_init(&profile);
	struct bp_process_id process = small_process(&profile, 10, 1, 0, 0, 10, 1);
	struct bp_stack_id stack = small_stack(&profile, "malloc;work;main");
	for (unsigned i = 0; i < most; i++)
		small_sample(&profile, process, stack, 10, 2, i < left ? -1.0 : 5.0);
	small_totals(&profile, process, 10 * most, 10 * most, most, most);
	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_true(bp_aggregate_shown(&profile, &query, by_default, &aggregation, &error));
	const enum bp_metric metric = aggregation.query.metric;
	assert_int_equal(aggregation.peak_instead, metric == BP_METRIC_PEAK);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
	return metric;
}

static void the_peak_where_little_is_left(void **state)
{
	(void)state;
	assert_int_equal(shown(0, 3, true, false), BP_METRIC_PEAK);
	assert_int_equal(shown(0, 0, true, false), BP_METRIC_LIVE); /* there is no peak either */
	/* A quarter. */
	assert_int_equal(shown(250, 1000, true, false), BP_METRIC_PEAK);
	assert_int_equal(shown(251, 1000, true, false), BP_METRIC_LIVE);
	assert_int_equal(shown(2, 3, true, false), BP_METRIC_LIVE);
}

static void what_was_asked_for_stays(void **state)
{
	(void)state;
	assert_int_equal(shown(0, 3, false, false), BP_METRIC_LIVE);
	assert_int_equal(shown(0, 3, true, true), BP_METRIC_LIVE);
}

static void skipped_allocators_are_told(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .by = BP_KEY_FUNCTION };
	const char *names[2];
	(void)state;
	small_init(&profile);
	struct bp_process_id process = small_process(&profile, 10, 1, 0, 0, 10, 1);
	small_sample(
		&profile, process, small_stack(&profile, "malloc;xmalloc;a;main"), 10, 1, -1.0);
	small_sample(&profile, process, small_stack(&profile, "xmalloc;b;main"), 10, 2, -1.0);
	small_sample(&profile, process, small_stack(&profile, "zmalloc;b;main"), 10, 3, 4.0);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	assert_int_equal(bp_aggregation_charged_to_callers(&aggregation, names, 2), 2);
	assert_string_equal(names[0], "xmalloc"); /* of two samples */
	assert_string_equal(names[1], "malloc");
	assert_int_equal(bp_aggregation_charged_to_callers(&aggregation, names, 1), 2);
	bp_aggregation_finish(&aggregation);
	query.cumulative = true;
	aggregation = small_aggregate(&profile, &query);
	assert_int_equal(bp_aggregation_charged_to_callers(&aggregation, names, 2), 0);
	bp_aggregation_finish(&aggregation);
	query = (struct bp_query){ .by = BP_KEY_STACK };
	aggregation = small_aggregate(&profile, &query);
	assert_int_equal(bp_aggregation_charged_to_callers(&aggregation, names, 2), 0);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

/* A process is found by the name that its row has, and by that of its file. */
static void processes_go_by_the_name_they_show(void **state)
{
	struct bp_profile profile;
	struct bp_filter filter;
	struct bp_error error;
	(void)state;
	small_init(&profile);
	struct bp_process_id id = small_process(&profile, 10, 1, 0, 0, 10, 1);
	struct bp_process *process = &profile.processes.data[id.i];
	process->program = small_string(&profile, "/usr/bin/redis-check-rdb");
	process->command_line = small_string(&profile, "redis-server --port 0");
	small_sample(&profile, id, small_stack(&profile, "a;main"), 10, 1, -1.0);
	assert_true(bp_profile_finish_import(&profile, false, &error));
	static const struct {
		const char *text;
		uint64_t samples;
	} cases[] = { { "process=redis-server", 1 }, { "process=redis-check-rdb", 1 },
		{ "process=10", 1 }, { "process=redis", 0 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_query query = {
			.by = BP_KEY_PROCESS, .filters = &filter, .filter_count = 1
		};
		struct bp_aggregation aggregation;
		assert_true(bp_filter_parse(cases[i].text, &filter, &error));
		assert_true(bp_aggregate(&profile, &query, &aggregation, &error));
		assert_int_equal(aggregation.totals[BP_METRIC_LIVE].samples, cases[i].samples);
		assert_true(cases[i].samples == 0 ||
			    small_has_row(&aggregation, "redis-server (pid 10)"));
		bp_aggregation_finish(&aggregation);
	}
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peak_where_little_is_left),
		cmocka_unit_test(what_was_asked_for_stays),
		cmocka_unit_test(skipped_allocators_are_told),
		cmocka_unit_test(processes_go_by_the_name_they_show),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
