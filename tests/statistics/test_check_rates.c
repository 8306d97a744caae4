/* SPDX-License-Identifier: MIT */
/*
 * How often `check` is wrong, measured: a program whose memory is known is sampled 1000 times with
 * the real sampler (seeds 1 to 1000; 20,000 under BYTEPOLL_LONG_TESTS=1), each run is made a
 * profile, and the profile is judged against limits at and around the truth, as the command does
 * it.
 *
 *	limit = truth		"exceeded" is a false alarm: at a rate of at most a
 *	limit = truth - 1	"within" is wrong: at a rate of at most a
 *	limit = truth / 2	"within" is wrong by a factor of two: at most a^2, and never where so many
 *				samples are due that its probability is below 1e-10 a run
 *
 * for a = .01 and .05, for live, peak, allocated by one function (a part of a counted total) and
 * the number of live objects, with 4, 25 and 120 samples due of the live heap, by the law `exact`
 * and by `bernoulli` with objects of 4.4 T, and with a heap that is flat for many turnovers, the
 * worst case of a peak: left at the end or freed before it.
 *
 * Every count is compared with the quantile of the binomial distribution of that many runs and
 * probability a that a check of exactly that rate exceeds with probability 1e-9; over some 110
 * counts of a run a correct check fails with probability below 1.2e-7. That the bound can be passed
 * at all is shown by a check that looks at estimates only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bytepoll/sampler.h"
#include "check/check.h"
#include "small_profile.h"

#define INTERVAL 2048
#define TURNOVERS 6
#define FALSE_ALARM 1e-9 /* of each count */
#define OBJECTS_MAX 40000

enum { LIVE, PEAK, PARSED, OBJECTS, FIGURES };
static const char *const figure_names[FIGURES] = { "live", "peak", "allocated:parse*",
	"live.objects" };

/* What a program does: `kept` objects stay, `pool` objects are replaced one after the other until
 * all have been TURNOVERS times, `parsed` ones are freed at once before all that. */
struct program {
	const char *name;
	unsigned kept, pool, parsed;
	bool freed_at_end;
	uint64_t large; /* size of one object in 97, bytes */
	uint32_t law;
};

static const struct program programs[] = {
	{ "4 samples", 20, 20, 40, false, 3000, BP_SAMPLER_EXACT },
	{ "25 samples", 120, 130, 250, false, 3000, BP_SAMPLER_EXACT },
	{ "120 samples", 600, 600, 1200, false, 3000, BP_SAMPLER_EXACT },
	{ "120 samples, freed", 600, 600, 1200, true, 3000, BP_SAMPLER_EXACT },
	{ "130 samples, bernoulli", 600, 600, 1200, false, 9000, BP_SAMPLER_BERNOULLI },
};

static int runs = 1000;

/* Sizes from 16 to 400 bytes, and some of T and more, by a rule that depends on nothing else. */
static uint64_t size_of(const struct program *program, unsigned object)
{
	uint64_t spread = object * 0x9E3779B97F4A7C15u >> 24;
	return object % 97 == 11 ? program->large : 16 + spread % 385;
}

struct truth {
	double of[FIGURES];
};

static struct truth truth_of(const struct program *program)
{
	struct truth truth = { { 0 } };
	unsigned live = program->kept + program->pool;
	for (unsigned i = 0; i < live; i++)
		truth.of[PEAK] += (double)size_of(program, i);
	for (unsigned i = 0; i < program->parsed; i++)
		truth.of[PARSED] += (double)size_of(program, i);
	truth.of[LIVE] = program->freed_at_end ? 0 : truth.of[PEAK];
	truth.of[OBJECTS] = program->freed_at_end ? 0 : live;
	return truth;
}

/* One run under way. */
struct run {
	const struct program *program;
	struct bp_profile profile;
	struct bp_process_id process;
	struct bp_stack_id parse, keep, turn;
	struct bp_sampler sampler;
	struct bp_sampler_hot hot;
	uint64_t bytes;
	double now_s;
	uint32_t sample_of[OBJECTS_MAX]; /* number of an object's sample, 0: none */
};

