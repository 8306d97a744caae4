/* SPDX-License-Identifier: MIT */
/*
 * Geometric gaps by inversion: with U uniform in (0, 1], floor(ln U / ln q) failed trials come
 * before the next success of probability p = 1 - q = 1/T. There is no libm inside a target, so the
 * logarithm is our own:
 *
 *   u = m * 2^e with m in [sqrt(1/2), sqrt(2)),  ln u = e ln 2 + ln m,
 *   ln m = 2 artanh(s) = 2 (s + s^3/3 + s^5/5 + ...),  s = (m - 1) / (m + 1),  |s| <= 0.1716.
 *
 * With s^2 <= 0.02944 the series needs no fitted constants: cut after s^21/21, what is left out is
 * below 2 s^23/23 < 2.2e-19, under the rounding of a double. ln 2 is split in two so that e ln 2
 * carries no error of its own. Together the relative error stays below 4e-16 everywhere, which
 * moves the mean gap by as much: 10^8 draws see 10^-4. The 53 bits of U cut the law at 36.7 T,
 * where 1e-16 of it is left.
 */
#include "sampler/gap.h"

#include "base/attributes.h"

/* 2 artanh(s), |s| <= 1/3, by its series until the terms vanish. */
static double twice_artanh(double s)
{
	const double square = s * s;
	double power = s, sum = s;
	for (int n = 3; n < 60; n += 2) {
		power *= square;
		double term = power / n;
		if (sum + term == sum)
			break;
		sum += term;
	}
	return 2 * sum;
}

/* 2 artanh(s) for |s| <= 0.1716: the same series, eleven terms, smallest first. */
static double twice_artanh_small(double s)
{
	const double z = s * s;
	double sum = 1.0 / 21;
	sum = sum * z + 1.0 / 19;
	sum = sum * z + 1.0 / 17;
	sum = sum * z + 1.0 / 15;
	sum = sum * z + 1.0 / 13;
	sum = sum * z + 1.0 / 11;
	sum = sum * z + 1.0 / 9;
	sum = sum * z + 1.0 / 7;
	sum = sum * z + 1.0 / 5;
	sum = sum * z + 1.0 / 3;
	return 2 * s + 2 * s * z * sum;
}

double bp_negative_log(double u)
{
	static const double ln2_high = 0x1.62e42fefa3800p-1; /* 41 bits of ln 2 */
	static const double ln2_low = 0x1.ef35793c76730p-45; /* the rest */
	uint64_t bits;
	__builtin_memcpy(&bits, &u, sizeof bits);
	int exponent = (int)(bits >> 52) - 1023;
	bits = (bits & 0x000fffffffffffffu) | 0x3ff0000000000000u;
	double m;
	__builtin_memcpy(&m, &bits, sizeof m);
	if (m > 0x1.6a09e667f3bcdp+0) { /* sqrt(2) */
		m *= 0.5;
		exponent += 1;
	}
	const double e = exponent;
	return -(e * ln2_high + (twice_artanh_small((m - 1) / (m + 1)) + e * ln2_low));
}

double bp_gap_scale(uint64_t interval)
{
	if (interval <= 1)
		return 0;
	/* -log1p(-x) = 2 artanh(x / (2 - x)), and x / (2 - x) = 1 / (2T - 1) for x = 1/T: one
	 * rounding where the plain form has three. */
	return 1 / twice_artanh(1 / (2 * (double)interval - 1));
}

uint64_t bp_gap(uint64_t random, double gap_scale)
{
	const double u = (double)((random >> 11) + 1) * 0x1p-53;
	return (uint64_t)(bp_negative_log(u) * gap_scale);
}
