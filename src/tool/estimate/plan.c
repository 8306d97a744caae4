/* SPDX-License-Identifier: MIT */
/*
 * Accuracy: how wide intervals will be (docs/statistics.md, "Planning"). What a figure's interval
 * will be is found by making it: a record of sums as the expected samples would leave it, handed to
 * the estimator that the report will use. So the plan cannot promise what the report does not keep.
 * Samples come by chance: an accuracy is planned for the number of samples that most runs reach,
 * not for the expected one, which half of them miss.
 *
 * Small objects are objects of one byte at an interval of 2^32, or of what is left of it where the
 * total would not fit into 64 bits: only sizes relative to T matter.
 */
#include "estimate/plan.h"

#include <assert.h>
#include <math.h>

#include "estimate/estimate.h"
#include "estimate/numeric/special.h"

/* The T of the model, and the largest total that it may hold. */
static const double model_interval = 0x1p32, model_total_max = 0x1p61;
/* A smaller part of a total gains nothing worth planning with. */
static const double share_least = 0.001;
/* Beyond, the normal interval is as good (its error is of the order of 1 / samples), and the shapes
 * of the others are past what doubles can tell apart. */
static const double samples_normal = 0x1p36;
/* Beyond, the number of samples is as good as normal: its skewness is below 1e-4. */
static const double samples_gamma = 1e8;
/* Nobody waits for more samples. */
static const uint64_t samples_max = (uint64_t)1 << 50;

/* The sums that `samples` samples of one size leave. */
static struct bp_sums sums_of(double samples, uint64_t size, uint64_t interval)
{
	struct bp_sums one = { 0 };
	bp_sums_add(&one, (double)size, size, 0, interval, size >= interval);
	one.samples = (uint64_t)llround(samples);
	one.bytes *= samples;
	one.c1 *= samples;
	one.c2 *= samples;
	one.c3 *= samples;
	one.n1 *= samples;
	one.n2 *= samples;
	one.n3 *= samples;
	one.log_pi_sum *= samples;
	return one;
}

static struct bp_plan_factors factors(
	double relative_size, double share, double samples, double alpha)
{
	bool whole = !(share >= share_least && share < 1);
	double samples_all = whole ? samples : samples / share;
	if (samples > samples_normal && relative_size < 1) {
		double error = -bp_normal_quantile(alpha / 2) / sqrt(samples);
		return (struct bp_plan_factors){ 1 - error, 1 + error };
	}
	double interval_real =
		fmin(model_interval, model_total_max / samples_all / fmax(1, relative_size));
	uint64_t interval = (uint64_t)fmax(interval_real, 1024);
	uint64_t size = (uint64_t)fmax(1, relative_size * (double)interval);
	struct bp_sums key = sums_of(samples, size, interval);
	struct bp_interval figure;
	if (whole) {
		figure = bp_estimate_bytes(&key, interval, alpha);
	} else {
		struct bp_sums others = sums_of(samples_all - samples, size, interval);
		uint64_t total = (uint64_t)llround(key.bytes + key.c1 + others.bytes + others.c1);
		figure = bp_estimate_known_total(&key, &others, interval, total, total, alpha);
	}
	double estimate = key.bytes + key.c1;
	return (struct bp_plan_factors){ fmin(figure.low / estimate, 1),
		fmax(figure.high / estimate, 1) };
}

struct bp_plan_factors bp_plan_factors(
	struct bp_plan_key key, double samples, uint64_t interval, double alpha)
{
	assert(samples > 0 && interval >= 1);
	if (interval == 1)
		return (struct bp_plan_factors){ 1, 1 };
	return factors((double)key.size / (double)interval, key.share, samples, alpha);
}

static bool is_within(struct bp_plan_factors limits, double accuracy)
{
	return limits.low >= 1 - accuracy && limits.high <= 1 + accuracy;
}

/* How uneven runs are: the variance of the number of samples as a part of what Poisson's law has.
 * Of larger objects fewer are left to chance. For a part of a counted total it is four times that
 * of the logarithm of the accuracy, in which the samples of the others have their share: for a part
 * q, by the variance (1 - q)/s of the proportion, (1 + q)^2 + q^3/(1 - q). */
static double unevenness(double relative_size, double share)
{
	const double of_size = relative_size < 1 ? exp(-relative_size) : 0;
	const bool whole = !(share >= share_least && share < 1);
	return of_size *
	       (whole ? 1 : (1 + share) * (1 + share) + share * share * share / (1 - share));
}

/* The number of samples that at least `power` of runs reach where `samples` are expected. */
static double samples_reached(double samples, double uneven, double power)
{
	if (!(uneven > 0))
		return samples;
	if (samples > samples_gamma * uneven)
		return fmax(
			0, floor(samples + bp_normal_quantile(1 - power) * sqrt(samples * uneven)));
	/* P(Poisson(x) >= a) = 1 - Q(a, x); of a multiple by analogy. */
	double low = 0, high = samples / uneven + 1;
	for (int i = 0; i < 60; i++) {
		const double middle = (low + high) / 2;
		if (bp_gamma_q(middle, samples / uneven) <= 1 - power)
			low = middle;
		else
			high = middle;
	}
	return floor(low * uneven * (1 + 1e-12));
}

