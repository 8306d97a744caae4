/* SPDX-License-Identifier: MIT */
/*
 * The mean of a sample of hosts (bp_mean_of_runs; docs/statistics.md, "A sample of hosts"): does
 * its interval hold the mean of all hosts that the sample was drawn from?
 *
 * Each host draws a factor of mean 1, holds so many times the objects of a mixed heap, and is
 * sampled, object by object. The truth is the mean over all hosts that could have been drawn, which
 * is known. Factors are normal, lognormal (skewed), or always 1: hosts that do not differ. Misses
 * are counted on each side, for each cell and for all cells of one kind together, and held against
 * what the document says: 2.5 % of the 95 % interval; above it 3.2 % where hosts differ by .3 and
 * 6 % where they are skewed; 1.2 % and 1.8 % of the 98 % interval, which `check` uses. The limit
 * is the exact binomial one that chance passes with probability 1e-7; there are fewer than 300 such
 * checks, so that the program has a false alarm with a probability below 3e-5. Changes of hosts (growth,
 * and one release against another) are held against 2.5 % where hosts are alike, 3 % where they differ by
 * .3, and 6 % where they are skewed. The control is the
 * interval of sampling alone (`--hosts all`), which must fail where hosts differ: a test that it
 * passes could not fail.
 *
 * BYTEPOLL_LONG_TESTS=1 draws twenty times as much. The seeds follow from the cell; the first
 * choice was kept.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "chance.h"
#include "estimate/diff.h"
#include "estimate/plan.h"
#include "test_coverage.h"

#define INTERVAL UINT64_C(524288)
#define HOSTS_MAX 40

static const double false_alarm = 1e-7;

static unsigned repetitions(void)
{
	const char *wish = getenv("BYTEPOLL_LONG_TESTS");
	return wish != NULL && *wish != '\0' && *wish != '0' ? 20000 : 1000;
}

static double draw_normal(struct stream *stream)
{
	double radius = sqrt(-2 * log(stream_uniform(stream)));
	return radius * cos(6.283185307179586 * stream_uniform(stream));
}

/* By inversion, for means below 700. */
static unsigned draw_poisson(struct stream *stream, double mean)
{
	double u = stream_uniform(stream), at = exp(-mean), sum = at;
	unsigned count = 0;
	while (sum < u && count < 4096) {
		count++;
		at *= mean / count;
		sum += at;
	}
	return count;
}

enum kind { NORMAL, LOGNORMAL };

/* Of mean 1, with this coefficient of variation. (A normal one is cut off symmetrically where it
 * would be negative: at .3 that is beyond three deviations.) */
static double draw_factor(struct stream *stream, enum kind kind, double variation)
{
	double square = log1p(variation * variation), factor;
	if (kind == LOGNORMAL)
		return exp(sqrt(square) * draw_normal(stream) - square / 2);
	do
		factor = 1 + variation * draw_normal(stream);
	while (factor <= 0 || factor >= 2);
	return factor;
}

/* Bytes in objects of these sizes, shares of the whole. Those of 64 bytes are so many that the
 * number of their samples is Poisson's. */
static const struct {
	uint64_t size;
	double share;
} parts[] = { { 64, .4 }, { 20000, .2 }, { 200000, .2 }, { 1 << 20, .2 } };

static void add_part(struct bp_sums *sums, unsigned samples, uint64_t size)
{
	struct bp_sums one = { .interval_max = INTERVAL };
	add_samples(&one, 1, size, 0, INTERVAL, true);
	if (samples > 0)
		one = bp_sums_times(&one, samples);
	if (samples > 0)
		bp_sums_merge(sums, &one);
}

/* A host that holds `bytes` on average over what is drawn here; tiny: in objects of 64 bytes. */
static struct bp_side draw_host(struct stream *stream, double bytes, bool tiny)
{
	struct bp_sums sums = { .interval_max = INTERVAL };
	for (unsigned i = 0; i < (tiny ? 1 : BP_COUNT(parts)); i++) {
		const double size = (double)parts[i].size;
		const double objects = bytes * (tiny ? 1 : parts[i].share) / size;
		const double p = inclusion(parts[i].size, INTERVAL, true);
		unsigned samples = 0;
		if (size < 1000) {
			samples = draw_poisson(stream, objects * p);
		} else {
			/* A whole number of objects, right on average. */
			double whole = floor(objects + stream_uniform(stream));
			for (double n = 0; n < whole; n++)
				samples += stream_uniform(stream) < p;
		}
		add_part(&sums, samples, parts[i].size);
	}
	return bp_side_of_values(&sums, INTERVAL, 1);
}

