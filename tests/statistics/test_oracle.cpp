/* SPDX-License-Identifier: MIT */
/*
 * The special functions of src/tool/estimate against an oracle: Boost.Math on 113-bit floating
 * point (float128), other formulas by other authors with twice the digits. More than 100,000 seeded
 * points over the ranges that follow; BYTEPOLL_LONG_TESTS=1 takes ten times as many.
 *
 * What is compared is the relative error of the smaller tail, down to 1e-300: a good P next to 1
 * says nothing of Q. Boost's own tails in long double are no oracle for large shapes: their prefix
 * cancels a digit per power of ten, 8e-11 at shape 1e9.
 *
 * Arguments are doubles and taken as they are, so that no error of theirs is charged to a function.
 * For the beta functions x is a multiple of 2^-53 (but for tiny x, where it does not matter), so
 * that 1 - x is a double too. An inverse cannot be better than the spacing of doubles allows: the
 * tails at x (1 -+ 4 epsilon) must enclose the wanted one, to the error stated.
 *
 * Each line of output gives the number of points, the worst error, the bound that is asserted and
 * the arguments of the worst point. Nothing depends on chance but which points are tried.
 */
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>

#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/special_functions/log1p.hpp>
#include <boost/multiprecision/float128.hpp>

extern "C" {
#include "estimate/numeric/special.h"
#include "estimate/numeric/tilted_beta.h"
}

namespace
{

using real = boost::multiprecision::float128;
namespace policies = boost::math::policies;
using policy = policies::policy<policies::promote_double<false>,
	policies::overflow_error<policies::ignore_error>,
	policies::underflow_error<policies::ignore_error>,
	policies::max_series_iterations<10000000>>;
const policy exact_policy;

const double tail_least = 1e-300;
const double shape_least = 0.01, shape_most = 1e9;

std::mt19937_64 generator; /* its output is fixed by the standard */

double uniform(double low, double high)
{
	return low + (high - low) * static_cast<double>(generator() >> 11) * 0x1p-53;
}

double log_uniform(double low, double high)
{
	return std::exp(uniform(std::log(low), std::log(high)));
}

int points(int count)
{
	const char *value = std::getenv("BYTEPOLL_LONG_TESTS");
	return value != nullptr && value[0] == '1' ? 10 * count : count;
}

/* A line of the output: the worst error seen. */
class check
{
      public:
	check(const char *name, double bound) : name_(name), bound_(bound)
	{
		generator.seed(20240607);
	}

	void see(double error, double a, double b, double x)
	{
		seen_++;
		if (std::isnan(worst_) || error <= worst_) /* NaN is the worst, and stays */
			return;
		worst_ = error;
		a_ = a;
		b_ = b;
		x_ = x;
	}

	/* True if at least `least` points were seen and none was worse than the bound. */
	bool report(int number, long least) const
	{
		bool passed = worst_ <= bound_ && seen_ >= least;
		std::printf("%s %d - %s: %ld points, worst %.2g of %.2g allowed, at %.17g %.17g "
			    "%.17g\n",
			passed ? "ok" : "not ok", number, name_, seen_, worst_, bound_, a_, b_, x_);
		return passed;
	}

