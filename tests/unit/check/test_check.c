/* SPDX-License-Identifier: MIT */
/*
 * Limits judged on small profiles: that a check looks at the limits of the figure at its own error,
 * and that nothing is "within" which was not seen, not named or lost.
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

#define INTERVAL 100000
#define A 0.01

static uint32_t warnings;

static bool count_warning(void *context, const char *sentence)
{
	(void)context;
	(void)sentence;
	warnings++;
	return true;
}

static struct bp_limit limit_of(enum bp_metric metric, double most, char *filter)
{
	struct bp_limit limit = { .text = "limit", .metric = metric, .most = most };
	struct bp_error error;
	if (filter != NULL) {
		limit.filter_text = filter;
		assert_true(bp_filter_parse(filter, &limit.filter, &error));
	}
	return limit;
}

static void finish_import(struct bp_profile *profile)
{
	struct bp_error error;
	assert_true(bp_profile_finish_import(profile, false, &error));
}

static struct bp_measure measure_with(const struct bp_profile *profile,
	const struct bp_limit *limit, const struct bp_measuring *measuring)
{
	struct bp_warner warner = { count_warning, NULL };
	struct bp_measure measure;
	struct bp_error error;
	if (!bp_measure_all(profile, measuring, limit, 1, &measure, &warner, &error))
		fail_msg("%s", error.text);
	return measure;
}

static struct bp_measure measure(const struct bp_profile *profile, const struct bp_limit *limit)
{
	struct bp_query query = { 0 };
	struct bp_measuring measuring = { .query = &query, .a = A, .runs = 2 };
	return measure_with(profile, limit, &measuring);
}

static struct bp_check_result judge(const struct bp_profile *profile, const struct bp_limit *limit)
{
	struct bp_measure found = measure(profile, limit);
	struct bp_check_result result;
	bp_check_limit(limit, &found, "file", A, &result);
	return result;
}

static enum bp_outcome outcome(
	const struct bp_profile *profile, enum bp_metric metric, double most, char *filter)
{
	struct bp_limit limit = limit_of(metric, most, filter);
	return judge(profile, &limit).outcome;
}

/* `samples` samples of 1000 bytes at T = 100000 under parse(), about 100 MB for 1000 of them, all
 * live at the end; what was allocated was not counted, so that they are not parts of it. */
static struct bp_process_id make(struct bp_profile *profile, uint32_t samples)
{
	small_init(profile);
	struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, INTERVAL);
	struct bp_stack_id parse = small_stack(profile, "malloc;parse;load;main");
	for (uint32_t i = 0; i < samples; i++)
		small_sample(profile, process, parse, 1000, 1 + i * 1e-3, -1);
	small_totals(profile, process, 0, UINT64_MAX, 0, UINT64_MAX);
	return process;
}

static void gates_look_at_their_own_error(void **state)
{
	struct bp_profile profile;
	struct bp_sums sums = { 0 };
	(void)state;
	make(&profile, 100);
	finish_import(&profile);
	for (int i = 0; i < 100; i++)
		bp_sums_add(&sums, 1000, 1000, 1, INTERVAL, false);
	struct bp_interval interval = bp_estimate_bytes(&sums, INTERVAL, 2 * A);
	assert_int_equal(
		outcome(&profile, BP_METRIC_LIVE, interval.high * 1.0001, NULL), BP_OUTCOME_WITHIN);
	assert_int_equal(outcome(&profile, BP_METRIC_LIVE, interval.high * 0.9999, NULL),
		BP_OUTCOME_UNDECIDED);
	assert_int_equal(outcome(&profile, BP_METRIC_LIVE, interval.low * 1.0001, NULL),
		BP_OUTCOME_UNDECIDED);
	assert_int_equal(outcome(&profile, BP_METRIC_LIVE, interval.low * 0.9999, NULL),
		BP_OUTCOME_EXCEEDED);
	bp_profile_finish(&profile);
}

