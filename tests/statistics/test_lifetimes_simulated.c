/* SPDX-License-Identifier: MIT */
/*
 * Coverage of the limits of lifetimes, by seeded simulation.
 *
 * A population is a set of objects with sizes, births and lifetimes. Births are uniform over a
 * recording of length 1; what outlives it is censored. The truth is what Kaplan and Meier's
 * estimate says of the whole population, computed here by its definition. A repetition samples each
 * object with its inclusion probability, independently, and compares the limits with the truth: of
 * the share that ends within three ages and of the median, in bytes and in objects.
 *
 * Each tail of each figure may miss in 2.75 % of the repetitions. A cell fails if it misses more
 * often than a tail that misses in exactly 2.75 % does with the probability FALSE_ALARM; with the
 * number of tails here the false-alarm rate of a whole run is below 1e-5. The short form has 200
 * repetitions of each cell; the long form (BYTEPOLL_LONG_TESTS=1) has 20,000. The seeds are the
 * numbers of the cells; the first choice of seeds was kept.
 *
 * Through the same machine goes the limit that ignores what may be unseen and takes the normal
 * distribution. It must fail.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "chance.h"
#include "estimate/estimate.h"
#include "estimate/lifetime.h"

#define FALSE_ALARM 3e-9
#define MISSES_ALLOWED .0275
#define OBJECTS_MAX 200000
#define SECOND 1e9
#define FIGURES 4 /* the share within three ages, and the median */

struct object {
	uint64_t size, age_ns;
	double inclusion;
	bool ended;
};

/* In parts of one size each, and all of them in the order of their ages. */
static struct object objects[OBJECTS_MAX], by_age[OBJECTS_MAX];
static struct bp_lifetime samples[OBJECTS_MAX];
static size_t object_count;

static const uint64_t ages_ns[FIGURES - 1] = { 10000000, 200000000, 900000000 };

/* Laws of sizes: the size in units of T / 1024, at a uniform u; of the sampled objects about equal
 * parts have each size of a mixture, so that the objects of the small size are many. */
struct size_law {
	const char *name;
	double sizes[3]; /* in T */
	unsigned count;
};

static const struct size_law size_laws[] = {
	{ "small", { .004 }, 1 },
	{ "small, medium", { .01, .2 }, 2 },
	{ "small, medium, large", { .01, .2, 3 }, 3 },
	{ "around T", { .4, .8, 1.2 }, 3 },
};

/* Lifetimes in seconds; `u` is uniform, `part` is the number of the size. */
static double exponential(double u, unsigned part)
{
	(void)part;
	return -.7 * log(u);
}

static double heavy_tailed(double u, unsigned part)
{
	(void)part;
	return .005 * pow(u, -1 / .4);
}

static double mixed(double u, unsigned part)
{
	(void)part;
	return u < .85 ? .002 * (1 + u) : 1e6;
}

/* The small objects live long, the large ones end at once. */
static double by_size(double u, unsigned part)
{
	return part == 0 ? -3 * log(u) : -.02 * log(u);
}

static double nearly_all_stay(double u, unsigned part)
{
	(void)part;
	return u < .03 ? .1 * u : 1e6;
}

static const struct {
	const char *name;
	double (*draw)(double u, unsigned part);
} life_laws[] = {
	{ "exponential", exponential },
	{ "heavy tailed", heavy_tailed },
	{ "mixture", mixed },
	{ "by size", by_size },
	{ "nearly all stay", nearly_all_stay },
};

static const uint64_t intervals[] = { 1000, 50000, 2000000 };
static const double expected_samples[] = { 3, 20, 150 };

static void add_object(struct stream *stream, uint64_t size, uint64_t interval, unsigned part,
	double (*draw)(double, unsigned))
{
	struct object *object = &objects[object_count++];
	assert_true(object_count <= OBJECTS_MAX);
	const double birth = stream_uniform(stream), life = draw(stream_uniform(stream), part);
	object->size = size;
	object->ended = life <= 1 - birth;
	object->age_ns = (uint64_t)(fmin(life, 1 - birth) * SECOND);
	object->inclusion = size + 1 >= interval
				    ? 1
				    : -expm1((double)(size + 1) * log1p(-1 / (double)interval));
}

