/* SPDX-License-Identifier: MIT */
/*
 * Let an object that ends and one that is censored be neighbours in the order of ages. If the
 * censored one comes first, fewer are at risk when the other ends, and the estimate of the
 * survivors is less from then on. The order of two that end, or of two that are censored, changes
 * nothing. So the share that has ended by the age x is at most that where
 *
 *	what may have ended by x did so as late as it may have, and not after x
 *	what ends later ends after x
 *	what was censored was censored as early as it may have been
 *
 * and at least that where all that must have ended by x did so as early as it may have, all else
 * ends after x, and what was censored was so as late as it may have been. Each is put together from
 * two arrays that are sorted already, and its limits are those of lifetime.c: the lower one from
 * the least share, the upper one from the greatest.
 */
#include "estimate/lifetime_between.h"

#include <math.h>
#include <stdlib.h>

/* What ended comes first, then by a limit. */
static int compare(const struct bp_lifetime_between *a, const struct bp_lifetime_between *b,
	uint64_t age_a, uint64_t age_b)
{
	if (a->lifetime.ended != b->lifetime.ended)
		return a->lifetime.ended ? -1 : 1;
	return age_a < age_b ? -1 : age_a > age_b;
}

static int compare_low(const void *left, const void *right)
{
	const struct bp_lifetime_between *a = left, *b = right;
	return compare(a, b, a->low, b->low);
}

static int compare_high(const void *left, const void *right)
{
	const struct bp_lifetime_between *a = left, *b = right;
	return compare(a, b, a->high, b->high);
}

void bp_lifetimes_between_sort(struct bp_lifetimes_between *objects)
{
	objects->ended = 0;
	if (objects->count == 0)
		return;
	qsort(objects->by_low, objects->count, sizeof *objects->by_low, compare_low);
	qsort(objects->by_high, objects->count, sizeof *objects->by_high, compare_high);
	while (objects->ended < objects->count && objects->by_low[objects->ended].lifetime.ended)
		objects->ended++;
}

/* Merges what ended by `x` with all that was censored, and puts behind them what ends after x. */
struct merge {
	struct bp_lifetime *to;
	const struct bp_lifetime_between *censored, *end;
	bool censored_high;
	size_t count;
};

static uint64_t censored_age(const struct merge *merge)
{
	return merge->censored_high ? merge->censored->high : merge->censored->low;
}

static void put(struct merge *merge, const struct bp_lifetime_between *object, uint64_t age)
{
	merge->to[merge->count] = object->lifetime;
	merge->to[merge->count++].age = age;
}

/* All that was censored at a smaller age than `age`. */
static void put_censored(struct merge *merge, uint64_t age)
{
	for (; merge->censored < merge->end && censored_age(merge) < age; merge->censored++)
		put(merge, merge->censored, censored_age(merge));
}

/* The array of lifetimes that gives the greatest share by x, or the least, into the buffer. (Of
 * what ends after x it does not matter when, and UINT64_MAX is no age that is asked for.) */
static void arrange(const struct bp_lifetimes_between *objects, uint64_t x, bool greatest)
{
	const struct bp_lifetime_between *ended = greatest ? objects->by_high : objects->by_low;
	const struct bp_lifetime_between *censored = greatest ? objects->by_low : objects->by_high;
	struct merge merge = { .to = objects->buffer,
		.censored = censored + objects->ended,
		.end = censored + objects->count,
		.censored_high = !greatest };
	for (size_t i = 0; i < objects->ended; i++) {
		if (greatest ? ended[i].low > x : ended[i].high > x)
			continue;
		const uint64_t age = !greatest		 ? ended[i].low
				     : ended[i].high > x ? x
							 : ended[i].high;
		put_censored(&merge, age);
		put(&merge, &ended[i], age);
	}
	put_censored(&merge, UINT64_MAX);
	for (size_t i = 0; i < objects->ended; i++)
		if (greatest ? ended[i].low > x : ended[i].high > x)
			put(&merge, &ended[i], UINT64_MAX);
	for (; merge.censored < merge.end; merge.censored++)
		put(&merge, merge.censored, UINT64_MAX);
}

static struct bp_interval extreme_share(const struct bp_lifetimes_between *objects, double unseen,
	double alpha, uint64_t x, bool greatest)
{
	struct bp_interval share;
	arrange(objects, x, greatest);
	bp_lifetime_shares(objects->buffer, objects->count, unseen, alpha, &x, 1, &share);
	return share;
}

/* The points between the limits, sorted, into the buffer. */
static void take_points(const struct bp_lifetimes_between *objects)
{
	for (size_t i = 0; i < objects->count; i++)
		objects->buffer[i] = objects->by_low[i].lifetime;
	if (objects->count > 0)
		qsort(objects->buffer, objects->count, sizeof *objects->buffer,
			bp_lifetime_compare);
}

void bp_lifetime_shares_between(const struct bp_lifetimes_between *objects, double unseen,
	double alpha, const uint64_t *ages, size_t age_count, struct bp_interval *ret_shares)
{
	take_points(objects);
	bp_lifetime_shares(
		objects->buffer, objects->count, unseen, alpha, ages, age_count, ret_shares);
	for (size_t i = 0; i < age_count && objects->count > 0; i++) {
		const struct bp_interval least =
			extreme_share(objects, unseen, alpha, ages[i], false);
		const struct bp_interval greatest =
			extreme_share(objects, unseen, alpha, ages[i], true);
		ret_shares[i].low = fmin(ret_shares[i].low, least.low);
		ret_shares[i].high = fmax(ret_shares[i].high, greatest.high);
		ret_shares[i].exact = ret_shares[i].exact && least.exact && greatest.exact &&
				      ret_shares[i].low == ret_shares[i].high;
	}
}

/* The smallest age from 0 to `most` at which a limit of the share, the upper one or the lower one,
 * is 1/2 or more; INFINITY: none. */
static double first_above_half(const struct bp_lifetimes_between *objects, double unseen,
	double alpha, bool greatest, uint64_t most)
{
	uint64_t below = 0, above = most;
	struct bp_interval share = extreme_share(objects, unseen, alpha, most, greatest);
	if ((greatest ? share.high : share.low) < .5)
		return INFINITY;
	while (below < above) {
		const uint64_t middle = below + (above - below) / 2;
		share = extreme_share(objects, unseen, alpha, middle, greatest);
		if ((greatest ? share.high : share.low) < .5)
			below = middle + 1;
		else
			above = middle;
	}
	return (double)above;
}

struct bp_interval bp_lifetime_median_between(
	const struct bp_lifetimes_between *objects, double unseen, double alpha)
{
	uint64_t most = 0;
	take_points(objects);
	struct bp_interval median =
		bp_lifetime_median(objects->buffer, objects->count, unseen, alpha);
	if (objects->count == 0)
		return median;
	for (size_t i = 0; i < objects->count; i++) {
		const struct bp_lifetime_between *object = &objects->by_low[i];
		const uint64_t age = object->high == UINT64_MAX ? object->low : object->high;
		most = age > most ? age : most;
	}
	median.low = fmin(median.low, first_above_half(objects, unseen, alpha, true, most));
	const double high = first_above_half(objects, unseen, alpha, false, most);
	median.high = isinf(median.estimate) ? INFINITY : fmax(high, median.high);
	median.exact = median.exact && median.low == median.high;
	return median;
}