struct counts {
	double low, high, sampling_low, sampling_high, all;
};

struct cell {
	unsigned hosts;
	double intervals; /* what a host holds on average, in T */
	bool tiny;
	enum kind kind;
	double variation, alpha;
};

static struct counts run(struct cell cell)
{
	const unsigned hosts = cell.hosts;
	const double truth = cell.intervals * (double)INTERVAL;
	struct stream stream = { 100000 * hosts + (uint64_t)(1000 * cell.intervals) +
				 (uint64_t)(10 * cell.variation) + cell.kind };
	struct counts counts = { .all = repetitions() };
	for (double i = 0; i < counts.all; i++) {
		struct bp_side host[HOSTS_MAX], sum = { 0 };
		const struct bp_side nothing = bp_side_of_count(0);
		for (unsigned j = 0; j < hosts; j++) {
			const double factor = draw_factor(&stream, cell.kind, cell.variation);
			host[j] = draw_host(&stream, truth * factor, cell.tiny);
			sum = j == 0 ? host[0] : bp_side_add(sum, host[j]);
		}
		struct bp_interval mean = bp_mean_of_runs(host, hosts, cell.alpha);
		sum = bp_side_scale(sum, 1.0 / hosts);
		struct bp_interval sampling = bp_diff_pair(&nothing, &sum, cell.alpha).difference;
		counts.low += truth < mean.low;
		counts.high += truth > mean.high;
		counts.sampling_low += truth < sampling.low;
		counts.sampling_high += truth > sampling.high;
	}
	print_message("# %u hosts of %g T%s, %s, variation %g, error %g: misses below %.4f, above "
		      "%.4f; sampling alone %.4f, %.4f\n",
		hosts, cell.intervals, cell.tiny ? " in tiny objects" : "",
		cell.kind == NORMAL ? "normal" : "lognormal", cell.variation, cell.alpha,
		counts.low / counts.all, counts.high / counts.all, counts.sampling_low / counts.all,
		counts.sampling_high / counts.all);
	return counts;
}

/* The change of a host from one moment to another, which are of one factor: what it freed in between
 * (`before`) and what it made (`after`), in parts of the mean. With `others` the two are of different
 * hosts, as of two releases, and Welch's test is made of them. */
static struct counts run_change(struct cell cell, double before, double after, bool others)
{
	const unsigned hosts = cell.hosts;
	const double bytes = cell.intervals * (double)INTERVAL, truth = bytes * (after - before);
	struct stream stream = { 7000000 + 100000 * hosts + (uint64_t)(1000 * cell.intervals) +
				 (uint64_t)(10 * cell.variation) + 2 * cell.kind + others };
	struct counts counts = { .all = repetitions() / 2 };
	for (double i = 0; i < counts.all; i++) {
		struct bp_side base[HOSTS_MAX], new[HOSTS_MAX], sums[2];
		for (unsigned j = 0; j < hosts; j++) {
			double factor = draw_factor(&stream, cell.kind, cell.variation);
			base[j] = draw_host(&stream, bytes * factor * before, cell.tiny);
			if (others)
				factor = draw_factor(&stream, cell.kind, cell.variation);
			new[j] = draw_host(&stream, bytes * factor * after, cell.tiny);
			sums[0] = j == 0 ? base[0] : bp_side_add(sums[0], base[j]);
			sums[1] = j == 0 ? new[0] : bp_side_add(sums[1], new[j]);
		}
		const struct bp_interval change =
			(others ? bp_diff_runs(base, hosts, new, hosts, cell.alpha)
				: bp_diff_pairs(base, new, hosts, cell.alpha))
				.difference;
		for (int side = 0; side < 2; side++)
			sums[side] = bp_side_scale(sums[side], 1.0 / hosts);
		const struct bp_interval sampling =
			bp_diff_pair(&sums[0], &sums[1], cell.alpha).difference;
		counts.low += truth < change.low;
		counts.high += truth > change.high;
		counts.sampling_low += truth < sampling.low;
		counts.sampling_high += truth > sampling.high;
	}
	print_message(
		"# %s of %u hosts of %g T%s, %s, variation %g: misses below %.4f, above %.4f; "
		"sampling alone %.4f, %.4f\n",
		others ? "difference" : "growth", hosts, cell.intervals,
		cell.tiny ? " in tiny objects" : "", cell.kind == NORMAL ? "normal" : "lognormal",
		cell.variation, counts.low / counts.all, counts.high / counts.all,
		counts.sampling_low / counts.all, counts.sampling_high / counts.all);
	return counts;
}

