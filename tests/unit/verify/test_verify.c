/* SPDX-License-Identifier: MIT */
/*
 * Figures against exact sums: which rows meet, what is held, how often a right profiler may miss.
 * The allowed misses were computed with exact fractions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "small_profile.h"
#include "verify/verify.h"

static void allowed_misses(void **state)
{
	static const struct {
		uint64_t figures;
		double chance, error;
		uint64_t allowed;
	} cases[] = {
		{ 0, 0, .01, 0 },
		{ 50, 0, .01, 0 },
		{ 100, 5, .01, 11 },
		{ 31, 1.55, 1. / 18000, 8 },
		{ 10, .25, .001, 3 },
		{ 400, 10, 1e-9, 34 },
		{ 1, .05, .01, 1 },
		/* Never below the mean, where the bound would not hold. */
		{ 1, .05, .1, 1 },
		{ 7, 7, .01, 7 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(
			bp_verify_misses_allowed(cases[i].figures, cases[i].chance, cases[i].error),
			cases[i].allowed);
	/* Of a million figures 300 may be expected to miss: a normal tail at 6 standard errors. */
	const uint64_t many = bp_verify_misses_allowed(1000000, 300, 1e-9);
	assert_true(many > 300 + 6 * 17 && many < 300 + 7 * 18);
}

static struct bp_figure limits(double low, double high)
{
	return (struct bp_figure){
		.interval = { .estimate = (low + high) / 2, .low = low, .high = high }
	};
}

static void held_figures(void **state)
{
	struct bp_figure figure = limits(10, 20);
	(void)state;
	assert_true(bp_verify_holds(&figure, 10) && bp_verify_holds(&figure, 20));
	assert_false(bp_verify_holds(&figure, 9) || bp_verify_holds(&figure, 21));
	figure.lower_bound = true; /* samples were lost */
	assert_true(bp_verify_holds(&figure, 21));
	assert_false(bp_verify_holds(&figure, 9));
	figure.upper_bound = true; /* frees too: nothing is claimed */
	assert_true(bp_verify_holds(&figure, 9));
	figure.lower_bound = false;
	assert_true(bp_verify_holds(&figure, 9));
	assert_false(bp_verify_holds(&figure, 21));
	/* Sums in doubles: a rounding is no miss. */
	figure = limits(1e15 + .125, 1e15 + .125);
	assert_true(bp_verify_holds(&figure, 1000000000000000));
	assert_false(bp_verify_holds(&figure, 1000000010000000));
}

static void count(struct bp_profile *profile, struct bp_process_id process,
	struct bp_stack_id stack, uint64_t bytes, uint64_t objects, bool freed, bool temporary)
{
	struct bp_error error;
	const struct bp_verify_sums sums = { .process = process,
		.stack = stack,
		.allocated_bytes = bytes,
		.allocated_objects = objects,
		.freed_bytes = freed ? bytes : 0,
		.freed_objects = freed ? objects : 0,
		.temporary_bytes = temporary ? bytes : 0,
		.temporary_objects = temporary ? objects : 0 };
	struct bp_process_verify_sums *totals = &profile->processes.data[process.i].verify_sums;
	assert_true(bp_profile_add_verify_sums(profile, &sums, &error));
	totals->taken = totals->has_smallest = true;
	totals->allocated_bytes += bytes;
	totals->allocated_objects += objects;
	totals->freed_bytes += sums.freed_bytes;
	totals->freed_objects += sums.freed_objects;
}

