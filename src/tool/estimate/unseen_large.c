/* SPDX-License-Identifier: MIT */
/*
 * A rest with large objects in it, as a mixture.
 *
 * Of s samples of size k, the number of unsampled twins is negative binomial,
 * NegBin(s, pi), with mean n1 = s g. Below T this is smooth enough for N3's
 * gamma. Above it is not: of 100 objects of 8 T, .03 are missing on average, so
 * that the rest is nothing or 8 T. Such numbers are written out:
 *
 *   1. Each class of large sizes contributes 0, 1, 2 ... unseen objects of its
 * mean size k, with the probabilities of NegBin(s, s / (s + n1)); each brings
 * the variance v of sizes in the class.
 *   2. The classes are convolved. What lies within one cell, a sixteenth of the
 * spread, becomes one atom with the probability, mean place and variance of its
 * parts: a few hundred at most. (Cells twice as wide blurred sizes 1.4 T apart:
 * misses of .54 % for .5.)
 *   3. Beside the atoms stands the small rest of rest.c, with the unseen unit
 * for the upper limit:
 *
 *        P(rest > h)  = sum of p Q(h - y),    Q: bp_rest_above
 *        P(rest <= l) = sum of p F(l - y),    F: bp_rest_at_most
 *
 *      The variance w of an atom widens Q; for F the atom is split in two, at y
 * -+ sqrt w.
 *   4. A root of these sums is the limit. The sum of F has jumps, so the lower
 * limit is the end of the last bracket where the probability is still too
 * small.
 *
 * The cells are a fixed array. A cell is 1 / (16 lambda) or more wide, so that
 * objects of 16 T, of which 1 / 256 is expected to be unseen, take 256 cells
 * each: 8 of them reach the end, with a probability of 1e-24; nothing else that
 * can be sampled comes near. What passes the end nonetheless counts against
 * both limits, as above the upper and as below the lower one.
 */
#include "estimate/unseen_large.h"

#include <float.h>
#include <math.h>

#define CELLS 2048

/* Shares of a: where a class stops, and below which an atom is dropped.
 * Together they move a limit's error by less than 1e-5 of itself. */
static const double term_least = 1e-7, atom_least = 1e-8;
static const double root_tolerance = 1e-13;

struct atom {
	double probability, place, variance;
};

struct mixture {
	struct atom atom[CELLS];
	unsigned count;
	double beyond; /* probability of what fits no cell */
	double a;
};

/* The sums that make an atom: of p, p y and p y^2. Set up to `used`. */
struct cells {
	struct cell {
		double mass, first, second;
	} cell[CELLS];
	unsigned used;
};

static void set_atoms(struct mixture *mixture, const struct cells *cells)
{
	mixture->count = 0;
	for (unsigned i = 0; i < cells->used; i++) {
		const struct cell *cell = &cells->cell[i];
		if (!(cell->mass > atom_least * mixture->a))
			continue;
		double place = cell->first / cell->mass, square = place * place;
		double variance = cell->second / cell->mass - square;
		if (variance < 1e-9 * square) /* nothing but rounding */
			variance = 0;
		mixture->atom[mixture->count++] = (struct atom){ cell->mass, place, variance };
	}
}

/* Adds `number` unseen objects of mean size k, variance v, with probability p,
 * to every atom. */
static void put(struct mixture *mixture, struct cells *cells, double width, double number, double k,
	double v, double p)
{
	for (unsigned i = 0; i < mixture->count; i++) {
		const struct atom *atom = &mixture->atom[i];
		double mass = atom->probability * p, place = atom->place + number * k;
		double index = floor(place / width);
		if (!(index < CELLS)) {
			mixture->beyond += mass;
			continue;
		}
		while (cells->used <= index)
			cells->cell[cells->used++] = (struct cell){ 0, 0, 0 };
		struct cell *cell = &cells->cell[(unsigned)index];
		cell->mass += mass;
		cell->first += mass * place;
		cell->second += mass * (atom->variance + number * v + place * place);
	}
}

static void convolve(struct mixture *mixture, const struct bp_large_class *class, double width)
{
	struct cells cells;
	cells.used = 0;
	double s = class->samples, n1 = class->missed, k = class->c1 / n1;
	double v = class->c2 / n1 - k * k * (1 + n1 / s);
	if (v < 1e-12 * k * k)
		v = 0;
	double p = exp(-s * log1p(n1 / s));
	for (unsigned j = 0; j < CELLS; j++) {
		put(mixture, &cells, width, j, k, v, p);
		if (j >= n1 && p < term_least * mixture->a)
			break;
		p *= n1 / (s + n1) * (s + j) / (j + 1);
	}
	set_atoms(mixture, &cells);
}

