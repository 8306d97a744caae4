/* SPDX-License-Identifier: MIT */
/*
 * What the simulation suite asserts. Without chance: where outcomes were enumerated, a tail above
 * 1.1 times its nominal error (2.75 % for 2.5) is a wrong interval. With chance: of R repetitions
 * no more may miss than a method with exactly that error exceeds with probability 1e-10, by the
 * binomial distribution itself; the limit follows from R, and a smaller R means a weaker test,
 * never a wider promise. Over all cells of a method together the misses must keep the nominal
 * error: there R is large, and a small fault in many cells is seen.
 *
 * Every assertion of chance adds its false-alarm rate to a sum, which is printed and may not pass
 * 1e-6. (Seeds are recorded: a run that passed once passes again.)
 */
#include <math.h>
#include <stdarg.h>

#include "base/attributes.h"
#include "simulate.h"

static const double alarm = 1e-10;     /* of one assertion about a number of misses */
static const double alarm_most = 1e-6; /* of all */
static const double tolerance = 1.1;   /* of a nominal error */
/* The same for means: erfc(z / sqrt 2) = 1e-10. Squares of errors are skewed: more room. */
static const double z_mean = 6.467, z_square = 7;
static const double width_most = .95;

void verdict_line(struct verdict *verdict, bool good, const char *format, ...)
{
	va_list arguments;
	fprintf(verdict->out, "%sok %u - ", good ? "" : "not ", ++verdict->number);
	va_start(arguments, format);
	vfprintf(verdict->out, format, arguments);
	va_end(arguments);
	fputc('\n', verdict->out);
	fflush(verdict->out);
	verdict->failed += !good;
}

/* Is a share of misses no more than that error allows? Adds the false-alarm rate. */
static bool keeps(struct verdict *verdict, double share, double repetitions, double error)
{
	if (repetitions == 0)
		return share <= error;
	double limit = binomial_limit(repetitions, error, alarm);
	verdict->false_alarm += binomial_above(repetitions, error, limit);
	return round(share * repetitions) <= limit;
}

/* All that the cells say of one method. */
struct sum {
	unsigned cells, enumerated;
	double worst_low, worst_high;
	double repetitions, low, high; /* of the simulated cells */
};

static void complain(struct verdict *verdict, const struct cell *cell, const struct method *method,
	const struct outcome *outcome)
{
	fprintf(verdict->out, "# %s: %s, E[s] %g, T %lu, share %g: misses %.4f %.4f in %g\n",
		method->name, size_laws[cell->law].name, cell->expected,
		(unsigned long)cell->interval, cell->share, outcome->low, outcome->high,
		outcome->repetitions);
}

static bool judge_method(struct verdict *verdict, const struct cell *cells, size_t count,
	unsigned number, struct sum *ret_sum)
{
	const struct method *method = &methods[number];
	unsigned place = method_place(number);
	struct sum sum = { 0 };
	bool good = true;
	for (size_t i = 0; i < count; i++) {
		const struct outcome *outcome = &cells[i].outcomes[place];
		if (cells[i].family != method->family || !outcome->known)
			continue;
		sum.cells++;
		sum.enumerated += outcome->repetitions == 0;
		sum.worst_low = fmax(sum.worst_low, outcome->low);
		sum.worst_high = fmax(sum.worst_high, outcome->high);
		sum.repetitions += outcome->repetitions;
		sum.low += outcome->low * outcome->repetitions;
		sum.high += outcome->high * outcome->repetitions;
		if (method->duty != DUTY_HOLDS)
			continue;
		double n = outcome->repetitions, error = tolerance * method->tail;
		bool kept = keeps(verdict, outcome->low, n, error) &&
			    keeps(verdict, outcome->high, n, error) &&
			    keeps(verdict, outcome->low + outcome->high, n, 2 * error);
		if (!kept)
			complain(verdict, &cells[i], method, outcome);
		good = good && kept;
	}
	*ret_sum = sum;
	return good;
}

static void verdict_of_method(
	struct verdict *verdict, const struct cell *cells, size_t count, unsigned number)
{
	const struct method *method = &methods[number];
	struct sum sum;
	bool good = judge_method(verdict, cells, count, number, &sum);
	if (method->duty == DUTY_SHOWN && sum.cells == 0)
		return; /* not in this form */
	if (method->duty == DUTY_HOLDS && sum.repetitions > 0) {
		double n = sum.repetitions;
		good = good && keeps(verdict, sum.low / n, n, method->tail) &&
		       keeps(verdict, sum.high / n, n, method->tail);
	}
	if (method->duty == DUTY_MUST_FAIL)
		good = sum.worst_high > .3;
	verdict_line(verdict, good && sum.cells > 0,
		"%s, law %s: %s; %u cells (%u enumerated), worst misses %.2f %% below, %.2f %% "
		"above",
		method->name,
		method->family == FAMILY_BERNOULLI || method->family == FAMILY_PART_BERNOULLI
			? "bernoulli"
			: "exact",
		method->duty == DUTY_HOLDS   ? "holds"
		: method->duty == DUTY_SHOWN ? "for comparison"
					     : "must fail",
		sum.cells, sum.enumerated, 100 * sum.worst_low, 100 * sum.worst_high);
}

