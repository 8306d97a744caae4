/* SPDX-License-Identifier: MIT */
/* What could be asked for instead, learned from pairs by hand; and the tables of small profiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "aggregation/views/rounding.h"
#include "base/attributes.h"
#include "small_profile.h"

/* ---- sizes ---- */

static void learn(
	struct bp_usable_sizes *sizes, const uint64_t (*pairs)[2], size_t count, uint32_t allocator)
{
	for (size_t i = 0; i < count; i++)
		assert_true(bp_usable_sizes_add(
			sizes, (struct bp_usable_pair){ allocator, pairs[i][0], pairs[i][1] }));
	bp_usable_sizes_learn(sizes);
}

static void assert_advice(const struct bp_usable_sizes *sizes, uint32_t allocator, uint64_t size,
	struct bp_size_advice expected)
{
	const struct bp_size_advice advice = bp_usable_sizes_advice(sizes, allocator, size);
	if (advice.kind != expected.kind || advice.usable != expected.usable ||
		advice.instead != expected.instead || advice.saved != expected.saved)
		fail_msg("%llu: kind %d, usable %llu, instead %llu, saved %llu",
			(unsigned long long)size, advice.kind, (unsigned long long)advice.usable,
			(unsigned long long)advice.instead, (unsigned long long)advice.saved);
}

static void a_few_bytes_less_reach_the_smaller_class(void **state)
{
	(void)state;
	/* As jemalloc has them, out of order. */
	static const uint64_t pairs[][2] = { { 1032, 1280 }, { 1000, 1024 }, { 1024, 1024 },
		{ 1200, 1280 }, { 1281, 1536 }, { 24, 32 }, { 32, 32 } };
	struct bp_usable_sizes sizes = { 0 };
	learn(&sizes, pairs, BP_COUNT(pairs), 1);
	assert_advice(&sizes, 1, 1032, (struct bp_size_advice){ BP_ADVICE_LESS, 1280, 1024, 256 });
	/* 1024 is 176 less than 1200, more than an eighth of it, and saves 256, less than twice that. */
	assert_advice(&sizes, 1, 1200, (struct bp_size_advice){ BP_ADVICE_UNKNOWN, 1280, 0, 0 });
	assert_advice(&sizes, 1, 1000, (struct bp_size_advice){ BP_ADVICE_MORE, 1024, 1024, 0 });
	assert_advice(&sizes, 1, 1024, (struct bp_size_advice){ BP_ADVICE_FITS, 1024, 0, 0 });
	/* What was seen goes before what is fewer bytes, perhaps. */
	assert_advice(&sizes, 1, 1281, (struct bp_size_advice){ BP_ADVICE_LESS, 1536, 1200, 256 });
	assert_advice(&sizes, 1, 24, (struct bp_size_advice){ BP_ADVICE_MORE, 32, 32, 0 });
	/* Of sizes that were not seen nothing is said, nor of those of another allocator. */
	assert_advice(&sizes, 1, 1030, (struct bp_size_advice){ BP_ADVICE_UNKNOWN, 0, 0, 0 });
	assert_advice(&sizes, 2, 1032, (struct bp_size_advice){ BP_ADVICE_UNKNOWN, 0, 0, 0 });
	bp_usable_sizes_finish(&sizes);
}

/* Nobody asked for 1280, which is what the smaller class has. */
static void a_smaller_piece_may_have_as_much(void **state)
{
	(void)state;
	static const uint64_t pairs[][2] = { { 1100, 1280 }, { 1281, 1536 }, { 1500, 1536 } };
	struct bp_usable_sizes sizes = { 0 };
	learn(&sizes, pairs, BP_COUNT(pairs), 1);
	assert_advice(&sizes, 1, 1281,
		(struct bp_size_advice){ BP_ADVICE_PERHAPS_LESS, 1536, 1280, 256 });
	/* 220 bytes less would save 256. */
	assert_advice(&sizes, 1, 1500, (struct bp_size_advice){ BP_ADVICE_UNKNOWN, 1536, 0, 0 });
	bp_usable_sizes_finish(&sizes);
}

