/* SPDX-License-Identifier: MIT */
/*
 * Estimators and interval methods other than the default, from the query to the figures: each row
 * must be what estimate/ says of the samples under it, added up by hand here. And the law
 * `bernoulli`, whose large objects need size classes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "estimate/numeric/negative_binomial.h"
#include "estimate/size_classes.h"
#include "estimate/weighting.h"
#include "small_profile.h"

#define INTERVAL 4096u

static const uint64_t sizes[] = { 100, 2000, 2000, 5000, 40000 };
static const uint64_t offsets[] = { 7, 1500, 0, 4096, 39000 };
#define COUNT (sizeof sizes / sizeof sizes[0])

/* Five samples of one function and one of another; `exact`: objects of T and more are certain. */
static void make(struct bp_profile *profile, bool exact)
{
	small_init(profile);
	struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 10, INTERVAL);
	profile->processes.data[process.i].law = exact ? 0 : 1;
	for (size_t i = 0; i < COUNT; i++) {
		struct bp_sample *sample = small_sample(
			profile, process, small_stack(profile, "work;main"), sizes[i], 1, -1);
		sample->exact = exact && sizes[i] + 1 >= INTERVAL;
		sample->bernoulli = !exact;
		sample->offset = sample->exact ? 0 : offsets[i];
	}
	small_sample(profile, process, small_stack(profile, "other;main"), 64, 2, -1);
}

static struct bp_row row_of(
	bool exact, enum bp_estimator estimator, enum bp_method method, enum bp_window_edges edges)
{
	struct bp_profile profile;
	struct bp_query query = { .estimator = estimator, .method = method, .edges = edges };
	make(&profile, exact);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	struct bp_row row = small_row(&aggregation, "work");
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
	return row;
}

static void assert_near(double value, double wanted)
{
	if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted)))
		fail_msg("%.15g, not %.15g", value, wanted);
}

static double by_hand(enum bp_weighting weighting, bool exact, bool objects)
{
	double sum = 0;
	for (size_t i = 0; i < COUNT; i++) {
		double weight = bp_weighting_of(weighting, sizes[i] + 1, INTERVAL, offsets[i],
			exact && sizes[i] + 1 >= INTERVAL, 0);
		sum += objects ? weight : weight * (double)sizes[i];
	}
	return sum;
}

static void failed_trials_and_its_other_name(void **state)
{
	(void)state;
	for (int exact = 0; exact < 2; exact++) {
		struct bp_row row =
			row_of(exact, BP_ESTIMATOR_FAILED_TRIALS, BP_METHOD_DEFAULT, BP_EDGES_END);
		struct bp_row twin =
			row_of(exact, BP_ESTIMATOR_TCMALLOC, BP_METHOD_DEFAULT, BP_EDGES_END);
		assert_near(row.bytes.interval.estimate,
			by_hand(BP_WEIGHTING_FAILED_TRIALS, exact, false));
		assert_near(row.objects.interval.estimate,
			by_hand(BP_WEIGHTING_FAILED_TRIALS, exact, true));
		assert_near(twin.bytes.interval.estimate, row.bytes.interval.estimate);
		assert_true(row.bytes.interval.low <= row.bytes.interval.estimate &&
			    row.bytes.interval.estimate <= row.bytes.interval.high);
	}
}

static void weighted_is_horvitz_thompson(void **state)
{
	(void)state;
	struct bp_row row = row_of(true, BP_ESTIMATOR_WEIGHTED, BP_METHOD_DEFAULT, BP_EDGES_END);
	assert_near(row.bytes.interval.estimate, by_hand(BP_WEIGHTING_HT, true, false));
	struct bp_row twin = row_of(true, BP_ESTIMATOR_HT, BP_METHOD_N3, BP_EDGES_END);
	assert_near(row.bytes.interval.low, twin.bytes.interval.low);
	assert_near(row.bytes.interval.high, twin.bytes.interval.high);
}

/* Hits are drawn: at least one each, the same every time, memray's 1 from T on. */
static void drawn_hits(void **state)
{
	(void)state;
	struct bp_row hits = row_of(false, BP_ESTIMATOR_HITS, BP_METHOD_DEFAULT, BP_EDGES_END);
	struct bp_row again = row_of(false, BP_ESTIMATOR_HITS, BP_METHOD_DEFAULT, BP_EDGES_END);
	struct bp_row memray = row_of(false, BP_ESTIMATOR_MEMRAY, BP_METHOD_DEFAULT, BP_EDGES_END);
	assert_near(again.bytes.interval.estimate, hits.bytes.interval.estimate);
	double least = 0, small = 0;
	for (size_t i = 0; i < COUNT; i++) {
		double one = INTERVAL * (double)sizes[i] / (double)(sizes[i] + 1);
		least += one;
		small += sizes[i] < INTERVAL ? one : (double)sizes[i];
	}
	assert_true(hits.bytes.interval.estimate >= least * (1 - 1e-9));
	assert_true(memray.bytes.interval.estimate >= small * (1 - 1e-9));
	/* Three objects below T with at most two hits each: 1 in 10^3 that it is more. */
	assert_true(memray.bytes.interval.estimate <= small + 4 * INTERVAL);
}