static void allocate(struct run *run, unsigned object, struct bp_stack_id stack)
{
	struct bp_decision decision;
	uint64_t size = size_of(run->program, object);
	run->now_s += 1e-6;
	run->bytes += size;
	run->sample_of[object] = 0;
	if (!bp_sampler_crosses(&run->hot, size))
		return;
	run->hot.trials_left =
		bp_sampler_decide(&run->sampler, run->hot.trials_left, size, &decision);
	if (!decision.sampled)
		return;
	struct bp_sample *sample =
		small_sample(&run->profile, run->process, stack, size, run->now_s, -1);
	sample->exact = decision.exact;
	sample->bernoulli = run->program->law == BP_SAMPLER_BERNOULLI;
	run->sample_of[object] = run->profile.added.count - 1;
}

static void release(struct run *run, unsigned object)
{
	run->now_s += 1e-6;
	if (run->sample_of[object] == 0)
		return;
	struct bp_sample *sample = &run->profile.added.data[run->sample_of[object]];
	sample->free_time_ns = SMALL_BASE_NS + (uint64_t)llround(run->now_s * SMALL_SECOND);
	sample->free_sequence = sample->sequence + 1;
}

static void execute(const struct program *program, uint64_t seed, struct run *run)
{
	struct bp_error error;
	unsigned live = program->kept + program->pool;
	memset(run, 0, sizeof *run);
	run->program = program;
	small_init(&run->profile);
	run->process = small_process(&run->profile, 10, 1, 0, 0, 10, INTERVAL);
	run->profile.processes.data[run->process.i].law = program->law;
	run->parse = small_stack(&run->profile, "malloc;parse_all;main");
	run->keep = small_stack(&run->profile, "malloc;keep;main");
	run->turn = small_stack(&run->profile, "malloc;turn;main");
	bp_sampler_init(&run->sampler, seed, INTERVAL, program->law);
	for (unsigned i = 0; i < program->parsed; i++) {
		allocate(run, i, run->parse);
		release(run, i);
	}
	for (unsigned i = 0; i < live; i++)
		allocate(run, i, i < program->kept ? run->keep : run->turn);
	for (unsigned i = 0; i < TURNOVERS * program->pool; i++) {
		unsigned object = program->kept + i % program->pool;
		release(run, object);
		allocate(run, object, run->turn);
	}
	for (unsigned i = 0; i < live && program->freed_at_end; i++)
		release(run, i);
	small_totals(&run->profile, run->process, run->bytes, run->bytes, run->hot.objects,
		run->hot.objects);
	assert_true(bp_profile_finish_import(&run->profile, false, &error));
}

static bool ignore_warning(void *context, const char *sentence)
{
	(void)context;
	(void)sentence;
	return true;
}

static void measure(
	const struct run *run, double a, struct bp_limit *limits, struct bp_measure *ret_measures)
{
	struct bp_query query = { .has_size_min = true, .size_min = 16 };
	struct bp_measuring measuring = { .query = &query, .a = a, .runs = 1 };
	struct bp_warner warner = { ignore_warning, NULL };
	struct bp_error error;
	if (!bp_measure_all(
		    &run->profile, &measuring, limits, FIGURES, ret_measures, &warner, &error))
		fail_msg("%s", error.text);
}

static void make_limits(struct bp_limit *limits)
{
	static char filter[] = "function=parse*";
	struct bp_error error;
	memset(limits, 0, FIGURES * sizeof *limits);
	limits[LIVE].metric = limits[OBJECTS].metric = BP_METRIC_LIVE;
	limits[OBJECTS].objects = true;
	limits[PEAK].metric = BP_METRIC_PEAK;
	limits[PARSED].metric = BP_METRIC_ALLOCATED;
	limits[PARSED].filter_text = filter;
	assert_true(bp_filter_parse(filter, &limits[PARSED].filter, &error));
}

/* Wrong verdicts of one figure at one rate. */
struct count {
	int exceeded, within, within_twice, above; /* the last: estimates above the truth */
	int decided;				   /* at twice the limit: exceeded, as is right */
};

