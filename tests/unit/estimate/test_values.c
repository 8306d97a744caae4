/* SPDX-License-Identifier: MIT */
/*
 * Every row of tests/data/statistics/values.csv against the functions of src/tool/estimate.
 *
 * The rows were computed with 40 digits by other code; each carries the relative tolerance it was
 * printed for. A row is handed to the checker of its function. A function that has none must stand
 * in `not_covered` with the number of its rows, and every checker must meet the number of rows it
 * claims: no row can be passed over in silence.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/attributes.h"
#include "estimate/diff.h"
#include "estimate/estimate.h"
#include "estimate/numeric/negative_binomial.h"
#include "estimate/numeric/special.h"
#include "weights_in_theory.h"

struct row {
	char function[64], inputs[512], outputs[512];
	int id;
	double tolerance;
};

static const char *values_path;

/* The text of `key=...` in a list separated by semicolons; NULL if it is not there. */
static const char *find(const char *list, const char *key)
{
	size_t length = strlen(key);
	for (const char *at = list; at != NULL; at = strchr(at, ';')) {
		at += *at == ';';
		if (strncmp(at, key, length) == 0 && at[length] == '=')
			return at + length + 1;
	}
	return NULL;
}

static double number(const char *list, const char *key)
{
	const char *text = find(list, key);
	if (text == NULL)
		fail_msg("no %s in %s", key, list);
	return strtod(text, NULL);
}

static double input(const struct row *row, const char *key)
{
	return number(row->inputs, key);
}

static uint64_t input_integer(const struct row *row, const char *key)
{
	return (uint64_t)input(row, key);
}

static bool input_flag(const struct row *row, const char *key)
{
	return find(row->inputs, key) != NULL && input(row, key) != 0;
}

/* Fails unless `value` is the output `key` of the row, within the row's tolerance. */
static void expect(const struct row *row, const char *key, double value)
{
	double wanted = number(row->outputs, key);
	if (!(fabs(value - wanted) <= row->tolerance * fabs(wanted)))
		fail_msg("row %d, %s(%s): %s is %.15g, not %.15g", row->id, row->function,
			row->inputs, key, value, wanted);
}

/* Reads COUNTxSIZE+COUNTxSIZE... or "none" from the input `key`. */
static struct bp_sums input_samples(const struct row *row, const char *key)
{
	struct bp_sums sums = { 0 };
	uint64_t interval = input_integer(row, "T");
	uint32_t charge = find(row->inputs, "charge") ? (uint32_t)input(row, "charge") : 0;
	const char *text = find(row->inputs, key);
	assert_non_null(text);
	sums.interval_max = interval;
	sums.single_size = true; /* so the rows were computed; withdrawn by mixed samples */
	while (*text >= '0' && *text <= '9') {
		char *end;
		unsigned long count = strtoul(text, &end, 10);
		assert_int_equal(*end, 'x');
		uint64_t size = strtoull(end + 1, &end, 10);
		bool exact = input_flag(row, "exact") && size + charge >= interval;
		for (unsigned long i = 0; i < count; i++)
			bp_sums_add(&sums, (double)size, size, charge, interval, exact);
		text = *end == '+' ? end + 1 : end;
	}
	return sums;
}

static void check_sample_constants(const struct row *row)
{
	struct bp_sums sums = { 0 };
	uint64_t size = input_integer(row, "k"), interval = input_integer(row, "T");
	uint32_t charge = (uint32_t)input(row, "charge");
	bp_sums_add(&sums, (double)size, size, charge, interval, false);
	expect(row, "lambda", bp_lambda(interval));
	expect(row, "pi", bp_inclusion_probability(bp_trials(size, charge), interval));
	expect(row, "odds", sums.n1);
	expect(row, "weight", sums.bytes + sums.c1);
	expect(row, "variance_per_object", (double)size * sums.c1);
}

static void check_zero_sample_upper_limit(const struct row *row)
{
	struct bp_sums none = { 0 };
	uint64_t interval = input_integer(row, "T");
	expect(row, "two_sided95", bp_estimate_bytes(&none, interval, 0.05).high);
	expect(row, "one_sided95", bp_estimate_bytes(&none, interval, 0.10).high);
	expect(row, "two_sided99", bp_estimate_bytes(&none, interval, 0.01).high);
}

static void check_interval(const struct row *row, const struct bp_interval *interval)
{
	assert_false(interval->exact || interval->unknown);
	expect(row, "estimate", interval->estimate);
	expect(row, "low", interval->low);
	expect(row, "high", interval->high);
}

