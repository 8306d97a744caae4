/* SPDX-License-Identifier: MIT */
/*
 * See laws.h. Five tests of one run, all of exact laws:
 *
 *   - inclusion: how many objects of each size were sampled, a binomial count (given the numbers of
 *     objects): the worst |z|;
 *   - cells: those counts with the offset of the successful byte, in eight bins a size: chi-square;
 *   - gaps: failed trials between one success and the next. With T in force n_i times, their hazard
 *     is H = sum of n_i x rate_i, and U = exp(-H) (1 - V/T), V uniform, is uniform exactly,
 *     whatever T did, as long as it did not look ahead: chi-square over 101 equal cells, and
 *     Anderson-Darling on the first 2^20 of them, which looks at the ends;
 *   - pairs of gaps that follow each other: chi-square over 11 x 11 equal cells (pairs do not
 *     overlap);
 *   - literal: the cells against those of a trial for every byte, as chi-square of two samples.
 *
 * Degrees of freedom are even, so the tail of chi-square is a finite sum. That of Anderson-Darling
 * is taken by its leading term, sqrt(3) erfc(sqrt(A)): A is a sum of chi-squares weighted by
 * 1/(j(j+1)), of which the first rules far out; it is 11 % low at .05, 5 % at .01, less beyond.
 */
#include "laws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "goodness.h"
#include "sampler/prng.h"

void tally_init(struct tally *tally, const struct design *design, uint64_t seed)
{
	memset(tally, 0, sizeof *tally);
	tally->design = design;
	for (unsigned regime = 0; regime < REGIMES; regime++) {
		const double interval = (double)design->interval[regime];
		tally->rate[regime] = -log1p(-1 / interval);
		tally->success[regime] = 1 / interval;
	}
	bp_random_seed(tally->random, ~seed);
	tally->first = malloc(ANDERSON_DARLING_MAX * sizeof *tally->first);
	if (tally->first == NULL)
		abort();
}

void tally_finish(struct tally *tally)
{
	free(tally->first);
	tally->first = NULL;
}

void tally_pass(struct tally *tally, unsigned regime, unsigned class, uint64_t count)
{
	tally->passed[regime][class] += count;
	tally->hazard += tally->rate[regime] * (double)(tally->design->size[class] * count);
	tally->objects += count;
}

static void see_gap(struct tally *tally, double u)
{
	tally->gaps[(unsigned)(u * GAP_CELLS)]++;
	if (tally->first_count < ANDERSON_DARLING_MAX)
		tally->first[tally->first_count++] = (float)u;
	if (tally->has_previous)
		tally->pairs[(unsigned)(tally->previous * PAIR_CELLS)]
			    [(unsigned)(u * PAIR_CELLS)]++;
	tally->has_previous = !tally->has_previous;
	tally->previous = u;
}

void tally_hit(struct tally *tally, unsigned regime, unsigned class, uint64_t offset)
{
	const double v = (double)(bp_random_next(tally->random) >> 11) * 0x1p-53;
	const uint64_t size = tally->design->size[class];
	tally->hit[regime][class][offset * BINS / size]++;
	tally->hazard += tally->rate[regime] * (double)offset;
	see_gap(tally, exp(-tally->hazard) * (1 - v * tally->success[regime]) * (1 - 0x1p-50));
	tally->hazard = 0;
	tally->objects++;
	tally->samples++;
}

/* P(chi-square of an even number of degrees of freedom > x). */
static double tail(double x, unsigned freedom)
{
	double sum = 0, exponent = -x / 2;
	for (unsigned i = 0; i < freedom / 2; i++) {
		sum += exp(exponent);
		exponent += log(x / 2 / (i + 1));
	}
	return freedom == 0 || x <= 0 ? 1 : fmin(sum, 1);
}

static double square_of(double seen, double expected)
{
	return (seen - expected) * (seen - expected) / expected;
}

/* First offset of a bin of `size`. */
static uint64_t bin_first(unsigned bin, uint64_t size)
{
	return (bin * size + BINS - 1) / BINS;
}

static uint64_t hits_of(const struct tally *tally, unsigned regime, unsigned class)
{
	uint64_t hits = 0;
	for (unsigned bin = 0; bin < BINS; bin++)
		hits += tally->hit[regime][class][bin];
	return hits;
}

/* So few would be expected in a cell that its count is not nearly normal. */
#define EXPECTED_LEAST 10

/* The chi-square of one size, 8 degrees of freedom; 0 and none where there are too few objects. */
static double cells_of_class(
	const struct tally *tally, unsigned regime, unsigned class, unsigned *freedom)
{
	const uint64_t size = tally->design->size[class];
	const double rate = tally->rate[regime], passed = (double)tally->passed[regime][class];
	const double objects = passed + (double)hits_of(tally, regime, class);
	const double unsampled = objects * exp(-rate * (double)size);
	double square = square_of(passed, unsampled);
	if (unsampled < EXPECTED_LEAST)
		return 0;
	for (unsigned bin = 0; bin < BINS; bin++) {
		const double from = (double)bin_first(bin, size),
			     to = (double)bin_first(bin + 1, size);
		const double expected = -objects * exp(-rate * from) * expm1(-rate * (to - from));
		if (expected < EXPECTED_LEAST)
			return 0;
		square += square_of((double)tally->hit[regime][class][bin], expected);
	}
	*freedom += BINS;
	return square;
}

