/* SPDX-License-Identifier: MIT */
/*
 * A key as part of a total that was counted (docs/statistics.md, "Part of a known total").
 *
 * What was allocated in a window is counted exactly, so the unsampled bytes of the key and of all
 * other keys have a known sum. The point estimate moves the key's Horvitz-Thompson estimate by its
 * share, by variance, of the error that the estimates of all keys make together; the estimates of
 * all keys then add up to the total. For the interval both rests are gamma variables, of the key
 * with half a lattice unit (its sampled objects come in whole sizes) and of the others with an
 * unseen unit; given their sum, the key's part of it is a tilted beta variable. The upper limit is
 * the total less the lower limit of the others. For objects of one tiny size this is Clopper and
 * Pearson's interval of the share of the samples, times the total.
 *
 * After a kill the total is itself only known within limits: the lower limit is then computed with
 * the smaller total and the upper limit with the larger.
 */
#include "estimate/estimate.h"

#include <math.h>

#include "estimate/rest.h"
#include "estimate/numeric/special.h"
#include "estimate/numeric/tilted_beta.h"

static double clamp(double value, double low, double high)
{
	return value < low ? low : value > high ? high : value;
}

/* With less than this share of the variance, of the others' with the unseen unit, a key is so small
 * a part that the total says next to nothing of it. All that is left of the tilted beta is then the
 * gamma with half a lattice unit, a poor stand-in for the negative binomial: a few large objects
 * missed in up to 3.9 %. There the total is made to speak through the error: the limit of N3 is
 * taken at the error that the untilted gamma has at the tilted limit, which tends to `a`. */
static const double share_least = 0.03;

/* The lower limit of `key`, which with `other` has `unsampled` bytes (or objects) beyond the
 * samples of both. */
static double lower_limit(const struct bp_rest *key, const struct bp_rest *other, double unsampled,
	double unit, double a)
{
	if (!(key->c1 > 0) || unsampled <= 0)
		return key->sampled;
	double psi = clamp(2 - key->c3 / key->c2 * (key->c1 / key->c2), 0, 1);
	double lattice = key->c2 / key->c1 * psi;
	double key_mean = key->c1 + lattice / 2, key_variance = key->c2 + lattice * lattice / 12;
	double other_mean = other->c1 + unit, other_variance = other->c2 + unit * unit;
	double key_scale = key_variance / key_mean, other_scale = other_variance / other_mean;
	double whole = unsampled + lattice;
	double part =
		whole * bp_tilted_beta_inverse(a, key_mean / key_scale, other_mean / other_scale,
				whole * (1 / key_scale - 1 / other_scale));
	if (key->c2 >= share_least * (key->c2 + other_variance))
		return key->sampled + fmax(0, part - lattice);
	double error = clamp(bp_gamma_p(key_mean / key_scale, part / key_scale), 1e-300, 0.5);
	return key->sampled + fmin(bp_rest_lower(key, error), unsampled);
}

/* The key's estimate, moved by its share of the variance so that all keys add up to the total. Of
 * an uncertain total the value nearest to the uncalibrated sum is taken. */
static double calibrated(
	const struct bp_rest *key, const struct bp_rest *other, double total_low, double total_high)
{
	double sum = key->sampled + key->c1 + other->sampled + other->c1;
	double total = clamp(sum, total_low, total_high), variance = key->c2 + other->c2;
	double share = variance > 0 ? key->c2 / variance : 0;
	return key->sampled + key->c1 + share * (total - sum);
}

/* `unit`: the unseen unit of the key; `unit_beside`: of the others. */
static struct bp_interval part_of_total(const struct bp_rest *key, const struct bp_rest *other,
	double total_low, double total_high, double unit, double unit_beside, double alpha)
{
	double sampled = key->sampled + other->sampled, a = alpha / 2;
	struct bp_interval part = { 0 };
	part.low = lower_limit(key, other, total_low - sampled, unit_beside, a);
	part.high = total_high - lower_limit(other, key, total_high - sampled, unit, a);
	part.high = fmax(part.low, part.high);
	part.estimate = clamp(calibrated(key, other, total_low, total_high), part.low, part.high);
	part.exact = part.low == part.high;
	return part;
}

bool bp_objects_are_missing(double missing, double variance)
{
	return missing > 2 * sqrt(variance);
}

bool bp_objects_are_missing_beside(const struct bp_sums *sums, const struct bp_sums *complement,
	uint64_t total_low, uint64_t total_high)
{
	const struct bp_rest key = bp_rest_of_objects(sums), other = bp_rest_of_objects(complement);
	const double all = key.sampled + key.c1 + other.sampled + other.c1;
	const double missing = clamp(all, (double)total_low, (double)total_high) - all;
	return bp_objects_are_missing(missing, key.c2 + other.c2);
}

void bp_uncalibrate_objects(struct bp_interval *objects, const struct bp_sums *sums)
{
	if (!objects->exact)
		objects->estimate =
			clamp((double)sums->samples + sums->n1, objects->low, objects->high);
}

static uint64_t largest_interval(
	const struct bp_sums *sums, const struct bp_sums *complement, uint64_t interval)
{
	if (sums->interval_max > interval)
		interval = sums->interval_max;
	return complement->interval_max > interval ? complement->interval_max : interval;
}

struct bp_interval bp_estimate_known_total(const struct bp_sums *sums,
	const struct bp_sums *complement, uint64_t interval_max, uint64_t total_low,
	uint64_t total_high, double alpha)
{
	uint64_t interval = largest_interval(sums, complement, interval_max);
	struct bp_rest key = bp_rest_of_bytes(sums), other = bp_rest_of_bytes(complement);
	if (interval == 1 || (double)total_high < key.sampled + other.sampled)
		return bp_estimate_bytes(sums, interval, alpha);
	const double unit = 1 / bp_lambda(interval);
	return part_of_total(
		&key, &other, (double)total_low, (double)total_high, unit, unit, alpha);
}

struct bp_interval bp_estimate_known_objects(const struct bp_sums *sums,
	const struct bp_sums *complement, uint64_t interval_max, uint64_t total_low,
	uint64_t total_high, double alpha, struct bp_size_min size_min, uint32_t charge)
{
	uint64_t interval = largest_interval(sums, complement, interval_max);
	struct bp_rest key = bp_rest_of_objects(sums), other = bp_rest_of_objects(complement);
	if (interval == 1 || (double)total_high < key.sampled + other.sampled)
		return bp_estimate_objects(sums, interval, alpha, size_min.key, charge);
	return part_of_total(&key, &other, (double)total_low, (double)total_high,
		1 / bp_inclusion_probability(bp_trials(size_min.key, charge), interval),
		1 / bp_inclusion_probability(bp_trials(size_min.beside, charge), interval), alpha);
}
