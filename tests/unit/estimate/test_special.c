/* SPDX-License-Identifier: MIT */
/*
 * The special functions against values computed with 50 to 60 digits, at the points where the naive
 * forms fail: shapes on both sides of the change to Stirling's form, shapes up to 1e9, both tails
 * down to 1e-22, arguments next to 0 and 1. The tolerance is 1e-13 relative (special.h promises
 * 1e-12) for the tail that is asked for, except where the loss is inherent and said.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/numeric/special.h"
#include "estimate/numeric/tilted_beta.h"

static void expect_close(const char *what, double at, double value, double wanted, double tolerance)
{
	if (!(fabs(value - wanted) <= tolerance * fabs(wanted)))
		fail_msg("%s at %.17g: %.17g, not %.17g (off by %.2g)", what, at, value, wanted,
			value / wanted - 1);
}

static void test_stirling_rest(void **state)
{
	(void)state;
	/* Below 16 the rest is a difference of terms of order 40: good to 1e-14 absolute. */
	static const double below[][2] = { { 0.01, 1.4340079537031842 },
		{ 0.5, 0.15342640972002735 }, { 1, 0.081061466795327258 },
		{ 7.3, 0.011408422368027265 }, { 15.999, 0.0052079813338524327 } };
	static const double above[][2] = { { 16, 0.0052076559196096404 },
		{ 100, 0.00083333055563491468 }, { 1e6, 8.3333333333330556e-8 } };
	for (size_t i = 0; i < BP_COUNT(below); i++)
		assert_true(fabs(bp_stirling_rest(below[i][0]) - below[i][1]) < 2e-14);
	for (size_t i = 0; i < BP_COUNT(above); i++)
		expect_close("stirling_rest", above[i][0], bp_stirling_rest(above[i][0]),
			above[i][1], 1e-14);
}

static void test_log1p_minus(void **state)
{
	(void)state;
	static const double values[][2] = { { -0.9, -1.4025850929940459 },
		{ -0.31, -0.061063681390831985 }, { -0.3, -0.056674943938732374 },
		{ -0.001, -5.0033358353350016e-7 }, { -1e-9, -5.000000003333334e-19 },
		{ 1e-12, -4.9999999999966665e-25 }, { 1e-4, -4.9996666916646673e-9 },
		{ 0.29, -0.035357781626419249 }, { 0.31, -0.039972862786939823 },
		{ 5, -3.208240530771945 } };
	for (size_t i = 0; i < BP_COUNT(values); i++)
		expect_close("log1p_minus", values[i][0], bp_log1p_minus(values[i][0]),
			values[i][1], 2e-15);
	assert_true(bp_log1p_minus(0) == 0);
}

static void test_gamma(void **state)
{
	(void)state;
	static const struct {
		double a, x, p, q;
	} values[] = {
		{ 0.01, 1e-5, 0.8963367982671972, 0.1036632017328028 },
		{ 0.01, 3, 0.99986702864342984, 0.00013297135657015548 },
		{ 0.5, 0.001, 0.035670591729679885, 0.96432940827032011 },
		{ 0.5, 40, 1.0, 3.7440973842028988e-19 },
		{ 1, 50, 1.0, 1.9287498479639178e-22 },
		{ 2.5, 12, 0.99978288705654728, 0.00021711294345272332 },
		{ 15.9, 3, 1.4728004885321379e-7, 0.99999985271995115 },
		{ 16.1, 3, 1.0447306306281e-7, 0.99999989552693694 },
		{ 16, 60, 0.99999999999583125, 4.1687507181110284e-12 },
		{ 100, 60, 1.4815276326460468e-6, 0.99999851847236735 },
		{ 100, 160, 0.99999985579775495, 1.4420224505352737e-7 },
		{ 1e4, 9700, 0.001234175584468492, 0.99876582441553151 },
		{ 1e4, 10400, 0.99996111982942601, 3.8880170573988205e-5 },
		{ 1e6, 999000, 0.15865521357430365, 0.84134478642569635 },
		{ 1e6, 1005000, 0.99999970125098599, 2.9874901401146349e-7 },
	};
	for (size_t i = 0; i < BP_COUNT(values); i++) {
		expect_close("gamma_p", values[i].x, bp_gamma_p(values[i].a, values[i].x),
			values[i].p, 1e-13);
		expect_close("gamma_q", values[i].x, bp_gamma_q(values[i].a, values[i].x),
			values[i].q, i == 0 ? 1e-12 : 1e-13);
	}
	assert_true(bp_gamma_p(3, 0) == 0 && bp_gamma_q(3, 0) == 1);
	assert_true(bp_gamma_p(3, -1) == 0 && bp_gamma_q(3, -1) == 1);
	assert_true(bp_gamma_p(3, 1e6) == 1);
}

