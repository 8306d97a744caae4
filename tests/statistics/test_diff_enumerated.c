/* SPDX-License-Identifier: MIT */
/*
 * False alarms of comparisons, enumerated: both sides hold the same number of bytes, all pairs of
 * sample counts have their binomial probabilities, and those that the code under test would call a
 * change are summed. Each side holds objects of one size (the same or another) and, under law
 * `exact`, may hold bytes beside them that are certain. Likewise the misses of the limits of
 * difference and ratio. No randomness, so no false alarm of the test itself; the probability left
 * out is below 1e-7.
 *
 * More samples on one side, or fewer on the other, make a change more certain. So for each number
 * of samples of one side there is one number on the other from which on there is an alarm; it is
 * found by walking, and only outcomes near it are computed (one test compares with all outcomes).
 *
 * Sizes are T/32768 to 8 T; those of T and more are taken exactly (law `exact`) or make trials (law
 * `bernoulli`). Expected samples go from about .5 to 100, one object at least.
 * BYTEPOLL_LONG_TESTS=1 takes more sizes and factors.
 *
 * What must fail, so that the test is known to bite: Wald's z; both laws as gammas of the whole
 * figure (nothing certain); under the law `bernoulli` the p-values without the steps of large
 * objects; a binomial test of the two counts, where the sizes differ.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/diff.h"
#include "test_coverage.h"

#define INTERVAL UINT64_C(524288)
#define COUNT_MAX 400

/* In units of T / 64, but for the first, which is 16 bytes. The long form takes all of them. */
static const unsigned all_sizes[] = { 0, 8, 16, 24, 32, 40, 48, 56, 63, 64, 96, 128, 192, 256, 320,
	384, 512 };
static const unsigned usual_sizes[] = { 0, 8, 16, 32, 48, 63, 64, 128, 256, 512 };
static const double wanted_samples[] = { 0.5, 1, 2, 3, 5, 8, 12, 20, 35, 60, 100 };

static bool is_long(void)
{
	const char *wish = getenv("BYTEPOLL_LONG_TESTS");
	return wish != NULL && *wish != '\0' && *wish != '0';
}

static size_t size_count(void)
{
	return is_long() ? BP_COUNT(all_sizes) : BP_COUNT(usual_sizes);
}

static uint64_t size_at(size_t index)
{
	unsigned size = is_long() ? all_sizes[index] : usual_sizes[index];
	return size == 0 ? 16 : size * (INTERVAL / 64);
}

/* What becomes of a side before it is compared, to show what must fail. */
enum form { AS_IS, WITHOUT_STEPS, NOTHING_CERTAIN };

static struct bp_side in_form(struct bp_side side, enum form form)
{
	if (form == WITHOUT_STEPS)
		side.lattice = 0;
	if (form == NOTHING_CERTAIN)
		side.certain = side.taken = 0;
	return side;
}

/* One side: objects of one size, bytes beside them that are taken exactly, and a bp_side for each
 * number of samples from `low` to `high`; outside of these the probability is below 1e-10 each. */
struct population {
	double objects, bytes;
	double probability[COUNT_MAX];
	double from[COUNT_MAX + 1]; /* probability of so many samples or more */
	struct bp_side side[COUNT_MAX];
	unsigned low, high;
};

static struct population sides[2];