static void an_undecided_gate_says_what_would_decide(void **state)
{
	struct bp_profile profile;
	(void)state;
	make(&profile, 20);
	finish_import(&profile);
	struct bp_limit limit = limit_of(BP_METRIC_LIVE, 1.5e6, NULL);
	struct bp_check_result result = judge(&profile, &limit);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	assert_int_equal(result.reason, BP_REASON_SAMPLES);
	assert_int_equal(result.samples, 20);
	assert_int_equal(result.interval_max, INTERVAL);
	assert_false(result.never_within);
	assert_true(result.need.interval < INTERVAL && result.need.interval >= 1);
	limit.most = 400000; /* 4 T, below the 4.6 T that no sample leaves possible */
	result = judge(&profile, &limit);
	assert_int_equal(result.outcome, BP_OUTCOME_EXCEEDED);
	char filter[] = "function=other";
	limit = limit_of(BP_METRIC_LIVE, 400000, filter);
	result = judge(&profile, &limit);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	assert_true(result.never_within);
	assert_true(result.nothing_matches);
	limit.most = 470000;
	assert_int_equal(judge(&profile, &limit).outcome, BP_OUTCOME_WITHIN);
	limit = limit_of(BP_METRIC_LIVE, 2.05e6, NULL);
	assert_int_equal(judge(&profile, &limit).reason, BP_REASON_NEAR);
	bp_profile_finish(&profile);
}

static void counted_totals_decide_exactly(void **state)
{
	struct bp_profile profile;
	(void)state;
	struct bp_process_id process = make(&profile, 10);
	small_totals(&profile, process, 1000000000, 1000000000, 1000000, 1000000);
	finish_import(&profile);
	struct bp_limit objects = limit_of(BP_METRIC_ALLOCATED, 999999, NULL);
	objects.objects = true;
	assert_int_equal(outcome(&profile, BP_METRIC_ALLOCATED, 1e9, NULL), BP_OUTCOME_WITHIN);
	assert_int_equal(
		outcome(&profile, BP_METRIC_ALLOCATED, 1e9 - 1, NULL), BP_OUTCOME_EXCEEDED);
	assert_int_equal(judge(&profile, &objects).outcome, BP_OUTCOME_EXCEEDED);
	objects.most = 1000000;
	assert_true(judge(&profile, &objects).counted);
	assert_int_equal(judge(&profile, &objects).outcome, BP_OUTCOME_WITHIN);
	/* After a kill the total is somewhere between two numbers. */
	small_totals(&profile, process, 900000000, 1000000000, 900000, 1000000);
	profile.processes.data[process.i].ended = false;
	struct bp_limit limit = limit_of(BP_METRIC_ALLOCATED, 950e6, NULL);
	assert_int_equal(judge(&profile, &limit).reason, BP_REASON_KILLED);
	limit.most = 1e9;
	assert_int_equal(judge(&profile, &limit).outcome, BP_OUTCOME_WITHIN);
	limit.most = 899e6;
	assert_int_equal(judge(&profile, &limit).outcome, BP_OUTCOME_EXCEEDED);
	bp_profile_finish(&profile);
}

/* No small object is assumed away: the smallest one sampled is no bound on what was missed. */
static void unseen_objects_may_be_small(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .has_size_min = true, .size_min = 1000 };
	struct bp_measuring measuring = { .query = &query, .a = A, .runs = 1 };
	(void)state;
	make(&profile, 20);
	finish_import(&profile);
	struct bp_limit limit = limit_of(BP_METRIC_LIVE, 10000, NULL);
	limit.objects = true;
	assert_int_equal(judge(&profile, &limit).outcome, BP_OUTCOME_UNDECIDED);
	struct bp_measure told = measure_with(&profile, &limit, &measuring);
	struct bp_check_result result;
	bp_check_limit(&limit, &told, "file", A, &result);
	assert_int_equal(result.outcome, BP_OUTCOME_WITHIN);
	bp_profile_finish(&profile);
}

static void assert_blind(
	const struct bp_profile *profile, enum bp_blind blind, bool exceeds, bool within)
{
	struct bp_limit limit = limit_of(BP_METRIC_LIVE, 1e6, NULL);
	struct bp_check_result result = judge(profile, &limit); /* about 10 MB */
	assert_int_equal(result.outcome, exceeds ? BP_OUTCOME_EXCEEDED : BP_OUTCOME_UNDECIDED);
	assert_int_equal(result.blind, blind);
	if (!exceeds)
		assert_int_equal(result.reason, BP_REASON_BLIND);
	limit.most = 1e9;
	result = judge(profile, &limit);
	assert_int_equal(result.outcome, within ? BP_OUTCOME_WITHIN : BP_OUTCOME_UNDECIDED);
	if (!within)
		assert_int_equal(result.reason, BP_REASON_BLIND);
}

