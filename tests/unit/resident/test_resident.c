/* SPDX-License-Identifier: MIT */
/*
 * Resident memory: the bound of its table, what stands beside a moment, and the arithmetic that
 * takes it apart, on a profile where every object is known; and distributions on the same profile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "aggregation/views/distribution.h"
#include "resident/explained.h"
#include "resident/resident.h"
#include "small_profile.h"

#define CAPACITY 16u

static void table_stays_within_its_bound(void **state)
{
	struct bp_resident resident = { .period_ns = 100 };
	resident.points = calloc(CAPACITY, sizeof *resident.points);
	(void)state;
	assert_non_null(resident.points);
	for (uint64_t i = 1; i <= 10000; i++) {
		/* (As the poller does: no sooner than a period after the last one.) */
		const uint64_t last =
			resident.count > 0 ? resident.points[resident.count - 1].time_ns : 0;
		const struct bp_resident_point point = { .time_ns = i * 100, .anonymous = i };
		if (point.time_ns < last + resident.period_ns)
			continue;
		bp_resident_add(&resident, &point, CAPACITY);
		assert_true(resident.count <= CAPACITY);
	}
	assert_true(resident.count >= CAPACITY / 2 - 1);
	assert_int_equal(resident.points[0].time_ns, 100); /* the first one stays */
	for (uint32_t i = 1; i < resident.count; i++)
		assert_int_equal(resident.points[i].time_ns - resident.points[i - 1].time_ns,
			resident.period_ns);
	assert_true(resident.points[resident.count - 1].time_ns + resident.period_ns > 1000000);
	/* Time that does not go on adds nothing. */
	const uint32_t count = resident.count;
	bp_resident_add(&resident, &resident.points[0], CAPACITY);
	assert_int_equal(resident.count, count);
	bp_resident_finish(&resident);
}

static struct bp_resident_point points[] = {
	{ .time_ns = SMALL_BASE_NS + 1 * (uint64_t)SMALL_SECOND,
		.anonymous = 1000,
		.file = 10,
		.stack = 5,
		.high = 1010 },
	{ .time_ns = SMALL_BASE_NS + 5 * (uint64_t)SMALL_SECOND + SMALL_SECOND / 2,
		.anonymous = 3000,
		.file = 20,
		.shared = 3,
		.stack = 7,
		.high = 3100 },
	{ .time_ns = SMALL_BASE_NS + 9 * (uint64_t)SMALL_SECOND,
		.anonymous = 90,
		.file = 20,
		.stack = 7,
		.high = 3100 },
};

static struct bp_resident of(const struct bp_profile *profile)
{
	return (struct bp_resident){ .points = points,
		.count = 3,
		.pid = profile->processes.data[profile->root.i].pid,
		.period_ns = SMALL_SECOND,
		.uncertain_bytes = 4,
		.most_bytes = 3200 };
}

static void moments_are_found(void **state)
{
	struct bp_profile profile;
	struct bp_known_total around;
	(void)state;
	small_exact(&profile);
	const struct bp_resident resident = of(&profile);
	assert_true(bp_resident_around(&resident, points[1].time_ns - 1, &around));
	assert_int_equal(around.high, 3100); /* to which the mark rose by the second look */
	assert_int_equal(around.low, 3023);  /* the one before is too long ago */
	assert_true(bp_resident_around(&resident, points[0].time_ns - SMALL_SECOND, &around));
	assert_int_equal(around.high, 1010);
	assert_true(bp_resident_around(&resident, points[2].time_ns, &around));
	assert_int_equal(around.high, 110); /* the mark did not rise any more before that look */
	assert_true(bp_resident_around(&resident, points[2].time_ns + 1, &around));
	assert_int_equal(around.high, 3200); /* but behind it */
	assert_int_equal(around.low, 110);
	assert_false(bp_resident_around(
		&resident, points[2].time_ns + 3 * (uint64_t)SMALL_SECOND, &around));
	assert_ptr_equal(bp_resident_highest(&resident), &points[1]);
	const struct bp_resident nothing = { 0 };
	assert_false(bp_resident_around(&nothing, 5, &around));
	assert_null(bp_resident_highest(&nothing));
	bp_profile_finish(&profile);
}

