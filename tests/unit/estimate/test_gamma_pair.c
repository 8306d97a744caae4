/* SPDX-License-Identifier: MIT */
/*
 * X - Y and X / Y of two gamma variables against other ways to the same numbers: the contour
 * integral against the incomplete beta and gamma functions where those apply, and elsewhere against
 * the convolution of the two, by a trapezoidal sum of a thousand incomplete gamma functions; the
 * derivatives against difference quotients; the quantiles put back into the distribution.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/numeric/gamma_pair.h"
#include "estimate/numeric/special.h"

static void expect_near(const char *what, double value, double wanted, double tolerance)
{
	if (value != wanted && !(fabs(value - wanted) <= tolerance * fabs(wanted)))
		fail_msg("%s: %.15g, not %.15g", what, value, wanted);
}

static struct bp_gamma gamma_law(double mean, double shape)
{
	return (struct bp_gamma){ mean, mean / shape * mean };
}

/* What gamma_pair.h promises, and what the rounding of the two means (to 1e-16 of them) makes of
 * the tail. */
static double tolerance(const struct bp_tail *tail, struct bp_gamma x, struct bp_gamma y)
{
	double promised = tail->log > log(1e-30) ? 1e-11 : 1e-10;
	return promised + 1e-15 * tail->slope * (x.mean + y.mean);
}

static const double shapes[] = { 1, 1.3, 2, 5, 20, 100, 1e3, 1e4, 1e6, 1e9, 1e12 };

/* At d = 0: the beta function, over 14 orders of magnitude on both sides of the middle. */
static void test_zero_is_the_beta_function(void **state)
{
	(void)state;
	for (size_t i = 0; i < BP_COUNT(shapes); i++)
		for (size_t j = 0; j < BP_COUNT(shapes); j++)
			for (int k = -10; k <= 10; k++) {
				double a = shapes[i], b = shapes[j], spread = sqrt(1 / a + 1 / b);
				struct bp_gamma x = gamma_law(exp(0.6 * k * spread), a);
				struct bp_gamma y = gamma_law(1, b);
				double wanted = bp_gamma_at_most(x, y);
				struct bp_tail tail = bp_gamma_difference_tail(x, y, 0);
				expect_near("tail", exp(tail.log), wanted, tolerance(&tail, x, y));
				expect_near("sum", wanted + bp_gamma_exceeds(x, y), 1, 1e-12);
			}
}

/* One of the two certain: the gamma function. */
static void test_certain_is_the_gamma_function(void **state)
{
	(void)state;
	for (size_t i = 0; i < 8; i++)
		for (int k = -20; k <= 20; k++) {
			double a = shapes[i], value = a * exp(0.3 * k / sqrt(a));
			struct bp_gamma x = { a, a }, other = { value, 0 }, none = { 0, 0 };
			double below = bp_gamma_p(a, value), above = bp_gamma_q(a, value);
			expect_near("p", exp(bp_gamma_difference_tail(x, none, value).log), below,
				1e-10);
			expect_near(
				"p", exp(bp_gamma_difference_tail(x, other, 0).log), below, 1e-10);
			expect_near(
				"q", exp(bp_gamma_difference_tail(other, x, 0).log), above, 1e-10);
			expect_near("at most", bp_gamma_at_most(x, other), below, 1e-10);
			expect_near("exceeds", bp_gamma_exceeds(x, other), above, 1e-10);
		}
	struct bp_gamma x = { 5, 5 }, y = { 7, 0 };
	assert_true(bp_gamma_difference_tail(x, y, -7).log == -INFINITY);
	assert_true(bp_gamma_difference_tail(y, x, 7).log == 0);
}

/* P(X - Y <= d) as the mean of P(X <= Y + d), with Y = max(0, -d) + e^u. */
static double convolution(double a, double scale_x, double b, double scale_y, double d)
{
	double least = fmax(0, -d), sum = 0;
	for (double u = -60; u < 40; u += 0.02) {
		double y = least + exp(u);
		double density = bp_gamma_prefix(b, y / scale_y) / y * exp(u);
		sum += density * bp_gamma_p(a, (y + d) / scale_x) * 0.02;
	}
	return sum;
}