static void test_prefix_of_large_shapes(void **state)
{
	(void)state;
	static const double values[][3] = { { 1e5, 100300, 80.513216075077783 },
		{ 1e7, 9995000, 361.29415522793896 }, { 1e9, 1000100000, 85.032003170779744 } };
	for (size_t i = 0; i < BP_COUNT(values); i++)
		expect_close("gamma_prefix", values[i][0],
			bp_gamma_prefix(values[i][0], values[i][1]), values[i][2], 1e-14);
}

static void test_gamma_inverse(void **state)
{
	(void)state;
	static const double upper[][3] = { { 1e-12, 1, 27.631021115928548 },
		{ 1e-6, 3.7, 20.701308167735771 }, { 1e-9, 500, 645.97893311780111 },
		{ 1e-4, 0.2, 6.1269562902307645 } };
	static const double shapes[] = { 0.05, 0.2, 0.9, 1, 2.5, 15.99, 16, 300, 1e5, 1e7 };
	static const double tails[] = { 1e-12, 1e-6, 0.001, 0.025, 0.3, 0.499999, 0.5 };
	for (size_t i = 0; i < BP_COUNT(upper); i++)
		expect_close("gamma_q_inverse", upper[i][0],
			bp_gamma_q_inverse(upper[i][0], upper[i][1]), upper[i][2], 1e-13);
	for (size_t i = 0; i < BP_COUNT(shapes); i++)
		for (size_t j = 0; j < BP_COUNT(tails); j++) {
			double a = shapes[i], tail = tails[j];
			/* A relative step of 1e-16 in x moves a tail by up to 1e-16 (x - a). */
			double tolerance = 1e-12 + 1e-15 * sqrt(a);
			expect_close("P of its inverse", tail,
				bp_gamma_p(a, bp_gamma_p_inverse(tail, a)), tail, tolerance);
			expect_close("Q of its inverse", tail,
				bp_gamma_q(a, bp_gamma_q_inverse(tail, a)), tail, tolerance);
		}
	/* The root is about 1e-800: nothing, not a loop and not a NaN. */
	assert_true(bp_gamma_p_inverse(0.025, 0.002) == 0);
}

static void test_beta(void **state)
{
	(void)state;
	static const struct {
		double a, b, x, left, right;
	} values[] = {
		{ 0.1, 0.1, 0.3, 0.46280418611555204, 0.53719581388444796 },
		{ 0.5, 20, 0.0001, 0.050116531617405016, 0.94988346838259498 },
		{ 20, 0.5, 0.999, 0.84241618601636144, 0.15758381398363856 },
		{ 3, 4000, 0.0002, 0.047462865936019527, 0.95253713406398047 },
		{ 3, 4000, 0.005, 0.999999566675243, 4.3332475699754436e-7 },
		{ 4000, 3, 0.9999, 0.99206723166773914, 0.0079327683322608634 },
		{ 17, 16, 0.1, 1.2821325850141045e-9, 0.99999999871786741 },
		{ 17, 16, 0.9, 0.99999998757972644, 1.2420273562943446e-8 },
		{ 1000, 5000, 0.15, 0.00018893786844415853, 0.99981106213155584 },
		{ 1000, 5000, 0.19, 0.999998642346826, 1.3576531739986707e-6 },
		{ 47570, 0.38, 0.9999, 0.0012564028735226069, 0.99874359712647739 },
		{ 2, 1e6, 1e-7, 0.0046788451370505876, 0.99532115486294941 },
	};
	for (size_t i = 0; i < BP_COUNT(values); i++) {
		double a = values[i].a, b = values[i].b, x = values[i].x, y = 1 - x;
		expect_close("beta", x, bp_beta_regularized(a, b, x, y), values[i].left, 2e-13);
		expect_close("beta, exchanged", x, bp_beta_regularized(b, a, y, x), values[i].right,
			2e-13);
	}
	assert_true(bp_beta_regularized(2, 3, 0, 1) == 0 && bp_beta_regularized(2, 3, 1, 0) == 1);
	assert_true(bp_beta_regularized(2, 3, -1, 2) == 0 && bp_beta_regularized(2, 3, 2, -1) == 1);
}

