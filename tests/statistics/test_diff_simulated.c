/* SPDX-License-Identifier: MIT */
/*
 * Comparisons where outcomes cannot be enumerated: keys of many sizes, several runs a side whose
 * totals vary, and verdicts over many keys.
 *
 * A side is a list of sizes with a number of objects each; the number sampled of each size is drawn
 * from its binomial distribution, which is exactly what independent trials per byte give. Rates are
 * held against a nominal rate by the exact binomial limit that chance passes with probability
 * false_alarm; the number of these checks is counted, and the whole program has a false alarm with
 * a probability below 1e-6. BYTEPOLL_LONG_TESTS=1 draws ten times as much. The seeds follow from
 * the cell; the first choice was kept.
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
#include "test_coverage.h"

#define INTERVAL UINT64_C(524288)
#define GROUPS_MAX 24
#define COUNT_MAX 512

static const double false_alarm = 1e-9;
static double checks; /* made so far, of probability false_alarm each */

static unsigned repetitions(unsigned usual)
{
	const char *wish = getenv("BYTEPOLL_LONG_TESTS");
	return wish != NULL && *wish != '\0' && *wish != '0' ? 10 * usual : usual;
}

/* Is `count` of `all` more than a rate of `nominal` allows? */
static bool exceeds(double count, double all, double nominal)
{
	checks++;
	return count > binomial_limit(all, nominal, false_alarm);
}

/* ---- keys of many sizes ---- */

struct group {
	double cumulative[COUNT_MAX]; /* P(samples <= i) */
	unsigned counts;
	struct bp_sums one; /* the sums of one sample */
};

struct population {
	struct group group[GROUPS_MAX];
	unsigned groups;
	double bytes;
};

static void add_group(struct population *population, uint64_t size, double objects, bool exact)
{
	if (objects < 1)
		return;
	assert_true(population->groups < GROUPS_MAX);
	struct group *group = &population->group[population->groups++];
	double p = inclusion(size, INTERVAL, exact), table[COUNT_MAX], sum = 0;
	*group = (struct group){ .counts = 0 };
	add_samples(&group->one, 1, size, 0, INTERVAL, exact);
	population->bytes += objects * (double)size;
	if (p == 1) {
		assert_true(objects < COUNT_MAX);
		group->counts = (unsigned)objects;
		for (unsigned i = 0; i <= group->counts; i++)
			group->cumulative[i] = i == group->counts;
		return;
	}
	/* The table is good to 1e-8 as a whole (logarithms of large factorials): made to sum to
	 * 1. */
	binomial_table(objects, p, table, COUNT_MAX);
	for (unsigned i = 0; i < COUNT_MAX; i++)
		group->cumulative[i] = sum += table[i];
	assert_true(fabs(sum - 1) < 1e-6);
	for (unsigned i = 0; i < COUNT_MAX; i++)
		group->cumulative[i] /= sum;
	while (group->counts < COUNT_MAX && group->cumulative[group->counts] < 1 - 1e-12)
		group->counts++;
	assert_true(group->counts < COUNT_MAX);
}

