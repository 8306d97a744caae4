/* SPDX-License-Identifier: MIT */
/*
 * Quantiles of the tilted beta distribution by direct integration (docs/statistics.md, "Part of a
 * known total").
 *
 * In y = ln(t / (1 - t)) the density is exp(h(y)) with h(y) = A ln t + B ln(1 - t) - d t (the
 * Jacobian t (1 - t) is in it), a smooth peak on the whole line that falls off at least
 * exponentially. The window is where h is within 45 of its top, which leaves out 1e-19 of the mass;
 * it is cut into 64 panels of 16 Gauss-Legendre nodes, and the panel that holds the quantile is
 * searched.
 */
#include "estimate/numeric/tilted_beta.h"

#include <math.h>

#define PANELS 64
#define NODE_PAIRS 8

/* Nodes on [-1, 1], which come in pairs +x and -x, and their weights: of the Legendre polynomial of
 * degree 16, to the last digit. */
static const struct node_pair {
	double node, weight;
} node_pairs[NODE_PAIRS] = { { 0.9894009349916499, 0.027152459411754096 },
	{ 0.9445750230732326, 0.062253523938647894 }, { 0.8656312023878318, 0.09515851168249279 },
	{ 0.755404408355003, 0.12462897125553388 }, { 0.6178762444026438, 0.14959598881657674 },
	{ 0.45801677765722737, 0.16915651939500253 }, { 0.2816035507792589, 0.18260341504492358 },
	{ 0.09501250983763744, 0.1894506104550685 } };

static const double window_depth = 45.0;

struct density {
	double shape_left, shape_right, tilt;
	double top; /* h at the mode, taken out of the integrand */
};

static double t_of(double y)
{
	double e = exp(-fabs(y));
	return y > 0 ? 1 / (1 + e) : e / (1 + e);
}

static double log_density(const struct density *density, double y)
{
	double e = exp(-fabs(y)), rest = log1p(e);
	double log_left = y > 0 ? -rest : y - rest, log_right = y > 0 ? -y - rest : -rest;
	double t = y > 0 ? 1 / (1 + e) : e / (1 + e);
	return density->shape_left * log_left + density->shape_right * log_right -
	       density->tilt * t;
}

static double integral(const struct density *density, double from, double to)
{
	double middle = (from + to) / 2, half = (to - from) / 2, sum = 0;
	for (int i = 0; i < NODE_PAIRS; i++) {
		const double distance = half * node_pairs[i].node;
		sum += node_pairs[i].weight *
		       (exp(log_density(density, middle - distance) - density->top) +
			       exp(log_density(density, middle + distance) - density->top));
	}
	return sum * half;
}

/* Where h has fallen by window_depth on the side `direction` (+1 or -1) of its mode. */
static double window_edge(const struct density *density, double mode, double direction)
{
	double step = 1e-3, inside = mode;
	while (log_density(density, mode + direction * step) > density->top - window_depth) {
		inside = mode + direction * step;
		step *= 2;
	}
	double outside = mode + direction * step;
	for (int i = 0; i < 40; i++) {
		double middle = (inside + outside) / 2;
		if (log_density(density, middle) > density->top - window_depth)
			inside = middle;
		else
			outside = middle;
	}
	return outside;
}

/* ln(t / (1 - t)) at the top of h: the root in (0, 1) of d t^2 - (A + B + d) t + A = 0, in the form
 * that does not cancel; 1 - t solves the same equation with A and B exchanged and d reversed. */
static double find_mode(const struct density *density)
{
	double a = density->shape_left, b = density->shape_right, d = density->tilt;
	double root = sqrt((d + b - a) * (d + b - a) + 4 * a * b);
	double left = a + b + d, right = a + b - d;
	double t = left > 0 ? 2 * a / (left + root) : (left - root) / (2 * d);
	double rest = right > 0 ? 2 * b / (right + root) : (root - right) / (2 * d);
	return log(t) - log(rest);
}

/* y in [from, to] where the integral from `from` is `target`: Newton's method in a bracket. */
static double solve_panel(const struct density *density, double from, double to, double target)
{
	double low = from, high = to, y = (from + to) / 2;
	for (int i = 0; i < 60; i++) {
		double error = integral(density, from, y) - target;
		if (error > 0)
			high = y;
		else
			low = y;
		double next = y - error / exp(log_density(density, y) - density->top);
		if (!(next > low && next < high))
			next = (low + high) / 2;
		if (fabs(next - y) <= 1e-14 * fmax(1, fabs(y)))
			return next;
		y = next;
	}
	return y;
}

double bp_tilted_beta_inverse(double a, double shape_left, double shape_right, double tilt)
{
	struct density density = {
		.shape_left = shape_left, .shape_right = shape_right, .tilt = tilt
	};
	double mode = find_mode(&density);
	density.top = log_density(&density, mode);
	double left = window_edge(&density, mode, -1), right = window_edge(&density, mode, 1);
	double width = (right - left) / PANELS, part[PANELS], sum = 0;
	for (int i = 0; i < PANELS; i++)
		sum += part[i] = integral(&density, left + i * width, left + (i + 1) * width);

	double target = a * sum;
	int panel = 0;
	while (panel < PANELS - 1 && target > part[panel])
		target -= part[panel++];
	return t_of(
		solve_panel(&density, left + panel * width, left + (panel + 1) * width, target));
}