static void losses_leave_the_outcomes_that_hold(void **state)
{
	struct bp_profile profile;
	(void)state;
	struct bp_process_id id = make(&profile, 100);
	struct bp_process *process = &profile.processes.data[id.i];
	finish_import(&profile);
	assert_blind(&profile, BP_BLIND_NOT, true, true);
	process->lost[2] = 1; /* slot_memory: samples */
	warnings = 0;
	assert_blind(&profile, BP_BLIND_LOST_SAMPLES, true, false);
	assert_true(warnings > 0);
	process->lost[2] = 0;
	process->lost[8] = 1; /* free: frees */
	assert_blind(&profile, BP_BLIND_LOST_FREES, false, true);
	process->lost[0] = 1; /* trace_full: both */
	assert_blind(&profile, BP_BLIND_LOST_SAMPLES, false, false);
	bp_profile_finish(&profile);
}

static void what_was_not_seen_is_not_within(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_measuring only_seen = { .query = &query, .a = A, .runs = 1, .only_seen = true };
	struct bp_limit limit = limit_of(BP_METRIC_LIVE, 1e9, NULL);
	struct bp_check_result result;
	(void)state;
	struct bp_process_id id = make(&profile, 100);
	finish_import(&profile);
	struct bp_process *process = &profile.processes.data[id.i];
	process->unseen_execs = 1;
	assert_blind(&profile, BP_BLIND_PROCESSES, true, false);
	struct bp_measure seen = measure_with(&profile, &limit, &only_seen);
	bp_check_limit(&limit, &seen, "file", A, &result);
	assert_int_equal(result.outcome, BP_OUTCOME_WITHIN);
	process->unseen_execs = 0;
	profile.unread_files = 1;
	assert_blind(&profile, BP_BLIND_PROCESSES, true, false);
	profile.unread_files = 0;
	small_totals(&profile, id, 0, 0, 0, 0);
	assert_blind(&profile, BP_BLIND_NOTHING_SEEN, true, false);
	process->profiled = false;
	assert_blind(&profile, BP_BLIND_UNPROFILED, false, false);
	/* Not even with a flag. */
	seen = measure_with(&profile, &limit, &only_seen);
	bp_check_limit(&limit, &seen, "file", A, &result);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	bp_profile_finish(&profile);
}

/* env, a shell or a shim that became the program by exec, whose file was not copied along. */
static void a_program_left_behind_is_not_within(void **state)
{
	struct bp_profile profile;
	(void)state;
	struct bp_process_id id = make(&profile, 100);
	profile.processes.data[id.i].end_reason = 5; /* exec */
	finish_import(&profile);
	assert_blind(&profile, BP_BLIND_UNPROFILED, true, false);
	bp_profile_finish(&profile);
	id = make(&profile, 100);
	profile.processes.data[id.i].end_reason = 5;
	struct bp_process_id next = small_process(&profile, 10, 2, 1, 5, 10, INTERVAL);
	profile.processes.data[next.i].exec_number = 1;
	struct bp_stack_id parse = small_stack(&profile, "malloc;parse;load;main");
	for (int i = 0; i < 100; i++)
		small_sample(&profile, next, parse, 1000, 6, -1);
	small_totals(&profile, next, 1000000000, 1000000000, 1000000, 1000000);
	finish_import(&profile);
	assert_blind(&profile, BP_BLIND_NOT, true, true);
	bp_profile_finish(&profile);
}

static void an_unprofiled_child_is_not_within(void **state)
{
	struct bp_profile profile;
	(void)state;
	make(&profile, 100);
	struct bp_process_id child = small_process(&profile, 11, 2, 1, 1, 2, INTERVAL);
	profile.processes.data[child.i].profiled = false;
	finish_import(&profile);
	assert_blind(&profile, BP_BLIND_PROCESSES, true, false);
	bp_profile_finish(&profile);
}