static void check_interval_bytes(const struct row *row)
{
	struct bp_sums sums = input_samples(row, "samples");
	struct bp_interval interval =
		bp_estimate_bytes(&sums, input_integer(row, "T"), input(row, "alpha"));
	check_interval(row, &interval);
	expect(row, "variance", sums.c2);
	expect(row, "c1", sums.c1);
	expect(row, "c2", sums.c2);
	expect(row, "c3", sums.c3);
	expect(row, "log_pi_sum", sums.log_pi_sum);
}

static void check_interval_objects(const struct row *row)
{
	struct bp_sums sums = input_samples(row, "samples");
	struct bp_interval interval = bp_estimate_objects(&sums, input_integer(row, "T"),
		input(row, "alpha"), input_integer(row, "kmin"), (uint32_t)input(row, "charge"));
	check_interval(row, &interval);
	expect(row, "variance", sums.n2);
}

static void check_interval_known_total(const struct row *row)
{
	struct bp_sums key = input_samples(row, "S"), complement = input_samples(row, "C");
	uint64_t total = input_integer(row, "Ntot");
	struct bp_interval interval = bp_estimate_known_total(
		&key, &complement, input_integer(row, "T"), total, total, input(row, "alpha"));
	check_interval(row, &interval);
}

/* The rows are in the plain form, without the steps of the law `bernoulli` and with nothing
 * certain: both laws are gammas of the whole figure. */
static struct bp_side input_side(const struct row *row, const char *key)
{
	struct bp_sums sums = input_samples(row, key);
	struct bp_side side = bp_side_of_values(&sums, input_integer(row, "T"), 1);
	side.lattice = side.certain = side.taken = 0;
	return side;
}

static void check_compare_two_profiles(const struct row *row)
{
	struct bp_side base = input_side(row, "A"), new = input_side(row, "B");
	struct bp_change change = bp_diff_pair(&base, &new, input(row, "alpha"));
	expect(row, "NA", base.estimate);
	expect(row, "VA", base.variance);
	expect(row, "NB", new.estimate);
	expect(row, "VB", new.variance);
	expect(row, "p", change.p);
	expect(row, "p_mid", change.p_mid);
	expect(row, "p_inc", change.p_increase);
	expect(row, "p_dec", change.p_decrease);
	expect(row, "ratio_low", change.ratio.low);
	if (isinf(number(row->outputs, "ratio_high")))
		assert_true(isinf(change.ratio.high));
	else
		expect(row, "ratio_high", change.ratio.high);
}

/* Reads NUMBER|NUMBER... ; returns how many. */
static size_t read_list(const char *text, double *numbers, size_t count_max)
{
	size_t count = 0;
	for (char *end; text != NULL && count < count_max; text = *end == '|' ? end + 1 : NULL)
		numbers[count++] = strtod(text, &end);
	return count;
}

static void check_benjamini_hochberg(const struct row *row)
{
	double p[16], wanted[16], q[16];
	size_t order[16], count = read_list(find(row->inputs, "p"), p, BP_COUNT(p));
	assert_int_equal(count, 10);
	assert_int_equal(read_list(find(row->outputs, "q"), wanted, BP_COUNT(wanted)), count);
	bp_benjamini_hochberg(p, count, order, q);
	for (size_t i = 0; i < count; i++) /* printed to 10 digits */
		assert_true(fabs(q[i] - wanted[i]) <= 1e-9 * wanted[i]);
}

static void check_split_in_halves(const struct row *row)
{
	struct bp_half_split split =
		bp_split_in_halves(input_integer(row, "k"), input_integer(row, "T"), false);
	expect(row, "both", split.both);
	expect(row, "pi_half", split.inclusion);
}

static void check_peak_lower_level(const struct row *row)
{
	expect(row, "level", bp_peak_lower_level(input(row, "alpha"), input(row, "turnovers"), 12));
}

static void check_gamma_p_inverse(const struct row *row)
{
	double p = input(row, "P"), a = input(row, "a"), x = number(row->outputs, "x");
	expect(row, "x", bp_gamma_p_inverse(p, a));
	expect(row, "x", bp_gamma_q_inverse(1 - p, a));
	assert_true(fabs(bp_gamma_p(a, x) - p) < 1e-12);
	assert_true(fabs(bp_gamma_q(a, x) - (1 - p)) < 1e-12);
}

static void check_beta_regularized(const struct row *row)
{
	double a = input(row, "a"), b = input(row, "b"), x = input(row, "x");
	expect(row, "I", bp_beta_regularized(a, b, x, 1 - x));
	expect(row, "I", 1 - bp_beta_regularized(b, a, 1 - x, x));
}