static void populate(struct population *population, uint64_t size, double objects, double beside,
	bool exact, enum form form)
{
	double p = inclusion(size, INTERVAL, exact);
	struct bp_sums sums = { .interval_max = INTERVAL, .bytes = beside };
	unsigned counts = (unsigned)fmin(COUNT_MAX, objects + 1);
	assert_true(objects == floor(objects));
	*population =
		(struct population){ .objects = objects, .bytes = objects * (double)size + beside };
	if (p == 1) {
		assert_true(objects < COUNT_MAX);
		population->probability[counts - 1] = 1;
	} else {
		binomial_table(objects, p, population->probability, counts);
	}
	population->high = counts - 1;
	while (population->probability[population->low] < 1e-10)
		population->low++;
	while (population->probability[population->high] < 1e-10)
		population->high--;
	assert_true(population->high + 1 < COUNT_MAX || population->high == objects);
	for (unsigned s = 0; s <= population->high; s++) {
		struct bp_side side = bp_side_of_values(&sums, INTERVAL, 1);
		population->side[s] = in_form(side, form);
		add_samples(&sums, 1, size, 0, INTERVAL, exact);
	}
	for (unsigned s = population->high + 1; s-- > population->low;)
		population->from[s] = population->from[s + 1] + population->probability[s];
}

/* The least number of bytes that is whole in both sizes and of which about `samples` are
 * expected. */
static double bytes_for(uint64_t a, uint64_t b, double samples)
{
	uint64_t whole = a > b ? a : b;
	while (whole % a != 0 || whole % b != 0)
		whole += a > b ? a : b;
	double p = inclusion(a, INTERVAL, false) / (double)a;
	return (double)whole * fmax(1, round(samples / (p * (double)whole)));
}

/* ---- p-values ---- */

/* P-values of outcomes, computed when they are first wanted. */
struct outcome {
	double melded, mid, increase, decrease;
	bool known;
};

static struct outcome outcomes[COUNT_MAX][COUNT_MAX];

static void forget_outcomes(void)
{
	for (unsigned i = 0; i <= sides[0].high; i++)
		for (unsigned j = 0; j <= sides[1].high; j++)
			outcomes[i][j].known = false;
}

static const struct outcome *outcome_of(unsigned i, unsigned j)
{
	struct outcome *outcome = &outcomes[i][j];
	if (!outcome->known) {
		struct bp_change change = bp_diff_pair_p(&sides[0].side[i], &sides[1].side[j]);
		*outcome = (struct outcome){ change.p, change.p_mid, change.p_increase,
			change.p_decrease, true };
	}
	return outcome;
}

/* Is this outcome called a change, up or down? `level` is met with a hair to spare for rounding. */
enum method { MELDED, MID, ONE_SIDED };

static bool is_alarm(enum method method, bool up, unsigned i, unsigned j, double level)
{
	const struct outcome *outcome = outcome_of(i, j);
	double own = up ? outcome->increase : outcome->decrease;
	double other = up ? outcome->decrease : outcome->increase;
	double p = method == MELDED ? outcome->melded : method == MID ? outcome->mid : own;
	return own < other && p <= level;
}

/* The probability of alarms in one direction; base and new side have changed places for `!up`. */
static double alarms(enum method method, bool up, double level)
{
	const struct population *less = &sides[up ? 0 : 1], *more = &sides[up ? 1 : 0];
	double sum = 0;
	unsigned j = more->low;
	for (unsigned i = less->low; i <= less->high; i++) {
		while (j <= more->high && !is_alarm(method, up, up ? i : j, up ? j : i, level))
			j++;
		sum += less->probability[i] * more->from[j];
	}
	return sum;
}

static double alarms_of_all_outcomes(enum method method, double level)
{
	double sum = 0;
	for (unsigned i = sides[0].low; i <= sides[0].high; i++)
		for (unsigned j = sides[1].low; j <= sides[1].high; j++)
			if (is_alarm(method, true, i, j, level) ||
				is_alarm(method, false, i, j, level))
				sum += sides[0].probability[i] * sides[1].probability[j];
	return sum;
}

/* Probability of an alarm at one level, by method. */
struct rates {
	double melded, mid, one_sided, wald, counts;
};

static const double levels[] = { 0.05, 0.01, 0.001, 0.0001 };
#define LEVELS BP_COUNT(levels)