static bool is_reached(double relative_size, double share, double samples, struct bp_plan_aim aim)
{
	const double reached =
		samples_reached(samples, unevenness(relative_size, share), aim.power);
	return reached >= 1 &&
	       is_within(factors(relative_size, share, reached, aim.alpha), aim.accuracy);
}

uint64_t bp_plan_samples(double relative_size, double share, struct bp_plan_aim aim)
{
	assert(relative_size >= 0 && relative_size < 1 && aim.accuracy > 0);
	uint64_t low = 0, high = 1;
	while (high < samples_max && !is_reached(relative_size, share, (double)high, aim)) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (is_reached(relative_size, share, (double)middle, aim))
			high = middle;
		else
			low = middle;
	}
	return high;
}

double bp_plan_expected_samples(double bytes, uint64_t size, uint64_t interval)
{
	if (size == 0)
		return bytes / (double)interval;
	if (size >= interval)
		return bytes / (double)size;
	return bytes / (double)size * bp_inclusion_probability(size, interval);
}

double bp_plan_accuracy(
	double bytes, struct bp_plan_key key, uint64_t interval, double power, double alpha)
{
	if (interval == 1)
		return 0;
	const double relative_size = (double)key.size / (double)interval;
	const double samples = samples_reached(bp_plan_expected_samples(bytes, key.size, interval),
		unevenness(relative_size, key.share), power);
	if (samples < 0.5)
		return INFINITY;
	struct bp_plan_factors limits = bp_plan_factors(key, samples, interval, alpha);
	return fmax(1 - limits.low, limits.high - 1);
}

/* The accuracy gets better as T gets smaller, so T is found by bisection: of its logarithm first,
 * as it may be anything up to 2^62. */
uint64_t bp_plan_interval(double bytes, struct bp_plan_key key, struct bp_plan_aim aim)
{
	uint64_t low = 1, high = 2;
	while (high < (uint64_t)1 << 61 &&
		bp_plan_accuracy(bytes, key, high, aim.power, aim.alpha) <= aim.accuracy) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (bp_plan_accuracy(bytes, key, middle, aim.power, aim.alpha) <= aim.accuracy)
			low = middle;
		else
			high = middle;
	}
	return low;
}

double bp_plan_unseen(double alpha)
{
	return -log(alpha / 2);
}

double bp_plan_equivalent_samples(double accuracy, double alpha)
{
	double low = 1e-3, high = 1;
	while (high < 0x1p50 && bp_gamma_q_inverse(alpha / 2, high + 1) / high > 1 + accuracy)
		high *= 2;
	for (int i = 0; i < 60; i++) {
		double middle = (low + high) / 2;
		if (bp_gamma_q_inverse(alpha / 2, middle + 1) / middle > 1 + accuracy)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Finer than now: by the samples that the figure is worth, or, with nothing but exact ones, by T
 * itself, with which goes what may be there unseen. Coarser than now, large objects would no longer
 * be exact: then by its bytes, as if all were small. */
static uint64_t interval_of(const struct bp_interval *bytes, uint64_t interval, double equivalent,
	double needed, struct bp_plan_aim aim)
{
	double now = (double)interval, planned = floor(now * equivalent / needed);
	if (bytes->low >= bytes->estimate)
		planned = floor(aim.accuracy * bytes->estimate / bp_plan_unseen(aim.alpha));
	if (planned > now)
		planned = fmax(now, fmin(planned, floor(bytes->estimate / needed)));
	return planned < 1 ? 1 : (uint64_t)fmin(planned, (double)BP_PLAN_INTERVAL_MAX);
}

bool bp_plan_next(const struct bp_interval *bytes, uint64_t interval, double needed,
	struct bp_plan_aim aim, struct bp_plan_next *ret_next)
{
	if (bytes->exact || bytes->low == bytes->high || bytes->unknown || !(bytes->estimate > 0) ||
		!isfinite(bytes->high))
		return false;
	ret_next->accuracy =
		fmax(1 - bytes->low / bytes->estimate, bytes->high / bytes->estimate - 1);
	ret_next->equivalent = bp_plan_equivalent_samples(ret_next->accuracy, aim.alpha);
	ret_next->interval = interval_of(bytes, interval, ret_next->equivalent, needed, aim);
	return true;
}

uint64_t bp_plan_round_interval(uint64_t interval)
{
	uint64_t power = 1;
	while (power <= interval / 2)
		power *= 2;
	return power > 1 && power / 2 * 3 <= interval ? power / 2 * 3 : power;
}

uint64_t bp_plan_interval_of_tenth(double bytes)
{
	const struct bp_plan_key key = { .share = .1 };
	const struct bp_plan_aim aim = { .accuracy = .1, .power = .8, .alpha = .05 };
	return bytes < 10 ? 1 : bp_plan_round_interval(bp_plan_interval(bytes / 10, key, aim));
}

double bp_plan_chance(uint64_t trials, uint64_t interval)
{
	return bp_inclusion_probability(trials, interval);
}

double bp_plan_error_if_sampled(uint64_t trials, uint64_t interval)
{
	if (trials >= interval)
		return 0;
	return 1 / expm1(bp_lambda(interval) * (double)trials);
}
