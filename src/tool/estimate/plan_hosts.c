/* SPDX-License-Identifier: MIT */
/*
 * Planning for many hosts (docs/statistics.md, "Planning for hosts"). A figure of X bytes on a host
 * has the relative variance v = c^2 + T/X: that between hosts, and that of sampling small objects.
 * Welch's test compares the means of H hosts on each side. Its statistic is about normal around the
 * change over its standard error, with a spread that grows where there are few hosts, as the tail
 * of the t distribution does.
 */
#include <math.h>

#include "estimate/numeric/special.h"
#include "estimate/plan.h"

/* Largest T that is looked at, in bytes, and the most hosts. */
static const double interval_most = 0x1p40, hosts_most = 1e12;

static double student_quantile(double alpha, double freedom)
{
	const double share = bp_beta_regularized_inverse(alpha, freedom / 2, 0.5);
	return sqrt(freedom * (1 / share - 1));
}

double bp_plan_hosts_power(struct bp_plan_hosts plan, double hosts, double interval, double level)
{
	const double between = plan.variation * plan.variation, sampling = interval / plan.bytes;
	const double before = between + sampling;
	const double after = plan.change * (plan.change * between + sampling);
	const double sum = (before + after) / hosts, change = fabs(plan.change - 1);
	if (hosts < 2)
		return 0;
	if (!(sum > 0))
		return 1;
	const double squares = before * before + after * after;
	const double freedom = (hosts - 1) * (before + after) * (before + after) / squares;
	const double quantile = student_quantile(level, freedom);
	const double z =
		(change / sqrt(sum) - quantile) / sqrt(1 + quantile * quantile / (2 * freedom));
	return 0.5 * erfc(-z / M_SQRT2);
}

double bp_plan_hosts_interval(struct bp_plan_hosts plan, double hosts, double power, double level)
{
	double low = 0, high = log(interval_most);
	if (bp_plan_hosts_power(plan, hosts, 1, level) < power)
		return 0;
	if (bp_plan_hosts_power(plan, hosts, interval_most, level) >= power)
		return interval_most;
	while (high - low > 1e-9) {
		const double middle = (low + high) / 2;
		if (bp_plan_hosts_power(plan, hosts, exp(middle), level) >= power)
			low = middle;
		else
			high = middle;
	}
	return exp(low);
}

double bp_plan_hosts_least(struct bp_plan_hosts plan, double interval, double power, double level)
{
	double low = 1, high = 2;
	while (high < hosts_most && bp_plan_hosts_power(plan, high, interval, level) < power) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		const double middle = floor((low + high) / 2);
		if (bp_plan_hosts_power(plan, middle, interval, level) >= power)
			high = middle;
		else
			low = middle;
	}
	return high;
}
