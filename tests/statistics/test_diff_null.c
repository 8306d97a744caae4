/* SPDX-License-Identifier: MIT */
/*
 * Differences end to end, without a recorder: profiles filled by the real sampler from programs
 * whose heap is known, compared by the library as `bytepoll diff` does.
 *
 * Null: 1000 comparisons of a program of 100 keys with itself (seeds 1 to 2000), under both laws,
 * with 1 to 100 expected samples a key, sizes of one kind and mixed, below and above T, in one
 * design in other sizes of equal bytes on the two sides. A comparison with any verdict is a false
 * alarm; the rate stated is 5 %. Three runs a side with run totals that vary (lognormal, 20 %) must
 * keep it too, and a comparison of two of these runs that knows of sampling alone must not: that
 * shows that the test sees variation between runs.
 *
 * Power: one of 200 keys grows by 10 %. Tiny objects make its comparison the conditional binomial
 * test, whose power is computed here, without the library, for the p-value 0.05 / 200 which a lone
 * discovery needs.
 *
 * Call paths: 81 keys at the ends of a tree of five levels, each beginning of a stack a question,
 * which overlap. Null as above; and where a third of the tree grows by half, the share of false
 * ones among the verdicts is 5 % on average at most.
 *
 * A rule "at most n of N" fails a correct program with P(binomial(N, rate) >= n + 1) < 1e-9, and
 * n is printed; there are nine such rules, so a whole run fails falsely with less than 1e-8. Seeds
 * are fixed. BYTEPOLL_LONG_TESTS=1 makes ten times as many comparisons.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytepoll/sampler.h"
#include "diff/diff.h"

#define INTERVAL 4096u
#define KEYS_MAX 200
#define RUNS_MAX 6
#define RATE 0.05

/* What one key allocates: objects of `sizes` in turn until `bytes` are reached. */
struct key {
	double bytes;
	uint32_t sizes[3];
	unsigned size_count;
};

struct program {
	struct key keys[KEYS_MAX];
	unsigned key_count;
	uint32_t law;
	bool paths; /* keys are the ends of a tree; compared by call paths */
};

struct outcome {
	bool alarm, total_alarm; /* any verdict in the rows; in the total */
	enum bp_verdict first;	 /* of key 0 */
	unsigned found, wrong; /* call paths with a verdict; of these outside of the first third */
};

static uint64_t scramble(uint64_t x)
{
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
	x = (x ^ x >> 27) * 0x94D049BB133111EBu;
	return x ^ x >> 31;
}