static void judge_classes(const struct tally *tally, struct verdict *verdict)
{
	unsigned freedom = 0;
	double square = 0;
	for (unsigned regime = 0; regime < REGIMES; regime++)
		for (unsigned class = 0; class < CLASSES; class ++) {
			const uint64_t hits = hits_of(tally, regime, class);
			const uint64_t objects = hits + tally->passed[regime][class];
			const double pi =
				-expm1(-tally->rate[regime] * (double)tally->design->size[class]);
			if ((double)objects * fmin(pi, 1 - pi) >= 4 * EXPECTED_LEAST)
				verdict->score = fmax(
					verdict->score, fabs(binomial_score(hits, objects, pi)));
			if (objects > 0)
				square += cells_of_class(tally, regime, class, &freedom);
		}
	verdict->cells = tail(square, freedom);
}

static void judge_gaps(const struct tally *tally, struct verdict *verdict)
{
	double gaps = 0, pairs = 0;
	uint64_t all_pairs = 0;
	for (unsigned i = 0; i < GAP_CELLS; i++)
		gaps += square_of((double)tally->gaps[i], (double)tally->samples / GAP_CELLS);
	for (unsigned i = 0; i < PAIR_CELLS * PAIR_CELLS; i++)
		all_pairs += tally->pairs[i / PAIR_CELLS][i % PAIR_CELLS];
	for (unsigned i = 0; i < PAIR_CELLS * PAIR_CELLS; i++)
		pairs += square_of((double)tally->pairs[i / PAIR_CELLS][i % PAIR_CELLS],
			(double)all_pairs / (PAIR_CELLS * PAIR_CELLS));
	verdict->gaps = tail(gaps, GAP_CELLS - 1);
	verdict->pairs = tail(pairs, PAIR_CELLS * PAIR_CELLS - 1);
}

static int compare_floats(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

/* Kept within floats' reach of 0 and 1: 2^-25 moves A by less than 1e-5 at these numbers. */
static double clamp(double u)
{
	return fmin(fmax(u, 0x1p-25), 1 - 0x1p-25);
}

static double judge_anderson_darling(const struct tally *tally)
{
	const uint64_t n = tally->first_count;
	double sum = 0;
	if (n < 100)
		return 1;
	qsort(tally->first, n, sizeof *tally->first, compare_floats);
	for (uint64_t i = 0; i < n; i++) {
		const double low = clamp(tally->first[i]), high = clamp(tally->first[n - 1 - i]);
		sum += (2 * (double)i + 1) * (log(low) + log1p(-high));
	}
	const double statistic = -(double)n - sum / (double)n;
	return fmin(1, sqrt(3) * erfc(sqrt(fmax(statistic, 0))));
}

/* Two samples of one size: 8 degrees of freedom. */
static double literal_of_class(const struct tally *a, const struct tally *b, unsigned regime,
	unsigned class, unsigned *freedom)
{
	double cells[2][BINS + 1], objects[2] = { 0, 0 }, square = 0;
	for (unsigned i = 0; i <= BINS; i++) {
		cells[0][i] =
			(double)(i < BINS ? a->hit[regime][class][i] : a->passed[regime][class]);
		cells[1][i] =
			(double)(i < BINS ? b->hit[regime][class][i] : b->passed[regime][class]);
		objects[0] += cells[0][i];
		objects[1] += cells[1][i];
	}
	for (unsigned i = 0; i <= BINS; i++)
		for (unsigned side = 0; side < 2; side++) {
			const double expected = objects[side] * (cells[0][i] + cells[1][i]) /
						(objects[0] + objects[1]);
			if (!(expected >= EXPECTED_LEAST))
				return 0;
			square += square_of(cells[side][i], expected);
		}
	*freedom += BINS;
	return square;
}

struct verdict tally_judge(const struct tally *tally, const struct tally *literal)
{
	struct verdict verdict = { .score = tally->broken ? INFINITY : 0, .literal = 1 };
	judge_classes(tally, &verdict);
	judge_gaps(tally, &verdict);
	verdict.anderson_darling = judge_anderson_darling(tally);
	if (literal != NULL) {
		unsigned freedom = 0;
		double square = 0;
		for (unsigned i = 0; i < REGIMES * CLASSES; i++)
			square += literal_of_class(
				tally, literal, i / CLASSES, i % CLASSES, &freedom);
		verdict.literal = tail(square, freedom);
	}
	return verdict;
}

bool verdict_holds(const struct verdict *verdict)
{
	return verdict->score < 6.1 && verdict->cells > 1e-9 && verdict->gaps > 1e-9 &&
	       verdict->pairs > 1e-9 && verdict->anderson_darling > 1e-9 && verdict->literal > 1e-9;
}