static void check_beta_regularized_inverse(const struct row *row)
{
	expect(row, "x",
		bp_beta_regularized_inverse(input(row, "p"), input(row, "a"), input(row, "b")));
}

static void check_normal_quantile(const struct row *row)
{
	double p = input(row, "p"), z = bp_normal_quantile(p);
	if (p == 0.5)
		assert_true(fabs(z) < 1e-15);
	else
		expect(row, "z", z);
}

static void check_negative_binomial_floor_quantile(const struct row *row)
{
	uint64_t successes = input_integer(row, "s"), interval = input_integer(row, "T");
	expect(row, "lo",
		bp_negative_binomial_quantile(
			BP_NEGATIVE_BINOMIAL_EXACT, input(row, "p_lo"), successes, interval));
	expect(row, "hi",
		bp_negative_binomial_quantile(
			BP_NEGATIVE_BINOMIAL_EXACT, input(row, "p_hi"), successes, interval));
}

static void check_negative_binomial_interval_example(const struct row *row)
{
	struct bp_interval interval =
		bp_estimate_negative_binomial(BP_NEGATIVE_BINOMIAL_EXACT, BP_EDGES_AT_SAMPLES,
			input_integer(row, "s"), input(row, "u"), input_integer(row, "T"), 0.05);
	expect(row, "lo", interval.low);
	expect(row, "hi", interval.high);
	expect(row, "point", interval.estimate);
}

static void check_thinning_keep_probability(const struct row *row)
{
	expect(row, "keep",
		thinning_keep_probability(input_integer(row, "k"), input_integer(row, "T"),
			input_integer(row, "T2"), false));
}

static const struct {
	const char *function;
	void (*check)(const struct row *row); /* NULL: not covered, the function does not exist */
	int rows;
} functions[] = {
	{ "sample_constants", check_sample_constants, 28 },
	{ "zero_sample_upper_limit", check_zero_sample_upper_limit, 3 },
	{ "interval_bytes", check_interval_bytes, 22 },
	{ "interval_objects", check_interval_objects, 22 },
	{ "interval_known_total", check_interval_known_total, 5 },
	{ "split_in_halves", check_split_in_halves, 3 },
	{ "peak_lower_level", check_peak_lower_level, 3 },
	{ "gamma_p_inverse", check_gamma_p_inverse, 8 },
	{ "beta_regularized", check_beta_regularized, 5 },
	{ "beta_regularized_inverse", check_beta_regularized_inverse, 4 },
	{ "normal_quantile", check_normal_quantile, 5 },
	{ "negative_binomial_floor_quantile", check_negative_binomial_floor_quantile, 25 },
	{ "negative_binomial_interval_example", check_negative_binomial_interval_example, 1 },
	{ "thinning_keep_probability", check_thinning_keep_probability, 3 },
	{ "compare_two_profiles", check_compare_two_profiles, 8 },
	{ "benjamini_hochberg", check_benjamini_hochberg, 1 },
};

/* Splits `id,function,inputs,outputs,tolerance,...`; false for the lines that are not rows. */
static bool parse(char *line, struct row *row)
{
	char tolerance[64];
	if (line[0] == '#' || strncmp(line, "id,", 3) == 0)
		return false;
	if (sscanf(line, "%d,%63[^,],%511[^,],%511[^,],%63[^,\n]", &row->id, row->function,
		    row->inputs, row->outputs, tolerance) != 5)
		fail_msg("not a row: %s", line);
	row->tolerance = strtod(tolerance, NULL); /* 0 where it says "exact" */
	return true;
}

static void test_every_row(void **state)
{
	(void)state;
	int met[BP_COUNT(functions)] = { 0 };
	char line[2048];
	FILE *file = fopen(values_path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL) {
		struct row row;
		size_t i = 0;
		if (!parse(line, &row))
			continue;
		while (i < BP_COUNT(functions) && strcmp(functions[i].function, row.function) != 0)
			i++;
		if (i == BP_COUNT(functions))
			fail_msg("row %d: nobody checks %s", row.id, row.function);
		met[i]++;
		if (functions[i].check != NULL)
			functions[i].check(&row);
	}
	fclose(file);
	for (size_t i = 0; i < BP_COUNT(functions); i++) {
		if (functions[i].check == NULL)
			print_message("# not yet covered: %d rows of %s\n", functions[i].rows,
				functions[i].function);
		if (met[i] != functions[i].rows)
			fail_msg("%s: %d rows, not %d", functions[i].function, met[i],
				functions[i].rows);
	}
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_row) };
	values_path = argc > 1 ? argv[1] : "tests/data/statistics/values.csv";
	return cmocka_run_group_tests_name("estimate values", tests, NULL, NULL);
}