/* A process at T = 1000, of which every row is a case. */
static void fill(struct bp_profile *profile)
{
	struct bp_error error;
	small_init(profile);
	const struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, 1000);
	const struct bp_stack_id large = small_stack(profile, "large;main"),
				 other_large = small_stack(profile, "large;other;main"),
				 unseen = small_stack(profile, "unseen;main"),
				 wrong = small_stack(profile, "wrong;main"),
				 none = small_stack(profile, "none;main");
	/* Sampled with certainty, live at the end; by function one row, by stack two. */
	small_sample(profile, process, large, 5000, 1, -1)->exact = true;
	count(profile, process, large, 5000, 1, false, false);
	count(profile, process, other_large, 40, 2, true, true);
	/* Too much to have no sample: [0, 3687] by law. */
	count(profile, process, unseen, 9000, 90, false, false);
	/* A sample of what was never there. */
	small_sample(profile, process, wrong, 400, 2, 3);
	/* Counted, but empty. */
	count(profile, process, none, 0, 0, false, false);
	small_totals(profile, process, 14040, 14040, 93, 93);
	struct bp_process *entry = &profile->processes.data[process.i];
	entry->size_min = 400;
	entry->verify_sums.smallest_size = 20;
	entry->verify_sums.peak_bytes = 14040;
	entry->verify_sums.peak_objects = 93;
	entry->samples = 2;
	assert_true(bp_profile_finish_import(profile, false, &error));
}

static const struct bp_verify_group *group_of(
	const struct bp_verify *truth, enum bp_metric metric, enum bp_key by)
{
	for (int i = 0; i < BP_VERIFY_GROUPS; i++)
		if (truth->groups[i].metric == metric && truth->groups[i].by == by)
			return &truth->groups[i];
	fail();
	return NULL;
}

static void check_rows(const struct bp_verify *truth)
{
	const struct bp_verify_group *live = group_of(truth, BP_METRIC_LIVE, BP_KEY_FUNCTION);
	/* Live: the large one and the unseen; nothing is claimed of the rest, and nothing is
	 * there. */
	assert_int_equal(live->units[BP_VERIFY_BYTES].figures, 2);
	assert_int_equal(live->units[BP_VERIFY_BYTES].unsampled, 1);
	assert_int_equal(live->units[BP_VERIFY_BYTES].held, 1);
	assert_int_equal(live->missed.count, 1);
	assert_string_equal(live->missed.rows[0].name, "unseen");
	assert_true(live->missed.rows[0].units[BP_VERIFY_BYTES].truth == 9000);
	assert_float_equal(
		live->missed.rows[0].units[BP_VERIFY_BYTES].shown.interval.high, 3687, 1);
	/* 5001 and 9090 trials: both limits can miss. */
	assert_float_equal(live->units[BP_VERIFY_BYTES].chance, .1, 1e-12);
	const struct bp_verify_group *all = group_of(truth, BP_METRIC_ALLOCATED, BP_KEY_FUNCTION);
	assert_int_equal(all->units[BP_VERIFY_BYTES].figures, 3);
	assert_int_equal(all->units[BP_VERIFY_BYTES].held, 1);
	assert_int_equal(all->missed.seen, 2); /* unseen, and the one that never was */
	assert_string_equal(all->missed.rows[1].name, "wrong");
	assert_float_equal(all->units[BP_VERIFY_BYTES].chance, .1, 1e-12);
	const struct bp_verify_group *stacks = group_of(truth, BP_METRIC_ALLOCATED, BP_KEY_STACK);
	assert_int_equal(stacks->units[BP_VERIFY_BYTES].figures, 4);
	assert_int_equal(stacks->units[BP_VERIFY_BYTES].unsampled, 2);
	/* 42 trials: at most the probability of a sample among them. */
	assert_float_equal(stacks->units[BP_VERIFY_BYTES].chance, .1 + .04115, 1e-4);
	const struct bp_verify_group *temporary =
		group_of(truth, BP_METRIC_TEMPORARY, BP_KEY_STACK);
	assert_int_equal(temporary->units[BP_VERIFY_OBJECTS].figures, 1);
	assert_int_equal(temporary->units[BP_VERIFY_OBJECTS].held, 1);
	assert_float_equal(temporary->units[BP_VERIFY_OBJECTS].chance, .025, 1e-12);
	/* Were none smaller than 400, 90 objects would never go unseen; of 20 bytes they may. */
	assert_int_equal(live->units[BP_VERIFY_OBJECTS].held, 1);
	assert_int_equal(live->informed.figures, 2);
	assert_int_equal(live->informed.held, 2);
}