/* An estimated difference over its estimated standard error. */
static double wald_p(const struct bp_side *a, const struct bp_side *b)
{
	double variance = a->variance + b->variance, difference = b->estimate - a->estimate;
	if (variance > 0)
		return erfc(fabs(difference) / sqrt(2 * variance));
	return difference == 0 ? 1 : 0;
}

/* The two numbers of samples, as if all of them stood for the same number of bytes. */
static double counts_p(const struct bp_side *a, const struct bp_side *b)
{
	double all = (double)(a->samples + b->samples);
	double less = (double)(a->samples < b->samples ? a->samples : b->samples);
	return fmin(1, 2 * binomial_at_most(all, 0.5, (unsigned)less));
}

static void keep_worst_rates(struct rates *worst, const struct rates *rates)
{
	worst->melded = fmax(worst->melded, rates->melded);
	worst->mid = fmax(worst->mid, rates->mid);
	worst->one_sided = fmax(worst->one_sided, rates->one_sided);
	worst->wald = fmax(worst->wald, rates->wald);
	worst->counts = fmax(worst->counts, rates->counts);
}

/* Those methods that cost nothing, over all outcomes. */
static void add_plain_rates(struct rates *rates)
{
	for (unsigned i = sides[0].low; i <= sides[0].high; i++)
		for (unsigned j = sides[1].low; j <= sides[1].high; j++) {
			double probability = sides[0].probability[i] * sides[1].probability[j];
			if (probability < 1e-10)
				continue;
			double wald = wald_p(&sides[0].side[i], &sides[1].side[j]);
			double counts = counts_p(&sides[0].side[i], &sides[1].side[j]);
			for (unsigned l = 0; l < LEVELS; l++) {
				rates[l].wald += wald <= levels[l] ? probability : 0;
				rates[l].counts += counts <= levels[l] ? probability : 0;
			}
		}
}

static void run(struct rates *rates)
{
	forget_outcomes();
	for (unsigned l = 0; l < LEVELS; l++) {
		rates[l] = (struct rates){ 0 };
		rates[l].melded =
			alarms(MELDED, true, levels[l]) + alarms(MELDED, false, levels[l]);
		rates[l].mid = alarms(MID, true, levels[l]) + alarms(MID, false, levels[l]);
		rates[l].one_sided = fmax(
			alarms(ONE_SIDED, true, levels[l]), alarms(ONE_SIDED, false, levels[l]));
	}
}

/* One cell. `part`: the share of the new side's bytes that are in objects of its size; the rest is
 * taken exactly. */
static void run_cell(struct rates *worst, uint64_t a, uint64_t b, double bytes, double part,
	bool exact, enum form form)
{
	struct rates rates[LEVELS];
	double objects = bytes / (double)b;
	if (part < 1)
		objects = fmax(1, round(part * objects));
	populate(&sides[0], a, bytes / (double)a, 0, exact, form);
	populate(&sides[1], b, objects, bytes - objects * (double)b, exact, form);
	run(rates);
	if (part == 1 && form == AS_IS)
		add_plain_rates(rates);
	for (unsigned l = 0; l < LEVELS; l++)
		keep_worst_rates(&worst[l], &rates[l]);
}

static bool is_wanted(uint64_t a, uint64_t b, bool exact)
{
	bool small = a < INTERVAL && b < INTERVAL, large = a >= INTERVAL && b >= INTERVAL;
	return exact ? !large : !small; /* all exact: nothing to test; all small: the same */
}

static void run_pair(
	struct rates *worst, uint64_t a, uint64_t b, double samples, bool exact, enum form form)
{
	double bytes = bytes_for(a, b, samples);
	if (bytes > 150 * (double)INTERVAL)
		return;
	run_cell(worst, a, b, bytes, 1, exact, form);
	if (exact && b < INTERVAL)
		run_cell(worst, a, b, bytes, 0.25, exact, form);
}

