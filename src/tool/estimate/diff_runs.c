/* SPDX-License-Identifier: MIT */
/*
 * Several runs of a program a side (docs/statistics.md, "Differences").
 *
 * One profile says how much its own run allocated; how much another run of the same program would
 * have is not in it. With at least two runs a side that variation can be seen, together with the
 * sampling noise, in the variance S^2 of the runs' estimates, and Welch's test of two means uses
 * it. With few samples a run the estimates are so lumpy that S^2 can be small or zero by accident;
 * so the sampling test of the pooled runs must agree, and the larger p counts.
 *
 * If no run of either side differs from the others, there is no variance to divide by. It is then
 * taken as that of a number which goes either way between two neighbours, a step apart: (step /
 * 2)^2, the largest that two values a step apart can have, with the step of a count or the unseen
 * unit of a sampled figure, whichever is larger. A program whose runs repeat to the byte can so be
 * seen to have changed, and counts of 1, 1 against 2, 2 prove nothing.
 *
 * Welch, Biometrika 34 (1947); Satterthwaite, Biometrics Bulletin 2 (1946), for the degrees of
 * freedom.
 */
#include "estimate/diff.h"

#include <assert.h>
#include <math.h>

#include "estimate/numeric/special.h"

/* Below this share of the mean a deviation between runs is rounding: figures per unit of work are
 * quotients. */
static const double rounding = 1e-12;

/* Mean of the estimates and variance between them. */
struct spread {
	double mean, variance;
	size_t count;
};

/* Around the first run, so that equal runs give no variance at all. */
static struct spread spread_of(const struct bp_side *runs, size_t count)
{
	double first = runs[0].estimate, sum = 0, squares = 0, n = (double)count;
	for (size_t i = 0; i < count; i++)
		sum += runs[i].estimate - first;
	for (size_t i = 0; i < count; i++) {
		double deviation = runs[i].estimate - first - sum / n;
		squares += deviation * deviation;
	}
	struct spread spread = { first + sum / n, squares / (n - 1), count };
	double noise = rounding * spread.mean;
	if (!(spread.variance > noise * noise))
		spread.variance = 0;
	return spread;
}

/* The mean of the runs, as far as sampling goes. */
static struct bp_side mean_side(const struct bp_side *runs, size_t count)
{
	struct bp_side sum = runs[0];
	for (size_t i = 1; i < count; i++)
		sum = bp_side_add(sum, runs[i]);
	return bp_side_scale(sum, 1 / (double)count);
}

static double largest_step(const struct bp_side *runs, size_t count)
{
	double step = 0;
	for (size_t i = 0; i < count; i++)
		step = fmax(step, fmax(runs[i].unit, runs[i].lattice));
	return step;
}

/* A difference whose two terms have the variances `base` and `new`, and its t distribution. */
struct welch {
	double deviation, freedom;
};

static struct welch welch_of(double base, size_t base_count, double new, size_t new_count)
{
	double sum = base + new, base_part = base / sum, new_part = new / sum;
	double inverse = base_part * base_part / (double)(base_count - 1) +
			 new_part * new_part / (double)(new_count - 1);
	return (struct welch){ sqrt(sum), 1 / inverse };
}

/* P(t > x) of Student's distribution. */
static double student_exceeds(double x, double freedom)
{
	double square = x * x, sum = freedom + square;
	if (!isfinite(sum))
		return x > 0 ? 0 : 1;
	double tail = 0.5 * bp_beta_regularized(freedom / 2, 0.5, freedom / sum, square / sum);
	return x > 0 ? tail : 1 - tail;
}

/* The x with P(|t| > x) = alpha. */
static double student_quantile(double alpha, double freedom)
{
	double share = bp_beta_regularized_inverse(alpha, freedom / 2, 0.5);
	return sqrt(freedom * (1 / share - 1));
}

