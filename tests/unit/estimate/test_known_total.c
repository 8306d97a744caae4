/* SPDX-License-Identifier: MIT */
/*
 * Parts of a counted total: agreement with Clopper and Pearson's interval of a share for equal tiny
 * sizes, parts that add up, totals that leave nothing unsampled, totals known within limits only,
 * totals that cannot be true, and the promise low <= estimate <= high.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/estimate.h"
#include "estimate/numeric/special.h"

static void expect_near(const char *what, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance * fabs(wanted)))
		fail_msg("%s: %.15g, not %.15g", what, value, wanted);
}

static void add(struct bp_sums *sums, unsigned count, uint64_t size, uint64_t interval)
{
	for (unsigned i = 0; i < count; i++)
		bp_sums_add(sums, (double)size, size, 1, interval, size + 1 >= interval);
}

static struct bp_interval part(const struct bp_sums *sums, const struct bp_sums *complement,
	uint64_t interval, uint64_t total)
{
	return bp_estimate_known_total(sums, complement, interval, total, total, 0.05);
}

/* Of s + c samples of one-byte objects s are the key's: the share is a binomial proportion. */
static void test_tiny_objects_are_clopper_pearson(void **state)
{
	(void)state;
	const uint64_t total = UINT64_C(1) << 50, interval = UINT64_C(1) << 40;
	static const unsigned counts[][2] = { { 1, 3 }, { 5, 5 }, { 20, 4 }, { 300, 17 } };
	for (size_t i = 0; i < BP_COUNT(counts); i++) {
		struct bp_sums key = { 0 }, other = { 0 };
		unsigned s = counts[i][0], c = counts[i][1];
		for (unsigned j = 0; j < s; j++)
			bp_sums_add(&key, 1, 1, 0, interval, false);
		for (unsigned j = 0; j < c; j++)
			bp_sums_add(&other, 1, 1, 0, interval, false);
		struct bp_interval interval_key = part(&key, &other, interval, total);
		double low = bp_beta_regularized_inverse(0.025, s, c + 1.0);
		double high = bp_beta_regularized_inverse(0.975, s + 1.0, c);
		expect_near("low", interval_key.low, low * (double)total, 1e-9);
		expect_near("estimate", interval_key.estimate, (double)total * s / (s + c), 1e-9);
		expect_near("high", interval_key.high, high * (double)total, 1e-9);
	}
}

/* The estimates of all keys add up to the total; each key's two limits are the complement's. */
static void test_parts_add_up(void **state)
{
	(void)state;
	enum { KEYS = 4 };
	struct bp_sums keys[KEYS] = { { 0 } };
	double sum = 0;
	add(&keys[0], 20, 48, 65536);
	add(&keys[1], 3, 30000, 65536);
	add(&keys[2], 1, 1000, 65536);
	add(&keys[2], 2, 200000, 65536);
	add(&keys[3], 40, 600, 65536);
	const uint64_t total = 5000000;
	for (unsigned i = 0; i < KEYS; i++) {
		struct bp_sums complement = { 0 };
		for (unsigned j = 0; j < KEYS; j++)
			if (j != i)
				bp_sums_merge(&complement, &keys[j]);
		struct bp_interval key = part(&keys[i], &complement, 65536, total);
		struct bp_interval rest = part(&complement, &keys[i], 65536, total);
		assert_true(key.low < key.estimate && key.estimate < key.high);
		expect_near("limits of the complement", rest.high, (double)total - key.low, 1e-12);
		expect_near("limits of the complement", rest.low, (double)total - key.high, 1e-12);
		sum += key.estimate;
	}
	expect_near("sum", sum, (double)total, 1e-13);
}

/* A known total never makes the answer much wider, and for most of the total much narrower. */
static void test_narrower_than_alone(void **state)
{
	(void)state;
	struct bp_sums key = { 0 }, other = { 0 };
	add(&key, 95, 48, 65536);
	add(&other, 5, 48, 65536);
	struct bp_interval alone = bp_estimate_bytes(&key, 65536, 0.05);
	struct bp_interval known = part(&key, &other, 65536, 100 * 65536);
	assert_true(known.high - known.low < 0.3 * (alone.high - alone.low));
}

static void test_no_sample_of_the_key(void **state)
{
	(void)state;
	struct bp_sums none = { 0 }, other = { 0 };
	add(&other, 10, 48, 65536);
	struct bp_interval key = part(&none, &other, 65536, 700000);
	assert_true(key.low == 0 && key.estimate == 0 && key.high > 0 && key.high < 700000);
	/* Nothing was sampled at all: anything up to the total. */
	struct bp_interval both = part(&none, &none, 65536, 1000);
	assert_true(both.low == 0 && both.estimate == 0 && both.high == 1000 && !both.exact);
}

/* All bytes were sampled: then nothing is left to estimate. */
static void test_nothing_unsampled(void **state)
{
	(void)state;
	struct bp_sums key = { 0 }, other = { 0 };
	add(&key, 3, 1000, 65536);
	add(&other, 1, 100000, 65536);
	struct bp_interval exact = part(&key, &other, 65536, 103000);
	assert_true(exact.exact && exact.low == 3000 && exact.estimate == 3000);
	assert_true(exact.high == 3000);
	struct bp_sums all = { 0 };
	bp_sums_add(&all, 8, 8, 1, 1, true);
	assert_true(part(&all, &all, 1, 16).exact);
}