/* Worst rates over all pairs of sizes and all numbers of bytes. */
static void run_all(struct rates *worst, bool exact, enum form form)
{
	static const char *const forms[] = { "", " without steps", " with nothing certain" };
	for (unsigned l = 0; l < LEVELS; l++)
		worst[l] = (struct rates){ 0 };
	for (size_t i = 0; i < size_count(); i++)
		for (size_t j = 0; j < size_count(); j++)
			for (unsigned k = 0; k < BP_COUNT(wanted_samples); k++)
				if (is_wanted(size_at(i), size_at(j), exact))
					run_pair(worst, size_at(i), size_at(j), wanted_samples[k],
						exact, form);
	for (unsigned l = 0; l < LEVELS; l++)
		print_message("# %s%s, %g: melded %.6f mid-p %.6f one-sided %.6f Wald %.4f "
			      "counts %.4f\n",
			exact ? "exact" : "bernoulli", forms[form], levels[l], worst[l].melded,
			worst[l].mid, worst[l].one_sided, worst[l].wald, worst[l].counts);
}

/* Melded and one-sided p-values are held to the nominal rate, with no margin. The mid-p is right on
 * average; under law `exact` it goes above it, and these are its worst rates, rounded up. */
static const double mid_exact[LEVELS] = { 0.0563, 0.0110, 0.0011, 0.000101 };

static void assert_nominal(const struct rates *worst, const double *mid)
{
	for (unsigned l = 0; l < LEVELS; l++) {
		assert_true(worst[l].one_sided <= levels[l]);
		assert_true(worst[l].melded <= levels[l]);
		assert_true(worst[l].mid <= mid[l]);
	}
}

static void test_false_alarms_exact(void **state)
{
	(void)state;
	struct rates worst[LEVELS];
	run_all(worst, true, AS_IS);
	assert_nominal(worst, mid_exact);
	assert_true(worst[0].wald > 0.2 && worst[2].wald > 0.01);
	assert_true(worst[0].counts > 0.99);
}

static void test_false_alarms_bernoulli(void **state)
{
	(void)state;
	struct rates worst[LEVELS];
	run_all(worst, false, AS_IS);
	assert_nominal(worst, levels);
	assert_true(worst[0].wald > 0.2);
}

static void test_other_forms_fail(void **state)
{
	(void)state;
	/* Gammas of whole figures: six objects of almost T beside 4 T taken exactly, against as
	 * many bytes that are all exact. */
	struct rates whole[LEVELS], smooth[LEVELS];
	const uint64_t size = INTERVAL / 64 * 63;
	const double bytes = 6.0 * (double)size + 4.0 * INTERVAL;
	populate(&sides[0], size, 6, 4.0 * INTERVAL, true, NOTHING_CERTAIN);
	populate(&sides[1], INTERVAL, 1, bytes - INTERVAL, true, NOTHING_CERTAIN);
	run(whole);
	print_message("# nothing certain:");
	for (unsigned l = 0; l < LEVELS; l++)
		print_message(" %.6f", whole[l].one_sided);
	print_message("\n");
	assert_true(whole[2].one_sided > 2 * levels[2] && whole[3].one_sided > 20 * levels[3]);

	run_all(smooth, false, WITHOUT_STEPS);
	assert_true(smooth[0].mid > 0.08 && smooth[2].melded > 0.002);
}

/* Walking finds what looking at all outcomes finds. */
static void test_walking(void **state)
{
	(void)state;
	static const uint64_t pairs[][2] = { { 16, 16 }, { INTERVAL / 4 * 3, 16 },
		{ INTERVAL / 64 * 63, INTERVAL / 2 }, { 2 * INTERVAL, INTERVAL / 4 } };
	for (size_t i = 0; i < BP_COUNT(pairs); i++)
		for (unsigned bernoulli = 0; bernoulli < 2; bernoulli++) {
			double bytes = bytes_for(pairs[i][0], pairs[i][1], 12);
			struct rates rates[LEVELS];
			populate(&sides[0], pairs[i][0], bytes / (double)pairs[i][0], 0, !bernoulli,
				AS_IS);
			populate(&sides[1], pairs[i][1], bytes / (double)pairs[i][1], 0, !bernoulli,
				AS_IS);
			run(rates);
			for (unsigned l = 0; l < LEVELS; l++) {
				double melded = alarms_of_all_outcomes(MELDED, levels[l]);
				double mid = alarms_of_all_outcomes(MID, levels[l]);
				assert_true(fabs(rates[l].melded - melded) < 1e-12);
				assert_true(fabs(rates[l].mid - mid) < 1e-12);
			}
		}
}