static void add(struct counts *sum, struct counts more)
{
	sum->low += more.low;
	sum->high += more.high;
	sum->sampling_low += more.sampling_low;
	sum->sampling_high += more.sampling_high;
	sum->all += more.all;
}

/* More misses than the nominal ones on a side? */
static bool misses(struct counts counts, double below, double above)
{
	return counts.low > binomial_limit(counts.all, below, false_alarm) ||
	       counts.high > binomial_limit(counts.all, above, false_alarm);
}

static const unsigned host_counts[] = { 3, 10, 40 };
/* Bytes in T, which are about as many samples. A mixed heap of 2 T has an object of 1 MiB on some
 * hosts and none on others, which is skewed by itself: see test_skewed_hosts. */
static const struct {
	double intervals;
	bool tiny;
} heaps[] = { { 2, true }, { 20, false }, { 200, false } };

/* Cells of one variation, and all of them together; `below` and `above`: the misses that the
 * document admits. */
static struct counts run_all(
	enum kind kind, double variation, double alpha, double below, double above)
{
	struct counts sum = { 0 };
	bool failed = false;
	for (unsigned i = 0; i < BP_COUNT(host_counts); i++)
		for (unsigned j = 0; j < BP_COUNT(heaps); j++) {
			struct counts counts = run((struct cell){ host_counts[i],
				heaps[j].intervals, heaps[j].tiny, kind, variation, alpha });
			failed = misses(counts, below, above) || failed;
			add(&sum, counts);
		}
	failed = misses(sum, below, above) || failed;
	print_message("# all of variation %g: below %.4f, above %.4f; sampling alone %.4f, %.4f\n",
		variation, sum.low / sum.all, sum.high / sum.all, sum.sampling_low / sum.all,
		sum.sampling_high / sum.all);
	assert_false(failed);
	return sum;
}

static void test_hosts_alike(void **state)
{
	(void)state;
	run_all(NORMAL, 0, .05, .025, .025);
}

static void test_hosts_that_differ(void **state)
{
	(void)state;
	run_all(NORMAL, .1, .05, .025, .025);
	const struct counts counts = run_all(NORMAL, .3, .05, .025, .032);
	/* The control: without the variation between hosts a quarter and more is missed. */
	assert_true(counts.sampling_low + counts.sampling_high > .25 * counts.all);
}

/* As `check` asks at its usual rate of false alarms. */
static void test_small_error(void **state)
{
	(void)state;
	run_all(NORMAL, .3, .02, .012, .018);
}

/* Student's interval is for symmetrical hosts: the upper limit misses a long tail to the right. */
static void test_skewed_hosts(void **state)
{
	(void)state;
	bool failed = false;
	run_all(LOGNORMAL, .3, .05, .025, .06);
	for (unsigned i = 0; i < BP_COUNT(host_counts); i++) {
		struct cell cell = { host_counts[i], 2, false, NORMAL, 0, .05 };
		failed = misses(run(cell), .025, .06) || failed;
	}
	assert_false(failed);
}

/* Growth host by host, and two releases on different hosts: 2.5 % a side where hosts are alike, where they are
 * normal and .3 apart 3 %, and 6 % where they are skewed. */
static void test_changes(void **state)
{
	(void)state;
	static const struct {
		enum kind kind;
		double variation, admitted;
	} kinds[] = { { NORMAL, 0, .025 }, { NORMAL, .3, .03 }, { LOGNORMAL, .3, .06 } };
	bool failed = false;
	struct counts control = { 0 };
	for (int others = 0; others < 2; others++)
		for (unsigned k = 0; k < BP_COUNT(kinds); k++)
			for (unsigned i = 0; i < BP_COUNT(host_counts); i++)
				for (unsigned j = 0; j < BP_COUNT(heaps); j++) {
					const struct cell cell = { host_counts[i],
						heaps[j].intervals, heaps[j].tiny, kinds[k].kind,
						kinds[k].variation, .05 };
					const struct counts counts =
						run_change(cell, .5, 1, others != 0);
					failed = misses(counts, kinds[k].admitted,
							 kinds[k].admitted) ||
						 failed;
					if (kinds[k].variation > 0)
						add(&control, counts);
				}
	assert_false(failed);
	/* The control: without the variation between hosts a fifth and more is missed. */
	assert_true(control.sampling_low + control.sampling_high > .2 * control.all);
}

