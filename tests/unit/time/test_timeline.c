/* SPDX-License-Identifier: MIT */
/*
 * The peak. At T = 1 it is compared with a search through every moment; at larger T the
 * cross-fitted estimate must be free of the upward bias that the maximum of the estimated curve has
 * on a flat heap. The statistical test uses recorded seeds and states its false-alarm rate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "small_profile.h"
#include "time/timeline.h"

/* splitmix64: all the randomness of these tests. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15u;
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static double uniform(uint64_t *state)
{
	return ((double)(next_random(state) >> 11) + 1) * 0x1p-53;
}

/* Largest live sum over all moments of birth, the slow way. */
static double largest(const struct bp_profile *profile, const struct bp_view *view)
{
	double most = 0;
	for (uint32_t i = 1; i < profile->samples.count; i++) {
		const struct bp_sample born = bp_profile_sample(profile, i);
		struct bp_moment moment = bp_view_birth(&born);
		double sum = 0;
		for (uint32_t j = 1; j < profile->samples.count; j++) {
			const struct bp_sample other = bp_profile_sample(profile, j);
			if (bp_view_is_live(view, &other, &moment))
				sum += (double)other.size;
		}
		most = fmax(most, sum);
	}
	return most;
}

static void peak_equals_a_search(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t random = seed;
		struct bp_profile profile;
		struct bp_query query = { 0 };
		struct bp_view view;
		struct bp_error error;
		small_init(&profile);
		struct bp_process_id process[3];
		process[0] = small_process(&profile, 1, 1, 0, 0, 10, 1);
		process[1] = small_process(&profile, 2, 2, 1, 2, 5, 1);
		process[2] = small_process(&profile, 3, 3, 1, 3, 12, 1);
		struct bp_stack_id stack = small_stack(&profile, "work;main");
		for (unsigned i = 0; i < 300; i++) {
			/* Few moments, so that many events share one. */
			double time_s = 3 + 0.05 * (double)(next_random(&random) % 40);
			double free_s = time_s + 0.05 * (double)(next_random(&random) % 40);
			bool kept = next_random(&random) % 8 == 0;
			small_sample(&profile, process[next_random(&random) % 3], stack,
				next_random(&random) % 1000, time_s, kept ? -1 : free_s);
		}
		struct bp_aggregation a = small_aggregate(&profile, &query);
		assert_true(bp_view_init(&view, &profile, &query, &error));
		struct bp_interval peak = a.totals[BP_METRIC_PEAK].bytes.interval;
		assert_true(peak.exact);
		assert_true(peak.estimate == largest(&profile, &view));
		bp_view_finish(&view);
		bp_aggregation_finish(&a);
		bp_profile_finish(&profile);
	}
}

/* Each half must be a sample with the inclusion probability it is weighted by. */
static void halves_are_samples(void **state)
{
	enum { DRAWS = 200000 };
	struct bp_sample sample = { .size = 3000, .interval = 4096, .process = { 1 } };
	unsigned in[2] = { 0 }, both = 0;
	(void)state;
	struct bp_weight_cache *cache = calloc(1, sizeof *cache);
	const struct bp_sample_weight *weight;
	struct bp_half_split split = bp_split_in_halves(3001, 4096, false);
	double whole = bp_inclusion_probability(3001, 4096);
	assert_non_null(cache);
	for (unsigned i = 0; i < DRAWS; i++) {
		sample.sequence = i;
		sample.time_ns = SMALL_BASE_NS + 1000 * i;
		weight = bp_sample_weight(cache, &sample, 1, false);
		bool first = bp_sample_in_half(&sample, weight, 0);
		bool second = bp_sample_in_half(&sample, weight, 1);
		assert_true(first || second);
		in[0] += first;
		in[1] += second;
		both += first && second;
		assert_true(weight->halves.inclusion == split.inclusion);
		assert_true(fabs(weight->whole * whole - 1) < 1e-12);
	}
	/* |z| < 6 each, three times: false alarm 6e-9 for a hash that is as good as random. */
	double expected = split.inclusion / whole;
	for (int half = 0; half < 2; half++) {
		double z = (in[half] - DRAWS * expected) / sqrt(DRAWS * expected * (1 - expected));
		assert_true(fabs(z) < 6);
	}
	double z = (both - DRAWS * split.both) / sqrt(DRAWS * split.both * (1 - split.both));
	assert_true(fabs(z) < 6);
	sample.exact = true;
	weight = bp_sample_weight(cache, &sample, 1, false);
	assert_true(weight->whole == 1 && weight->halves.inclusion == 1);
	assert_true(bp_sample_in_half(&sample, weight, 0) && bp_sample_in_half(&sample, weight, 1));
	free(cache);
}

