/* SPDX-License-Identifier: MIT */
/*
 * Pauses and changes of T in what is made of a profile: no figure holds what was allocated while
 * sampling was off, and nobody is fooled by that: not the warnings, not a limit, not a comparison
 * with a count.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "check/check.h"
#include "small_profile.h"
#include "verify/verify.h"

#define SECOND (uint64_t) SMALL_SECOND
#define A 0.01

/* What a process allocated while sampling was off. */
static void add_off(
	struct bp_profile *profile, struct bp_process_id process, uint64_t bytes, uint64_t objects)
{
	struct bp_process *entry = &profile->processes.data[process.i];
	entry->has_pauses = true;
	entry->bytes_off = (struct bp_known_total){ bytes, bytes };
	entry->objects_off = (struct bp_known_total){ objects, objects };
}

static void add_pause(
	struct bp_profile *profile, struct bp_process_id process, uint64_t from_s, uint64_t to_s)
{
	const struct bp_pause pause = { process, SMALL_BASE_NS + from_s * SECOND,
		SMALL_BASE_NS + to_s * SECOND };
	assert_true(bp_profile_add_pause(profile, &pause, NULL));
}

static void add_interval(
	struct bp_profile *profile, struct bp_process_id process, uint64_t interval)
{
	const struct bp_interval_used used = { process, interval, UINT64_MAX };
	assert_true(bp_profile_add_interval(profile, &used, NULL));
}

/* A parent of ten seconds, paused from 2 to 3 and from 6 to 7, and a child from 4 on that is paused
 * from its start to 6: together from 2 to 3 and from 4 to 7. */
static void two_processes(struct bp_profile *profile)
{
	small_init(profile);
	struct bp_process_id parent = small_process(profile, 10, 1, 0, 0, 10, 4096);
	struct bp_process_id child = small_process(profile, 11, 2, 1, 4, 9, 65536);
	small_totals(profile, parent, 5000, 5000, 50, 50);
	small_totals(profile, child, 7000, 7000, 70, 70);
	add_off(profile, parent, 300, 3);
	add_off(profile, child, 400, 4);
	add_pause(profile, parent, 2, 3);
	add_pause(profile, parent, 6, 7);
	add_pause(profile, child, 4, 6);
	profile->processes.data[parent.i].interval_min = 1024;
	profile->processes.data[parent.i].changes = 4;
	profile->processes.data[child.i].changes = 1;
	profile->processes.data[child.i].automatic = true;
	add_interval(profile, parent, 1024);
	add_interval(profile, parent, 4096);
	add_interval(profile, parent, 2048);
}