      private:
	const char *name_;
	double bound_, worst_ = -1, a_ = 0, b_ = 0, x_ = 0;
	long seen_ = 0;
};

double relative(double value, const real &wanted)
{
	return static_cast<double>(abs(value / wanted - 1));
}

struct tails {
	real left, right;
	bool in_range() const
	{
		return std::min(left, right) >= real(tail_least);
	}
};

/* The tail away from the mean is computed, the other is 1 less it. */
tails gamma_tails(double a, const real &x)
{
	if (x < a) {
		real left = boost::math::gamma_p(real(a), x, exact_policy);
		return { left, 1 - left };
	}
	real right = boost::math::gamma_q(real(a), x, exact_policy);
	return { 1 - right, right };
}

tails beta_tails(double a, double b, const real &x)
{
	if (x * (real(a) + b) < a) {
		real left = boost::math::ibeta(real(a), real(b), x, exact_policy);
		return { left, 1 - left };
	}
	real right = boost::math::ibetac(real(a), real(b), x, exact_policy);
	return { 1 - right, right };
}

/* An x whose tails are anything from 1e-300 to 1/2, by the cube root that is nearly normal; or
 * anything below the mean. */
double gamma_argument(double a)
{
	if (uniform(0, 4) < 1)
		return a * log_uniform(1e-18, 30);
	double root = 1 - 1 / (9 * a) + uniform(-38, 38) / (3 * std::sqrt(a));
	return a * std::pow(std::max(root, 1e-6), 3);
}

double beta_argument(double a, double b)
{
	double mean = a / (a + b), spread = std::sqrt(mean * (1 - mean) / (a + b + 1));
	double x = mean + uniform(-38, 38) * spread;
	if (!(x > 0 && x < 1) || uniform(0, 4) < 1)
		x = 1 / (1 + std::exp(uniform(-36, 36)));
	return x < 0x1p-20 ? x : std::rint(x * 0x1p53) * 0x1p-53;
}

/* Shapes around the switch of formulas at 16; all others up to 1e5; and, as the oracle takes
 * milliseconds for them, fewer up to 1e9. */
double random_shape(double least)
{
	double kind = uniform(0, 40);
	return kind < 5 ? uniform(15, 17) : log_uniform(least, kind < 6 ? shape_most : 1e5);
}

bool test_gamma(int number)
{
	check check("gamma_p, gamma_q", 1e-12);
	for (int i = 0; i < points(30000); i++) {
		double a = random_shape(shape_least), x = gamma_argument(a);
		tails wanted = gamma_tails(a, x);
		if (!wanted.in_range())
			continue;
		check.see(wanted.left < wanted.right ? relative(bp_gamma_p(a, x), wanted.left)
						     : relative(bp_gamma_q(a, x), wanted.right),
			a, 0, x);
	}
	return check.report(number, 20000);
}

bool test_gamma_prefix(int number)
{
	check check("gamma_prefix", 1e-12);
	for (int i = 0; i < points(20000); i++) {
		double a = random_shape(shape_least), x = gamma_argument(a);
		real wanted = boost::math::gamma_p_derivative(real(a), real(x), exact_policy) * x;
		if (wanted >= real(tail_least))
			check.see(relative(bp_gamma_prefix(a, x), wanted), a, 0, x);
	}
	return check.report(number, 14000);
}

/* How far a tail, at x one way and the other, is from enclosing the wanted one. */
double outside(const real &below, const real &above, double wanted)
{
	return static_cast<double>(std::max(below / wanted - 1, 1 - above / wanted));
}

bool test_gamma_inverse(int number)
{
	check check("gamma_p_inverse, gamma_q_inverse", 1e-12);
	const real step = 4 * real(DBL_EPSILON);
	for (int i = 0; i < points(8000); i++) {
		double a = random_shape(shape_least), tail = log_uniform(tail_least, 0.5);
		bool is_left = uniform(0, 2) < 1;
		double x = is_left ? bp_gamma_p_inverse(tail, a) : bp_gamma_q_inverse(tail, a);
		if (x < 1e-290) /* where x itself leaves the doubles */
			continue;
		tails low = gamma_tails(a, x * (1 - step)), high = gamma_tails(a, x * (1 + step));
		check.see(is_left ? outside(low.left, high.left, tail)
				  : outside(high.right, low.right, tail),
			a, tail, is_left);
	}
	return check.report(number, 6000);
}

void see_beta(check *check, double least, double most)
{
	double a = random_shape(least), b = random_shape(least);
	double x = beta_argument(a, b), y = 1 - x;
	if (std::min(a, b) >= most || !(x > 0 && y > 0))
		return;
	tails wanted = beta_tails(a, b, x);
	if (!wanted.in_range())
		return;
	check->see(wanted.left < wanted.right
			   ? relative(bp_beta_regularized(a, b, x, y), wanted.left)
			   : relative(bp_beta_regularized(b, a, y, x), wanted.right),
		a, b, x);
}

bool test_beta(int number)
{
	check check("beta_regularized", 1e-12);
	for (int i = 0; i < points(30000); i++)
		see_beta(&check, 0.1, INFINITY);
	return check.report(number, 18000);
}

/* With so small a shape nearly all lies at one end, and the smaller tail is what is left of 1. */
bool test_beta_of_small_shape(int number)
{
	check check("beta_regularized, a shape below .1", 1e-11);
	for (int i = 0; i < points(20000); i++)
		see_beta(&check, shape_least, 0.1);
	return check.report(number, 1500);
}

bool test_beta_prefix(int number)
{
	check check("beta_prefix", 1e-12);
	for (int i = 0; i < points(20000); i++) {
		double a = random_shape(shape_least), b = random_shape(shape_least);
		double x = beta_argument(a, b), y = 1 - x;
		if (!(x > 0 && y > 0))
			continue;
		real wanted =
			boost::math::ibeta_derivative(real(a), real(b), real(x), exact_policy);
		wanted *= real(x) * (1 - real(x));
		if (wanted >= real(tail_least))
			check.see(relative(bp_beta_prefix(a, b, x, y), wanted), a, b, x);
	}
	return check.report(number, 12000);
}

bool test_beta_inverse(int number)
{
	check check("beta_regularized_inverse", 1e-12);
	const real step = 4 * real(DBL_EPSILON);
	for (int i = 0; i < points(1500); i++) {
		double a = log_uniform(0.1, 1e6), b = log_uniform(0.1, 1e6);
		double tail = log_uniform(tail_least, 0.5);
		double x = bp_beta_regularized_inverse(tail, a, b);
		if (x < 1e-290 || x > 0.999)
			continue;
		real below = beta_tails(a, b, x * (1 - step)).left;
		real above = beta_tails(a, b, x * (1 + step)).left;
		check.see(outside(below, above, tail), a, b, tail);
	}
	return check.report(number, 1000);
}

bool test_normal_quantile(int number)
{
	check check("normal_quantile", 1e-14);
	for (int i = 0; i < points(10000); i++) {
		double p = log_uniform(tail_least, 0.5);
		if (uniform(0, 2) < 1)
			p = uniform(0, 1);
		real wanted = p < 0.5 ? -boost::math::erfc_inv(2 * real(p), exact_policy)
				      : boost::math::erfc_inv(2 - 2 * real(p), exact_policy);
		wanted *= sqrt(real(2));
		real error = abs(bp_normal_quantile(p) - wanted) / std::max(real(1), abs(wanted));
		check.see(static_cast<double>(error), p, 0, 0);
	}
	return check.report(number, 10000);
}

bool test_log1p_minus(int number)
{
	check check("log1p_minus", 1e-14);
	for (int i = 0; i < points(10000); i++) {
		double x = log_uniform(1e-150, 1e6);
		if (uniform(0, 2) < 1)
			x = uniform(0, 2) < 1 ? -log_uniform(1e-12, 0.9999) : uniform(-0.5, 0.5);
		check.see(relative(bp_log1p_minus(x), boost::math::log1pmx(real(x), exact_policy)),
			x, 0, 0);
	}
	return check.report(number, 10000);
}

/* Below 16 it is a difference of numbers up to 30, and used as a term of an exponent: the error as
 * it is. From 16 on the relative error, up to where the oracle's own difference has digits left. */
bool test_stirling_rest(int number)
{
	check check("stirling_rest", 1e-14);
	const real half_ln_two_pi = log(2 * boost::math::constants::pi<real>()) / 2;
	for (int i = 0; i < points(10000); i++) {
		double z = log_uniform(shape_least, 1e6);
		real wanted = boost::math::lgamma(real(z), exact_policy);
		wanted -= (real(z) - 0.5) * log(real(z)) - z + half_ln_two_pi;
		real error = abs(bp_stirling_rest(z) - wanted);
		check.see(static_cast<double>(z < 16 ? error : error / wanted), z, 0, 0);
	}
	return check.report(number, 10000);
}

/* The share of a tilted beta left of t, by adaptive Gauss-Kronrod quadrature in ln(t / (1 - t)), in
 * long double. */
class tilted_beta
{
      public:
	tilted_beta(double a, double b, double d) : a_(a), b_(b), d_(d)
	{
		find_top();
	}