/* Finds of a change in `repeats` comparisons of `hosts` hosts with others, by the test of `diff`. */
static double finds(struct bp_plan_hosts plan, unsigned hosts, double repeats)
{
	struct bp_side *base = calloc(hosts, sizeof *base), *new = calloc(hosts, sizeof *new);
	struct stream stream = { 900000 + (uint64_t)(1000 * plan.change) +
				 (uint64_t)(plan.bytes / (double)INTERVAL) };
	double found = 0;
	assert_true(base != NULL && new != NULL);
	for (double i = 0; i < repeats; i++) {
		for (unsigned j = 0; j < hosts; j++) {
			double factor = draw_factor(&stream, NORMAL, plan.variation);
			base[j] = draw_host(&stream, plan.bytes * factor, true);
			factor = draw_factor(&stream, NORMAL, plan.variation);
			new[j] = draw_host(&stream, plan.bytes * plan.change * factor, true);
		}
		const struct bp_change change = bp_diff_runs_p(base, hosts, new, hosts);
		found += change.p <= .05 && change.p_increase < change.p_decrease;
	}
	free(base);
	free(new);
	return found;
}

/* `plan --fleet` at 1,000 hosts: 1 % more is found as often as was planned. The interval of the
 * simulation is given, so that the bytes are what is planned. */
static void test_planned_power(void **state)
{
	(void)state;
	const double repeats = repetitions() * .4;
	struct bp_plan_hosts plan = { .variation = .05, .change = 1.01, .bytes = 1e9 };
	const double interval = bp_plan_hosts_interval(plan, 1000, .8, .05);
	assert_true(fabs(bp_plan_hosts_power(plan, 1000, interval, .05) - .8) < 1e-6);
	plan.bytes = plan.bytes * (double)INTERVAL / interval;
	const double found = finds(plan, 1000, repeats);
	print_message(
		"# 1 %% more on 1000 hosts of %.0f samples: found %.3f of %.0f times, planned .8\n",
		plan.bytes / (double)INTERVAL, found / repeats, repeats);
	assert_true(found <= binomial_limit(repeats, .8, false_alarm));
	assert_true(repeats - found <= binomial_limit(repeats, .2, false_alarm));
	/* The control: with a quarter of the samples it is not found as often. */
	plan.bytes /= 4;
	const double fewer = finds(plan, 1000, repeats);
	const double less = bp_plan_hosts_power(plan, 1000, (double)INTERVAL, .05);
	print_message(
		"# with a quarter of the samples %.3f, planned %.3f\n", fewer / repeats, less);
	assert_true(repeats - fewer > binomial_limit(repeats, .2, false_alarm));
	assert_true(fewer <= binomial_limit(repeats, less, false_alarm));
	assert_true(repeats - fewer <= binomial_limit(repeats, 1 - less, false_alarm));
	/* Few hosts, which differ little: the t distribution's tail counts. */
	plan = (struct bp_plan_hosts){ .variation = .04, .change = 1.1, .bytes = 1e9 };
	plan.bytes *= (double)INTERVAL / bp_plan_hosts_interval(plan, 10, .8, .05);
	const double few = finds(plan, 10, 5 * repeats);
	print_message("# 10 %% more on 10 hosts of %.0f samples: found %.3f, planned .8\n",
		plan.bytes / (double)INTERVAL, few / repeats / 5);
	assert_true(few <= binomial_limit(5 * repeats, .81, false_alarm));
	assert_true(5 * repeats - few <= binomial_limit(5 * repeats, .21, false_alarm));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts_alike),
		cmocka_unit_test(test_hosts_that_differ),
		cmocka_unit_test(test_small_error),
		cmocka_unit_test(test_skewed_hosts),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_planned_power),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
