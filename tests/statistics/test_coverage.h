/* SPDX-License-Identifier: MIT */
/*
 * What the coverage tests share: binomial probabilities by their recurrence (no function of
 * src/tool/estimate is used, so that it does not check itself), and the sums of a number of equal
 * samples. A miss is the truth outside an interval, counted apart for each side: `low` where the
 * truth is below the lower limit, `high` where it is above the upper one.
 */
#ifndef BP_TEST_COVERAGE_H
#define BP_TEST_COVERAGE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "estimate/estimate.h"

struct misses {
	double low, high;
};

/* Sums of `count` samples of one size, taken exactly if `exact` and large enough. */
static inline void add_samples(struct bp_sums *sums, unsigned count, uint64_t size, uint32_t charge,
	uint64_t interval, bool exact)
{
	exact = exact && size + charge >= interval;
	for (unsigned i = 0; i < count; i++)
		bp_sums_add(sums, (double)size, size, charge, interval, exact);
}

/* Chance that one object of m trials is sampled; by pow, with the digits that a test needs. */
static inline double inclusion(uint64_t trials, uint64_t interval, bool exact)
{
	if (exact && trials >= interval)
		return 1;
	return 1 - powl(1 - 1 / (long double)interval, (long double)trials);
}

/* P(S = 0), P(S = 1) ... P(S = count - 1) of a binomial variable, outwards from its mean. */
static inline void binomial_table(double n, double p, double *probability, unsigned count)
{
	unsigned start = n * p < count ? (unsigned)(n * p) : count - 1;
	double at = exp(lgamma(n + 1) - lgamma(start + 1.0) - lgamma(n - start + 1) +
			start * log(p) + (n - start) * log1p(-p));
	for (unsigned s = 0; s < count; s++)
		probability[s] = 0;
	probability[start] = at;
	for (unsigned s = start; s + 1 < count && s < n; s++)
		probability[s + 1] = probability[s] * (n - s) / (s + 1) * p / (1 - p);
	for (unsigned s = start; s > 0; s--)
		probability[s - 1] = probability[s] * s / (n - s + 1) * (1 - p) / p;
}

/* P(S <= s) of a binomial variable. */
static inline double binomial_at_most(double n, double p, unsigned s)
{
	double at = exp(n * log1p(-p)), sum = 0;
	for (unsigned i = 0; i <= s && i <= n; i++) {
		sum += at;
		at *= (n - i) / (i + 1) * p / (1 - p);
	}
	return sum < 1 ? sum : 1;
}

static inline void keep_worst(struct misses *worst, double low, double high)
{
	worst->low = fmax(worst->low, low);
	worst->high = fmax(worst->high, high);
}

#endif
