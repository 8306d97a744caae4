/* SPDX-License-Identifier: MIT */
/* How well counts agree with a law: chi-square with an exact tail, and standard scores. Pure. */
#ifndef BP_TESTS_SAMPLER_GOODNESS_H
#define BP_TESTS_SAMPLER_GOODNESS_H

#include <stdint.h>

/* Cells of a chi-square test; an odd number is used, so that the tail has a closed form. */
#define CELLS_MAX 101

/* A geometric law of success probability 1/interval, cut into cells of consecutive values. Under
 * the condition that the value is below `below` (0: no condition). */
struct cells {
	unsigned count;		   /* odd */
	uint64_t first[CELLS_MAX]; /* smallest value of each cell; the last one is open */
	double probability[CELLS_MAX];
	uint64_t seen[CELLS_MAX];
	uint64_t draws;
};

/* Cells of at least `least` probability each. */
void cells_of_geometric(struct cells *cells, uint64_t interval, uint64_t below, double least);

void cells_add(struct cells *cells, uint64_t value);

/* P(a chi-square as large as the one seen), exact in the law of chi-square; 1 for a single cell. */
double cells_tail(const struct cells *cells);

/* (seen - draws p) / sqrt(draws p (1 - p)); 0 where p is 0 or 1 and seen agrees, else infinite. */
double binomial_score(uint64_t seen, uint64_t draws, double probability);

/* Running mean and variance. */
struct moments {
	double sum, sum_of_squares;
	uint64_t count;
};
void moments_add(struct moments *moments, double value);
/* (mean - truth) / standard error of the mean. */
double moments_score(const struct moments *moments, double truth);

/* P(an object of `trials` trials is sampled), by libm. */
double inclusion(uint64_t trials, uint64_t interval);

#endif
