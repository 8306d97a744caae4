/* SPDX-License-Identifier: MIT */
/*
 * Undoing of the scaling. A bucket holds n samples of objects of one size s. Go writes
 * (runtime/pprof, scaleHeapSample)
 *
 *	objects = trunc(n q),  bytes = trunc(n s q)  with  q = 1 / (1 - exp(-s / T))
 *
 * and s in the label "bytes". s q is never below T, so that one sample more is hundreds of
 * thousands of bytes more, and what truncation took away is a byte: n = round(bytes / (s q)),
 * without doubt.
 *
 * That it was so written is checked, since a writer that scales otherwise, or mixed several sizes
 * in one bucket, would give a number all the same:
 *  - tools that merge buckets add up truncated figures, of n samples at most n: bytes lie between
 *    n s q - n and n s q, objects likewise;
 *  - a label that is the mean of several sizes, rounded down (pprof's conversion of older heap
 *    profiles), leaves more bytes than n s q, unless the mean is whole. Go computes 1 - exp(-x) as
 *    it stands; of a small x this loses digits, which the slack allows for.
 */
#include "import/pprof/pprof_count.h"

#include <math.h>

/* A few roundings of a double, 2^-53 each. */
#define ROUNDINGS (8.0 / 9007199254740992.0)

static bool between(double low, double value, double high, double slack)
{
	return value >= low - slack && value <= high + slack;
}

bool bp_pprof_count(
	uint64_t objects, uint64_t bytes, uint64_t size, uint64_t interval, uint64_t *ret_samples)
{
	uint64_t product;
	if (objects == 0 && bytes == 0) {
		*ret_samples = 0;
		return true;
	}
	if (interval <= 1) { /* every object is in it, and nothing was scaled */
		if (__builtin_mul_overflow(objects, size, &product) || product != bytes)
			return false;
		*ret_samples = objects;
		return true;
	}
	const double probability = -expm1(-(double)size / (double)interval);
	const double weight = (double)size / probability;
	const double samples = nearbyint((double)bytes / weight);
	const double error = ROUNDINGS / probability;
	const double slack = 1e-3 + (double)bytes * error;
	if (samples < 1 || slack > weight / 4 ||
		!between(samples * weight - samples, (double)bytes, samples * weight, slack))
		return false;
	const double scaled = samples / probability;
	if (!between(scaled - samples, (double)objects, scaled, 1e-3 + scaled * error))
		return false;
	*ret_samples = (uint64_t)samples;
	return true;
}
