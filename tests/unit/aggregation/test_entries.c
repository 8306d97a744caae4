/* SPDX-License-Identifier: MIT */
/*
 * Entries: they add up to the report's rows and totals, however finely they are divided; calibrated
 * figures, and those of a peak, too. And the rounding that keeps sums.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "aggregation/views/entries.h"
#include "small_profile.h"

static void rounding_keeps_sums(void **state)
{
	uint32_t seed = 12345;
	struct bp_rounding rounding = { 0 };
	double exact = 0;
	int64_t given = 0;
	(void)state;
	for (int i = 0; i < 100000; i++) {
		seed = seed * 1664525 + 1013904223;
		double value = (seed >> 8) % 5 == 0 ? 0 : (double)(seed >> 8) / 1e6;
		int64_t next = bp_round_next(&rounding, value);
		assert_true(next >= 0 && fabs((double)next - value) < 1 + 1e-6);
		if (value == 0)
			assert_int_equal(next, 0);
		exact += value;
		given += next;
		assert_true(fabs((double)given - exact) <= 0.5 + 1e-6);
	}
	struct bp_rounding huge = { 0 };
	assert_int_equal(bp_round_next(&huge, 1e30), INT64_MAX);
	assert_int_equal(bp_round_next(&huge, 1e30), 0);
	struct bp_rounding nothing = { 0 };
	assert_int_equal(bp_round_next(&nothing, NAN), 0);
	assert_int_equal(bp_round_next(&nothing, -5), 0);
	assert_int_equal(bp_round_next(&nothing, 1.6), 2);
}

/* 300 objects of several sizes on two stacks of two threads, at T = 100; counted: 12000 bytes. */
static void make(struct bp_profile *profile)
{
	static const uint64_t sizes[] = { 10, 30, 50, 250 };
	small_init(profile);
	struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, 100);
	struct bp_thread_id threads[] = { small_thread(profile, process, 0, "one"),
		small_thread(profile, process, 1, "two") };
	struct bp_stack_id stacks[] = { small_stack(profile, "malloc;parse;main"),
		small_stack(profile, "load;main") };
	for (unsigned i = 0; i < 300; i++) {
		struct bp_sample *sample = small_sample(profile, process, stacks[i % 2],
			sizes[i % 4], 1 + i * 0.01, i % 3 == 0 ? -1 : 6 + i * 0.01);
		sample->thread = threads[i % 5 == 0];
		sample->exact = sizes[i % 4] >= 100;
	}
	small_totals(profile, process, 60000, 60000, 2000, 2000);
}

static void entries_add_up_to_rows(void **state)
{
	static const enum bp_metric metrics[] = { BP_METRIC_LIVE, BP_METRIC_ALLOCATED,
		BP_METRIC_PEAK };
	struct bp_profile profile;
	struct bp_aggregation aggregations[3];
	const struct bp_aggregation *pointers[3];
	(void)state;
	make(&profile);
	for (int i = 0; i < 3; i++) {
		struct bp_query query = { .metric = metrics[i], .by = BP_KEY_STACK };
		aggregations[i] = small_aggregate(&profile, &query);
		pointers[i] = &aggregations[i];
	}
	for (unsigned labels = 0; labels < 4; labels++) {
		struct bp_entries entries;
		struct bp_entry_options options = { labels & 1, labels & 2 };
		assert_true(bp_entries_build(pointers, 3, options, &entries, NULL));
		assert_int_equal(entries.count, (labels & 1 ? 2u : 1u) * (labels & 2 ? 4u : 2u));
		for (int i = 0; i < 3; i++) {
			double bytes = 0, objects = 0, rows = 0, row_objects = 0;
			struct bp_row row;
			for (uint32_t j = 0; j < entries.count; j++) {
				bytes += entries.items[j].metrics[i].bytes;
				objects += entries.items[j].metrics[i].objects;
				assert_true(entries.items[j].metrics[i].bytes_variance >= 0);
			}
			for (uint32_t j = 0; j < aggregations[i].row_count; j++) {
				bp_aggregation_row(&aggregations[i], j, &row);
				rows += row.bytes.interval.estimate;
				row_objects += row.objects.interval.estimate;
			}
			assert_true(rows > 0 && fabs(bytes - rows) < 1e-6);
			assert_true(fabs(objects - row_objects) < 1e-6);
			if (metrics[i] == BP_METRIC_ALLOCATED)
				assert_true(fabs(bytes - 60000) < 1e-6);
		}
		bp_entries_finish(&entries);
	}
	for (int i = 0; i < 3; i++)
		bp_aggregation_finish(&aggregations[i]);
	bp_profile_finish(&profile);
}

struct sums {
	double born, live;
	uint64_t last_ns;
};

static bool take(void *context, const struct bp_weighted_sample *sample)
{
	struct sums *sums = context;
	sums->born += sample->bytes;
	if (sample->death_ns == BP_TIME_NEVER)
		sums->live += sample->bytes;
	assert_true(sample->birth_ns >= sums->last_ns && sample->birth_ns <= sample->death_ns);
	sums->last_ns = sample->birth_ns;
	return true;
}

/* What lives on is what the report says is live. */
static void samples_tell_their_ends(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { .by = BP_KEY_STACK };
	struct sums sums = { 0 };
	(void)state;
	make(&profile);
	struct bp_aggregation live = small_aggregate(&profile, &query);
	assert_true(bp_each_weighted_sample(&live, true, take, &sums));
	const double total = live.totals[BP_METRIC_LIVE].bytes.interval.estimate;
	assert_true(total > 0 && fabs(sums.live - total) < 1e-6 * total);
	assert_true(sums.born > 2 * sums.live);
	bp_aggregation_finish(&live);
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounding_keeps_sums),
		cmocka_unit_test(entries_add_up_to_rows),
		cmocka_unit_test(samples_tell_their_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