static void rows_meet_their_truth(void **state)
{
	/* An assumption that does not hold: the default would follow the count of objects. */
	const struct bp_query query = { .has_size_min = true, .size_min = 400 };
	struct bp_profile profile;
	struct bp_verify truth;
	struct bp_error error;
	(void)state;
	fill(&profile);
	bp_verify_init(&truth, &query, .001, 1);
	assert_true(bp_verify_add(&truth, &profile, &error));
	check_rows(&truth);
	bp_verify_judge(&truth);
	const struct bp_verify_process *process = &truth.processes[0];
	assert_int_equal(truth.process_count, 1);
	assert_true(process->totals[BP_METRIC_ALLOCATED][BP_VERIFY_BYTES].held);
	assert_true(process->totals[BP_METRIC_LIVE][BP_VERIFY_BYTES].truth == 14000);
	assert_true(process->totals[BP_METRIC_TEMPORARY][BP_VERIFY_OBJECTS].truth == 2);
	assert_true(process->totals[BP_METRIC_PEAK][BP_VERIFY_BYTES].truth == 14040);
	assert_int_equal(truth.counts_wrong, 0);
	/* Estimated as if it were not known: 5000 for certain, and 400 of one sample among 1000. */
	const struct bp_verify_figure *by_samples = &process->by_samples[BP_VERIFY_BYTES];
	assert_true(by_samples->truth == 14040);
	assert_float_equal(by_samples->shown.interval.estimate, 5000 + 400 / .3305, 2);
	assert_int_equal(truth.tests, 18 + 10);
	bp_verify_finish(&truth);
	bp_profile_finish(&profile);
}

/* Totals that differ from the exact sums by one object, and exact sums that is not complete. */
static void verdicts(void **state)
{
	const struct bp_query query = { 0 };
	struct bp_profile profile;
	struct bp_verify truth;
	struct bp_error error;
	(void)state;
	fill(&profile);
	profile.processes.data[1].objects_allocated.low++;
	profile.processes.data[1].objects_allocated.high++;
	bp_verify_init(&truth, &query, .001, 1);
	assert_true(bp_verify_add(&truth, &profile, &error));
	bp_verify_judge(&truth);
	assert_int_equal(truth.counts_wrong, 1);
	assert_int_equal(truth.verdict, BP_VERIFY_BAD);
	truth.processes[0].verify_sums.uncounted_objects = 1;
	bp_verify_judge(&truth);
	assert_int_equal(truth.verdict, BP_VERIFY_UNSURE);
	bp_verify_finish(&truth);
	bp_profile_finish(&profile);
}

/* One group that misses too often is enough; objects alone, only with a wrong smallest size. */
static void verdicts_of_groups(void **state)
{
	const struct bp_query query = { 0 };
	struct bp_verify truth;
	(void)state;
	bp_verify_init(&truth, &query, .001, 0);
	for (int i = 0; i < BP_VERIFY_GROUPS; i++) {
		const struct bp_verify_tally right = { .figures = 100, .held = 97, .chance = 2.5 };
		truth.groups[i].units[0] = truth.groups[i].units[1] = right;
		truth.groups[i].informed = right;
	}
	bp_verify_judge(&truth);
	assert_int_equal(truth.verdict, BP_VERIFY_GOOD);
	assert_int_equal(truth.tests, 18);
	truth.groups[3].units[BP_VERIFY_OBJECTS].held = 60;
	bp_verify_judge(&truth);
	assert_int_equal(truth.verdict, BP_VERIFY_ASSUMED);
	truth.groups[3].informed.held = 60;
	bp_verify_judge(&truth);
	assert_int_equal(truth.verdict, BP_VERIFY_BAD);
	truth.groups[3].informed.held = truth.groups[3].units[BP_VERIFY_OBJECTS].held = 97;
	truth.groups[0].units[BP_VERIFY_BYTES].held = 60;
	bp_verify_judge(&truth);
	assert_int_equal(truth.verdict, BP_VERIFY_BAD);
	bp_verify_finish(&truth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allowed_misses),
		cmocka_unit_test(held_figures),
		cmocka_unit_test(rows_meet_their_truth),
		cmocka_unit_test(verdicts),
		cmocka_unit_test(verdicts_of_groups),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