/* 16 bytes of 65,544 are not worth a word. */
static void what_saves_next_to_nothing_is_no_advice(void **state)
{
	(void)state;
	static const uint64_t pairs[][2] = { { 65528, 65528 }, { 65536, 65544 } };
	struct bp_usable_sizes sizes = { 0 };
	learn(&sizes, pairs, BP_COUNT(pairs), 1);
	assert_advice(&sizes, 1, 65536, (struct bp_size_advice){ BP_ADVICE_UNKNOWN, 65544, 0, 0 });
	bp_usable_sizes_finish(&sizes);
}

static void too_little_seen_says_nothing(void **state)
{
	(void)state;
	static const uint64_t pairs[][2] = { { 1032, 1280 }, { 100, 112 } };
	struct bp_usable_sizes sizes = { 0 };
	learn(&sizes, pairs, BP_COUNT(pairs), 1);
	assert_advice(&sizes, 1, 1032, (struct bp_size_advice){ BP_ADVICE_UNKNOWN, 1280, 0, 0 });
	assert_advice(&sizes, 1, 100, (struct bp_size_advice){ BP_ADVICE_UNKNOWN, 112, 0, 0 });
	bp_usable_sizes_finish(&sizes);
}

/* glibc gives 16 bytes more where nothing useful would remain of a free block, and a realloc may
 * stay where it was. The class is what a request gets otherwise. */
static void what_was_given_by_accident_is_no_class(void **state)
{
	(void)state;
	static const uint64_t pairs[][2] = { { 24, 40 }, { 24, 24 }, { 20, 40 }, { 25, 40 },
		{ 8, 4096 }, { 40, 40 } };
	struct bp_usable_sizes sizes = { 0 };
	learn(&sizes, pairs, BP_COUNT(pairs), 1);
	assert_advice(&sizes, 1, 24, (struct bp_size_advice){ BP_ADVICE_FITS, 24, 0, 0 });
	assert_advice(&sizes, 1, 20, (struct bp_size_advice){ BP_ADVICE_MORE, 24, 24, 0 });
	assert_advice(&sizes, 1, 8, (struct bp_size_advice){ BP_ADVICE_MORE, 24, 24, 0 });
	assert_advice(&sizes, 1, 25, (struct bp_size_advice){ BP_ADVICE_LESS, 40, 24, 16 });
	bp_usable_sizes_finish(&sizes);
}

static void allocators_are_kept_apart(void **state)
{
	(void)state;
	static const uint64_t of_one[][2] = { { 1024, 1024 }, { 1032, 1280 } };
	static const uint64_t of_two[][2] = { { 1032, 1032 }, { 1024, 1032 } };
	struct bp_usable_sizes sizes = { 0 };
	for (size_t i = 0; i < BP_COUNT(of_one); i++)
		assert_true(bp_usable_sizes_add(
			&sizes, (struct bp_usable_pair){ 1, of_one[i][0], of_one[i][1] }));
	learn(&sizes, of_two, BP_COUNT(of_two), 2);
	assert_advice(&sizes, 1, 1032, (struct bp_size_advice){ BP_ADVICE_LESS, 1280, 1024, 256 });
	assert_advice(&sizes, 2, 1032, (struct bp_size_advice){ BP_ADVICE_FITS, 1032, 0, 0 });
	assert_advice(&sizes, 2, 1024, (struct bp_size_advice){ BP_ADVICE_MORE, 1032, 1032, 0 });
	bp_usable_sizes_finish(&sizes);
	learn(&sizes, of_one, 0, 1);
	assert_advice(&sizes, 1, 1, (struct bp_size_advice){ BP_ADVICE_UNKNOWN, 0, 0, 0 });
	bp_usable_sizes_finish(&sizes);
}

/* ---- tables ---- */

static void put(struct bp_profile *profile, struct bp_process_id process, const char *function,
	uint64_t size, uint64_t usable, unsigned times, double free_s)
{
	for (unsigned i = 0; i < times; i++) {
		struct bp_sample *sample = small_sample(
			profile, process, small_stack(profile, function), size, 1, free_s);
		sample->usable = usable;
	}
}

static const struct bp_rounding_size *size_of(const struct bp_rounding *rounding, uint64_t size)
{
	for (uint32_t i = 0; i < rounding->size_count; i++)
		if (rounding->sizes[i].size == size)
			return &rounding->sizes[i];
	fail_msg("no size %llu", (unsigned long long)size);
	return NULL;
}