static double uniform(uint64_t *state)
{
	*state += 0x9E3779B97F4A7C15u;
	return ((double)(scramble(*state) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(uniform(state)));
	return radius * cos(2 * M_PI * uniform(state));
}

static struct bp_string_id string(struct bp_profile *profile, const char *text)
{
	struct bp_string_id id;
	struct bp_error error;
	assert_true(bp_profile_string(profile, text, strlen(text), &id, &error));
	return id;
}

#define LEVELS 5 /* of a tree of call paths: three callees each */

/* A stack of one function, key_000 and so on; in a tree with its callers, the outermost "at_0". */
static struct bp_stack_id stack_of(struct bp_profile *profile, unsigned key, bool paths)
{
	struct bp_location_id locations[LEVELS];
	struct bp_stack_id stack;
	struct bp_error error;
	const unsigned levels = paths ? LEVELS : 1;
	for (unsigned level = 0, place = key; level < levels; level++, place /= 3) {
		char name[32];
		snprintf(name, sizeof name, level == 0 ? "key_%03u" : "at_%u", place);
		struct bp_frame frame = { .function = string(profile, name), .named = true };
		assert_true(bp_profile_add_location(profile, (struct bp_module_id){ 0 },
			level * 1000u + place + 1, false, &locations[level], &error));
		assert_true(bp_profile_set_frames(profile, locations[level], &frame, 1, &error));
	}
	assert_true(bp_profile_add_stack(profile, locations, levels, 0, &stack, &error));
	return stack;
}

static struct bp_process_id process_of(struct bp_profile *profile, const struct program *program)
{
	struct bp_process process = { .program = string(profile, "/usr/bin/program"),
		.pid = 1,
		.start_time_ns = 1000,
		.end_time_ns = 1000000000,
		.ended = true,
		.end_reason = 1,
		.profiled = true,
		.law = program->law,
		.charge = BP_SAMPLER_CHARGE,
		.interval_first = INTERVAL,
		.interval_max = INTERVAL,
		.trace_id = { 1 } };
	struct bp_process_id id;
	struct bp_error error;
	assert_true(bp_profile_add_process(profile, &process, &id, &error));
	return id;
}

/* Allocates everything of one key, sampled. */
static void run_key(struct bp_profile *profile, const struct key *key, double scale, uint64_t seed,
	uint32_t law, struct bp_sample sample)
{
	struct bp_sampler sampler;
	struct bp_sampler_hot hot = { 0 };
	struct bp_decision decision;
	struct bp_error error;
	double left = key->bytes * scale;
	bp_sampler_init(&sampler, seed, INTERVAL, law);
	for (unsigned i = 0; left > 0; i++) {
		uint32_t size = key->sizes[i % key->size_count];
		left -= size;
		if (!bp_sampler_crosses(&hot, size))
			continue;
		hot.trials_left = bp_sampler_decide(&sampler, hot.trials_left, size, &decision);
		if (!decision.sampled)
			continue;
		sample.size = size;
		sample.interval = decision.interval;
		sample.exact = decision.exact;
		sample.bernoulli = law == BP_SAMPLER_BERNOULLI;
		sample.sequence += 2;
		assert_true(bp_profile_add_sample(profile, &sample, &error));
	}
}

static void run(
	struct bp_profile *profile, const struct program *program, double deviation, uint64_t seed)
{
	struct bp_error error;
	uint64_t state = scramble(seed);
	assert_true(bp_profile_init(profile, &error));
	struct bp_sample sample = { .process = process_of(profile, program),
		.time_ns = 2000,
		.free_time_ns = BP_TIME_NEVER,
		.free_sequence = BP_TIME_NEVER,
		.kind = 1 };
	for (unsigned i = 0; i < program->key_count; i++) {
		double scale = deviation > 0 ? exp(deviation * normal(&state)) : 1;
		sample.stack = stack_of(profile, i, program->paths);
		run_key(profile, &program->keys[i], scale, scramble(seed << 10 | i), program->law,
			sample);
	}
	assert_true(bp_profile_finish_import(profile, false, &error));
}

/* Verdicts of call paths, each question once. */
static void judge_paths(const struct bp_diff *difference, struct outcome *outcome)
{
	for (uint32_t i = 1; i <= bp_diff_path_count(difference); i++) {
		struct bp_diff_path path, above;
		bool first_third = true;
		bp_diff_path(difference, i, &path);
		if (path.same != 0 || path.verdict == BP_VERDICT_UNCLEAR)
			continue;
		/* Of the path itself or of who called it: below the outermost function, is it
		 * at_0? */
		for (above = path; above.caller != 0;) {
			first_third = strcmp(above.name, "at_0") == 0;
			bp_diff_path(difference, above.caller, &above);
		}
		outcome->found++;
		outcome->wrong += !first_third;
	}
}

static struct outcome judge(struct bp_diff *difference)
{
	struct outcome outcome = { .alarm = difference->verdict_count > 0 };
	struct bp_diff_row row;
	bp_diff_total(difference, &row);
	outcome.total_alarm = row.verdict != BP_VERDICT_UNCLEAR;
	for (uint32_t i = 0; i < difference->verdict_count; i++) {
		bp_diff_row(difference, i, &row);
		if (strcmp(row.name, "key_000") == 0)
			outcome.first = row.verdict;
	}
	return outcome;
}

/* Runs both programs so many times a side and compares. */
static struct outcome compare(const struct program *base, const struct program *new, unsigned runs,
	double deviation, uint64_t seed)
{
	struct bp_profile profiles[RUNS_MAX];
	struct bp_aggregation aggregations[RUNS_MAX];
	struct bp_run sides[RUNS_MAX];
	struct bp_query query = { .estimator = BP_ESTIMATOR_HT };
	struct bp_diff_query asked = { .rate = RATE, .paths = base->paths };
	struct bp_diff difference;
	struct bp_error error;
	for (unsigned i = 0; i < 2 * runs; i++) {
		run(&profiles[i], i < runs ? base : new, deviation, 2 * runs * seed + i);
		assert_true(bp_aggregate(&profiles[i], &query, &aggregations[i], &error));
		sides[i] = (struct bp_run){ &aggregations[i], &aggregations[i], 1, "run" };
	}
	assert_true(bp_diff_make(&asked, sides, runs, sides + runs, runs, &difference, &error));
	struct outcome outcome = judge(&difference);
	if (base->paths)
		judge_paths(&difference, &outcome);
	bp_diff_finish(&difference);
	for (unsigned i = 0; i < 2 * runs; i++) {
		bp_aggregation_finish(&aggregations[i]);
		bp_profile_finish(&profiles[i]);
	}
	return outcome;
}

/* ln of the binomial probability. */
static double log_binomial(double n, double k, double rate)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(rate) +
	       (n - k) * log1p(-rate);
}