/* A filter on names, where a part of the samples has none. */
static void what_has_no_name_may_be_meant(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_measuring only_seen = { .query = &query, .a = A, .runs = 1, .only_seen = true };
	struct bp_check_result result;
	char function[] = "function=parse", stack[] = "stack=main", module[] = "module=*",
	     other[] = "function=other";
	(void)state;
	struct bp_process_id process = make(&profile, 20); /* 2 MB under parse */
	struct bp_stack_id unnamed = small_stack(&profile, "malloc;app+0x1234;main");
	for (int i = 0; i < 100; i++) /* 10 MB */
		small_sample(&profile, process, unnamed, 1000, 5, -1);
	for (uint32_t i = 1; i < profile.frames.count; i++)
		if (strcmp(bp_profile_text(&profile, profile.frames.data[i].function),
			    "app+0x1234") == 0)
			profile.frames.data[i].named = false;
	finish_import(&profile);
	assert_int_equal(outcome(&profile, BP_METRIC_LIVE, 20e6, function), BP_OUTCOME_WITHIN);
	assert_int_equal(outcome(&profile, BP_METRIC_LIVE, 1e6, function), BP_OUTCOME_EXCEEDED);
	assert_int_equal(outcome(&profile, BP_METRIC_LIVE, 1e6, other), BP_OUTCOME_UNDECIDED);
	struct bp_limit limit = limit_of(BP_METRIC_LIVE, 5e6, function);
	result = judge(&profile, &limit);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	assert_int_equal(result.reason, BP_REASON_BLIND);
	assert_int_equal(result.blind, BP_BLIND_NAMES);
	assert_int_equal(result.samples, 20);
	assert_int_equal(result.unnamed_samples, 100);
	struct bp_measure seen = measure_with(&profile, &limit, &only_seen);
	bp_check_limit(&limit, &seen, "file", A, &result);
	assert_int_equal(result.outcome, BP_OUTCOME_WITHIN);
	/* A stack matches by any function: one without a name hides nothing in a module with
	 * names. */
	limit = limit_of(BP_METRIC_LIVE, 5e6, stack);
	assert_int_equal(judge(&profile, &limit).outcome, BP_OUTCOME_EXCEEDED);
	limit = limit_of(BP_METRIC_LIVE, 20e6, stack);
	assert_int_equal(judge(&profile, &limit).unnamed_samples, 0);
	/* Modules are known by their path. */
	limit = limit_of(BP_METRIC_LIVE, 20e6, module);
	assert_int_equal(judge(&profile, &limit).unnamed_samples, 0);
	bp_profile_finish(&profile);
}

/* A stack's functions, all without names: in a stripped module they may be meant, in code that was
 * made at run time they are not. */
static void stacks_in_a_stripped_module(void **state)
{
	struct bp_profile profile;
	struct bp_error error;
	struct bp_module_id module;
	char stack[] = "stack=load*";
	(void)state;
	struct bp_process_id process = make(&profile, 0);
	struct bp_stack_id unnamed = small_stack(&profile, "0x1;0x2");
	for (int i = 0; i < 100; i++) /* 10 MB */
		small_sample(&profile, process, unnamed, 1000, 5, -1);
	for (uint32_t i = 1; i < profile.frames.count; i++)
		profile.frames.data[i].named = false;
	finish_import(&profile);
	assert_int_equal(outcome(&profile, BP_METRIC_LIVE, 1e6, stack), BP_OUTCOME_WITHIN);
	struct bp_module app = { .path = small_string(&profile, "/bin/app"), .end = 4096 };
	assert_true(bp_profile_add_module(&profile, &app, &module, &error));
	for (uint32_t i = 1; i < profile.frames.count; i++)
		profile.frames.data[i].module = module;
	assert_int_equal(outcome(&profile, BP_METRIC_LIVE, 1e6, stack), BP_OUTCOME_UNDECIDED);
	assert_int_equal(outcome(&profile, BP_METRIC_LIVE, 20e6, stack), BP_OUTCOME_WITHIN);
	/* One name, wherever in it, and it is not stripped. */
	profile.frames.data[profile.frames.count - 1].named = true;
	assert_int_equal(outcome(&profile, BP_METRIC_LIVE, 1e6, stack), BP_OUTCOME_WITHIN);
	bp_profile_finish(&profile);
}

