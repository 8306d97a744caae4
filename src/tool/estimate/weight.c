/* SPDX-License-Identifier: MIT */
/*
 * The law of one sample and the sums of many.
 *
 * Every byte of an object (and every byte of its charge) is a trial with success probability 1/T;
 * an object of m trials is sampled if one succeeds: pi(m) = 1 - (1 - 1/T)^m. Written with
 * lambda = -log1p(-1/T) this is -expm1(-lambda m), which keeps all its digits at T = 2 MiB where
 * 1 - pow(1 - 1/T, m) has lost six.
 *
 * A sample of value k stands for itself and, on average, for g = (1 - pi)/pi = 1/expm1(lambda m)
 * unsampled twins, whose number is geometric. The cumulants of k times that number,
 *
 *     k g,   k^2 g (1 + g),   k^3 g (1 + g)(1 + 2 g),
 *
 * add up over samples, and are all the intervals need to know. All terms are positive, so that no
 * sum cancels; that is also why a key is rebuilt after frees and never subtracted from.
 */
#include "estimate/estimate.h"

#include <assert.h>
#include <math.h>

/* expm1 overflows near 709; beyond this the object is certain to be sampled to 300 digits. */
static const double exponent_max = 700.0;

uint64_t bp_trials(uint64_t size, uint32_t charge)
{
	uint64_t trials = size + charge;
	if (trials < size)
		return UINT64_MAX;
	return trials == 0 ? 1 : trials;
}

double bp_lambda(uint64_t interval)
{
	assert(interval >= 1);
	return -log1p(-1 / (double)interval);
}

double bp_inclusion_probability(uint64_t trials, uint64_t interval)
{
	if (trials == 0)
		return 0;
	return -expm1(-bp_lambda(interval) * (double)trials);
}

static void note_kind(
	struct bp_sums *sums, double value, uint64_t size, uint32_t charge, uint64_t interval)
{
	if (!sums->has_first) {
		sums->has_first = true;
		sums->first_value = value;
		sums->first_size = size;
		sums->first_charge = charge;
		sums->first_interval = interval;
	} else if (sums->first_value != value || sums->first_size != size ||
		   sums->first_charge != charge || sums->first_interval != interval) {
		sums->mixed = true;
	}
}

void bp_sums_add(struct bp_sums *sums, double value, uint64_t size, uint32_t charge,
	uint64_t interval, bool exact)
{
	uint64_t trials = bp_trials(size, charge);
	double exponent = bp_lambda(interval) * (double)trials;
	double odds = exact || exponent > exponent_max ? 0 : 1 / expm1(exponent);
	double second = odds * (1 + odds), third = second * (1 + 2 * odds);

	sums->samples++;
	sums->bytes += value;
	sums->c1 += value * odds;
	sums->c2 += value * value * second;
	sums->c3 += value * value * value * third;
	sums->n1 += odds;
	sums->n2 += second;
	sums->n3 += third;
	if (!exact && interval > 1) {
		sums->log_pi_sum -= log1p(odds);
		note_kind(sums, value, size, charge, interval);
		if (trials >= interval)
			sums->bernoulli = true;
	}
	if (interval > sums->interval_max)
		sums->interval_max = interval;
	if (value != (double)size && value / (double)trials > sums->ratio_max)
		sums->ratio_max = value / (double)trials;
}

struct bp_sums bp_sums_times(const struct bp_sums *one, uint64_t times)
{
	const double count = (double)times;
	struct bp_sums sums = *one;
	sums.samples *= times;
	sums.bytes *= count;
	sums.c1 *= count;
	sums.c2 *= count;
	sums.c3 *= count;
	sums.n1 *= count;
	sums.n2 *= count;
	sums.n3 *= count;
	sums.log_pi_sum *= count;
	return sums;
}

void bp_sums_merge(struct bp_sums *sums, const struct bp_sums *other)
{
	sums->samples += other->samples;
	sums->bytes += other->bytes;
	sums->c1 += other->c1;
	sums->c2 += other->c2;
	sums->c3 += other->c3;
	sums->n1 += other->n1;
	sums->n2 += other->n2;
	sums->n3 += other->n3;
	sums->log_pi_sum += other->log_pi_sum;
	if (other->has_first)
		note_kind(sums, other->first_value, other->first_size, other->first_charge,
			other->first_interval);
	sums->mixed = sums->mixed || other->mixed;
	sums->bernoulli = sums->bernoulli || other->bernoulli;
	if (other->interval_max > sums->interval_max)
		sums->interval_max = other->interval_max;
	if (other->ratio_max > sums->ratio_max)
		sums->ratio_max = other->ratio_max;
}