/* ---- power ---- */

/* A planted change: with `samples` of tiny objects before, and F times the bytes after, how often
 * is it found at .05? The square root of a number of samples has the standard deviation 1/2
 * whatever its mean, so z of the difference is about sqrt(2 samples) (sqrt(F) - 1), and the power
 * Phi(that - 1.96): exact tests of whole numbers have a little less. */
static double power(uint64_t size, double samples, double factor, double *ret_mid)
{
	double bytes = bytes_for(size, 16, samples);
	struct rates rates[LEVELS];
	populate(&sides[0], size, bytes / (double)size, 0, true, AS_IS);
	populate(&sides[1], size, round(bytes * factor / (double)size), 0, true, AS_IS);
	run(rates);
	*ret_mid = rates[0].mid;
	return rates[0].melded;
}

static void test_power(void **state)
{
	(void)state;
	static const double cases[][2] = { { 10, 2 }, { 25, 2 }, { 82, 1.5 }, { 9, 3 }, { 5, 4 } };
	for (size_t i = 0; i < BP_COUNT(cases); i++) {
		double samples = cases[i][0], factor = cases[i][1], mid;
		double melded = power(16, samples, factor, &mid);
		double z = sqrt(2 * samples) * (sqrt(factor) - 1) - 1.959964;
		double theory = 0.5 * erfc(-z / sqrt(2));
		print_message("# %g samples, times %g: found %.3f, mid-p %.3f, theory %.3f\n",
			samples, factor, melded, mid, theory);
		assert_true(melded <= mid && mid < theory + 0.01 && melded > theory - 0.09);
	}
	double mid, tiny = power(16, 10, 2, &mid), large = power(INTERVAL / 4 * 3, 10, 2, &mid);
	assert_true(tiny > 0.36 && tiny < 0.38);
	assert_true(large > tiny + 0.1); /* at .75 T the same samples say more */
}

/* ---- limits ---- */

/* Does the limit of an outcome miss the truth? Those of B - A and B / A from below, `new` being B;
 * the upper ones are the lower ones of the exchanged sides. */
static bool is_missed(
	bool ratio, const struct bp_side *base, const struct bp_side *new, double truth)
{
	const double a = 0.025;
	return ratio ? truth < bp_ratio_lower(base, new, a) * (1 - 1e-9)
		     : truth < bp_diff_lower(base, new, a) - 1e-3;
}

static double misses(bool ratio, const struct population *base, const struct population *new)
{
	double truth = ratio ? new->bytes / base->bytes : new->bytes - base->bytes, sum = 0;
	unsigned j = new->low;
	for (unsigned i = base->low; i <= base->high; i++) {
		while (j <= new->high && !is_missed(ratio, &base->side[i], &new->side[j], truth))
			j++;
		sum += base->probability[i] * new->from[j];
	}
	return sum;
}

struct coverage {
	struct misses difference, ratio;
};

static struct coverage cover(void)
{
	return (struct coverage){ { misses(false, &sides[0], &sides[1]),
					  misses(false, &sides[1], &sides[0]) },
		{ misses(true, &sides[0], &sides[1]), misses(true, &sides[1], &sides[0]) } };
}

/* Both sides in whole objects, the new one with about `factor` times the bytes; under law `exact`
 * what is missing is made up by bytes taken exactly. */
