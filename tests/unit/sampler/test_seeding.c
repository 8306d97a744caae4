/* SPDX-License-Identifier: MIT */
/*
 * No two threads, and no two processes, share a stream. A thread's generator is seeded from the
 * process's key and the thread's ordinal as src/target/recorder/thread.c does it: SplitMix64 of the
 * key, plus the ordinal, expanded by SplitMix64 again.
 *
 * False alarms, were the seeds not fixed: two of 10^6 right first outputs agree with probability
 * 2.7e-8; the dispersion of 2000 short samplers leaves 1 +- .155 with 1e-6 (docs/statistics.md,
 * "Seeding test"); their mean leaves |z| < 6 with 2e-9. Seeds that repeat, as seeds made of
 * recycled addresses do, are planted and must be found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "bytepoll/sampler.h"
#include "goodness.h"
#include "sampler/prng.h"

#define KEYS 1000
#define ORDINALS 1000
#define SAMPLERS 2000

static uint64_t seed_of_thread(uint64_t key, uint32_t ordinal)
{
	return bp_splitmix64(&key) + ordinal;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* Keys in a row (the worst a user's seeds can be) and keys far apart. */
static uint64_t key_of(unsigned i, bool random)
{
	uint64_t state = i;
	return random ? bp_splitmix64(&state) : i;
}

static unsigned count_equal(uint64_t *values, size_t count)
{
	unsigned equal = 0;
	qsort(values, count, sizeof *values, compare);
	for (size_t i = 1; i < count; i++)
		equal += values[i] == values[i - 1];
	return equal;
}

static void first_outputs_are_distinct(void **state)
{
	uint64_t *first = malloc(KEYS * ORDINALS * sizeof *first);
	(void)state;
	assert_non_null(first);
	for (int random = 0; random < 2; random++) {
		size_t n = 0;
		for (unsigned key = 0; key < KEYS; key++)
			for (uint32_t ordinal = 1; ordinal <= ORDINALS; ordinal++) {
				uint64_t generator[4];
				bp_random_seed(
					generator, seed_of_thread(key_of(key, random), ordinal));
				first[n++] = bp_random_next(generator);
			}
		assert_int_equal(count_equal(first, n), 0);
	}
	free(first);
}

/* Not even shifted against each other: the first outputs of 3000 threads, 300 each. */
static void streams_do_not_overlap(void **state)
{
	enum { THREADS = 3000, OUTPUTS = 300 };
	uint64_t *outputs = malloc(THREADS * OUTPUTS * sizeof *outputs);
	size_t n = 0;
	(void)state;
	assert_non_null(outputs);
	for (uint32_t i = 0; i < THREADS; i++) {
		uint64_t generator[4];
		bp_random_seed(generator, seed_of_thread(42 + i / 1000, i % 1000 + 1));
		for (int k = 0; k < OUTPUTS; k++)
			outputs[n++] = bp_random_next(generator);
	}
	assert_int_equal(count_equal(outputs, n), 0);
	free(outputs);
}

/* Known first outputs of the generators: SplitMix64 of 1234567 (its authors' test values), and
 * xoshiro256++ from the state 1, 2, 3, 4. */
static void generators_are_the_published_ones(void **state)
{
	uint64_t seed = 1234567;
	uint64_t generator[4] = { 1, 2, 3, 4 };
	(void)state;
	assert_true(bp_splitmix64(&seed) == 6457827717110365317u);
	assert_true(bp_splitmix64(&seed) == 3203168211198807973u);
	assert_true(bp_random_next(generator) == 41943041u);
	assert_true(bp_random_next(generator) == 58720359u);
	assert_true(bp_random_next(generator) == 3588806011781223u);
}

/* Samples of one short thread: objects of 31 bytes, T = 4096, some 12 samples. */
static unsigned samples_of(uint64_t seed)
{
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	struct bp_decision decision;
	unsigned samples = 0;
	bp_sampler_init(&sampler, seed, 4096, BP_SAMPLER_EXACT);
	for (int i = 0; i < 1500; i++)
		if (bp_sampler_crosses(&hot, 31)) {
			hot.trials_left =
				bp_sampler_decide(&sampler, hot.trials_left, 31, &decision);
			samples += decision.sampled;
		}
	return samples;
}

/* Dispersion of the counts, 1 for independent streams; `ret_z`: score of their sum. */
static double dispersion(uint64_t (*seed_of)(uint32_t), double *ret_z)
{
	double counts[SAMPLERS], sum = 0, squares = 0;
	const double pi = inclusion(32, 4096), expected = 1500 * pi;
	for (uint32_t i = 0; i < SAMPLERS; i++) {
		counts[i] = samples_of(seed_of(i));
		sum += counts[i];
	}
	const double mean = sum / SAMPLERS;
	for (int i = 0; i < SAMPLERS; i++)
		squares += (counts[i] - mean) * (counts[i] - mean);
	*ret_z = (sum - SAMPLERS * expected) / sqrt(SAMPLERS * expected * (1 - pi));
	return mean == 0 ? 0 : squares / (mean * (1 - pi)) / (SAMPLERS - 1);
}

static uint64_t threads_of_one_process(uint32_t i)
{
	return seed_of_thread(77, i + 1);
}

static uint64_t first_threads_of_forks(uint32_t i)
{
	return seed_of_thread(i, 1);
}

/* As a seed made of the address of a thread's stack: sixteen values, over and over. */
static uint64_t recycled_addresses(uint32_t i)
{
	return 0x7f0000000000u + i % 16 * 0x800000u;
}

static void short_threads_disperse(void **state)
{
	double z, d;
	(void)state;
	d = dispersion(threads_of_one_process, &z);
	print_message("# threads: dispersion %.3f, z %+.2f\n", d, z);
	assert_true(fabs(d - 1) < 0.155 && fabs(z) < 6);
	d = dispersion(first_threads_of_forks, &z);
	print_message("# forks: dispersion %.3f, z %+.2f\n", d, z);
	assert_true(fabs(d - 1) < 0.155 && fabs(z) < 6);
	d = dispersion(recycled_addresses, &z);
	print_message("# recycled addresses: dispersion %.3f, z %+.2f\n", d, z);
	assert_true(fabs(d - 1) >= 0.155 || fabs(z) >= 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_outputs_are_distinct),
		cmocka_unit_test(streams_do_not_overlap),
		cmocka_unit_test(generators_are_the_published_ones),
		cmocka_unit_test(short_threads_disperse),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
