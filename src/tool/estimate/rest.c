/* SPDX-License-Identifier: MIT */
/*
 * N3: the limits of what was not sampled (docs/statistics.md, "The interval
 * N3").
 *
 * The true figure is what was sampled, K, which is certain, plus an unsampled
 * rest R. Given the samples, R is modelled as the sum over samples of k
 * Geometric(pi): each sample stands for its unsampled twins. Only three
 * cumulants of R are kept.
 *
 * Lower limit: a quantile of R, replaced by kappa times a negative binomial
 * with the same three cumulants. For objects of one size that is R itself, and
 * rounded up to whole objects the limit is exactly Clopper and Pearson's. The
 * rounding holds only where the key can hold one size only: where other
 * objects merely were not sampled, it made the limit miss in up to 3.2 %. Where
 * all objects could well have been sampled (product of pi above a), R = 0 is
 * not rejected.
 *
 * Upper limit: something may exist of which nothing was sampled. k
 * Geometric(pi(m)) never exceeds an exponential variable of mean 1 / lambda
 * whatever the size, so one such "unseen unit" is added to the cumulants, and
 * the quantile of the gamma distribution with their mean and variance is taken;
 * of the Pearson III distribution with all three, when big and small samples
 * together are more skewed than that. Without a sample this is -ln(a) / lambda,
 * exactly right for any mix of sizes.
 *
 * Plain Bernoulli profiles with objects beyond 4 T (sums->bernoulli) need more
 * than this: N3 by size classes, size_classes.c, which mixes the two laws with
 * numbers of unseen large objects.
 */
#include "estimate/rest.h"

#include <math.h>

#include "estimate/numeric/special.h"

struct bp_rest bp_rest_of_bytes(const struct bp_sums *sums)
{
	return (struct bp_rest){ sums->bytes, sums->c1, sums->c2, sums->c3, sums->log_pi_sum,
		sums->single_size && !sums->mixed };
}

struct bp_rest bp_rest_of_objects(const struct bp_sums *sums)
{
	return (struct bp_rest){ (double)sums->samples, sums->n1, sums->n2, sums->n3,
		sums->log_pi_sum, sums->single_size && !sums->mixed };
}

/* Below psi_smooth the negative binomial is taken as the gamma distribution it
 * tends to, unless its quantile is at so few objects that their being whole
 * still counts: at 26 objects the gamma's limit misses 2.57 % instead of 2.5;
 * from smooth_from objects on the error is at most 1.01 times too large. Below
 * psi_least too few digits of psi are left. */
static const double psi_smooth = 0.001, psi_least = 1e-9, smooth_from = 500;

/* P(NegBin(r, psi) <= n), the number of failures before the r-th success. */
static double matched_probability(const struct bp_rest_law *law, double n)
{
	return bp_beta_regularized(law->r, n + 1, law->psi, 1 - law->psi);
}

struct bp_rest_law bp_rest_law_of(const struct bp_rest *rest, double a)
{
	double c1 = rest->c1, c2 = rest->c2;
	if (!(c1 > 0) || !(c2 > 0))
		return (struct bp_rest_law){ .empty = true };
	double scale = c2 / c1, psi = 2 - rest->c3 / c2 * (c1 / c2);
	struct bp_rest_law law = { .none = exp(rest->log_pi_sum),
		.shape = c1 / scale,
		.scale = scale,
		.whole = rest->whole };
	if (psi < psi_least || (psi < psi_smooth && scale * bp_gamma_p_inverse(a, law.shape) >
							    smooth_from * scale * psi))
		return law;
	law.psi = fmin(psi, 1 - 1e-12);
	law.kappa = scale * law.psi;
	law.r = c1 / (scale * (1 - law.psi));
	return law;
}

double bp_rest_at_most(const struct bp_rest_law *law, double x)
{
	if (x < 0)
		return 0;
	if (law->empty)
		return 1;
	if (law->kappa == 0)
		return fmax(law->none, bp_gamma_p(law->shape, x / law->scale));
	double n = x / law->kappa;
	if (law->whole)
		n = floor(n + 1e-9);
	return fmax(law->none, matched_probability(law, n));
}

