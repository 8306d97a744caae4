/* SPDX-License-Identifier: MIT */
/* See chance.h. */
#include "chance.h"

#include <math.h>

uint64_t stream_next(struct stream *stream)
{
	uint64_t z = stream->state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

double stream_uniform(struct stream *stream)
{
	return ((double)(stream_next(stream) >> 11) + 0.5) * 0x1p-53;
}

/* Term by term from the first one on; from n p on they only fall. */
double binomial_above(double n, double p, double most)
{
	double k = most + 1, sum = 0;
	if (k > n)
		return 0;
	double term = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
			  (n - k) * log1p(-p));
	for (; k <= n && term > sum * 1e-17; k++) {
		sum += term;
		term *= (n - k) / (k + 1) * p / (1 - p);
	}
	return sum;
}

double binomial_limit(double n, double p, double error)
{
	double most = floor(n * p), step = fmax(1, floor(sqrt(n * p) / 8));
	while (binomial_above(n, p, most) > error)
		most += step;
	while (most > n * p && binomial_above(n, p, most - 1) <= error)
		most--;
	return most;
}