static void widen(struct bp_interval *interval, double low, double high)
{
	interval->low = fmin(interval->low, low);
	interval->high = fmax(interval->high, high);
	interval->exact = interval->exact && interval->low == interval->high;
}

static void add_welch_difference(
	struct bp_change *change, const struct spread *base, const struct spread *new, double alpha)
{
	double base_square = base->variance / (double)base->count;
	double new_square = new->variance / (double)new->count;
	if (!(base_square + new_square > 0))
		return; /* made by hand, without a unit or a step: the sampling test stands alone */
	struct welch welch = welch_of(base_square, base->count, new_square, new->count);
	double difference = new->mean - base->mean, t = difference / welch.deviation;
	double half = welch.deviation * student_quantile(alpha, welch.freedom);
	double increase = student_exceeds(t, welch.freedom);
	double decrease = student_exceeds(-t, welch.freedom);
	double both = fmin(1, 2 * fmin(increase, decrease));
	change->p_increase = fmax(change->p_increase, increase);
	change->p_decrease = fmax(change->p_decrease, decrease);
	change->p = fmax(change->p, both);
	change->p_mid = fmax(change->p_mid, both);
	widen(&change->difference, difference - half, difference + half);
}

/* The ratio of the means on logarithms: the variance of ln(mean) is nearly that of the mean over
 * its square. A mean of 0 has no logarithm; there the limits of the sampling interval are moved out
 * by the same factor. */
static void add_welch_ratio(
	struct bp_change *change, const struct spread *base, const struct spread *new, double alpha)
{
	double base_square = 0, new_square = 0;
	if (base->mean > 0)
		base_square = base->variance / (double)base->count / base->mean / base->mean;
	if (new->mean > 0)
		new_square = new->variance / (double)new->count / new->mean / new->mean;
	if (!(base_square + new_square > 0))
		return;
	struct welch welch = welch_of(base_square, base->count, new_square, new->count);
	double factor = exp(welch.deviation * student_quantile(alpha, welch.freedom));
	struct bp_interval *ratio = &change->ratio;
	if (base->mean > 0 && new->mean > 0)
		widen(ratio, ratio->estimate / factor, ratio->estimate * factor);
	else
		widen(ratio, ratio->low / factor, ratio->high * factor);
}

/* What the variation between runs adds to a comparison of the means. */
static struct bp_change with_variation(struct bp_change change, const struct bp_side *base,
	size_t base_count, const struct bp_side *new, size_t new_count, double alpha)
{
	if (base_count == 1 || new_count == 1)
		return change;
	struct spread base_spread = spread_of(base, base_count);
	struct spread new_spread = spread_of(new, new_count);
	if (base_spread.variance == 0 && new_spread.variance == 0) {
		double step = fmax(largest_step(base, base_count), largest_step(new, new_count));
		base_spread.variance = new_spread.variance = step * step / 4;
	}
	add_welch_difference(&change, &base_spread, &new_spread, alpha);
	add_welch_ratio(&change, &base_spread, &new_spread, alpha);
	return change;
}

struct bp_change bp_diff_runs(const struct bp_side *base, size_t base_count,
	const struct bp_side *new, size_t new_count, double alpha)
{
	assert(base_count >= 1 && new_count >= 1);
	struct bp_side base_mean = mean_side(base, base_count);
	struct bp_side new_mean = mean_side(new, new_count);
	struct bp_change change = bp_diff_pair(&base_mean, &new_mean, alpha);
	return with_variation(change, base, base_count, new, new_count, alpha);
}

struct bp_change bp_diff_runs_p(
	const struct bp_side *base, size_t base_count, const struct bp_side *new, size_t new_count)
{
	assert(base_count >= 1 && new_count >= 1);
	struct bp_side base_mean = mean_side(base, base_count);
	struct bp_side new_mean = mean_side(new, new_count);
	struct bp_change change = bp_diff_pair_p(&base_mean, &new_mean);
	return with_variation(change, base, base_count, new, new_count, 0.5);
}