static void set_mixture(struct mixture *mixture, const struct bp_unseen *unseen, double a)
{
	double variance = 0;
	for (unsigned i = 0; i < unseen->large_count; i++)
		variance += unseen->large[i].c2;
	double width = fmax(unseen->unit, sqrt(variance)) / 16;
	mixture->atom[0] = (struct atom){ 1, 0, 0 };
	mixture->count = 1;
	mixture->beyond = 0;
	mixture->a = a;
	for (unsigned i = 0; i < unseen->large_count && width > 0; i++)
		convolve(mixture, &unseen->large[i], width);
}

/* A mixture and what stands beside its atoms. */
struct search {
	const struct bp_unseen *unseen;
	struct bp_rest_law law; /* of the small rest, for the lower limit */
	struct mixture mixture;
};

/* ln(P(rest <= z) / a), increasing in z. */
static double excess_below(const struct search *search, double z)
{
	double sum = search->mixture.beyond;
	for (unsigned i = 0; i < search->mixture.count; i++) {
		const struct atom *atom = &search->mixture.atom[i];
		double spread = sqrt(atom->variance), x = z - atom->place;
		double left = bp_rest_at_most(&search->law, x - spread);
		double right = spread > 0 ? bp_rest_at_most(&search->law, x + spread) : left;
		sum += atom->probability * (left + right) / 2;
	}
	return log(sum / search->mixture.a);
}

/* ln(a / P(rest > z)), increasing in z. */
static double excess_above(const struct search *search, double z)
{
	double sum = search->mixture.beyond;
	for (unsigned i = 0; i < search->mixture.count; i++) {
		const struct atom *atom = &search->mixture.atom[i];
		sum += atom->probability * bp_rest_above(&search->unseen->small,
						   search->unseen->unit, atom->variance,
						   z - atom->place);
	}
	return log(search->mixture.a / sum);
}

typedef double excess_function(const struct search *search, double z);

/* Where the excess becomes positive, from below: excess(low) <= 0 <
 * excess(high). Regula falsi with halving (Illinois), and every fourth step a
 * bisection, for the jumps. */
static double solve(const struct search *search, excess_function *excess, double low, double high)
{
	double at_low = excess(search, low), at_high = excess(search, high);
	int last = 0;
	for (int i = 1; i <= 240 && high - low > root_tolerance * high; i++) {
		double z = high - at_high * (high - low) / (at_high - at_low);
		if (i % 4 == 0 || !(z > low && z < high))
			z = (low + high) / 2;
		double at_z = excess(search, z);
		if (fabs(at_z) <= root_tolerance)
			return z;
		if (at_z < 0) {
			at_high = last < 0 ? at_high / 2 : at_high;
			low = z;
			at_low = at_z;
			last = -1;
		} else {
			at_low = last > 0 ? at_low / 2 : at_low;
			high = z;
			at_high = at_z;
			last = 1;
		}
	}
	return low;
}

double bp_unseen_lower(const struct bp_unseen *unseen, double most, double a)
{
	struct search search; /* large: only what is used of it is set */
	if (!(most > 0))
		return 0;
	search.unseen = unseen;
	search.law = bp_rest_law_of(&unseen->small, a);
	set_mixture(&search.mixture, unseen, a);
	if (excess_below(&search, most) <= 0)
		return most;
	if (excess_below(&search, 0) > 0)
		return 0;
	return solve(&search, excess_below, 0, most);
}

double bp_unseen_upper(const struct bp_unseen *unseen, double a)
{
	struct search search;
	search.unseen = unseen;
	set_mixture(&search.mixture, unseen, a);
	double high = bp_rest_upper(&unseen->small, unseen->unit, a);
	if (search.mixture.count == 1 && search.mixture.atom[0].place == 0)
		return high;
	if (!(search.mixture.beyond < a))
		return INFINITY;
	double low = 0;
	while (excess_above(&search, high) < 0) {
		if (!(high > 0 && high < DBL_MAX)) /* sums of no samples that can be */
			return INFINITY;
		low = high;
		high *= 2;
	}
	return solve(&search, excess_above, low, high);
}