static unsigned draw_index(struct stream *stream, const double *cumulative, unsigned counts)
{
	double u = stream_uniform(stream);
	unsigned low = 0, high = counts;
	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (cumulative[middle] < u)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct bp_side draw_side(const struct population *population, struct stream *stream)
{
	struct bp_sums sums = { .interval_max = INTERVAL };
	for (unsigned i = 0; i < population->groups; i++) {
		const struct group *group = &population->group[i];
		unsigned count = draw_index(stream, group->cumulative, group->counts);
		if (count == 0)
			continue;
		sums.samples += count;
		sums.bytes += count * group->one.bytes;
		sums.c1 += count * group->one.c1;
		sums.c2 += count * group->one.c2;
		sums.c3 += count * group->one.c3;
		sums.bernoulli = sums.bernoulli || group->one.bernoulli;
	}
	return bp_side_of_values(&sums, INTERVAL, 1);
}

/* Shares of the bytes in objects of these sizes, largest first; the rest of 16 bytes. */
struct mix {
	const char *name;
	struct {
		uint64_t size;
		double share;
	} part[8];
};

static const struct mix mixes[] = {
	{ "tiny", { { 0, 0 } } },
	{ "heap", { { 900000, .15 }, { 200000, .15 }, { 60000, .15 }, { 20000, .15 }, { 5000, .15 },
			  { 700, .15 } } },
	{ "10 MiB and 16 B", { { 10 << 20, .8 } } },
	{ ".3 T to 2 T", { { 1 << 20, .2 }, { 700000, .2 }, { 480000, .2 }, { 300000, .2 },
				 { 160000, .19 } } },
	{ "heavy tail", { { 8 << 20, .2 }, { 2 << 20, .2 }, { 1 << 19, .2 }, { 1 << 17, .15 },
				{ 1 << 14, .1 } } },
};

/* So many bytes exactly, to the last one. */
static void populate(struct population *population, const struct mix *mix, double bytes, bool exact)
{
	double rest = bytes;
	population->groups = 0;
	population->bytes = 0;
	for (unsigned i = 0; i < BP_COUNT(mix->part) && mix->part[i].size > 0; i++) {
		double size = (double)mix->part[i].size;
		double objects = round(bytes * mix->part[i].share / size);
		if (objects * size > rest)
			objects = floor(rest / size);
		add_group(population, mix->part[i].size, objects, exact);
		rest -= objects * size;
	}
	add_group(population, 16, floor(rest / 16), exact);
	if (fmod(rest, 16) > 0)
		add_group(population, (uint64_t)fmod(rest, 16), 1, exact);
	assert_true(population->bytes == bytes);
}

static struct population sides[2]; /* not on the stack */

/* The claims of docs/statistics.md for the two p-values at .05 and .001, as in
 * test_diff_enumerated.c: melded at most nominal, mid-p a little above. */
static bool run_null(
	const struct mix *a, const struct mix *b, double intervals, bool exact, uint64_t seed)
{
	struct stream stream = { seed };
	unsigned all = repetitions(3000), melded = 0, mid = 0, melded_rare = 0, mid_rare = 0;
	populate(&sides[0], a, intervals * (double)INTERVAL, exact);
	populate(&sides[1], b, intervals * (double)INTERVAL, exact);
	for (unsigned i = 0; i < all; i++) {
		struct bp_side base = draw_side(&sides[0], &stream);
		struct bp_side new = draw_side(&sides[1], &stream);
		struct bp_change change = bp_diff_pair_p(&base, &new);
		melded += change.p <= 0.05;
		mid += change.p_mid <= 0.05;
		melded_rare += change.p <= 0.001;
		mid_rare += change.p_mid <= 0.001;
	}
	print_message("# %s, %s, %g T, %s: melded %.4f %.4f, mid-p %.4f %.4f\n", a->name, b->name,
		intervals, exact ? "exact" : "bernoulli", (double)melded / all,
		(double)melded_rare / all, (double)mid / all, (double)mid_rare / all);
	bool failed = exceeds(melded, all, 0.05);
	failed = exceeds(mid, all, 0.0563) || failed;
	failed = exceeds(melded_rare, all, 0.001) || failed;
	return exceeds(mid_rare, all, 0.0011) || failed;
}

static void test_null(void **state)
{
	(void)state;
	static const double intervals[] = { 3, 12, 48 };
	bool failed = false;
	for (unsigned i = 0; i < BP_COUNT(mixes); i++)
		for (unsigned j = i; j < BP_COUNT(mixes); j++)
			for (unsigned k = 0; k < BP_COUNT(intervals); k++)
				for (unsigned law = 0; law < 2; law++)
					failed = run_null(&mixes[i], &mixes[j], intervals[k],
							 law == 0,
							 1000 * i + 100 * j + 10 * k + law) ||
						 failed;
	assert_false(failed);
}

/* Limits of difference and ratio where the new side has other sizes and three halves of the
 * bytes. */
static void test_coverage_of_mixes(void **state)
{
	(void)state;
	bool failed = false;
	for (unsigned i = 1; i < BP_COUNT(mixes); i++) {
		struct stream stream = { 7000 + i };
		unsigned all = repetitions(3000), low = 0, high = 0, ratio_low = 0, ratio_high = 0;
		double bytes = 12 * (double)INTERVAL, truth = bytes / 2;
		populate(&sides[0], &mixes[i], bytes, true);
		populate(&sides[1], &mixes[i % 4 + 1], 1.5 * bytes, true);
		for (unsigned j = 0; j < all; j++) {
			struct bp_side base = draw_side(&sides[0], &stream);
			struct bp_side new = draw_side(&sides[1], &stream);
			struct bp_change change = bp_diff_pair(&base, &new, 0.05);
			low += truth < change.difference.low - 1;
			high += truth > change.difference.high + 1;
			ratio_low += 1.5 < change.ratio.low - 1e-9;
			ratio_high += 1.5 > change.ratio.high + 1e-9;
		}
		print_message("# %s: difference %.4f %.4f, ratio %.4f %.4f\n", mixes[i].name,
			(double)low / all, (double)high / all, (double)ratio_low / all,
			(double)ratio_high / all);
		failed = exceeds(low, all, 0.025) || failed;
		failed = exceeds(high, all, 0.025) || failed;
		failed = exceeds(ratio_low, all, 0.025) || failed;
		failed = exceeds(ratio_high, all, 0.025) || failed;
	}
	assert_false(failed);
}

/* ---- several runs a side ---- */

/* Sides by their number of samples of 64 bytes: `run_side[s]`. */
#define RUN_SAMPLES_MAX 8192
static struct bp_side run_side[RUN_SAMPLES_MAX];

static void make_run_sides(void)
{
	struct bp_sums sums = { .interval_max = INTERVAL };
	for (unsigned i = 0; i < RUN_SAMPLES_MAX; i++) {
		run_side[i] = bp_side_of_values(&sums, INTERVAL, 1);
		add_samples(&sums, 1, 64, 0, INTERVAL, true);
	}
}

static double draw_normal(struct stream *stream)
{
	double radius = sqrt(-2 * log(stream_uniform(stream)));
	return radius * cos(6.283185307179586 * stream_uniform(stream));
}

/* Poisson, as the number of samples of tiny objects is; by inversion, for means below 700. */
static unsigned draw_poisson(struct stream *stream, double mean)
{
	double u = stream_uniform(stream), at = exp(-mean), sum = at;
	unsigned count = 0;
	while (sum < u && count < RUN_SAMPLES_MAX - 1) {
		count++;
		at *= mean / count;
		sum += at;
	}
	return count;
}

/* A run: its total varies with the coefficient of variation `variation` around `mean` samples. */
static struct bp_side draw_run(struct stream *stream, double mean, double variation)
{
	double square = log1p(variation * variation);
	double factor = exp(sqrt(square) * draw_normal(stream) - square / 2);
	return run_side[draw_poisson(stream, fmin(mean * factor, 700))];
}

struct run_cell {
	unsigned base_count, new_count;
	double samples, variation, factor;
};

struct run_counts {
	unsigned rejected, rejected_rare, pooled, low, high, ratio_low, ratio_high;
};

static struct run_counts run_runs(const struct run_cell *cell, unsigned all, uint64_t seed)
{
	struct run_counts counts = { 0 };
	struct stream stream = { seed };
	for (unsigned i = 0; i < all; i++) {
		struct bp_side base[8], new[8];
		struct bp_side base_sum = { 0 }, new_sum = { 0 };
		for (unsigned j = 0; j < cell->base_count; j++) {
			base[j] = draw_run(&stream, cell->samples, cell->variation);
			base_sum = bp_side_add(base_sum, base[j]);
		}
		for (unsigned j = 0; j < cell->new_count; j++) {
			new[j] = draw_run(&stream, cell->samples * cell->factor, cell->variation);
			new_sum = bp_side_add(new_sum, new[j]);
		}
		struct bp_change change =
			bp_diff_runs(base, cell->base_count, new, cell->new_count, 0.05);
		double truth = (cell->factor - 1) * cell->samples * run_side[1].estimate;
		base_sum = bp_side_scale(base_sum, 1.0 / cell->base_count);
		new_sum = bp_side_scale(new_sum, 1.0 / cell->new_count);
		counts.rejected += change.p_mid <= 0.05;
		counts.rejected_rare += change.p_mid <= 0.001;
		counts.pooled += bp_diff_pair_p(&base_sum, &new_sum).p <= 0.05;
		counts.low += truth < change.difference.low;
		counts.high += truth > change.difference.high;
		counts.ratio_low += cell->factor < change.ratio.low;
		counts.ratio_high += cell->factor > change.ratio.high;
	}
	print_message("# %u+%u runs, %g samples, variation %g, times %g: p %.4f %.4f (pooled "
		      "%.3f), difference %.4f %.4f, ratio %.4f %.4f\n",
		cell->base_count, cell->new_count, cell->samples, cell->variation, cell->factor,
		(double)counts.rejected / all, (double)counts.rejected_rare / all,
		(double)counts.pooled / all, (double)counts.low / all, (double)counts.high / all,
		(double)counts.ratio_low / all, (double)counts.ratio_high / all);
	return counts;
}

static const struct run_cell run_cells[] = {
	{ 3, 3, 2, 0, 1 },
	{ 3, 3, 2, .5, 1 },
	{ 3, 3, 20, .1, 1 },
	{ 3, 3, 200, 0, 1 },
	{ 3, 3, 200, .1, 1 },
	{ 3, 3, 200, .3, 1 },
	{ 5, 5, 2, .3, 1 },
	{ 5, 5, 20, .3, 1 },
	{ 5, 5, 200, .1, 1 },
	{ 5, 5, 200, .3, 1 },
	{ 3, 5, 20, .1, 1 },
	{ 3, 3, 50, .1, 1.5 },
	{ 5, 5, 50, .1, 1.5 },
};

static void test_runs(void **state)
{
	(void)state;
	bool failed = false;
	double pooled_worst = 0;
	unsigned all = repetitions(2000);
	make_run_sides();
	for (unsigned i = 0; i < BP_COUNT(run_cells); i++) {
		struct run_counts counts = run_runs(&run_cells[i], all, 9000 + i);
		failed = exceeds(counts.low, all, 0.027) || failed;
		failed = exceeds(counts.high, all, 0.027) || failed;
		failed = exceeds(counts.ratio_low, all, 0.027) || failed;
		failed = exceeds(counts.ratio_high, all, 0.027) || failed;
		if (run_cells[i].factor > 1)
			continue;
		failed = exceeds(counts.rejected, all, 0.05) || failed;
		failed = exceeds(counts.rejected_rare, all, 0.0012) || failed;
		pooled_worst = fmax(pooled_worst, (double)counts.pooled / all);
	}
	assert_false(failed);
	assert_true(
		pooled_worst > 0.4); /* the sampling test alone calls every variation a change */
}

/* ---- many keys ---- */

/* 24 kinds of keys: 18 that did not change, with 15 keys of each, and 6 with 5 of each that doubled
 * or halved, a tenth of the 300. Most have other sizes on the new side. */
#define KINDS 24
#define KEYS 300

static struct population kind_base[KINDS], kind_new[KINDS];

static bool is_changed(unsigned kind)
{
	return kind % 4 == 3;
}

static void make_kinds(bool exact)
{
	for (unsigned i = 0; i < KINDS; i++) {
		double bytes = floor(exp(log(3) + log(20) * i / KINDS)) * (double)INTERVAL;
		double factor = is_changed(i) ? i % 8 == 3 ? 2 : 0.5 : 1;
		populate(&kind_base[i], &mixes[i % 5], bytes, exact);
		populate(&kind_new[i], &mixes[(i + i / 5) % 5], bytes * factor, exact);
	}
}

/* A binomial test of the two numbers of samples, as if all stood for the same number of bytes. */
static double counts_p(const struct bp_side *base, const struct bp_side *new)
{
	double all = (double)(base->samples + new->samples);
	double less = (double)(base->samples < new->samples ? base->samples : new->samples);
	return fmin(1, 2 * binomial_at_most(all, 0.5, (unsigned)less));
}

/* The share of verdicts that are false, on average over the repetitions, and of the changed keys
 * that are found. */
struct discovery {
	double false_share, false_square, power;
};

/* One repetition; `counts`: with counts_p instead. */
static void discover(struct discovery *sum, struct stream *stream, bool counts)
{
	double p[KEYS], q[KEYS], found = 0, wrong = 0;
	size_t order[KEYS];
	bool changed[KEYS];
	unsigned keys = 0;
	for (unsigned kind = 0; kind < KINDS; kind++)
		for (unsigned i = 0; i < (is_changed(kind) ? 5 : 15); i++) {
			struct bp_side base = draw_side(&kind_base[kind], stream);
			struct bp_side new = draw_side(&kind_new[kind], stream);
			if (base.samples + new.samples < BP_DIFF_SAMPLES_LEAST)
				continue;
			p[keys] =
				counts ? counts_p(&base, &new) : bp_diff_pair_p(&base, &new).p_mid;
			changed[keys++] = is_changed(kind);
		}
	bp_benjamini_hochberg(p, keys, order, q);
	for (unsigned i = 0; i < keys; i++) {
		found += q[i] <= 0.10;
		wrong += q[i] <= 0.10 && !changed[i];
	}
	double share = found > 0 ? wrong / found : 0;
	sum->false_share += share;
	sum->false_square += share * share;
	sum->power += (found - wrong) / 30;
}

/* Mean share, and its standard error in *ret_error. */
static double discover_all(uint64_t seed, bool counts, double *ret_error, double *ret_power)
{
	unsigned all = repetitions(400);
	struct discovery sum = { 0, 0, 0 };
	struct stream stream = { seed };
	for (unsigned i = 0; i < all; i++)
		discover(&sum, &stream, counts);
	double share = sum.false_share / all;
	*ret_error = sqrt((sum.false_square / all - share * share) / all);
	*ret_power = sum.power / all;
	print_message("# %s: false discoveries %.4f +- %.4f, of the changed %.3f are found\n",
		counts ? "counts" : "mid-p", share, *ret_error, *ret_power);
	return share;
}

/* The mean share of 400 repetitions is normal enough for 6 standard errors to be 1e-9. */
static void test_false_discoveries(void **state)
{
	(void)state;
	for (int law = 0; law < 2; law++) {
		double error, power;
		make_kinds(law == 0);
		double share = discover_all(31, false, &error, &power);
		checks++;
		assert_true(share <= 0.10 + 6 * error);
		assert_true(power > 0.2);
		share = discover_all(31, true, &error, &power);
		assert_true(share > 0.5); /* counts must fail */
	}
}

static void test_false_alarm_of_this_program(void **state)
{
	(void)state;
	print_message("# %g checks of a false-alarm rate of %g each\n", checks, false_alarm);
	assert_true(checks * false_alarm <= 1e-6);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_null),
		cmocka_unit_test(test_coverage_of_mixes),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_false_discoveries),
		cmocka_unit_test(test_false_alarm_of_this_program),
	};
	return cmocka_run_group_tests_name("comparisons, simulated", tests, NULL, NULL);
}