/* Many more kinds of samples than places in the cache: each has its own weight all the same. */
static void weights_are_not_mixed_up(void **state)
{
	struct bp_weight_cache *cache = calloc(1, sizeof *cache);
	uint64_t random = 7;
	(void)state;
	assert_non_null(cache);
	for (unsigned i = 0; i < 100000; i++) {
		struct bp_sample sample = { .size = next_random(&random) % 300,
			.usable = next_random(&random) % 3 * 320,
			.interval = 1 + next_random(&random) % 300,
			.exact = next_random(&random) % 2 };
		bool usable = next_random(&random) % 2;
		const struct bp_sample_weight *weight = bp_sample_weight(cache, &sample, 1, usable);
		struct bp_sums sums = { 0 };
		bp_sums_add(&sums, bp_sample_value(&sample, usable), sample.size, 1,
			sample.interval, sample.exact);
		sums.interval_max = 0; /* is the aggregation's to say */
		assert_memory_equal(&sums, &weight->sums, sizeof sums);
		double pi = sample.exact
				    ? 1
				    : bp_inclusion_probability(sample.size + 1, sample.interval);
		assert_true(fabs(weight->whole * pi - 1) < 1e-12);
	}
	free(cache);
}

/* A flat heap of 50 T of objects of T/8, replaced one after the other 20 times over. */
static void add_flat_heap(struct bp_profile *profile, uint64_t *random)
{
	enum { INTERVAL = 4096, SIZE = 511, LIVE = 400, TURNOVERS = 20 };
	struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 100, INTERVAL);
	struct bp_stack_id stack = small_stack(profile, "work;main");
	double inclusion = bp_inclusion_probability(SIZE + 1, INTERVAL);
	for (unsigned i = 0; i < LIVE * (TURNOVERS + 1); i++)
		if (uniform(random) < inclusion)
			small_sample(profile, process, stack, SIZE, 1 + 0.001 * i,
				1 + 0.001 * (i + LIVE));
}

static void cross_fit_has_no_upward_bias(void **state)
{
	enum { RUNS = 200 };
	const double truth = 400 * 511;
	double sum = 0, squares = 0, naive_sum = 0;
	unsigned low_misses = 0, high_misses = 0;
	uint64_t random = 20261121;
	(void)state;
	for (unsigned run = 0; run < RUNS; run++) {
		struct bp_profile profile;
		struct bp_query query = { .metric = BP_METRIC_PEAK };
		struct bp_row row;
		small_init(&profile);
		add_flat_heap(&profile, &random);
		/* Nothing is counted: no limit but the samples. */
		profile.processes.data[1].bytes_allocated.high = UINT64_MAX / 2;
		profile.processes.data[1].objects_allocated.high = UINT64_MAX / 2;
		struct bp_aggregation a = small_aggregate(&profile, &query);
		const struct bp_total *peak = &a.totals[BP_METRIC_PEAK];
		struct bp_interval bytes = peak->bytes.interval;
		double naive = (double)peak->samples * 511 / bp_inclusion_probability(512, 4096);
		sum += bytes.estimate;
		squares += bytes.estimate * bytes.estimate;
		naive_sum += naive;
		low_misses += truth < bytes.low;
		high_misses += truth > bytes.high;
		/* The rows are of the named moment, which is the plain maximum. */
		bp_aggregation_row(&a, 0, &row);
		assert_true(fabs(row.bytes.interval.estimate - naive) < 1e-6 * truth);
		assert_true(a.peak_moment.bytes.interval.estimate == row.bytes.interval.estimate);
		bp_aggregation_finish(&a);
		bp_profile_finish(&profile);
	}
	double mean = sum / RUNS, error = sqrt((squares / RUNS - mean * mean) / RUNS);
	/* In expectation at most the truth: one-sided 4.5 standard errors, false alarm 4e-6. */
	assert_true(mean < truth + 4.5 * error);
	assert_true(mean > 0.85 * truth);
	/* The test bites: the plain maximum is far too large. */
	assert_true(naive_sum / RUNS > 1.2 * truth);
	/* 5 expected at 2.5 %; 17 or more of 200 have a probability of 2e-5. */
	assert_true(low_misses < 17 && high_misses < 17);
}

static void the_timeline_follows_the_heap(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_moment_figures moments[11];
	struct bp_error error;
	static const double expected[11] = { 0, 100, 150, 150, 100, 100, 100, 100, 100, 100, 100 };
	(void)state;
	small_init(&profile);
	struct bp_process_id process = small_process(&profile, 1, 1, 0, 0, 10, 1);
	struct bp_stack_id stack = small_stack(&profile, "work;main");
	small_sample(&profile, process, stack, 100, 1, -1);
	small_sample(&profile, process, stack, 50, 1.5, 3.5);
	struct bp_aggregation aggregation = small_aggregate(&profile, &query);
	assert_true(bp_aggregation_timeline(&aggregation, 11, moments, &error));
	for (unsigned i = 0; i < 11; i++) {
		assert_int_equal(moments[i].time_ns, i * (uint64_t)SMALL_SECOND);
		small_assert_exact(moments[i].bytes, expected[i]);
	}
	small_assert_exact(moments[10].objects, 1);
	bp_aggregation_finish(&aggregation);
	bp_profile_finish(&profile);
}