/* Limits of trials, turned into bytes by the ratio of the estimates, and exact objects added. */
static void negative_binomial(void **state)
{
	(void)state;
	double trials = 0, bytes = 0, after = 0, certain = 0;
	uint64_t samples = 0;
	for (size_t i = 0; i < COUNT; i++) {
		if (sizes[i] + 1 >= INTERVAL) {
			certain += (double)sizes[i];
			continue;
		}
		double weight = bp_weighting_of(
			BP_WEIGHTING_FAILED_TRIALS, sizes[i] + 1, INTERVAL, offsets[i], false, 0);
		trials += weight * (double)(sizes[i] + 1);
		bytes += weight * (double)sizes[i];
		after += (double)(sizes[i] + 1 - offsets[i]);
		samples++;
	}
	for (int edges = 0; edges < BP_EDGES_COUNT; edges++) {
		struct bp_row row = row_of(true, BP_ESTIMATOR_DEFAULT, BP_METHOD_NEGATIVE_BINOMIAL,
			(enum bp_window_edges)edges);
		struct bp_interval wanted =
			bp_estimate_negative_binomial(BP_NEGATIVE_BINOMIAL_EXACT,
				(enum bp_window_edges)edges, samples, after, INTERVAL, 0.05);
		assert_near(row.bytes.interval.estimate, certain + bytes);
		assert_near(row.bytes.interval.low, certain + wanted.low * bytes / trials);
		assert_near(row.bytes.interval.high, certain + wanted.high * bytes / trials);
		struct bp_row paulson = row_of(true, BP_ESTIMATOR_DEFAULT, BP_METHOD_CAMP_PAULSON,
			(enum bp_window_edges)edges);
		assert_true(paulson.bytes.interval.low != row.bytes.interval.low);
		/* Numbers of objects have the default interval: sizes may be mixed. */
		struct bp_row ours =
			row_of(true, BP_ESTIMATOR_DEFAULT, BP_METHOD_N3, (enum bp_window_edges)0);
		assert_near(row.objects.interval.low, ours.objects.interval.low);
		assert_near(row.objects.interval.high, ours.objects.interval.high);
		assert_near(paulson.objects.interval.high, ours.objects.interval.high);
		assert_near(paulson.bytes.interval.estimate, row.bytes.interval.estimate);
	}
}

/* Without exact objects the estimate of the method is .NET's approach 2 whatever the law. */
static void large_objects_by_trial_take_size_classes(void **state)
{
	(void)state;
	struct bp_row row = row_of(false, BP_ESTIMATOR_DEFAULT, BP_METHOD_DEFAULT, BP_EDGES_END);
	struct bp_size_classes classes = { 0 };
	struct bp_sums all = { 0 };
	for (size_t i = 0; i < COUNT; i++) {
		struct bp_sums one = { 0 };
		bp_sums_add(&one, (double)sizes[i], sizes[i], 1, INTERVAL, false);
		bp_sums_merge(&all, &one);
		bp_size_classes_add(&classes, bp_size_class(sizes[i] + 1, INTERVAL, false), &one);
	}
	struct bp_interval wanted = bp_estimate_values_by_classes(&classes, INTERVAL, 1, 0.05);
	struct bp_interval plain = bp_estimate_bytes(&all, INTERVAL, 0.05);
	assert_near(row.bytes.interval.estimate, wanted.estimate);
	assert_near(row.bytes.interval.low, wanted.low);
	assert_near(row.bytes.interval.high, wanted.high);
	assert_true(wanted.high != plain.high);
	wanted = bp_estimate_objects_by_classes(&classes, INTERVAL, 0.05, 0, 1);
	assert_near(row.objects.interval.low, wanted.low);
	assert_near(row.objects.interval.high, wanted.high);
}

static void refuse(struct bp_query query)
{
	struct bp_error error = { 0 };
	assert_false(bp_query_check(&query, &error));
	assert_true(error.text[0] != '\0');
}

static void what_means_nothing_is_refused(void **state)
{
	(void)state;
	refuse((struct bp_query){ .metric = BP_METRIC_PEAK, .estimator = BP_ESTIMATOR_HITS });
	refuse((struct bp_query){ .metric = BP_METRIC_PEAK, .method = BP_METHOD_CAMP_PAULSON });
	refuse((struct bp_query){ .edges = BP_EDGES_BOTH });
	refuse((struct bp_query){ .metric = BP_METRIC_ALLOCATED,
		.estimator = BP_ESTIMATOR_CALIBRATED,
		.method = BP_METHOD_N3 });
}

/* One p: samples of two intervals have no negative binomial interval. */
static void several_intervals_are_refused(void **state)
{
	(void)state;
	struct bp_profile profile;
	struct bp_error error = { 0 };
	struct bp_aggregation aggregation;
	struct bp_query query = { .method = BP_METHOD_NEGATIVE_BINOMIAL };
	make(&profile, true);
	profile.added.data[1].interval = 2 * INTERVAL;
	profile.processes.data[1].interval_max = 2 * INTERVAL;
	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_false(bp_aggregate(&profile, &query, &aggregation, &error));
	assert_true(error.text[0] != '\0');
	bp_profile_finish(&profile);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(failed_trials_and_its_other_name),
		cmocka_unit_test(weighted_is_horvitz_thompson),
		cmocka_unit_test(drawn_hits),
		cmocka_unit_test(negative_binomial),
		cmocka_unit_test(large_objects_by_trial_take_size_classes),
		cmocka_unit_test(what_means_nothing_is_refused),
		cmocka_unit_test(several_intervals_are_refused),
	};
	return cmocka_run_group_tests_name("profile methods", tests, NULL, NULL);
}