/* Why size classes are needed: plain N3 where nothing but objects of 8 T is, enumerated. */
static void verdict_of_exception(struct verdict *verdict, const struct cell *cells, size_t count)
{
	double plain = 0, by_classes = 0;
	for (unsigned m = 0; m < method_count; m++)
		for (size_t i = 0; i < count; i++) {
			if (methods[m].family != FAMILY_BERNOULLI ||
				methods[m].truth != TRUTH_BYTES || methods[m].tail < .02 ||
				cells[i].family != FAMILY_BERNOULLI ||
				!size_laws[cells[i].law].hard)
				continue;
			const struct outcome *outcome = &cells[i].outcomes[method_place(m)];
			double high = outcome->repetitions == 0 ? outcome->high : 0;
			if (methods[m].duty == DUTY_SHOWN)
				plain = fmax(plain, high);
			if (methods[m].duty == DUTY_HOLDS)
				by_classes = fmax(by_classes, high);
		}
	verdict_line(verdict, plain > .04 && by_classes <= tolerance * .025,
		"beyond 4 T under law bernoulli plain N3 misses %.2f %% above, by size classes "
		"%.2f %%",
		100 * plain, 100 * by_classes);
}

/* Means and mean squared errors of the estimators, against the truth and their variance. */
static void verdict_of_moments(
	struct verdict *verdict, const struct cell *cells, size_t count, unsigned estimator)
{
	static const char *const names[MOMENTS_COUNT] = { "Horvitz-Thompson", "failed trials",
		"T x hits", "T x hits below T" };
	double worst_mean = 0, worst_square = 0;
	unsigned tested = 0;
	for (size_t i = 0; i < count; i++) {
		const struct moments *m = &cells[i].moments[estimator];
		bool memray = estimator == 1 + WEIGHTED_MEMRAY;
		if (cells[i].family > FAMILY_TWO_INTERVALS || m->repetitions == 0 ||
			m->variance <= 0 || (memray && cells[i].family == FAMILY_BERNOULLI))
			continue;
		double n = m->repetitions, mean = m->error / n, square = m->square / n;
		double spread = sqrt((m->fourth / n - square * square) / n);
		worst_mean = fmax(worst_mean, fabs(mean) / sqrt(m->variance / n));
		verdict->false_alarm += erfc(z_mean / sqrt(2));
		tested++;
		if (cells[i].expected < 20)
			continue;
		worst_square = fmax(worst_square, fabs(square - m->variance) / spread);
		verdict->false_alarm += erfc(z_square / sqrt(2));
	}
	verdict_line(verdict, tested > 0 && worst_mean < z_mean && worst_square < z_square,
		"%s: unbiased, worst |z| %.2f over %u cells; variance as derived, worst |z| %.2f",
		names[estimator], worst_mean, tested, worst_square);
}

static void verdict_of_widths(struct verdict *verdict, const struct cell *cells, size_t count)
{
	static const double bands[][2] = { { 2, 5 }, { 8, 20 }, { 50, 100 }, { 1000, 1000 } };
	for (unsigned m = 0; m < method_count; m++) {
		bool first = method_place(m) == 0 && methods[m].duty == DUTY_HOLDS;
		if (!first || (methods[m].family != FAMILY_EXACT &&
				      methods[m].family != FAMILY_BERNOULLI))
			continue;
		for (unsigned b = 0; b < BP_COUNT(bands); b++) {
			double width = table_width(cells, count, m, bands[b][0], bands[b][1], true);
			if (width > 0)
				verdict_line(verdict, width <= width_most,
					"%s, mixed sizes, E[s] %g to %g: %.2f of the width of the "
					"negative binomial [s, s + 1]",
					methods[m].name, bands[b][0], bands[b][1], width);
		}
	}
}

void verdict_of_cells(struct verdict *verdict, const struct cell *cells, size_t count)
{
	for (unsigned m = 0; m < method_count; m++)
		verdict_of_method(verdict, cells, count, m);
	verdict_of_exception(verdict, cells, count);
	for (unsigned e = 0; e < MOMENTS_COUNT; e++)
		verdict_of_moments(verdict, cells, count, e);
	verdict_of_widths(verdict, cells, count);
	verdict_line(verdict, verdict->false_alarm <= alarm_most,
		"false-alarm rate of the whole run %.2g, at most 1e-6", verdict->false_alarm);
}
