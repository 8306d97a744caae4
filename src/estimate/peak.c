/* SPDX-License-Identifier: MIT */
/*
 * The peak of an estimated curve (docs/statistics.md, "Peak"). The largest value of a noisy curve
 * is found where the noise happened to be upwards: taken as it is, a flat heap seems to have peaked
 * 10 to 110 % above its level. Two remedies, computed here; profile/ walks the events.
 *
 * Cross-fit: each sample goes to one or both of two halves so that each half is a sample with
 * inclusion probability pi_h(m) = 1 - exp(-lambda m / 2), independent of the other. (Both: pi_h^2
 * of all objects, so pi_h^2 / pi of the sampled ones; only one half: pi - pi_h^2 is twice pi_h (1 -
 * pi_h), so a fair coin.) The moment is chosen on one half and the value read from the other,
 * twice, and averaged: no selection bias is left but that a value at some moment cannot exceed the
 * peak.
 *
 * Widened lower limit: the upper limit at the chosen moment is safe as it is, since the estimate
 * there is the largest. The lower limit is taken at an error divided by about the number of
 * independent moments the maximum was chosen from.
 */
#include "estimate/estimate.h"

#include <assert.h>
#include <math.h>

#include "base/hash.h"

struct bp_half_split bp_split_in_halves(uint64_t trials, uint64_t interval, bool exact)
{
	if (exact)
		return (struct bp_half_split){ 1, 1 };
	double half = -expm1(-bp_lambda(interval) * (double)trials / 2);
	double whole = bp_inclusion_probability(trials, interval);
	return (struct bp_half_split){ half, half * half / whole };
}

unsigned bp_draw_halves(struct bp_half_split split, uint64_t identity)
{
	/* 53 bits decide between one and both, another one is the coin. */
	if ((double)(identity >> 11) * 0x1p-53 < split.both)
		return 3;
	return identity & 1 ? 2 : 1;
}

double bp_peak_lower_level(double alpha, double turnovers, double factor)
{
	assert(turnovers >= 0 && factor >= 0);
	return alpha / 2 / (1 + factor * turnovers);
}

struct bp_interval bp_peak_interval(
	struct bp_interval at_alpha, struct bp_interval at_level, double estimate)
{
	if (at_alpha.exact)
		return at_alpha;
	at_alpha.estimate = estimate;
	at_alpha.low = fmin(at_level.low, estimate);
	at_alpha.high = fmax(at_alpha.high, estimate);
	return at_alpha;
}
