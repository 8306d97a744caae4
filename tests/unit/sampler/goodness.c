/* SPDX-License-Identifier: MIT */
/* See goodness.h. The upper tail of chi-square with 2 k degrees of freedom is a Poisson sum:
 * P(X > x) = exp(-x/2) sum over i < k of (x/2)^i / i!. */
#include "goodness.h"

#include <math.h>
#include <stddef.h>

/* P(value < v) of the unconditioned law. */
static long double cumulative(uint64_t v, uint64_t interval)
{
	if (interval == 1)
		return v > 0;
	return -expm1l((long double)v * log1pl(-1.0L / (long double)interval));
}

void cells_of_geometric(struct cells *cells, uint64_t interval, uint64_t below, double least)
{
	const long double all = below == 0 ? 1 : cumulative(below, interval);
	uint64_t v = 0;
	*cells = (struct cells){ 0 };
	while (cells->count < CELLS_MAX) {
		/* The smallest w with enough between v and w, by doubling and halving. */
		uint64_t step = 1;
		const long double from = cumulative(v, interval);
		while (step < (uint64_t)1 << 62 &&
			(cumulative(v + step, interval) - from) / all < least)
			step *= 2;
		uint64_t low = v, high = v + step;
		while (high - low > 1) {
			uint64_t middle = low + (high - low) / 2;
			if ((cumulative(middle, interval) - from) / all < least)
				low = middle;
			else
				high = middle;
		}
		cells->first[cells->count] = v;
		const long double rest = 1 - cumulative(high, interval) / all;
		if (rest < least || (below != 0 && high >= below) ||
			cells->count + 1 == CELLS_MAX) {
			cells->probability[cells->count++] = (double)(1 - from / all);
			break;
		}
		cells->probability[cells->count++] =
			(double)((cumulative(high, interval) - from) / all);
		v = high;
	}
	if (cells->count % 2 == 0) {
		cells->count--;
		cells->probability[cells->count - 1] += cells->probability[cells->count];
	}
}

void cells_add(struct cells *cells, uint64_t value)
{
	unsigned low = 0, high = cells->count;
	while (high - low > 1) {
		unsigned middle = (low + high) / 2;
		if (cells->first[middle] <= value)
			low = middle;
		else
			high = middle;
	}
	cells->seen[low]++;
	cells->draws++;
}

double cells_tail(const struct cells *cells)
{
	double x = 0;
	for (unsigned i = 0; i < cells->count; i++) {
		double expected = (double)cells->draws * cells->probability[i];
		x += ((double)cells->seen[i] - expected) * ((double)cells->seen[i] - expected) /
		     expected;
	}
	double term = exp(-x / 2), tail = 0;
	for (unsigned i = 0; i < (cells->count - 1) / 2; i++) {
		tail += term;
		term *= x / 2 / (i + 1);
	}
	return cells->count == 1 ? 1 : tail;
}

double binomial_score(uint64_t seen, uint64_t draws, double probability)
{
	double mean = (double)draws * probability;
	double deviation = sqrt(mean * (1 - probability));
	if (deviation == 0)
		return (double)seen == mean ? 0 : INFINITY;
	return ((double)seen - mean) / deviation;
}

void moments_add(struct moments *moments, double value)
{
	moments->sum += value;
	moments->sum_of_squares += value * value;
	moments->count++;
}

double moments_score(const struct moments *moments, double truth)
{
	double n = (double)moments->count, mean = moments->sum / n;
	double variance = (moments->sum_of_squares - mean * moments->sum) / (n - 1);
	if (variance <= 0)
		return fabs(mean - truth) <= 1e-9 * truth ? 0 : INFINITY;
	return (mean - truth) / sqrt(variance / n);
}

double inclusion(uint64_t trials, uint64_t interval)
{
	return (double)cumulative(trials, interval);
}