static void populate(struct stream *stream, const struct size_law *sizes, uint64_t interval,
	double expected, double (*draw)(double, unsigned))
{
	object_count = 0;
	for (unsigned part = 0; part < sizes->count; part++) {
		const uint64_t size = (uint64_t)fmax(1, sizes->sizes[part] * (double)interval);
		const double inclusion =
			size + 1 >= interval
				? 1
				: -expm1((double)(size + 1) * log1p(-1 / (double)interval));
		const double count = ceil(expected / sizes->count / inclusion);
		for (double i = 0; i < count; i++)
			add_object(stream, size, interval, part, draw);
	}
}

static int compare_objects(const void *left, const void *right)
{
	const struct object *a = left, *b = right;
	return a->age_ns < b->age_ns ? -1 : a->age_ns > b->age_ns;
}

struct truth {
	double shares[FIGURES - 1], median_ns;
	bool known[FIGURES - 1];
};

static double value_of(const struct object *object, bool of_objects)
{
	return of_objects ? 1 : (double)object->size;
}

/* Kaplan and Meier by the definition, of the whole population. */
static struct truth find_truth(bool of_objects)
{
	struct truth truth = { .median_ns = INFINITY };
	double at_risk = 0, survival = 1;
	size_t next = 0;
	for (size_t i = 0; i < object_count; i++)
		at_risk += value_of(&by_age[i], of_objects);
	for (unsigned f = 0; f < FIGURES; f++) {
		const uint64_t until_ns = f < FIGURES - 1 ? ages_ns[f] : UINT64_MAX;
		while (next < object_count && by_age[next].age_ns <= until_ns) {
			double ended = 0, gone = 0;
			const uint64_t age_ns = by_age[next].age_ns;
			for (; next < object_count && by_age[next].age_ns == age_ns; next++) {
				gone += value_of(&by_age[next], of_objects);
				ended += by_age[next].ended ? value_of(&by_age[next], of_objects)
							    : 0;
			}
			survival *= 1 - ended / at_risk;
			at_risk -= gone;
			if (survival <= .5 && isinf(truth.median_ns))
				truth.median_ns = (double)age_ns;
		}
		if (f == FIGURES - 1)
			break;
		truth.shares[f] = 1 - survival;
		truth.known[f] = next < object_count;
	}
	return truth;
}

/* The number of objects that are passed by before the next one that is sampled. */
static size_t draw_gap(struct stream *stream, double inclusion)
{
	return inclusion == 1
		       ? 0
		       : (size_t)fmin(log(stream_uniform(stream)) / log1p(-inclusion), OBJECTS_MAX);
}

/* Samples of each part, then sorted; their values are bytes. */
static size_t draw_samples(struct stream *stream)
{
	size_t count = 0;
	for (size_t first = 0, end; first < object_count; first = end) {
		const double inclusion = objects[first].inclusion;
		for (end = first; end < object_count && objects[end].size == objects[first].size;)
			end++;
		for (size_t i = first + draw_gap(stream, inclusion); i < end;
			i += 1 + draw_gap(stream, inclusion))
			samples[count++] = (struct bp_lifetime){ .age = objects[i].age_ns,
				.value = (double)objects[i].size,
				.whole = 1 / inclusion,
				.count = 1,
				.ended = objects[i].ended };
	}
	qsort(samples, count, sizeof *samples, bp_lifetime_compare);
	return count;
}

struct misses {
	unsigned low[FIGURES], high[FIGURES], runs[FIGURES];
};

/* The limits that must fail: normal, without anything unseen. */
static struct bp_interval wald(size_t count, uint64_t age_ns)
{
	struct bp_interval share;
	bp_lifetime_shares(samples, count, 0, .05, &age_ns, 1, &share);
	const double half = 1.96 * sqrt(share.estimate * (1 - share.estimate) / (double)count);
	share.low = share.estimate - half;
	share.high = share.estimate + half;
	return share;
}

static void compare(
	struct misses *misses, unsigned figure, const struct bp_interval *interval, double truth)
{
	/* Sums in another order differ in their last digits. */
	const double rounding = figure < FIGURES - 1 ? 1e-9 : 0;
	misses->runs[figure]++;
	misses->low[figure] += truth < interval->low - rounding;
	misses->high[figure] += truth > interval->high + rounding;
}