static void test_convolution(void **state)
{
	(void)state;
	static const double cases[][4] = { /* shape, scale, shape, scale */
		{ 1, 1, 1, 1 }, { 1, 5, 3.5, 0.2 }, { 2.5, 1, 1, 1 }, { 12, 1, 4, 2 },
		{ 1, 1, 150, 0.3 }, { 80, 0.1, 1.5, 6 }, { 200, 1, 210, 1 }
	};
	for (size_t i = 0; i < BP_COUNT(cases); i++)
		for (double z = -3.5; z <= 3.5; z += 0.5) {
			const double *at = cases[i];
			struct bp_gamma x = { at[0] * at[1], at[0] * at[1] * at[1] };
			struct bp_gamma y = { at[2] * at[3], at[2] * at[3] * at[3] };
			double d = x.mean - y.mean + z * sqrt(x.variance + y.variance);
			double wanted = convolution(at[0], at[1], at[2], at[3], d);
			if (wanted < 1e-14)
				continue;
			expect_near(
				"tail", exp(bp_gamma_difference_tail(x, y, d).log), wanted, 1e-9);
		}
}

/* Both tails, in the three ways they are computed: d negligible, d not, one of the two certain. */
static void test_tails(void **state)
{
	(void)state;
	for (size_t i = 0; i < BP_COUNT(shapes); i++)
		for (size_t j = 0; j < BP_COUNT(shapes); j++)
			for (int k = -2; k <= 2; k++) {
				double a = shapes[i], b = shapes[j];
				struct bp_gamma y = gamma_law(1, b);
				struct bp_gamma x = gamma_law(exp(k * sqrt(1 / a + 1 / b)), a);
				double deviation = sqrt(x.variance + y.variance);
				struct bp_tails zero = bp_gamma_difference_tails(x, y, 0);
				assert_true(zero.at_most == bp_gamma_at_most(x, y));
				assert_true(zero.exceeds == bp_gamma_exceeds(x, y));
				/* Around the change from one way to the other nothing jumps. */
				for (double d = 1e-13; d < 1e-7; d *= 10) {
					struct bp_tails tails =
						bp_gamma_difference_tails(x, y, d * deviation);
					double close = 1e-10 + 20 * d + 1e-15 / deviation;
					expect_near("p", tails.at_most, zero.at_most, close);
					expect_near("q", tails.exceeds, zero.exceeds, close);
				}
				struct bp_tails above = bp_gamma_difference_tails(x, y, deviation);
				struct bp_tails below = bp_gamma_difference_tails(y, x, -deviation);
				assert_true(above.at_most > zero.at_most);
				expect_near("sum", above.at_most + above.exceeds, 1, 1e-14);
				expect_near("exchanged", below.at_most, above.exceeds, 1e-11);
			}
	/* Far out: 0 and 1, not the overflow of what computes them. */
	struct bp_gamma wide = gamma_law(1e8, 193), narrow = gamma_law(34, 1);
	assert_true(bp_gamma_difference_tails(wide, narrow, -6.6e9).at_most == 0);
	assert_true(bp_gamma_difference_tails(narrow, wide, 6.6e9).exceeds == 0);
	for (size_t i = 0; i < BP_COUNT(shapes); i++)
		for (double far = 1e2; far < 1e20; far *= 10) {
			struct bp_gamma x = gamma_law(3, shapes[i]), y = gamma_law(2, 1),
					two = { 2, 0 };
			struct bp_tails both = bp_gamma_difference_tails(x, y, far);
			struct bp_tails one = bp_gamma_difference_tails(x, two, far);
			struct bp_tails other = bp_gamma_difference_tails(two, x, -far);
			assert_true(both.at_most > 1 - 1e-12 && both.exceeds >= 0 &&
				    both.exceeds < 1e-12);
			assert_true(
				one.at_most > 1 - 1e-12 && one.exceeds >= 0 && one.exceeds < 1e-12);
			assert_true(other.exceeds > 1 - 1e-12 && other.at_most >= 0 &&
				    other.at_most < 1e-12);
		}
	struct bp_gamma x = gamma_law(3, 5), five = { 5, 0 }, none = { 0, 0 };
	struct bp_tails tails = bp_gamma_difference_tails(x, five, -1);
	expect_near("certain y", tails.at_most, bp_gamma_p(5, 4 / 0.6), 1e-13);
	expect_near("certain y", tails.exceeds, bp_gamma_q(5, 4 / 0.6), 1e-13);
	tails = bp_gamma_difference_tails(five, x, 1);
	expect_near("certain x", tails.at_most, bp_gamma_q(5, 4 / 0.6), 1e-13);
	tails = bp_gamma_difference_tails(five, x, 5);
	assert_true(tails.at_most == 1 && tails.exceeds == 0);
	tails = bp_gamma_difference_tails(x, none, -1);
	assert_true(tails.at_most == 0 && tails.exceeds == 1);
	tails = bp_gamma_difference_tails(five, none, 5);
	assert_true(tails.at_most == 1 && tails.exceeds == 0);
	tails = bp_gamma_difference_tails(five, none, 4.9);
	assert_true(tails.at_most == 0 && tails.exceeds == 1);
}