static const struct bp_rounding_figures *row_of(const struct bp_aggregation *aggregation,
	const struct bp_rounding *rounding, const char *name)
{
	for (uint32_t i = 0; i < rounding->row_count; i++) {
		struct bp_row row;
		bp_aggregation_row(aggregation, rounding->rows[i].row, &row);
		if (strcmp(row.name, name) == 0)
			return &rounding->rows[i].figures;
	}
	fail_msg("no row %s", name);
	return NULL;
}

/* T = 1: everything is known. `wide` loses most and asks for least. */
static void make_exact(struct bp_profile *profile)
{
	small_init(profile);
	const struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 10, 1);
	put(profile, process, "plain;main", 1000, 1000, 5, -1);
	put(profile, process, "wide;main", 1032, 1280, 2, -1);
	put(profile, process, "wide;main", 1024, 1024, 1, 2);
	put(profile, process, "python;main", 64, 0, 4, -1);
	small_totals(profile, process, 8344, 8344, 12, 12);
}

static void figures_at_an_interval_of_one_are_exact(void **state)
{
	(void)state;
	struct bp_profile profile;
	make_exact(&profile);
	const struct bp_query query = { .metric = BP_METRIC_LIVE };
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	struct bp_rounding rounding;
	struct bp_error error;
	assert_true(bp_rounding_make(&aggregation, 10, &rounding, &error));
	struct bp_row first;
	bp_aggregation_row(&aggregation, rounding.rows[0].row, &first);
	assert_string_equal(first.name, "wide");
	small_assert_exact(row_of(&aggregation, &rounding, "wide")->lost, 2 * 248);
	small_assert_exact(row_of(&aggregation, &rounding, "wide")->share, 248. / 1280);
	small_assert_exact(row_of(&aggregation, &rounding, "plain")->lost, 0);
	small_assert_exact(row_of(&aggregation, &rounding, "plain")->share, 0);
	small_assert_exact(rounding.all.lost, 2 * 248);
	small_assert_exact(rounding.all.objects, 11);
	small_assert_exact(rounding.all.share, 496. / (2 * 1280 + 5000));
	/* Nothing of objects whose usable size is not known is in the figures. */
	assert_int_equal(rounding.all.unknown_samples, 4);
	assert_int_equal(row_of(&aggregation, &rounding, "python")->samples, 0);
	assert_true(row_of(&aggregation, &rounding, "python")->share.interval.unknown);
	/* 1024 does not live any more, and what it got is known all the same. */
	const struct bp_rounding_size *size = size_of(&rounding, 1032);
	assert_int_equal(size->advice.kind, BP_ADVICE_LESS);
	assert_int_equal(size->advice.instead, 1024);
	small_assert_exact(size->saved, 2 * 256);
	assert_int_equal(size_of(&rounding, 1000)->advice.kind, BP_ADVICE_FITS);
	assert_int_equal(size_of(&rounding, 64)->advice.kind, BP_ADVICE_UNKNOWN);
	bp_rounding_finish(&rounding);
	/* Fewer rows: those that lose most. */
	assert_true(bp_rounding_make(&aggregation, 1, &rounding, &error));
	assert_int_equal(rounding.row_count, 1);
	assert_int_equal(rounding.rows_left_out, 2);
	assert_int_equal(rounding.sizes[0].size, 1032);
	assert_int_equal(rounding.sizes_left_out, 2);
	bp_rounding_finish(&rounding);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

static void metrics_look_at_their_own_objects(void **state)
{
	(void)state;
	static const enum bp_metric metrics[] = { BP_METRIC_LIVE, BP_METRIC_PEAK,
		BP_METRIC_ALLOCATED };
	static const double lost[] = { 15, 30, 45 };
	for (size_t i = 0; i < BP_COUNT(metrics); i++) {
		struct bp_profile profile;
		small_init(&profile);
		const struct bp_process_id process = small_process(&profile, 1, 1, 0, 0, 10, 1);
		put(&profile, process, "f;main", 25, 40, 1, -1);
		put(&profile, process, "f;main", 25, 40, 1, 5);
		small_sample(&profile, process, small_stack(&profile, "f;main"), 25, 6, 7)->usable =
			40;
		small_totals(&profile, process, 75, 75, 3, 3);
		const struct bp_query query = { .metric = metrics[i] };
		struct bp_aggregation aggregation = small_aggregate(&profile, &query);
		struct bp_rounding rounding;
		struct bp_error error;
		assert_true(bp_rounding_make(&aggregation, 10, &rounding, &error));
		small_assert_exact(rounding.all.lost, lost[i]);
		small_assert_exact(rounding.rows[0].figures.lost, lost[i]);
		small_assert_exact(rounding.sizes[0].figures.lost, lost[i]);
		bp_rounding_finish(&rounding);
		bp_aggregation_finish(&aggregation);
		bp_profile_finish(&profile);
	}
}

static void aligned_objects_and_several_allocators_get_no_advice(void **state)
{
	(void)state;
	struct bp_profile profile;
	small_init(&profile);
	const struct bp_process_id one = small_process(&profile, 1, 1, 0, 0, 10, 1);
	const struct bp_process_id two = small_process(&profile, 2, 2, 1, 1, 9, 1);
	profile.processes.data[one.i].allocator = small_string(&profile, "/one.so");
	profile.processes.data[two.i].allocator = small_string(&profile, "/two.so");
	put(&profile, one, "f;main", 100, 112, 1, -1);
	put(&profile, one, "f;main", 96, 96, 1, -1);
	put(&profile, two, "f;main", 100, 128, 1, -1);
	put(&profile, one, "f;main", 1032, 4096, 1, -1);
	small_sample(&profile, one, small_stack(&profile, "f;main"), 80, 1, -1)->kind =
		BP_PROFILE_KIND_ALIGNED;
	profile.added.data[profile.added.count - 1].usable = 4096;
	const struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	struct bp_rounding rounding;
	struct bp_error error;
	assert_true(bp_rounding_make(&aggregation, 10, &rounding, &error));
	assert_true(size_of(&rounding, 100)->several_allocators);
	assert_int_equal(size_of(&rounding, 100)->advice.usable, 0);
	assert_true(size_of(&rounding, 80)->aligned);
	assert_int_equal(size_of(&rounding, 80)->advice.usable, 0);
	assert_false(size_of(&rounding, 96)->several_allocators);
	small_assert_exact(rounding.all.lost, 12 + 28 + 3064 + 4016);
	bp_rounding_finish(&rounding);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

/* 1000 objects of 25 bytes, of which some were sampled: 15 bytes each, and no more than 24 of those
 * that may be there unseen. */
static void counted_objects_bound_what_is_lost(void **state)
{
	(void)state;
	struct bp_profile profile;
	small_init(&profile);
	const struct bp_process_id process = small_process(&profile, 1, 1, 0, 0, 10, 1000);
	put(&profile, process, "f;main", 25, 40, 30, -1);
	small_totals(&profile, process, 25000, 25000, 1000, 1000);
	const struct bp_query query = { .metric = BP_METRIC_ALLOCATED };
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	struct bp_rounding rounding;
	struct bp_error error;
	assert_true(bp_rounding_make(&aggregation, 10, &rounding, &error));
	const struct bp_interval lost = rounding.all.lost.interval;
	assert_false(lost.exact);
	assert_true(fabs(lost.estimate - 30 * 15 / bp_inclusion_probability(26, 1000)) < 1e-6);
	assert_true(lost.low < 15000 && lost.high > 15000);
	/* The largest part that may be lost of something large is a quarter: some 920 bytes. */
	assert_true(lost.high < 24 * 1000 - .7 * 9 * 1000 + 1000);
	assert_true(lost.high < 24000);
	bp_rounding_finish(&rounding);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_bytes_less_reach_the_smaller_class),
		cmocka_unit_test(a_smaller_piece_may_have_as_much),
		cmocka_unit_test(what_saves_next_to_nothing_is_no_advice),
		cmocka_unit_test(too_little_seen_says_nothing),
		cmocka_unit_test(what_was_given_by_accident_is_no_class),
		cmocka_unit_test(allocators_are_kept_apart),
		cmocka_unit_test(figures_at_an_interval_of_one_are_exact),
		cmocka_unit_test(metrics_look_at_their_own_objects),
		cmocka_unit_test(aligned_objects_and_several_allocators_get_no_advice),
		cmocka_unit_test(counted_objects_bound_what_is_lost),
	};
	return cmocka_run_group_tests_name("rounding", tests, NULL, NULL);
}