	long double left_of(double t) const
	{
		long double y =
			std::log(static_cast<long double>(t) / (1 - static_cast<long double>(t)));
		long double left = integral(edge(-1), y), right = integral(y, edge(1));
		return left / (left + right);
	}

      private:
	long double h(long double y) const
	{
		long double rest = std::log1p(std::exp(-std::fabs(y)));
		long double left = y > 0 ? -rest : y - rest, right = y > 0 ? -y - rest : -rest;
		return a_ * left + b_ * right - d_ * std::exp(left);
	}

	/* h is concave around its only top: ternary search. */
	void find_top()
	{
		long double low = -800, high = 800;
		for (int i = 0; i < 300; i++) {
			long double third = (high - low) / 3;
			if (h(low + third) < h(high - third))
				low += third;
			else
				high -= third;
		}
		mode_ = (low + high) / 2;
		top_ = h(mode_);
	}

	long double edge(int side) const
	{
		long double step = 1e-6L;
		while (h(mode_ + side * step) > top_ - 60)
			step *= 1.1L;
		return mode_ + side * step;
	}

	long double integral(long double from, long double to) const
	{
		if (!(to > from))
			return 0;
		return boost::math::quadrature::gauss_kronrod<long double, 61>::integrate(
			[this](long double y) { return std::exp(h(y) - top_); }, from, to, 12,
			1e-15L);
	}