static bool populate_factor(uint64_t a, uint64_t b, double intervals, double factor, bool exact)
{
	double objects = round(intervals * (double)INTERVAL / (double)a);
	double bytes = objects * (double)a * factor, others = floor(bytes / (double)b);
	if (objects < 1 || others < 1 || others * (double)b > 300 * (double)INTERVAL)
		return false;
	populate(&sides[0], a, objects, 0, exact, AS_IS);
	populate(&sides[1], b, others, exact ? floor(bytes - others * (double)b) : 0, exact, AS_IS);
	return true;
}

static void cover_all(struct coverage *worst, bool exact)
{
	static const double all_factors[] = { 1.1, 1.5, 2, 3, 8 }, usual_factors[] = { 1.5, 8 };
	static const double intervals[] = { 1, 3, 8, 12, 30 };
	const double *factors = is_long() ? all_factors : usual_factors;
	size_t factor_count = is_long() ? BP_COUNT(all_factors) : BP_COUNT(usual_factors);
	*worst = (struct coverage){ { 0, 0 }, { 0, 0 } };
	for (size_t i = 0; i < size_count(); i++)
		for (size_t j = 0; j < size_count(); j++)
			for (size_t k = 0; k < BP_COUNT(intervals) * factor_count; k++) {
				uint64_t a = size_at(i), b = size_at(j);
				double bytes = intervals[k / factor_count];
				double factor = factors[k % factor_count];
				if (!is_wanted(a, b, exact) ||
					!populate_factor(a, b, bytes, factor, exact))
					continue;
				struct coverage found = cover();
				keep_worst(&worst->difference, found.difference.low,
					found.difference.high);
				keep_worst(&worst->ratio, found.ratio.low, found.ratio.high);
			}
	print_message("# limits, %s: difference %.5f %.5f, ratio %.5f %.5f\n",
		exact ? "exact" : "bernoulli", worst->difference.low, worst->difference.high,
		worst->ratio.low, worst->ratio.high);
}

static void test_limits(void **state)
{
	(void)state;
	for (int exact = 0; exact < 2; exact++) {
		struct coverage worst;
		cover_all(&worst, exact == 1);
		assert_true(worst.difference.low <= 0.025 && worst.difference.high <= 0.025);
		assert_true(worst.ratio.low <= 0.025 && worst.ratio.high <= 0.025);
	}
}

/* The cells that were the worst before K was certain in the upper law: up to 3.5 %. Sizes in T /
 * 64, bytes of the base in T, factor, law. */
static void test_former_exceptions(void **state)
{
	(void)state;
	static const struct {
		unsigned a, b;
		double bytes, factor;
		bool exact;
	} cells[] = {
		{ 128, 48, 12, 2, true },
		{ 48, 512, 24, 1, true },
		{ 32, 512, 24, 4, true },
		{ 64, 32, 55, 1, true },
		{ 256, 256, 8, 8, false },
		{ 256, 256, 12, 8, false },
	};
	for (size_t i = 0; i < BP_COUNT(cells); i++) {
		uint64_t a = cells[i].a * (INTERVAL / 64), b = cells[i].b * (INTERVAL / 64);
		assert_true(populate_factor(a, b, cells[i].bytes, cells[i].factor, cells[i].exact));
		struct coverage found = cover();
		assert_true(found.difference.low <= 0.025 && found.difference.high <= 0.025);
		assert_true(found.ratio.low <= 0.025 && found.ratio.high <= 0.025);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walking),
		cmocka_unit_test(test_false_alarms_exact),
		cmocka_unit_test(test_false_alarms_bernoulli),
		cmocka_unit_test(test_other_forms_fail),
		cmocka_unit_test(test_power),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_former_exceptions),
	};
	return cmocka_run_group_tests_name("comparisons, enumerated", tests, NULL, NULL);
}