/* (X + x) / (Y + y): the quantile put back, and its meeting with the plain ratio. */
static void test_shifted_ratio(void **state)
{
	(void)state;
	static const double levels[] = { 1e-9, 1e-5, 0.001, 0.025, 0.3, 0.7, 0.975 };
	static const double more[][2] = { { 0, 1e-9 }, { 0, 1 }, { 3, 0 }, { 0.5, 7 },
		{ 1e4, 30 } };
	for (size_t i = 0; i < 8; i++)
		for (size_t j = 0; j < BP_COUNT(levels); j++)
			for (size_t k = 0; k < BP_COUNT(more); k++) {
				struct bp_gamma x = gamma_law(3, shapes[i]), y = gamma_law(1, 2.5);
				double a = more[k][0], b = more[k][1], p = levels[j];
				double r = bp_gamma_shifted_ratio_quantile(x, a, y, b, p);
				struct bp_gamma stretched = { r, r * y.variance * r };
				double d = r * b - a;
				struct bp_tail tail = bp_gamma_difference_tail(x, stretched, d);
				double close = 10 * tolerance(&tail, x, stretched);
				expect_near("ratio", exp(tail.log), p, close);
				double back = bp_gamma_shifted_ratio_quantile(y, b, x, a, 1 - p);
				double steep = tail.slope * r * (1 + b);
				if (p >= 1e-5) /* or else 1 - p is not p any more */
					expect_near("exchanged", back, 1 / r,
						(close + 1e-11 / p) / steep);
			}
	struct bp_gamma x = gamma_law(3, 5), five = { 5, 0 }, none = { 0, 0 };
	double low = bp_gamma_difference_quantile(x, none, 0.01);
	double high = -bp_gamma_difference_quantile(none, x, 0.01);
	expect_near(
		"x", bp_gamma_shifted_ratio_quantile(x, 2, five, 1, 0.01), (low + 2) / 6, 1e-12);
	expect_near(
		"y", bp_gamma_shifted_ratio_quantile(five, 1, x, 2, 0.01), 6 / (high + 2), 1e-12);
	assert_true(bp_gamma_shifted_ratio_quantile(none, 0, x, 2, 0.01) == 0);
	assert_true(isinf(bp_gamma_shifted_ratio_quantile(x, 2, none, 0, 0.01)));
}

