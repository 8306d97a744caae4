/* SPDX-License-Identifier: MIT */
/*
 * Which objects exist. A law of sizes is a list of sizes with a share of the objects each; a
 * population has whole numbers of them, so many that about E[s] samples are expected. The numbers
 * are rounded cumulatively from the largest size on, so that a heavy tail appears with the object
 * that first makes half of one, and not with forty rounded-off halves.
 *
 * The eleven laws: one tiny size (16 B), one small one (1 KiB), a heap of three lognormal humps, 32
 * B beside 10 MiB, a heavy tail (Pareto 1.1), sizes around T (.5 T to 2 T), and single sizes .3 .9
 * 1 2 4 T. Three more are hard cases: objects beyond 4 T, where the law bernoulli needs size
 * classes, and a few objects of .344 T beside tiny ones.
 */
#include "simulate.h"

#include <math.h>

#include "base/attributes.h"
#include "estimate/numeric/special.h"

static double inclusion_of(uint64_t size, uint64_t interval)
{
	return bp_inclusion_probability(bp_trials(size, SIMULATE_CHARGE), interval);
}

uint64_t usable_of(uint64_t size)
{
	uint64_t usable = ((size + 8 + 15) & ~UINT64_C(15)) - 8;
	return usable < 24 ? 24 : usable;
}

/* A law as points: ascending sizes, each with a share of the objects (of any sum). */
struct point {
	uint64_t size;
	double share;
};

static void add_group(struct population *population, uint64_t size, double objects)
{
	if (objects < 1)
		return;
	population->groups[population->count++] = (struct group){ size, objects };
}

static void fill_points(struct population *population, const struct point *points, unsigned count,
	double expected, uint64_t interval)
{
	double samples = 0, above = 0;
	for (unsigned i = 0; i < count; i++)
		samples += points[i].share * inclusion_of(points[i].size, interval);
	double objects = expected / samples;
	for (unsigned i = count; i-- > 0;) {
		double before = floor(objects * above + 0.5);
		above += points[i].share;
		add_group(population, points[i].size, floor(objects * above + 0.5) - before);
	}
}

static void fill_single(
	struct population *population, uint64_t size, double expected, uint64_t interval)
{
	add_group(population, size, fmax(1, round(expected / inclusion_of(size, interval))));
}

static void fill_16(struct population *population, double expected, uint64_t interval)
{
	fill_single(population, 16, expected, interval);
}

static void fill_1_kib(struct population *population, double expected, uint64_t interval)
{
	fill_single(population, 1024, expected, interval);
}

/* 70 % of the objects around 48 B, 25 % around 700 B, 5 % around 30 kB. */
static void fill_lognormal(struct population *population, double expected, uint64_t interval)
{
	static const double share[] = { .7, .25, .05 }, median[] = { 48, 700, 30000 },
			    deviation[] = { .6, .8, 1 };
	enum { STEPS = 16 };
	struct point points[3 * STEPS];
	for (unsigned hump = 0; hump < 3; hump++)
		for (unsigned i = 0; i < STEPS; i++) {
			double z = -2.6 + 0.4 * i;
			double below = i == 0 ? 0 : erfc(-(z - 0.2) / sqrt(2)) / 2;
			double until = i == STEPS - 1 ? 1 : erfc(-(z + 0.2) / sqrt(2)) / 2;
			points[hump * STEPS + i] =
				(struct point){ (uint64_t)(median[hump] * exp(deviation[hump] * z)),
					share[hump] * (until - below) };
		}
	fill_points(population, points, 3 * STEPS, expected, interval);
}

/* Half of the samples from each, but one of 10 MiB at least. */
static void fill_tiny_and_huge(struct population *population, double expected, uint64_t interval)
{
	double huge = fmax(1, round(expected / 2));
	add_group(population, 10 << 20, huge);
	add_group(population, 32,
		fmax(1, round(fmax(expected - huge, .25) / inclusion_of(32, interval))));
}

static void fill_pareto(struct population *population, double expected, uint64_t interval)
{
	enum { STEPS = 44 };
	struct point points[STEPS];
	for (unsigned i = 0; i < STEPS; i++) {
		double low = 64 * exp2(0.4 * i), high = 64 * exp2(0.4 * (i + 1));
		double above = i == STEPS - 1 ? 0 : pow(64 / high, 1.1);
		points[i] =
			(struct point){ (uint64_t)sqrt(low * high), pow(64 / low, 1.1) - above };
	}
	fill_points(population, points, STEPS, expected, interval);
}