static void pauses_of_several_processes(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	(void)state;
	two_processes(&profile);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	const struct bp_sampling *sampling = &aggregation.sampling;
	assert_true(sampling->automatic && sampling->paused);
	assert_true(sampling->processes == 2 && sampling->paused_processes == 2);
	assert_true(sampling->bytes_off.low == 700 && sampling->objects_off.high == 7);
	assert_true(sampling->changes == 5 && sampling->off_ns == 4 * SECOND);
	/* The parent alone from 2 to 3; from 4 to 7 one of the two was sampled. */
	assert_true(sampling->all_off_ns == SECOND);
	assert_int_equal(sampling->span_count, 2);
	assert_true(sampling->spans[0].from_ns == 2 * SECOND);
	assert_true(sampling->spans[1].from_ns == 4 * SECOND);
	assert_true(sampling->spans[1].to_ns == 7 * SECOND);
	static const uint64_t intervals[] = { 1024, 2048, 4096, 65536 };
	assert_int_equal(sampling->interval_count, 4);
	assert_memory_equal(sampling->intervals, intervals, sizeof intervals);
	assert_false(bp_sampling_is_off(sampling, 2 * SECOND - 1));
	assert_true(bp_sampling_is_off(sampling, 2 * SECOND));
	assert_false(bp_sampling_is_off(sampling, 3 * SECOND));
	assert_true(bp_sampling_is_off(sampling, 6 * SECOND));
	assert_false(bp_sampling_is_off(sampling, 8 * SECOND));
	/* The total is of what was allocated while sampling was on, and says so. */
	small_assert_exact(aggregation.totals[BP_METRIC_ALLOCATED].bytes, 12000);
	assert_true(small_has_warning(&aggregation, "while it was on"));
	const struct bp_assumptions assumed = bp_aggregation_assumptions(&aggregation);
	assert_true(assumed.interval_min == 1024 && assumed.interval_max == 65536);
	bp_aggregation_finish(&aggregation);
	/* One process alone. */
	query.pid = 10;
	aggregation = small_aggregate(&profile, &query);
	assert_true(aggregation.sampling.bytes_off.low == 300 && !aggregation.sampling.automatic);
	assert_int_equal(aggregation.sampling.interval_count, 3);
	assert_true(aggregation.sampling.off_ns == 2 * SECOND);
	assert_true(aggregation.sampling.all_off_ns == 2 * SECOND);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

/* Nearly everything was made at 4096, and 1000 trials at 65536: what is unseen is bounded as at
 * little more than 4096 (1.1 times that, and the 1000). Not so where the trials are not known. */
/* Of one process there is no upper limit of what it allocated while sampling was off: then there is
 * none of both. */
static void pauses_without_a_limit(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	struct bp_interval all = { 100, 100, 100, .exact = true };
	(void)state;
	two_processes(&profile);
	profile.processes.data[1].bytes_off = (struct bp_known_total){ 0, UINT64_MAX };
	profile.processes.data[2].bytes_off = (struct bp_known_total){ 0, 1 };
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	assert_true(aggregation.sampling.bytes_off.high == UINT64_MAX);
	assert_true(bp_aggregation_add_off(&aggregation, BP_METRIC_ALLOCATED, false, &all));
	assert_true(!all.exact && all.high > 1e19);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

static void the_largest_interval_was_short(void **state)
{
	struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	(void)state;
	for (int known = 0; known < 2; known++) {
		struct bp_profile profile;
		small_init(&profile);
		struct bp_process_id process = small_process(&profile, 10, 1, 0, 0, 10, 65536);
		profile.processes.data[process.i].interval_min = 4096;
		profile.processes.data[process.i].trials_by_interval = known;
		small_totals(&profile, process, 1000000, 1000000, 1000, 1000);
		const struct bp_interval_used used[] = { { process, 4096, 1000000 },
			{ process, 65536, 1000 } };
		for (int i = 0; i < 2; i++)
			assert_true(bp_profile_add_interval(&profile, &used[i], NULL));
		struct bp_aggregation aggregation = small_aggregate(&profile, &query);
		const uint64_t unseen = aggregation.sampling.interval_unseen;
		assert_true(known ? unseen > 5400 && unseen < 5650 : unseen == 65536);
		assert_true(bp_aggregation_assumptions(&aggregation).interval_unseen == unseen);
		assert_true(bp_aggregation_assumptions(&aggregation).interval_max == 65536);
		bp_aggregation_finish(&aggregation);
		bp_profile_finish(&profile);
	}
}

static void moments_are_marked(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_LIVE };
	struct bp_moment_figures moments[11]; /* at 0, 1 ... 10 seconds */
	(void)state;
	two_processes(&profile);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	assert_true(bp_aggregation_timeline(&aggregation, 11, moments, NULL));
	for (unsigned i = 0; i < 11; i++)
		assert_int_equal(moments[i].off, i == 2 || (i >= 4 && i < 7));
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

static void never_on(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .metric = BP_METRIC_LIVE };
	(void)state;
	small_init(&profile);
	struct bp_process_id process = small_process(&profile, 10, 1, 0, 0, 10, 4096);
	add_off(&profile, process, 1000, 10);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	assert_true(aggregation.totals[BP_METRIC_LIVE].bytes.interval.high == 0);
	assert_true(small_has_warning(&aggregation, "nothing was allocated while sampling was on"));
	assert_false(small_has_warning(&aggregation, "statically linked"));
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

static bool ignore_warning(void *context, const char *sentence)
{
	(void)context;
	return sentence != NULL;
}

static struct bp_measure measure(
	const struct bp_profile *profile, const struct bp_limit *limit, bool usable)
{
	struct bp_query query = { .usable = usable };
	struct bp_measuring measuring = { .query = &query, .a = A, .runs = 2 };
	struct bp_warner warner = { ignore_warning, NULL };
	struct bp_measure measure;
	struct bp_error error;
	if (!bp_measure_all(profile, &measuring, limit, 1, &measure, &warner, &error))
		fail_msg("%s", error.text);
	return measure;
}

static struct bp_check_result judge(
	const struct bp_profile *profile, enum bp_metric metric, double most, char *filter)
{
	struct bp_limit limit = { .text = "limit", .metric = metric, .most = most };
	struct bp_check_result result;
	if (filter != NULL) {
		limit.filter_text = filter;
		assert_true(bp_filter_parse(filter, &limit.filter, NULL));
	}
	const struct bp_measure found = measure(profile, &limit, false);
	bp_check_limit(&limit, &found, "file", A, &result);
	return result;
}

/* small_exact, where 137 bytes are live in the end and 251 were allocated, and a pause of 1000
 * more. */
static void limits_count_the_pause_in(void **state)
{
	struct bp_profile profile;
	struct bp_check_result result;
	char filter[] = "function=parse";
	(void)state;
	struct bp_process_id process = small_exact(&profile);
	add_off(&profile, process, 1000, 10);
	assert_true(bp_profile_finish_import(&profile, false, NULL));
	/* Live are 137 at least, and all of the pause may live. */
	assert_int_equal(judge(&profile, BP_METRIC_LIVE, 136, NULL).outcome, BP_OUTCOME_EXCEEDED);
	assert_int_equal(judge(&profile, BP_METRIC_LIVE, 1137, NULL).outcome, BP_OUTCOME_WITHIN);
	result = judge(&profile, BP_METRIC_LIVE, 1136, NULL);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	assert_true(result.reason == BP_REASON_BLIND && result.blind == BP_BLIND_OFF);
	assert_true(result.figure.interval.low == 137);
	assert_true(result.figure.interval.high == 1137);
	assert_false(result.figure.interval.exact);
	result = judge(&profile, BP_METRIC_PEAK, 300, NULL);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	assert_int_equal(result.blind, BP_BLIND_OFF);
	/* What was allocated is known, pause and all; its parts are not. */
	result = judge(&profile, BP_METRIC_ALLOCATED, 1250, NULL);
	assert_true(result.outcome == BP_OUTCOME_EXCEEDED && result.counted);
	assert_int_equal(
		judge(&profile, BP_METRIC_ALLOCATED, 1251, NULL).outcome, BP_OUTCOME_WITHIN);
	result = judge(&profile, BP_METRIC_ALLOCATED, 1149, filter);
	assert_true(result.outcome == BP_OUTCOME_UNDECIDED && result.blind == BP_BLIND_OFF);
	/* (And 7 bytes have no stack: they may be of that function, too.) */
	assert_int_equal(
		judge(&profile, BP_METRIC_ALLOCATED, 1157, filter).outcome, BP_OUTCOME_WITHIN);
	bp_profile_finish(&profile);
}

/* Usable sizes of what was not sampled are not known: no upper limit holds. */
static void limits_of_usable_bytes(void **state)
{
	struct bp_profile profile;
	(void)state;
	struct bp_process_id process = small_exact(&profile);
	add_off(&profile, process, 1000, 10);
	assert_true(bp_profile_finish_import(&profile, false, NULL));
	struct bp_limit limit = { .text = "limit", .metric = BP_METRIC_LIVE, .most = 1e9 };
	const struct bp_measure found = measure(&profile, &limit, true);
	assert_true(!found.high_holds && found.blind == BP_BLIND_OFF && found.low_holds);
	bp_profile_finish(&profile);
}

/* A pause on one side: what is missing there may pass for a change. */
static void growth_across_a_pause(void **state)
{
	struct bp_profile whole, paused;
	struct bp_limit limit = {
		.text = "limit", .metric = BP_METRIC_LIVE, .most = 1.05, .growth = true
	};
	struct bp_check_result result;
	(void)state;
	small_exact(&whole);
	assert_true(bp_profile_finish_import(&whole, false, NULL));
	add_off(&paused, small_exact(&paused), 1000, 10);
	assert_true(bp_profile_finish_import(&paused, false, NULL));
	const struct bp_measure a = measure(&whole, &limit, false);
	const struct bp_measure b = measure(&paused, &limit, false);
	const struct bp_measure *one[] = { &a }, *other[] = { &b };
	bp_check_growth(&limit, one, 1, one, 1, "new", A, &result);
	assert_int_equal(result.outcome, BP_OUTCOME_WITHIN);
	bp_check_growth(&limit, one, 1, other, 1, "new", A, &result);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	assert_true(result.reason == BP_REASON_BLIND && result.blind == BP_BLIND_OFF);
	/* Nor has it grown if it did not shrink: base may have had more. */
	limit.most = .5;
	bp_check_growth(&limit, other, 1, one, 1, "new", A, &result);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	bp_profile_finish(&whole);
	bp_profile_finish(&paused);
}

static void a_count_of_more_is_no_truth(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_error error = { .text = "" };
	struct bp_verify truth;
	(void)state;
	struct bp_process_id process = small_exact(&profile);
	profile.processes.data[process.i].verify_sums.taken = true;
	add_off(&profile, process, 1000, 10);
	assert_true(bp_profile_finish_import(&profile, false, NULL));
	bp_verify_init(&truth, &query, .001, 1);
	assert_false(bp_verify_add(&truth, &profile, &error));
	assert_non_null(strstr(error.text, "sampling was off"));
	bp_verify_finish(&truth);
	bp_profile_finish(&profile);
}

/* T on average: half of the bytes at 4096, half at 65536. */
static void mean_of_several_intervals(void **state)
{
	struct bp_sums sums = { 0 };
	struct bp_assumptions assumed = { .interval_min = 4096, .interval_max = 65536 };
	(void)state;
	assert_true(bp_mean_interval(&sums, &assumed) == 65536);
	for (int i = 0; i < 16; i++)
		bp_sums_add(&sums, 10, 10, 1, 4096, false);
	bp_sums_add(&sums, 10, 10, 1, 65536, false);
	const double mean = (double)bp_mean_interval(&sums, &assumed);
	assert_true(fabs(mean / 34816 - 1) < .15);
	assumed.interval_min = assumed.interval_max;
	assert_true(bp_mean_interval(&sums, &assumed) == 65536);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_of_several_processes),
		cmocka_unit_test(pauses_without_a_limit),
		cmocka_unit_test(the_largest_interval_was_short),
		cmocka_unit_test(moments_are_marked),
		cmocka_unit_test(never_on),
		cmocka_unit_test(limits_count_the_pause_in),
		cmocka_unit_test(limits_of_usable_bytes),
		cmocka_unit_test(growth_across_a_pause),
		cmocka_unit_test(a_count_of_more_is_no_truth),
		cmocka_unit_test(mean_of_several_intervals),
	};
	return cmocka_run_group_tests_name("sampling", tests, NULL, NULL);
}