/* The peak, of so many samples, in a window that begins at a time. */
static void assert_peak_from(
	struct bp_profile *profile, double from_s, double bytes, uint64_t at_ns, uint64_t samples)
{
	struct bp_query query = { .metric = BP_METRIC_PEAK,
		.has_from = true,
		.from_ns = (uint64_t)(from_s * SMALL_SECOND) };
	struct bp_aggregation aggregation = small_aggregate(profile, &query);
	const struct bp_total *peak = &aggregation.totals[BP_METRIC_PEAK];
	small_assert_exact(peak->bytes, bytes);
	assert_int_equal(peak->samples, samples);
	assert_int_equal(aggregation.peak_at_ns, at_ns);
	bp_aggregation_finish(&aggregation);
}

/* What was never freed dies with its process, and is not there for a window that begins later. */
static void a_window_after_the_end_is_empty(void **state)
{
	(void)state;
	for (int tied = 0; tied < 2; tied++) {
		struct bp_profile profile;
		small_init(&profile);
		struct bp_process_id process = small_process(&profile, 1, 1, 0, 0, 10, 1);
		struct bp_stack_id stack = small_stack(&profile, "work;main");
		small_sample(&profile, process, stack, 100, 1, -1);
		small_sample(&profile, process, stack, 50, 1.5, 3.5);
		small_sample(&profile, process, stack, 20, 1.5, 12);
		/* Two deaths at one moment: then all of them are sorted anew. */
		if (tied) {
			const uint64_t sequence =
				profile.added.data[profile.added.count - 1].free_sequence;
			small_sample(&profile, process, stack, 5, 2, 12)->free_sequence = sequence;
		}
		const double end = tied ? 125 : 120;
		/* Its end is the last thing known of it: the second 12. */
		assert_peak_from(&profile, 0, end + 50, (uint64_t)((tied ? 2 : 1.5) * SMALL_SECOND),
			tied ? 4 : 3);
		assert_peak_from(&profile, 4, end, 4 * (uint64_t)SMALL_SECOND, tied ? 3 : 2);
		assert_peak_from(&profile, 12, 100, 12 * (uint64_t)SMALL_SECOND, 1);
		assert_peak_from(&profile, 12.5, 0, BP_TIME_NEVER, 0);
		assert_peak_from(&profile, 1000, 0, BP_TIME_NEVER, 0);
		bp_profile_finish(&profile);
	}
}

static void assert_same_figure(struct bp_interval a, struct bp_interval b)
{
	assert_true(fabs(a.estimate - b.estimate) <= 1e-9 * fabs(b.estimate));
	assert_true(fabs(a.low - b.low) <= 1e-9 * fabs(b.low));
	assert_true(fabs(a.high - b.high) <= 1e-9 * fabs(b.high));
}

/* Every moment of the timeline is what metric live shows for that moment, under both laws. */
static void the_timeline_is_live_at_every_moment(void **state)
{
	enum { MOMENTS = 37 };
	struct bp_moment_figures moments[MOMENTS];
	struct bp_error error;
	uint64_t random = 12345;
	(void)state;
	for (int law = 0; law < 2; law++) {
		struct bp_profile profile;
		struct bp_query query = { 0 };
		small_init(&profile);
		struct bp_process_id process = small_process(&profile, 1, 1, 0, 0, 36, 4096);
		struct bp_stack_id stack = small_stack(&profile, "work;main");
		for (int i = 0; i < 300; i++) {
			random = bp_hash_u64(random + 1);
			/* Some on the moments themselves, some never freed. */
			double birth = (double)(random % 360) / 10;
			double life = (double)(random >> 20 & 255) / 20;
			uint64_t size = 1 + (random >> 32) % (i % 7 == 0 ? 60000 : 3000);
			struct bp_sample *sample = small_sample(&profile, process, stack, size,
				birth, birth + life < 36 ? birth + life : -1);
			sample->exact = law == 0 && size + 1 >= 4096;
			sample->bernoulli = law == 1;
		}
		struct bp_aggregation whole = small_aggregate(&profile, &query);
		assert_true(bp_aggregation_timeline(&whole, MOMENTS, moments, &error));
		for (unsigned i = 0; i < MOMENTS; i++) {
			struct bp_aggregation at;
			struct bp_query one = { .has_at = true, .at_ns = moments[i].time_ns };
			assert_int_equal(moments[i].time_ns, i * (uint64_t)SMALL_SECOND);
			assert_true(bp_aggregate(&profile, &one, &at, &error));
			const struct bp_total *live = &at.totals[BP_METRIC_LIVE];
			assert_int_equal(moments[i].samples, live->samples);
			assert_same_figure(moments[i].bytes.interval, live->bytes.interval);
			assert_same_figure(moments[i].objects.interval, live->objects.interval);
			bp_aggregation_finish(&at);
		}
		bp_aggregation_finish(&whole);
		bp_profile_finish(&profile);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(peak_equals_a_search),
		cmocka_unit_test(halves_are_samples),
		cmocka_unit_test(weights_are_not_mixed_up),
		cmocka_unit_test(cross_fit_has_no_upward_bias),
		cmocka_unit_test(the_timeline_follows_the_heap),
		cmocka_unit_test(a_window_after_the_end_is_empty),
		cmocka_unit_test(the_timeline_is_live_at_every_moment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