/* What t says of a mean. No run differs from the others: see the top. */
static struct spread spread_of_sample(const struct bp_side *runs, size_t count, double step)
{
	struct spread spread = spread_of(runs, count);
	if (spread.variance == 0)
		spread.variance = step * step / 4;
	return spread;
}

/* The changes of the runs, around the first one, and the variance between them. */
static struct spread spread_of_changes(
	const struct bp_side *base, const struct bp_side *new, size_t count)
{
	const double first = new[0].estimate - base[0].estimate, n = (double)count;
	double sum = 0, squares = 0, size = 0;
	for (size_t i = 0; i < count; i++) {
		sum += new[i].estimate - base[i].estimate - first;
		size = fmax(size, fmax(new[i].estimate, base[i].estimate));
	}
	for (size_t i = 0; i < count; i++) {
		const double deviation = new[i].estimate - base[i].estimate - first - sum / n;
		squares += deviation * deviation;
	}
	struct spread spread = { first + sum / n, squares / (n - 1), count };
	const double noise = rounding * size;
	if (!(spread.variance > noise * noise)) {
		const double step = fmax(largest_step(base, count), largest_step(new, count));
		spread.variance = step * step / 4; /* none differs from the others: see the top */
	}
	return spread;
}

struct bp_change bp_diff_pairs(
	const struct bp_side *base, const struct bp_side *new, size_t count, double alpha)
{
	assert(count >= 2);
	const struct bp_side base_mean = mean_side(base, count), new_mean = mean_side(new, count);
	struct bp_change change = bp_diff_pair(&base_mean, &new_mean, alpha);
	const struct spread spread = spread_of_changes(base, new, count);
	const double freedom = (double)(count - 1), error = sqrt(spread.variance / (double)count);
	change.ratio.low = change.ratio.high = NAN;
	if (!(error > 0))
		return change;
	const double increase = student_exceeds(spread.mean / error, freedom);
	const double decrease = student_exceeds(-spread.mean / error, freedom);
	const double both = fmin(1, 2 * fmin(increase, decrease));
	const double half = error * student_quantile(alpha, freedom);
	change.p_increase = fmax(change.p_increase, increase);
	change.p_decrease = fmax(change.p_decrease, decrease);
	change.p = fmax(change.p, both);
	change.p_mid = fmax(change.p_mid, both);
	widen(&change.difference, spread.mean - half, spread.mean + half);
	return change;
}

double bp_diff_pairs_lower(
	const struct bp_side *base, const struct bp_side *new, size_t count, double a)
{
	assert(count >= 2);
	const struct bp_side base_mean = mean_side(base, count), new_mean = mean_side(new, count);
	const struct spread spread = spread_of_changes(base, new, count);
	const double half = sqrt(spread.variance / (double)count) *
			    student_quantile(2 * a, (double)(count - 1));
	return fmin(bp_diff_lower(&base_mean, &new_mean, a), spread.mean - half);
}

struct bp_interval bp_mean_of_runs(const struct bp_side *runs, size_t count, double alpha)
{
	assert(count >= 2);
	const struct bp_side nothing = bp_side_of_count(0);
	const struct bp_side mean = mean_side(runs, count);
	struct bp_interval interval = bp_diff_pair(&nothing, &mean, alpha).difference;
	const struct spread spread = spread_of_sample(runs, count, largest_step(runs, count));
	const double half = sqrt(spread.variance / (double)count) *
			    student_quantile(alpha, (double)(count - 1));
	widen(&interval, spread.mean - half, spread.mean + half);
	interval.low = fmax(interval.low, 0);
	return interval;
}

double bp_between_runs_deviation(const struct bp_side *runs, size_t count)
{
	assert(count >= 2);
	double sampling = 0;
	for (size_t i = 0; i < count; i++)
		sampling += runs[i].variance / (double)count;
	return sqrt(fmax(0, spread_of(runs, count).variance - sampling));
}
