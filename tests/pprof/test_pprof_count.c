/* SPDX-License-Identifier: MIT */
/*
 * The number of samples in a bucket of a pprof heap profile, against figures scaled as Go's runtime
 * does (runtime/pprof, scaleHeapSample): every number must come back, and nothing else may be taken
 * for one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "import/pprof/pprof_count.h"

/* As Go computes it, digit for digit. */
static void scale(uint64_t samples, uint64_t size, uint64_t interval, uint64_t *ret_objects,
	uint64_t *ret_bytes)
{
	const double factor = 1 / (1 - exp(-(double)size / (double)interval));
	*ret_objects = (uint64_t)((double)samples * factor);
	*ret_bytes = (uint64_t)((double)(samples * size) * factor);
}

static void every_number_comes_back(void **state)
{
	static const uint64_t intervals[] = { 2, 512, 4096, 102400, 524288, 2097152, 1u << 30 };
	static const uint64_t numbers[] = { 1, 2, 3, 7, 100, 12345, 1000000 };
	(void)state;
	for (size_t i = 0; i < BP_COUNT(intervals); i++)
		for (uint64_t size = 8; size < (uint64_t)1 << 34; size += size / 3 + 5)
			for (size_t j = 0; j < BP_COUNT(numbers); j++) {
				uint64_t objects, bytes, found = 0;
				scale(numbers[j], size, intervals[i], &objects, &bytes);
				if (!bp_pprof_count(objects, bytes, size, intervals[i], &found) ||
					found != numbers[j])
					fail_msg("T %llu, size %llu, %llu samples: %llu",
						(unsigned long long)intervals[i],
						(unsigned long long)size,
						(unsigned long long)numbers[j],
						(unsigned long long)found);
			}
}

/* Tools that merge files add figures that were cut off to whole numbers each. */
static void merged_buckets(void **state)
{
	(void)state;
	for (uint64_t size = 16; size < 1u << 23; size *= 2) {
		uint64_t objects = 0, bytes = 0, all = 0, found = 0;
		for (uint64_t samples = 1; samples <= 40; samples++) {
			uint64_t some_objects, some_bytes;
			scale(samples, size, 524288, &some_objects, &some_bytes);
			objects += some_objects;
			bytes += some_bytes;
			all += samples;
		}
		assert_true(bp_pprof_count(objects, bytes, size, 524288, &found));
		assert_int_equal(found, all);
	}
}

static void everything_is_in_the_file(void **state)
{
	uint64_t found = 7;
	(void)state;
	assert_true(bp_pprof_count(10, 480, 48, 1, &found));
	assert_int_equal(found, 10);
	assert_false(bp_pprof_count(10, 481, 48, 1, &found));
	assert_false(bp_pprof_count(UINT64_MAX, 1, UINT64_MAX, 1, &found));
	assert_true(bp_pprof_count(0, 0, 48, 1, &found));
	assert_int_equal(found, 0);
	assert_true(bp_pprof_count(0, 0, 48, 524288, &found));
	assert_int_equal(found, 0);
}

/* Buckets of two sizes under the label of their mean, and other ways of weighing. */
static void what_is_no_number_of_samples(void **state)
{
	uint64_t objects[2], bytes[2], found = 7;
	(void)state;
	scale(5, 1024, 524288, &objects[0], &bytes[0]);
	scale(5, 65536, 524288, &objects[1], &bytes[1]);
	assert_false(bp_pprof_count(
		objects[0] + objects[1], bytes[0] + bytes[1], 33280, 524288, &found));
	/* pprof's conversion of older profiles: scaled by the mean, 33280.5, the label below it. */
	const double mean = 1 / -expm1(-33280.5 / 524288);
	assert_false(bp_pprof_count(
		(uint64_t)(10 * mean), (uint64_t)(10 * 33280.5 * mean), 33280, 524288, &found));
	scale(5, 1024, 262144, &objects[0], &bytes[0]); /* another interval */
	assert_false(bp_pprof_count(objects[0], bytes[0], 1024, 524288, &found));
	assert_false(bp_pprof_count(5, 5120, 1024, 524288, &found)); /* not scaled */
	assert_false(bp_pprof_count(0, 524800, 1024, 524288, &found));
	assert_false(bp_pprof_count(512, 0, 1024, 524288, &found));
	assert_false(bp_pprof_count(INT64_MAX, INT64_MAX, 1, 524288, &found));
	assert_false(bp_pprof_count(1, INT64_MAX, INT64_MAX, INT64_MAX, &found));
	assert_int_equal(found, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_comes_back),
		cmocka_unit_test(merged_buckets),
		cmocka_unit_test(everything_is_in_the_file),
		cmocka_unit_test(what_is_no_number_of_samples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