	long double a_, b_, d_, mode_ = 0, top_ = 0;
};

/* Its left tail, the one the limits are made from; what is right of a quantile is not promised.
 * From 1e-8 on: the window of its integral leaves out 1e-19. */
bool test_tilted_beta(int number)
{
	check check("tilted_beta_inverse", 1e-11);
	for (int i = 0; i < points(1000); i++) {
		double a = log_uniform(0.2, 1e4), b = log_uniform(0.2, 1e4);
		double tilt = log_uniform(1e-2, 1e5) * (uniform(0, 2) < 1 ? -1 : 1);
		double level = log_uniform(1e-8, 0.5);
		if (uniform(0, 2) < 1)
			level = 1 - level;
		double t = bp_tilted_beta_inverse(level, a, b, tilt);
		if (!(t > 1e-280 && t < 1 - 1e-3)) /* 1 - t has lost its digits */
			continue;
		tilted_beta oracle(a, b, tilt);
		double share = static_cast<double>(oracle.left_of(t));
		check.see(std::fabs(share - level) / level, a, b, tilt);
	}
	return check.report(number, 600);
}

} /* namespace */

int main()
{
	bool (*const tests[])(int) = { test_gamma, test_gamma_prefix, test_gamma_inverse, test_beta,
		test_beta_of_small_shape, test_beta_prefix, test_beta_inverse, test_normal_quantile,
		test_log1p_minus, test_stirling_rest, test_tilted_beta };
	int number = 0, failures = 0;
	std::printf("1..%zu\n", sizeof tests / sizeof tests[0]);
	for (auto test : tests) {
		failures += !test(++number);
		std::fflush(stdout);
	}
	return failures > 0;
}