/* Fewer bytes than were sampled: the total is wrong (lost counters), and is left out. */
static void test_impossible_total(void **state)
{
	(void)state;
	struct bp_sums key = { 0 }, other = { 0 };
	add(&key, 3, 1000, 65536);
	add(&other, 1, 100000, 65536);
	struct bp_interval believed = part(&key, &other, 65536, 102999);
	struct bp_interval alone = bp_estimate_bytes(&key, 65536, 0.05);
	assert_true(believed.low == alone.low && believed.high == alone.high);
	assert_true(believed.estimate == alone.estimate && !believed.exact);
}

/* After a kill: the lower limit with the smaller total, the upper with the larger. */
static void test_total_within_limits(void **state)
{
	(void)state;
	struct bp_sums key = { 0 }, other = { 0 };
	add(&key, 10, 48, 65536);
	add(&other, 30, 48, 65536);
	struct bp_interval small = part(&key, &other, 65536, 2000000);
	struct bp_interval large = part(&key, &other, 65536, 3000000);
	struct bp_interval killed =
		bp_estimate_known_total(&key, &other, 65536, 2000000, 3000000, 0.05);
	assert_true(killed.low == small.low && killed.high == large.high && !killed.exact);
	/* The uncalibrated sum, 40 x 65560, lies between the two: no correction. */
	expect_near("estimate", killed.estimate, key.bytes + key.c1, 1e-13);
	/* Nothing is known of the total but that it is not negative: still an interval. */
	struct bp_interval open = bp_estimate_known_total(&key, &other, 65536, 0, UINT64_MAX, 0.05);
	assert_true(open.low == key.bytes && open.high > large.high);
}

static void test_objects(void **state)
{
	(void)state;
	struct bp_sums key = { 0 }, other = { 0 };
	add(&key, 10, 63, 65536);
	add(&other, 30, 63, 65536);
	struct bp_interval objects = bp_estimate_known_objects(
		&key, &other, 65536, 40000, 40000, 0.05, (struct bp_size_min){ 63, 63 }, 1);
	struct bp_interval bytes = part(&key, &other, 65536, 40000 * 63);
	expect_near("estimate", objects.estimate, 10000, 1e-12);
	expect_near("low", objects.low, bytes.low / 63, 1e-3);
	expect_near("high", objects.high, bytes.high / 63, 1e-3);
	assert_true(bp_estimate_known_objects(
			    &key, &other, 65536, 39, 39, 0.05, (struct bp_size_min){ 63, 63 }, 1)
			    .high == bp_estimate_objects(&key, 65536, 0.05, 63, 1).high);
	/* The more may be unseen under a key, the higher is its upper limit; and what may be unseen
	 * beside it takes away from its lower one. */
	struct bp_interval any = bp_estimate_known_objects(
		&key, &other, 65536, 40000, 40000, 0.05, (struct bp_size_min){ 0, 63 }, 1);
	assert_true(any.high > objects.high && any.low == objects.low);
	any = bp_estimate_known_objects(
		&key, &other, 65536, 40000, 40000, 0.05, (struct bp_size_min){ 63, 0 }, 1);
	assert_true(any.high == objects.high && any.low < objects.low);
}

static void test_order(void **state)
{
	(void)state;
	static const uint64_t sizes[] = { 0, 16, 3000, 60000, 70000, 50000000 };
	static const double factors[] = { 0, 1e-6, 0.3, 0.9, 1, 1.1, 3, 100 };
	for (unsigned mask = 0; mask < 1U << (2 * BP_COUNT(sizes)); mask += 7) {
		struct bp_sums key = { 0 }, other = { 0 };
		for (unsigned i = 0; i < BP_COUNT(sizes); i++) {
			add(&key, (mask >> i & 1) * (1 + i % 3), sizes[i], 65536);
			add(&other, (mask >> (i + BP_COUNT(sizes)) & 1) * (1 + i % 4), sizes[i],
				65536);
		}
		double sampled = key.bytes + other.bytes;
		uint64_t total = (uint64_t)(sampled + factors[mask % 8] * (key.c1 + other.c1));
		struct bp_interval interval = part(&key, &other, 65536, total);
		assert_true(key.bytes <= interval.low && interval.low <= interval.estimate);
		assert_true(interval.estimate <= interval.high);
		assert_true(interval.high <= (double)total - other.bytes);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tiny_objects_are_clopper_pearson),
		cmocka_unit_test(test_parts_add_up),
		cmocka_unit_test(test_narrower_than_alone),
		cmocka_unit_test(test_no_sample_of_the_key),
		cmocka_unit_test(test_nothing_unsampled),
		cmocka_unit_test(test_impossible_total),
		cmocka_unit_test(test_total_within_limits),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_order),
	};
	return cmocka_run_group_tests_name("estimate known total", tests, NULL, NULL);
}