/* The smallest count that more than `count` trials at this rate exceed with at most `error`. */
static unsigned most_at_rate(unsigned trials, double rate, double error)
{
	double tail = 0;
	unsigned n = trials;
	while (n > 0 && tail + exp(log_binomial(trials, n, rate)) < error)
		tail += exp(log_binomial(trials, n--, rate));
	return n;
}

static unsigned comparisons(unsigned count)
{
	const char *wish = getenv("BYTEPOLL_LONG_TESTS");
	return wish != NULL && *wish != '\0' && strcmp(wish, "0") != 0 ? 10 * count : count;
}

/* 100 keys with 1 to 100 expected samples, geometrically spread. */
static struct program spread_program(uint32_t law, const uint32_t (*sizes)[3], unsigned kinds)
{
	struct program program = { .key_count = 100, .law = law };
	for (unsigned i = 0; i < program.key_count; i++) {
		struct key *key = &program.keys[i];
		key->bytes = INTERVAL * pow(100, i / 99.0);
		memcpy(key->sizes, sizes[i % kinds], sizeof key->sizes);
		while (key->size_count < 3 && key->sizes[key->size_count] != 0)
			key->size_count++;
	}
	return program;
}

static const uint32_t many_sizes[][3] = { { 512 }, { 64, 1000, 3000 }, { 2000 },
	{ 300, 8000, 20000 }, { 6000 }, { 128, 4000 } };
static const uint32_t small_sizes[][3] = { { 256 }, { 250 } };
static const uint32_t other_sizes[][3] = { { 2048 }, { 4000 } };

static void expect_null(const char *name, const struct program *base, const struct program *new,
	unsigned runs, double deviation, unsigned count)
{
	unsigned alarms = 0, total_alarms = 0, trials = comparisons(count);
	unsigned most = most_at_rate(trials, RATE, 1e-9);
	for (unsigned i = 0; i < trials; i++) {
		struct outcome outcome = compare(base, new, runs, deviation, 1 + i);
		alarms += outcome.alarm;
		total_alarms += outcome.total_alarm;
	}
	print_message("# %s: %u of %u comparisons have a false verdict (stated: 5 %%, allowed "
		      "%u); the total alone: %u\n",
		name, alarms, trials, most, total_alarms);
	assert_in_range(alarms, 0, most);
}

static void null_law_exact(void **state)
{
	(void)state;
	struct program program = spread_program(BP_SAMPLER_EXACT, many_sizes, 6);
	expect_null("law exact", &program, &program, 1, 0, 1000);
}

static void null_law_bernoulli(void **state)
{
	(void)state;
	struct program program = spread_program(BP_SAMPLER_BERNOULLI, many_sizes, 6);
	expect_null("law bernoulli", &program, &program, 1, 0, 1000);
}

static void null_other_sizes(void **state)
{
	(void)state;
	struct program base = spread_program(BP_SAMPLER_EXACT, small_sizes, 2);
	struct program new = spread_program(BP_SAMPLER_EXACT, other_sizes, 2);
	/* The same bytes to the byte: whole objects of both sizes. */
	for (unsigned i = 0; i < base.key_count; i++) {
		double unit = new.keys[i].sizes[0];
		double objects = fmax(1, round(base.keys[i].bytes / unit));
		base.keys[i].bytes = new.keys[i].bytes = objects *unit;
	}
	expect_null("equal bytes in other sizes", &base, &new, 1, 0, 300);
}

/* As in the recorded runs of tests/scenario/test_diff.py: many keys of about 20 samples. */
static void null_few_samples(void **state)
{
	(void)state;
	struct program program = { .key_count = KEYS_MAX, .law = BP_SAMPLER_EXACT };
	for (unsigned i = 0; i < KEYS_MAX; i++)
		program.keys[i] = (struct key){
			.bytes = 20 * INTERVAL, .sizes = { 48 + i * i * 74 % 2400 }, .size_count = 1
		};
	expect_null("200 keys of 20 samples", &program, &program, 1, 0, 300);
}

static void null_several_runs(void **state)
{
	(void)state;
	struct program program = spread_program(BP_SAMPLER_EXACT, many_sizes, 6);
	expect_null("3 + 3 runs that vary by 20 %", &program, &program, 3, 0.2, 300);
}

/* 81 keys, from 1 sample to 100 in an order that mixes them over the tree. */
static struct program tree_program(uint32_t law)
{
	struct program program = spread_program(law, many_sizes, 6);
	struct program tree = program;
	tree.key_count = 81;
	tree.paths = true;
	for (unsigned i = 0; i < tree.key_count; i++)
		tree.keys[i] = program.keys[i * 37 % 100];
	return tree;
}