static void test_beta_inverse(void **state)
{
	(void)state;
	static const double shapes[][2] = { { 0.3, 0.4 }, { 1, 1 }, { 5, 800 }, { 300, 2 },
		{ 4000, 5000 } };
	static const double tails[] = { 1e-9, 0.025, 0.5, 0.9 };
	for (size_t i = 0; i < BP_COUNT(shapes); i++)
		for (size_t j = 0; j < BP_COUNT(tails); j++) {
			double a = shapes[i][0], b = shapes[i][1];
			double x = bp_beta_regularized_inverse(tails[j], a, b);
			expect_close("I of its inverse", tails[j],
				bp_beta_regularized(a, b, x, 1 - x), tails[j], 1e-11);
		}
}

static void test_normal_quantile(void **state)
{
	(void)state;
	static const double values[][2] = { { 1e-300, -37.047096299361199 },
		{ 1e-12, -7.0344838253011319 }, { 0.3, -0.52440051270804082 },
		{ 0.999, 3.0902323061678133 } };
	for (size_t i = 0; i < BP_COUNT(values); i++)
		expect_close("normal_quantile", values[i][0], bp_normal_quantile(values[i][0]),
			values[i][1], 1e-13);
}

/* Without a tilt it is the beta distribution; the other values are quoted in docs/statistics.md. */
static void test_tilted_beta(void **state)
{
	(void)state;
	static const struct {
		double a, left, right, tilt, t;
	} values[] = {
		{ 0.025, 10, 11, 0, 0.271957849561 },
		{ 0.025, 0.886, 5.2, 3, 0.00190877999788 },
		{ 0.025, 3, 2, -400, 0.986140935052 },
		{ 0.5, 40, 2, -5000, 0.999666929757 },
	};
	for (size_t i = 0; i < BP_COUNT(values); i++)
		expect_close("tilted_beta_inverse", values[i].tilt,
			bp_tilted_beta_inverse(
				values[i].a, values[i].left, values[i].right, values[i].tilt),
			values[i].t, 1e-11);
	static const double shapes[][2] = { { 0.3, 0.7 }, { 1, 1 }, { 5, 800 }, { 4000, 5000 } };
	static const double tails[] = { 1e-4, 0.025, 0.5, 0.975 };
	for (size_t i = 0; i < BP_COUNT(shapes); i++)
		for (size_t j = 0; j < BP_COUNT(tails); j++)
			expect_close("tilted by nothing", tails[j],
				bp_tilted_beta_inverse(tails[j], shapes[i][0], shapes[i][1], 0),
				bp_beta_regularized_inverse(tails[j], shapes[i][0], shapes[i][1]),
				1e-10);
}

/* With both shapes 1 the density is e^(-d t), whose quantile can be written down. */
static void test_tilted_beta_is_an_exponential(void **state)
{
	(void)state;
	static const double tilts[] = { -50000, -30, -1, 1, 30, 50000 };
	for (size_t i = 0; i < BP_COUNT(tilts); i++)
		for (double a = 0.025; a < 1; a += 0.475) {
			double d = tilts[i];
			double t = d > 0 ? -log1p(a * expm1(-d)) / d
					 : 1 + log(a + (1 - a) * exp(d)) / -d;
			expect_close(
				"exponential", d, bp_tilted_beta_inverse(a, 1, 1, d), t, 1e-11);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stirling_rest),
		cmocka_unit_test(test_log1p_minus),
		cmocka_unit_test(test_gamma),
		cmocka_unit_test(test_prefix_of_large_shapes),
		cmocka_unit_test(test_gamma_inverse),
		cmocka_unit_test(test_beta),
		cmocka_unit_test(test_beta_inverse),
		cmocka_unit_test(test_normal_quantile),
		cmocka_unit_test(test_tilted_beta),
		cmocka_unit_test(test_tilted_beta_is_an_exponential),
	};
	return cmocka_run_group_tests_name("estimate special", tests, NULL, NULL);
}