/* Real n with P(n) = a, P(low) <= a < P(high): regula falsi on P - a, where an
 * end that stays twice has its value halved (Illinois), so that both ends close
 * in. */
static double solve_real(const struct bp_rest_law *law, double low, double high, double a)
{
	double at_low = matched_probability(law, low) - a,
	       at_high = matched_probability(law, high) - a;
	int last = 0;
	for (int i = 0; i < 200 && high - low > 1e-14 * high; i++) {
		double n = high - at_high * (high - low) / (at_high - at_low);
		if (!(n > low && n < high))
			n = (low + high) / 2;
		double at_n = matched_probability(law, n) - a;
		if (at_n == 0)
			return n;
		if (at_n < 0) {
			at_high = last < 0 ? at_high / 2 : at_high;
			low = n;
			at_low = at_n;
			last = -1;
		} else {
			at_low = last > 0 ? at_low / 2 : at_low;
			high = n;
			at_high = at_n;
			last = 1;
		}
		if (fabs(at_n) < 1e-14 * a)
			return n;
	}
	return (low + high) / 2;
}

/* The smallest integer n with P(n) > a; low and high are integers, P(low) <= a
 * < P(high). */
static double solve_integer(const struct bp_rest_law *law, double low, double high, double a)
{
	while (high - low > 1) {
		double middle = floor((low + high) / 2);
		if (middle <= low || middle >= high)
			break; /* beyond 2^53 the next double is the next integer */
		if (matched_probability(law, middle) <= a)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* An a-quantile of the rest. The search starts around the gamma quantile, which
 * is near it. */
double bp_rest_lower(const struct bp_rest *rest, double a)
{
	struct bp_rest_law law = bp_rest_law_of(rest, a);
	if (law.empty || law.none > a)
		return 0;
	double gamma_quantile = law.scale * bp_gamma_p_inverse(a, law.shape);
	if (law.kappa == 0)
		return gamma_quantile;
	if (matched_probability(&law, 0) > a)
		return 0;
	double low = floor(gamma_quantile / law.kappa), high, width = 1;
	while (low > 0 && matched_probability(&law, low) > a) {
		low = fmax(0, low - width);
		width *= 2;
	}
	high = low + 1;
	width = 1;
	while (matched_probability(&law, high) <= a) {
		low = high;
		high += width;
		width *= 2;
	}
	return law.kappa * (law.whole ? solve_integer : solve_real)(&law, low, high, a);
}

/* shift + scale Gamma(shape). */
struct pearson {
	double shift, scale, shape;
};

/* With three cumulants, or the first two where the third shows no more skewness
 * than they have. */
static struct pearson pearson_of(double d1, double d2, double d3)
{
	if (d1 * d3 > 2 * d2 * d2 * (1 + 1e-12)) {
		double shape = 4 * d2 / d3 * d2 / d3 * d2, scale = d3 / (2 * d2);
		return (struct pearson){ d1 - shape * scale, scale, shape };
	}
	return (struct pearson){ 0, d2 / d1, d1 * d1 / d2 };
}

/* The (1 - a)-quantile of the rest plus one exponential unit of mean `unit`. */
double bp_rest_upper(const struct bp_rest *rest, double unit, double a)
{
	double d1 = rest->c1 + unit;
	if (!(d1 > 0))
		return 0;
	struct pearson law =
		pearson_of(d1, rest->c2 + unit * unit, rest->c3 + 2 * unit * unit * unit);
	return law.shift + law.scale * bp_gamma_q_inverse(a, law.shape);
}

double bp_rest_above(const struct bp_rest *rest, double unit, double variance, double x)
{
	if (x <= 0)
		return 1;
	struct pearson law = pearson_of(rest->c1 + unit, rest->c2 + unit * unit + variance,
		rest->c3 + 2 * unit * unit * unit);
	return bp_gamma_q(law.shape, (x - law.shift) / law.scale);
}