static void fill_around_interval(struct population *population, double expected, uint64_t interval)
{
	enum { STEPS = 30 };
	struct point points[STEPS];
	for (unsigned i = 0; i < STEPS; i++)
		points[i] = (struct point){
			(uint64_t)((.5 + 1.5 * (i + .5) / STEPS) * (double)interval), 1
		};
	fill_points(population, points, STEPS, expected, interval);
}

static void fill_times(
	struct population *population, double times, double expected, uint64_t interval)
{
	fill_single(population, (uint64_t)(times * (double)interval), expected, interval);
}

static void fill_3_tenths(struct population *population, double expected, uint64_t interval)
{
	fill_times(population, .3, expected, interval);
}

static void fill_9_tenths(struct population *population, double expected, uint64_t interval)
{
	fill_times(population, .9, expected, interval);
}

static void fill_once(struct population *population, double expected, uint64_t interval)
{
	fill_times(population, 1, expected, interval);
}

static void fill_twice(struct population *population, double expected, uint64_t interval)
{
	fill_times(population, 2, expected, interval);
}

static void fill_4_times(struct population *population, double expected, uint64_t interval)
{
	fill_times(population, 4, expected, interval);
}

static void fill_8_times(struct population *population, double expected, uint64_t interval)
{
	fill_times(population, 8, expected, interval);
}

/* Few large arrays beside objects below T: where plain N3's lower limit fails too. */
static void fill_arrays(struct population *population, double expected, uint64_t interval)
{
	double times[] = { .3, 6, 8 }, share[] = { .23, .08, .69 };
	for (unsigned i = 0; i < 3; i++) {
		uint64_t size = (uint64_t)(times[i] * (double)interval);
		add_group(population, size,
			round(share[i] * expected / inclusion_of(size, interval)));
	}
}

/* Three objects of .344 T beside tiny ones, seldom sampled: where a lower limit of whole objects,
 * right for one size, would miss. */
static void fill_three_and_tiny(struct population *population, double expected, uint64_t interval)
{
	uint64_t size = (uint64_t)(.344 * (double)interval);
	add_group(population, size, 3);
	add_group(population, 16,
		round(fmax(.32, expected - 3 * inclusion_of(size, interval)) /
			inclusion_of(16, interval)));
}

const struct size_law size_laws[] = {
	{ "16 B", false, false, fill_16 },
	{ "1 KiB", false, false, fill_1_kib },
	{ "lognormal mix", true, false, fill_lognormal },
	{ "32 B + 10 MiB", true, false, fill_tiny_and_huge },
	{ "Pareto 1.1", true, false, fill_pareto },
	{ ".5 T to 2 T", true, false, fill_around_interval },
	{ ".3 T", false, false, fill_3_tenths },
	{ ".9 T", false, false, fill_9_tenths },
	{ "T", false, false, fill_once },
	{ "2 T", false, false, fill_twice },
	{ "4 T", false, false, fill_4_times },
	{ "8 T", false, true, fill_8_times },
	{ ".3 T, 6 T, 8 T", true, true, fill_arrays },
	{ "16 B + 3 of .344 T", true, true, fill_three_and_tiny },
};
const unsigned size_law_count = BP_COUNT(size_laws);

bool population_fill(struct population *population, const struct size_law *law, double expected,
	uint64_t interval)
{
	*population = (struct population){ .size_min = UINT64_MAX };
	if (expected > 0)
		law->fill(population, expected, interval);
	for (unsigned i = 0; i < population->count; i++) {
		const struct group *group = &population->groups[i];
		population->bytes += group->objects * (double)group->size;
		population->objects += group->objects;
		population->usable += group->objects * (double)usable_of(group->size);
		population->trials +=
			group->objects * (double)bp_trials(group->size, SIMULATE_CHARGE);
		population->expected += group->objects * inclusion_of(group->size, interval);
		if (group->size < population->size_min)
			population->size_min = group->size;
	}
	if (population->count == 0)
		population->size_min = 0;
	return population->expected >= expected / 1.5 && population->expected <= expected * 1.5;
}
