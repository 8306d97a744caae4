/* SPDX-License-Identifier: MIT */
/*
 * The interval of one key: the Horvitz-Thompson estimate with the limits of rest.c around it, in
 * bytes, in values other than sizes, or in objects; and totals, which are counted.
 *
 * What differs between the three is the unseen unit, the mean of what a key may hold without having
 * been sampled at all: 1 / lambda bytes; times the largest value per trial; or 1 / pi of the
 * smallest size that can occur, in objects. At T = 1 everything was taken and nothing is estimated.
 */
#include "estimate/estimate.h"

#include <assert.h>
#include <math.h>

#include "estimate/rest.h"

static struct bp_interval interval_exact(double value)
{
	return (struct bp_interval){ value, value, value, .exact = true };
}

static struct bp_interval interval_n3(const struct bp_rest *rest, double unit, double alpha)
{
	double a = alpha / 2;
	struct bp_interval interval = { .estimate = rest->sampled + rest->c1 };
	interval.low = fmin(rest->sampled + bp_rest_lower(rest, a), interval.estimate);
	interval.high = fmax(rest->sampled + bp_rest_upper(rest, unit, a), interval.estimate);
	return interval;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

struct bp_interval bp_estimate_values(
	const struct bp_sums *sums, uint64_t interval_max, double ratio_max, double alpha)
{
	uint64_t interval = larger(interval_max, sums->interval_max);
	assert(interval >= 1 && alpha > 0 && alpha < 1);
	if (interval == 1)
		return interval_exact(sums->bytes);
	struct bp_rest rest = bp_rest_of_bytes(sums);
	double unit = fmax(ratio_max, sums->ratio_max) / bp_lambda(interval);
	return interval_n3(&rest, unit, alpha);
}

struct bp_interval bp_estimate_bytes(
	const struct bp_sums *sums, uint64_t interval_max, double alpha)
{
	return bp_estimate_values(sums, interval_max, 1, alpha);
}

struct bp_interval bp_estimate_objects(const struct bp_sums *sums, uint64_t interval_max,
	double alpha, uint64_t size_min, uint32_t charge)
{
	uint64_t interval = larger(interval_max, sums->interval_max);
	assert(interval >= 1 && alpha > 0 && alpha < 1);
	if (interval == 1)
		return interval_exact((double)sums->samples);
	struct bp_rest rest = bp_rest_of_objects(sums);
	double unit = 1 / bp_inclusion_probability(bp_trials(size_min, charge), interval);
	return interval_n3(&rest, unit, alpha);
}

struct bp_interval bp_interval_of_total(uint64_t total_low, uint64_t total_high)
{
	if (total_low >= total_high)
		return interval_exact((double)total_low);
	return (struct bp_interval){ NAN, (double)total_low, (double)total_high, .unknown = true };
}
