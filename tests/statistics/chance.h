/* SPDX-License-Identifier: MIT */
/*
 * What the seeded simulations share: random numbers, and how many misses chance allows. Nothing of
 * src/ is used, so that nothing checks itself.
 */
#ifndef BP_TEST_CHANCE_H
#define BP_TEST_CHANCE_H

#include <stdint.h>

/* Random numbers: splitmix64 (Steele, Lea, Flood 2014), repeatable everywhere. */
struct stream {
	uint64_t state;
};
uint64_t stream_next(struct stream *stream);
double stream_uniform(struct stream *stream); /* in (0, 1), 53 bits */

/* P(X > most) of a binomial variable; most >= n p for full accuracy. */
double binomial_above(double n, double p, double most);
/* The least number, n p at least, that X exceeds with probability at most `error`. */
double binomial_limit(double n, double p, double error);

#endif