static void parts_add_up(void **state)
{
	struct bp_profile profile;
	struct bp_reconciled moments[BP_RECONCILED_COUNT];
	struct bp_known_total peak;
	const struct bp_query query = { .metric = BP_METRIC_ALLOCATED, .by = BP_KEY_SIZE };
	(void)state;
	struct bp_process_id process = small_exact(&profile);
	profile.processes.data[process.i].recorder_bytes = 11;
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	const struct bp_resident resident = of(&profile);
	assert_true(bp_reconcile(&aggregation, &resident, moments));
	const struct bp_reconciled *highest = &moments[BP_RECONCILED_HIGHEST];
	assert_true(highest->live.interval.exact);
	assert_true(highest->rest.low == 3000 - 4 - highest->live.interval.estimate - 11 - 7);
	assert_true(highest->rest.high == 3000 + 4 - highest->live.interval.estimate);
	assert_true(highest->rest.unknown); /* limits that follow from limits are no estimate */
	/* Less is resident than lives: some of it was never touched. */
	const struct bp_reconciled *last = &moments[BP_RECONCILED_LAST];
	small_assert_exact(last->live, 100 + 30 + 7);
	assert_true(last->rest.high == 90 + 4 - 137 && last->rest.high < 0);
	assert_true(
		last->rest.low <= last->rest.estimate && last->rest.estimate <= last->rest.high);
	assert_true(bp_resident_peak(&resident, &profile, &peak));
	assert_int_equal(peak.low, 3200);
	profile.processes.data[process.i].forks = 1; /* ru_maxrss may be the child's then */
	assert_true(bp_resident_peak(&resident, &profile, &peak));
	assert_int_equal(peak.low, 3100);
	assert_int_equal(peak.high, 3200);
	struct bp_resident other = resident;
	other.pid++;
	assert_false(bp_reconcile(&aggregation, &other, moments));
	assert_false(bp_reconcile(&aggregation, NULL, moments));
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

static void distributions_sum_up(void **state)
{
	struct bp_profile profile;
	struct bp_distribution distribution;
	struct bp_error error;
	const struct bp_query query = { .metric = BP_METRIC_ALLOCATED, .by = BP_KEY_SIZE };
	double live = 0, freed = 0, censored = 0, times = 0;
	(void)state;
	small_exact(&profile);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	assert_true(bp_distribution_make(&aggregation, 7, &distribution, &error));
	small_assert_exact(distribution.sizes[3].allocated.bytes, 7); /* 4 to 7 */
	small_assert_exact(distribution.sizes[5].allocated.bytes, 30);
	small_assert_exact(distribution.sizes[6].allocated.bytes, 50);
	small_assert_exact(distribution.sizes[7].allocated.bytes, 164); /* 64 to 127 */
	small_assert_exact(distribution.sizes[7].allocated.objects, 2);
	assert_int_equal(distribution.sizes[7].low, 64);
	assert_int_equal(distribution.sizes[7].high, 127);
	for (unsigned i = 0; i < BP_SIZE_RANGES; i++)
		live += distribution.sizes[i].live.bytes.interval.estimate;
	for (unsigned i = 0; i < BP_AGE_RANGES; i++) {
		freed += distribution.ages[i].freed.bytes.interval.estimate;
		censored += distribution.ages[i].censored.bytes.interval.estimate;
	}
	for (uint32_t i = 0; i < distribution.time_count; i++)
		times += distribution.times[i].allocated.bytes.interval.estimate;
	assert_true(live == 137 && censored == 137 && freed == 114 && times == 251);
	small_assert_exact(distribution.freed.bytes, 114);
	small_assert_exact(distribution.censored.bytes, 137);
	bp_distribution_finish(&distribution);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

static void little_is_explained(void **state)
{
	const uint64_t mib = 1 << 20;
	const struct {
		uint64_t high, resident, apart;
		bool little;
	} cases[] = { { 49 * mib, 269 * mib, 0, true }, { 134 * mib, 269 * mib, 0, true },
		{ 135 * mib, 269 * mib, 0, false },
		/* The recorder's own memory is no reason. */
		{ 40 * mib, 90 * mib, 20 * mib, false },
		/* Nor is the code of a small program. */
		{ 1 * mib, 16 * mib, 0, false }, { 1 * mib, 17 * mib, 0, true },
		{ 1 * mib, 10 * mib, 20 * mib, false } };
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct bp_interval live = { 0, 0, (double)cases[i].high, false, false };
		assert_int_equal(bp_explains_little(&live, cases[i].resident, cases[i].apart),
			cases[i].little);
	}
}

static void heaps_by_the_names_of_files(void **state)
{
	const bp_own_heaps python = 1u << BP_OWN_HEAP_PYTHON, v8 = 1u << BP_OWN_HEAP_V8;
	(void)state;
	assert_int_equal(bp_own_heaps_of_file("/usr/bin/python3.11", true), python);
	assert_int_equal(bp_own_heaps_of_file("/usr/lib/libpython3.11.so.1.0", false), python);
	assert_int_equal(bp_own_heaps_of_file("/usr/lib/python3.so", false), 0);
	assert_int_equal(bp_own_heaps_of_file("node", true), v8);
	assert_int_equal(bp_own_heaps_of_file("/opt/node/libcrypto.so", false), 0);
	assert_int_equal(
		bp_own_heaps_of_file("/usr/lib/jvm/libjvm.so", false), 1u << BP_OWN_HEAP_JVM);
	for (int heap = 0; heap < BP_OWN_HEAP_COUNT; heap++) {
		assert_non_null(bp_own_heap_name((enum bp_own_heap)heap));
		assert_non_null(bp_own_heap_text((enum bp_own_heap)heap));
		assert_non_null(bp_own_heap_remedy((enum bp_own_heap)heap));
	}
}

/* What a limit may be on, with what the kernel's counters may be off. */
static void figures_of_the_kernel(void **state)
{
	struct bp_profile profile;
	struct bp_known_total found;
	(void)state;
	small_exact(&profile);
	const struct bp_resident resident = of(&profile), nothing = { 0 };
	assert_true(bp_resident_figure(BP_RESIDENT_LAST, &resident, &profile, &found));
	assert_true(found.low == 110 - 12 && found.high == 110 + 12);
	assert_true(bp_resident_figure(BP_RESIDENT_SWAP, &resident, &profile, &found));
	assert_true(found.low == 0 && found.high == 0);
	assert_true(bp_resident_figure(BP_RESIDENT_MOST, &resident, &profile, &found));
	assert_true(found.low >= 3100 && found.high == 3200);
	for (int metric = 1; metric < BP_RESIDENT_METRICS; metric++)
		assert_false(bp_resident_figure(
			(enum bp_resident_metric)metric, &nothing, &profile, &found));
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_stays_within_its_bound),
		cmocka_unit_test(moments_are_found),
		cmocka_unit_test(parts_add_up),
		cmocka_unit_test(distributions_sum_up),
		cmocka_unit_test(little_is_explained),
		cmocka_unit_test(heaps_by_the_names_of_files),
		cmocka_unit_test(figures_of_the_kernel),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