static void compare_all(
	size_t count, const struct truth *truth, double unseen, bool bad, struct misses *misses)
{
	struct bp_interval shares[FIGURES - 1];
	bp_lifetime_shares(samples, count, unseen, .05, ages_ns, FIGURES - 1, shares);
	for (unsigned f = 0; f < FIGURES - 1; f++) {
		if (bad)
			shares[f] = wald(count, ages_ns[f]);
		if (truth->known[f])
			compare(misses, f, &shares[f], truth->shares[f]);
	}
	const struct bp_interval median = bp_lifetime_median(samples, count, unseen, .05);
	compare(misses, FIGURES - 1, &median, truth->median_ns);
}

static unsigned repetitions(void)
{
	return getenv("BYTEPOLL_LONG_TESTS") != NULL ? 20000 : 200;
}

/* Which populations, for messages. */
struct cell {
	const struct size_law *sizes;
	size_t life;
	uint64_t interval;
	double expected;
	bool bad; /* with the limits that must fail, of which nothing is printed */
};

static bool check(
	const struct misses *misses, const char *kind, const struct cell *cell, double *worst)
{
	bool good = true;
	for (unsigned f = 0; f < FIGURES; f++) {
		const double runs = misses->runs[f];
		const double most = fmax(misses->low[f], misses->high[f]);
		if (runs == 0)
			continue;
		*worst = fmax(*worst, most / runs);
		if (most <= binomial_limit(runs, MISSES_ALLOWED, FALSE_ALARM))
			continue;
		good = false;
		if (!cell->bad)
			print_message(
				"%s, %s, %s, T = %llu, %g samples, figure %u: misses %.2f and %.2f %%\n",
				kind, cell->sizes->name, life_laws[cell->life].name,
				(unsigned long long)cell->interval, cell->expected, f,
				100 * misses->low[f] / runs, 100 * misses->high[f] / runs);
	}
	return good;
}

/* One population, in bytes and in objects: true if no tail misses too often. */
static bool run_cell(struct stream *stream, const struct cell *cell, double *worst)
{
	struct misses bytes = { 0 }, numbers = { 0 };
	double smallest = 1;
	populate(stream, cell->sizes, cell->interval, cell->expected, life_laws[cell->life].draw);
	memcpy(by_age, objects, object_count * sizeof *objects);
	qsort(by_age, object_count, sizeof *by_age, compare_objects);
	for (size_t i = 0; i < object_count; i++)
		smallest = fmin(smallest, objects[i].inclusion);
	const struct truth of_bytes = find_truth(false), of_objects = find_truth(true);
	for (unsigned r = 0; r < repetitions(); r++) {
		const size_t count = draw_samples(stream);
		compare_all(count, &of_bytes, 1 / bp_lambda(cell->interval), cell->bad, &bytes);
		for (size_t i = 0; i < count; i++)
			samples[i].value = 1;
		compare_all(count, &of_objects, 1 / smallest, cell->bad, &numbers);
	}
	const bool good = check(&bytes, "bytes", cell, worst);
	return check(&numbers, "objects", cell, worst) && good;
}

/* All cells of one law of sizes: how many fail. */
static unsigned run_cells(const struct size_law *sizes, unsigned *seed, bool bad, double *worst)
{
	unsigned failures = 0;
	for (size_t l = 0; l < BP_COUNT(life_laws); l++)
		for (size_t t = 0; t < BP_COUNT(intervals); t++)
			for (size_t e = 0; e < BP_COUNT(expected_samples); e++) {
				const struct cell cell = { sizes, l, intervals[t],
					expected_samples[e], bad };
				struct stream stream = { ++*seed };
				failures += !run_cell(&stream, &cell, worst);
			}
	return failures;
}

static void no_tail_misses_too_often(void **state)
{
	(void)state;
	unsigned seed = 0, failures = 0;
	for (size_t s = 0; s < BP_COUNT(size_laws); s++) {
		double worst = 0;
		failures += run_cells(&size_laws[s], &seed, false, &worst);
		print_message("%s: worst tail %.2f %%\n", size_laws[s].name, 100 * worst);
	}
	assert_int_equal(failures, 0);
}

static void a_bad_limit_is_seen(void **state)
{
	(void)state;
	unsigned seed = 0;
	double worst = 0;
	assert_int_not_equal(run_cells(&size_laws[1], &seed, true, &worst), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_tail_misses_too_often),
		cmocka_unit_test(a_bad_limit_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