static void limits_share_one_pass(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_measuring measuring = { .query = &query, .a = A, .runs = 4 };
	struct bp_warner warner = { count_warning, NULL };
	struct bp_error error;
	char parse[] = "function=parse", parse_too[] = "function=parse", none[] = "function=none";
	struct bp_limit limits[] = { limit_of(BP_METRIC_LIVE, 1, NULL),
		limit_of(BP_METRIC_PEAK, 1, parse), limit_of(BP_METRIC_LIVE, 1, none),
		limit_of(BP_METRIC_PEAK, 1, NULL), limit_of(BP_METRIC_LIVE, 1, parse_too),
		limit_of(BP_METRIC_PEAK, 1, NULL) };
	struct bp_measure together[6];
	(void)state;
	limits[5].growth = true; /* of a peak: each limit has a part of the error only */
	make(&profile, 50);
	finish_import(&profile);
	assert_true(bp_measure_all(&profile, &measuring, limits, 6, together, &warner, &error));
	for (int i = 0; i < 6; i++) {
		struct bp_measure alone = measure_with(&profile, &limits[i], &measuring);
		assert_true(alone.figure.interval.low == together[i].figure.interval.low);
		assert_true(alone.figure.interval.high == together[i].figure.interval.high);
		assert_int_equal(alone.samples, together[i].samples);
		assert_true(together[i].error == (i == 5 ? A / 4 : A));
	}
	assert_int_equal(together[2].samples, 0);
	assert_true(together[5].figure.interval.high > together[3].figure.interval.high);
	assert_true(together[3].error_low < together[0].error_low / 10);
	bp_profile_finish(&profile);
}

/* Measures of runs with so many samples of live memory each. */
static void make_runs(const uint32_t *samples, uint32_t count, const struct bp_limit *limit,
	struct bp_measure *measures, const struct bp_measure **pointers)
{
	for (uint32_t i = 0; i < count; i++) {
		struct bp_profile profile;
		make(&profile, samples[i]);
		finish_import(&profile);
		measures[i] = measure(&profile, limit);
		pointers[i] = &measures[i];
		bp_profile_finish(&profile);
	}
}

static struct bp_check_result grow(const struct bp_limit *limit, const uint32_t *base,
	uint32_t base_count, const uint32_t *new, uint32_t new_count)
{
	struct bp_measure before[8], after[8];
	const struct bp_measure *before_at[8], *after_at[8];
	struct bp_check_result result;
	make_runs(base, base_count, limit, before, before_at);
	make_runs(new, new_count, limit, after, after_at);
	bp_check_growth(limit, before_at, base_count, after_at, new_count, "new", A, &result);
	return result;
}

static struct bp_limit growth_of(enum bp_metric metric, double most)
{
	struct bp_limit limit = limit_of(metric, most, NULL);
	limit.growth = true;
	return limit;
}

static void growth_of_one_run(void **state)
{
	const uint32_t hundred[] = { 100 }, double_of[] = { 200 }, same[] = { 103 };
	struct bp_limit limit = growth_of(BP_METRIC_LIVE, 1.05);
	(void)state;
	assert_int_equal(grow(&limit, hundred, 1, double_of, 1).outcome, BP_OUTCOME_EXCEEDED);
	assert_int_equal(grow(&limit, double_of, 1, hundred, 1).outcome, BP_OUTCOME_WITHIN);
	struct bp_check_result result = grow(&limit, hundred, 1, same, 1);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	assert_int_equal(result.reason, BP_REASON_NEAR); /* 3 % against 5 % */
	result = grow(&limit, hundred, 1, hundred, 1);
	assert_int_equal(result.reason, BP_REASON_SAMPLES);
	assert_int_equal(result.new_runs, 1);
	assert_true(fabs(result.figure.interval.estimate - 1) < 1e-12);
	limit.most = 2;
	result = grow(&limit, hundred, 1, hundred, 1);
	assert_int_equal(result.outcome, BP_OUTCOME_WITHIN);
}

/* A peak is compared by the limits of the two peaks, which is stricter. */
static void growth_of_a_peak(void **state)
{
	const uint32_t hundred[] = { 100 }, more[] = { 145 }, far_more[] = { 300 };
	struct bp_limit live = growth_of(BP_METRIC_LIVE, 1);
	struct bp_limit peak = growth_of(BP_METRIC_PEAK, 1);
	(void)state;
	assert_int_equal(grow(&live, hundred, 1, more, 1).outcome, BP_OUTCOME_EXCEEDED);
	assert_int_equal(grow(&peak, hundred, 1, more, 1).outcome, BP_OUTCOME_UNDECIDED);
	assert_int_equal(grow(&peak, hundred, 1, far_more, 1).outcome, BP_OUTCOME_EXCEEDED);
	assert_int_equal(grow(&peak, far_more, 1, hundred, 1).outcome, BP_OUTCOME_WITHIN);
}