static void test_derivatives(void **state)
{
	(void)state;
	for (size_t i = 0; i < 8; i++)
		for (double z = -3; z <= 3; z += 0.75) {
			struct bp_gamma x = gamma_law(3, shapes[i]), y = gamma_law(2, 4);
			double deviation = sqrt(x.variance + y.variance), h = 1e-4 * deviation;
			double d = 1 + z * deviation;
			struct bp_tail at = bp_gamma_difference_tail(x, y, d);
			struct bp_tail left = bp_gamma_difference_tail(x, y, d - h);
			struct bp_tail right = bp_gamma_difference_tail(x, y, d + h);
			double slope = (right.log - left.log) / (2 * h);
			double curvature = (right.slope - left.slope) / (2 * h);
			assert_true(fabs(slope - at.slope) < 1e-5 * at.slope + 1e-9 / deviation);
			assert_true(fabs(curvature - at.curvature) < 1e-5 / deviation / deviation);
			assert_true(at.curvature <= 0);
		}
}

static void test_quantiles(void **state)
{
	(void)state;
	static const double levels[] = { 1e-12, 1e-5, 0.001, 0.025, 0.3, 0.7, 0.975 };
	for (size_t i = 0; i < BP_COUNT(shapes); i++)
		for (size_t j = 0; j < BP_COUNT(shapes); j++)
			for (size_t k = 0; k < BP_COUNT(levels); k++) {
				struct bp_gamma x = gamma_law(3, shapes[i]);
				struct bp_gamma y = gamma_law(1, shapes[j]);
				double d = bp_gamma_difference_quantile(x, y, levels[k]);
				double r = bp_gamma_ratio_quantile(x, y, levels[k]);
				struct bp_gamma stretched = { r, r * y.variance * r };
				struct bp_tail tail = bp_gamma_difference_tail(x, y, d);
				double close = 10 * tolerance(&tail, x, y);
				expect_near("difference", exp(tail.log), levels[k], close);
				expect_near(
					"ratio", bp_gamma_at_most(x, stretched), levels[k], close);
			}
}

static void test_certain_quantiles(void **state)
{
	(void)state;
	struct bp_gamma none = { 0, 0 }, five = { 5, 0 };
	for (size_t i = 0; i < BP_COUNT(shapes); i++) {
		struct bp_gamma x = gamma_law(1, shapes[i]);
		double low = bp_gamma_difference_quantile(x, five, 0.025) + 5;
		expect_near("x - 5", bp_gamma_at_most(x, (struct bp_gamma){ low, 0 }), 0.025, 1e-7);
		double high = 5 - bp_gamma_difference_quantile(five, x, 0.025);
		expect_near(
			"5 - x", bp_gamma_exceeds(x, (struct bp_gamma){ high, 0 }), 0.025, 1e-7);
		expect_near("x / 5", bp_gamma_ratio_quantile(x, five, 0.025), low / 5, 1e-12);
		expect_near("5 / x", bp_gamma_ratio_quantile(five, x, 0.025), 5 / high, 1e-12);
		assert_true(bp_gamma_ratio_quantile(none, x, 0.025) == 0);
		assert_true(isinf(bp_gamma_ratio_quantile(x, none, 0.025)));
	}
	assert_true(bp_gamma_ratio_quantile(none, none, 0.5) == 0);
	assert_true(bp_gamma_difference_quantile(five, none, 0.5) == 5);
	assert_true(bp_gamma_at_most(five, five) == 1 && bp_gamma_exceeds(five, five) == 0);
	assert_true(bp_gamma_at_most(five, none) == 0 && bp_gamma_exceeds(five, none) == 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zero_is_the_beta_function),
		cmocka_unit_test(test_certain_is_the_gamma_function),
		cmocka_unit_test(test_convolution),
		cmocka_unit_test(test_tails),
		cmocka_unit_test(test_shifted_ratio),
		cmocka_unit_test(test_derivatives),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_certain_quantiles),
	};
	return cmocka_run_group_tests_name("gamma pair", tests, NULL, NULL);
}