static void null_call_paths(void **state)
{
	(void)state;
	struct program exact = tree_program(BP_SAMPLER_EXACT);
	struct program bernoulli = tree_program(BP_SAMPLER_BERNOULLI);
	expect_null("call paths, law exact", &exact, &exact, 1, 0, 500);
	expect_null("call paths, law bernoulli", &bernoulli, &bernoulli, 1, 0, 500);
}

/* Shares of false verdicts lie in [0, 1]: by Hoeffding's bound their mean is above RATE +
 * deviation with probability exp(-2 trials deviation^2), which is 1e-9, if its expectation is
 * RATE at most. */
static void false_call_paths(void **state)
{
	(void)state;
	struct program base = tree_program(BP_SAMPLER_EXACT), new = base;
	unsigned trials = comparisons(300), found = 0;
	double share = 0;
	for (unsigned i = 0; i < 27; i++)
		new.keys[i].bytes *= 1.5;
	for (unsigned i = 0; i < trials; i++) {
		struct outcome outcome = compare(&base, &new, 1, 0, 1 + i);
		found += outcome.found;
		share += outcome.found > 0 ? (double)outcome.wrong / outcome.found : 0;
	}
	print_message("# a third of the tree grows by half: %.1f call paths found, share of false "
		      "ones %.4f (stated: 5 %%)\n",
		(double)found / trials, share / trials);
	assert_true(share / trials <= RATE + sqrt(log(1e9) / (2.0 * trials)));
	assert_true(found > 3 * trials);
}

/* The same without knowing: it must be seen. */
static void variation_is_seen(void **state)
{
	(void)state;
	struct program program = spread_program(BP_SAMPLER_EXACT, many_sizes, 6);
	unsigned alarms = 0, trials = 100;
	for (unsigned i = 0; i < trials; i++)
		alarms += compare(&program, &program, 1, 0.5, 1 + i).alarm;
	print_message("# one run a side that varies by 50 %%: %u of %u\n", alarms, trials);
	assert_true(alarms > most_at_rate(trials, RATE, 1e-9));
}

/* Two-sided p of the conditional binomial test of equal shares. */
static double binomial_p(unsigned n, unsigned k)
{
	double tail = 0;
	unsigned near = k < n - k ? k : n - k;
	for (unsigned i = 0; i <= near; i++)
		tail += exp(log_binomial(n, i, 0.5));
	return fmin(1, 2 * tail);
}

/* Power at p <= level where base expects `samples` and new `growth` times as many. The sum of both
 * is Poisson; it is taken at its mean (its spread moves the power by less than .002). */
static double binomial_power(double samples, double growth, double level)
{
	unsigned n = (unsigned)lround(samples * (1 + growth)), least = n / 2;
	double share = growth / (1 + growth), power = 0;
	while (binomial_p(n, least) > level)
		least++;
	for (unsigned k = least; k <= n; k++)
		power += exp(log_binomial(n, k, share));
	return power;
}

static void planted_growth(void **state)
{
	(void)state;
	const double samples = 4000, growth = 1.1;
	struct program base = { .key_count = KEYS_MAX, .law = BP_SAMPLER_EXACT };
	unsigned found = 0, wrong = 0, trials = comparisons(100);
	for (unsigned i = 0; i < KEYS_MAX; i++)
		base.keys[i] = (struct key){ .bytes = (i == 0 ? samples : 20) * INTERVAL,
			.sizes = { 31 },
			.size_count = 1 };
	struct program new = base;
	/* 32 trials for 31 bytes. */
	new.keys[0].bytes *= growth;
	double power = binomial_power(samples * 32 / 31, growth, RATE / KEYS_MAX);
	for (unsigned i = 0; i < trials; i++) {
		enum bp_verdict verdict = compare(&base, &new, 1, 0, 1 + i).first;
		found += verdict == BP_VERDICT_GREW;
		wrong += verdict != BP_VERDICT_GREW && verdict != BP_VERDICT_UNCLEAR;
	}
	double error = sqrt(power * (1 - power) / trials);
	print_message("# 10 %% growth of one of %u keys with %.0f samples: found in %u of %u, "
		      "theory %.3f\n",
		KEYS_MAX, samples, found, trials, power);
	assert_int_equal(wrong, 0);
	/* 6 standard errors: 2e-9; .01 for the few cases in which another discovery lowers the
	 * bar. */
	assert_true(fabs((double)found / trials - power) < 6 * error + 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(null_law_exact),
		cmocka_unit_test(null_law_bernoulli),
		cmocka_unit_test(null_other_sizes),
		cmocka_unit_test(null_few_samples),
		cmocka_unit_test(null_several_runs),
		cmocka_unit_test(null_call_paths),
		cmocka_unit_test(false_call_paths),
		cmocka_unit_test(variation_is_seen),
		cmocka_unit_test(planted_growth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