static void judge_run(const struct truth *truth, double a, struct bp_limit *limits,
	const struct bp_measure *measures, struct count *counts)
{
	for (int i = 0; i < FIGURES; i++) {
		struct bp_check_result result;
		struct bp_limit limit = limits[i];
		if (truth->of[i] <= 0)
			continue;
		limit.most = truth->of[i];
		bp_check_limit(&limit, &measures[i], "", a, &result);
		counts[i].exceeded += result.outcome == BP_OUTCOME_EXCEEDED;
		counts[i].above += measures[i].figure.interval.estimate > limit.most;
		limit.most = truth->of[i] - 1;
		bp_check_limit(&limit, &measures[i], "", a, &result);
		counts[i].within += result.outcome == BP_OUTCOME_WITHIN;
		limit.most = truth->of[i] / 2;
		bp_check_limit(&limit, &measures[i], "", a, &result);
		counts[i].within_twice += result.outcome == BP_OUTCOME_WITHIN;
		counts[i].decided += result.outcome == BP_OUTCOME_EXCEEDED;
	}
}

/* The smallest c with P(Bin(n, p) > c) <= FALSE_ALARM. */
static int allowed(int n, double p)
{
	double tail = 0;
	int c = n;
	for (; c > 0; c--) {
		tail += exp(lgamma(n + 1.0) - lgamma(c + 1.0) - lgamma(n - c + 1.0) + c * log(p) +
			    (n - c) * log1p(-p));
		if (tail > FALSE_ALARM)
			break;
	}
	return c;
}

/* P(within at twice the limit) of small objects with `samples` due at the limit: s samples or fewer
 * where the upper limit, the 1 - a quantile of gamma(s + 1), is not above it. */
static double within_twice_probability(double samples, double a)
{
	double critical = 0, at_limit = exp(-samples), at_twice = exp(-2 * samples);
	double below_limit = at_limit, below_twice = at_twice, sum = 0;
	while (below_limit <= a) {
		sum = below_twice;
		critical++;
		at_limit *= samples / critical;
		at_twice *= 2 * samples / critical;
		below_limit += at_limit;
		below_twice += at_twice;
	}
	return sum;
}

static void compare(const struct program *program, const struct truth *truth, double a,
	const struct count *counts)
{
	int most = allowed(runs, a);
	for (int i = 0; i < FIGURES; i++) {
		const struct count *count = &counts[i];
		if (truth->of[i] <= 0)
			continue;
		/* Objects are about as large as bytes are many: the samples are the same. */
		double due = truth->of[i == OBJECTS ? LIVE : i] / 2 / INTERVAL;
		double twice = within_twice_probability(due, a);
		print_message("# a = %g, %s, %s: exceeded at the truth %.4f, within just below "
			      "%.4f, within at half of it %.4f (theory %.1e); estimates above "
			      "%.3f; exceeded at half %.3f\n",
			a, program->name, figure_names[i], (double)count->exceeded / runs,
			(double)count->within / runs, (double)count->within_twice / runs, twice,
			(double)count->above / runs, (double)count->decided / runs);
		assert_in_range(count->exceeded, 0, most);
		assert_in_range(count->within, 0, most);
		assert_in_range(count->within_twice, 0, twice < 1e-10 ? 0 : allowed(runs, a * a));
		/* The control: a check without error bars is wrong far too often. */
		assert_true(count->above > most);
	}
}

static void rates_are_as_stated(void **state)
{
	static const double rates[] = { 0.01, 0.05 };
	static struct run run;
	struct bp_limit limits[FIGURES];
	struct bp_measure measures[FIGURES];
	(void)state;
	make_limits(limits);
	for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
		struct truth truth = truth_of(&programs[p]);
		struct count counts[2][FIGURES] = { 0 };
		for (int seed = 1; seed <= runs; seed++) {
			execute(&programs[p], (uint64_t)seed, &run);
			for (int r = 0; r < 2; r++) {
				measure(&run, rates[r], limits, measures);
				judge_run(&truth, rates[r], limits, measures, counts[r]);
			}
			bp_profile_finish(&run.profile);
		}
		for (int r = 0; r < 2; r++)
			compare(&programs[p], &truth, rates[r], counts[r]);
	}
}

int main(void)
{
	const char *longer = getenv("BYTEPOLL_LONG_TESTS");
	const struct CMUnitTest tests[] = { cmocka_unit_test(rates_are_as_stated) };
	if (longer != NULL && *longer != '\0' && strcmp(longer, "0") != 0)
		runs = 20000;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