static void growth_of_counted_totals(void **state)
{
	struct bp_profile profile;
	struct bp_measure before, after;
	const struct bp_measure *before_at[] = { &before }, *after_at[] = { &after };
	struct bp_limit limit = growth_of(BP_METRIC_ALLOCATED, 1.05);
	struct bp_check_result result;
	static const struct {
		uint64_t base, new;
		enum bp_outcome outcome;
	} cases[] = { { 1000, 1000, BP_OUTCOME_WITHIN }, { 1000, 1050, BP_OUTCOME_WITHIN },
		{ 1000, 1051, BP_OUTCOME_EXCEEDED }, { 0, 0, BP_OUTCOME_WITHIN },
		{ 0, 1, BP_OUTCOME_EXCEEDED }, { 1000, 0, BP_OUTCOME_WITHIN } };
	(void)state;
	struct bp_process_id process = make(&profile, 0);
	finish_import(&profile);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		small_totals(&profile, process, cases[i].base, cases[i].base, 10, 10);
		before = measure(&profile, &limit);
		small_totals(&profile, process, cases[i].new, cases[i].new, 10, 10);
		after = measure(&profile, &limit);
		bp_check_growth(&limit, before_at, 1, after_at, 1, "new", A, &result);
		assert_int_equal(result.outcome, cases[i].outcome);
		assert_true(result.counted);
	}
	bp_profile_finish(&profile);
}

static void growth_with_a_side_that_does_not_hold(void **state)
{
	struct bp_measure before, after;
	const struct bp_measure *before_at[] = { &before }, *after_at[] = { &after };
	const uint32_t hundred[] = { 100 }, double_of[] = { 300 };
	struct bp_limit limit = growth_of(BP_METRIC_LIVE, 1.05);
	struct bp_check_result result;
	(void)state;
	make_runs(hundred, 1, &limit, &before, before_at);
	make_runs(double_of, 1, &limit, &after, after_at);
	/* Samples lost before: there may have been more. */
	before.high_holds = false;
	before.blind = BP_BLIND_LOST_SAMPLES;
	bp_check_growth(&limit, before_at, 1, after_at, 1, "new", A, &result);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	assert_int_equal(result.blind, BP_BLIND_LOST_SAMPLES);
	bp_check_growth(&limit, after_at, 1, before_at, 1, "new", A, &result);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	before.high_holds = true;
	before.blind = BP_BLIND_NOT;
	/* After: there is at least so much. */
	after.high_holds = false;
	after.blind = BP_BLIND_PROCESSES;
	bp_check_growth(&limit, before_at, 1, after_at, 1, "new", A, &result);
	assert_int_equal(result.outcome, BP_OUTCOME_EXCEEDED);
}

static void growth_of_several_runs(void **state)
{
	const uint32_t base[] = { 95, 100, 105 }, more[] = { 295, 300, 305 };
	const uint32_t wild[] = { 100, 300, 700 };
	struct bp_limit limit = growth_of(BP_METRIC_LIVE, 1.05);
	(void)state;
	struct bp_check_result result = grow(&limit, base, 3, more, 3);
	assert_int_equal(result.outcome, BP_OUTCOME_EXCEEDED);
	assert_int_equal(result.base_runs, 3);
	assert_int_equal(result.samples, 900);
	/* The samples alone would decide; the runs among themselves do not. */
	result = grow(&limit, base, 3, wild, 3);
	assert_int_equal(result.outcome, BP_OUTCOME_UNDECIDED);
	assert_int_equal(result.reason, BP_REASON_RUNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gates_look_at_their_own_error),
		cmocka_unit_test(an_undecided_gate_says_what_would_decide),
		cmocka_unit_test(counted_totals_decide_exactly),
		cmocka_unit_test(unseen_objects_may_be_small),
		cmocka_unit_test(losses_leave_the_outcomes_that_hold),
		cmocka_unit_test(what_was_not_seen_is_not_within),
		cmocka_unit_test(a_program_left_behind_is_not_within),
		cmocka_unit_test(an_unprofiled_child_is_not_within),
		cmocka_unit_test(what_has_no_name_may_be_meant),
		cmocka_unit_test(stacks_in_a_stripped_module),
		cmocka_unit_test(limits_share_one_pass),
		cmocka_unit_test(growth_of_one_run),
		cmocka_unit_test(growth_of_a_peak),
		cmocka_unit_test(growth_of_counted_totals),
		cmocka_unit_test(growth_with_a_side_that_does_not_hold),
		cmocka_unit_test(growth_of_several_runs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
