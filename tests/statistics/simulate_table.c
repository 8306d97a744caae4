/* SPDX-License-Identifier: MIT */
/* The tables of docs/statistics.md, "Simulated coverage", in Markdown. */
#include <math.h>
#include <string.h>

#include "base/attributes.h"
#include "simulate.h"

static const double bands[][2] = { { .1, 1 }, { 2, 5 }, { 8, 20 }, { 50, 100 }, { 1000, 1000 } };

static bool is_part(enum family family)
{
	return family == FAMILY_PART || family == FAMILY_PART_BERNOULLI;
}

static bool same_population(const struct cell *a, const struct cell *b)
{
	return a->law == b->law && a->expected == b->expected && a->interval == b->interval &&
	       a->share == b->share && a->other_complement == b->other_complement;
}

/* What the width in a cell is compared with; NULL: nothing. */
static const struct outcome *reference(
	const struct cell *cells, size_t count, const struct cell *cell)
{
	enum family family = is_part(cell->family) ? cell->family : FAMILY_BERNOULLI;
	const char *name =
		is_part(cell->family) ? "N3 of the same keys" : "negative binomial [s, s + 1]";
	unsigned place = SIMULATE_METHODS_MAX;
	for (unsigned m = 0; m < method_count; m++)
		if (methods[m].family == family && strcmp(methods[m].name, name) == 0)
			place = method_place(m);
	for (size_t i = 0; i < count && place < SIMULATE_METHODS_MAX; i++)
		if (cells[i].family == family && same_population(&cells[i], cell))
			return cells[i].outcomes[place].known ? &cells[i].outcomes[place] : NULL;
	return NULL;
}

/* One cell's relative width; 0: none. */
static double relative_width(
	const struct cell *cells, size_t count, const struct cell *cell, unsigned method)
{
	const struct outcome *outcome = &cell->outcomes[method_place(method)];
	const struct outcome *other = reference(cells, count, cell);
	if (!outcome->known || other == NULL || other->width <= 0)
		return 0;
	return outcome->width / other->width;
}

double table_width(const struct cell *cells, size_t count, unsigned method, double from, double to,
	bool mixed_only)
{
	double sum = 0, number = 0;
	for (size_t i = 0; i < count; i++) {
		const struct cell *cell = &cells[i];
		const struct size_law *law = &size_laws[cell->law];
		if (cell->family != methods[method].family || cell->expected < from ||
			cell->expected > to || law->hard || (mixed_only && !law->mixed))
			continue;
		double width = relative_width(cells, count, cell, method);
		if (width <= 0)
			continue;
		sum += log(width);
		number++;
	}
	return number > 0 ? exp(sum / number) : 0;
}

static bool is_compared(const struct method *method)
{
	return method->truth != TRUTH_OBJECTS && method->tail == .025 &&
	       method->family != FAMILY_TWO_INTERVALS;
}

/* The worst share of misses of one side, with its standard error. */
struct worst {
	double share, error;
};

static void keep_worst(struct worst *worst, double share, double repetitions)
{
	if (share < worst->share)
		return;
	worst->share = share;
	worst->error = repetitions > 0 ? sqrt(share * (1 - share) / repetitions) : 0;
}

static void write_worst(FILE *out, const struct worst *worst)
{
	if (worst->error > 0)
		fprintf(out, "| %.2f ± %.2f ", 100 * worst->share, 100 * worst->error);
	else
		fprintf(out, "| %.2f ", 100 * worst->share);
}

static const char *law_name(enum family family)
{
	return family == FAMILY_BERNOULLI || family == FAMILY_PART_BERNOULLI ? "bernoulli"
									     : "exact";
}

static void write_method(FILE *out, const struct cell *cells, size_t count, unsigned number)
{
	const struct method *method = &methods[number];
	struct worst low = { 0, 0 }, high = { 0, 0 };
	unsigned number_of_cells = 0, under = 0;
	for (size_t i = 0; i < count; i++) {
		const struct outcome *outcome = &cells[i].outcomes[method_place(number)];
		if (cells[i].family != method->family || !outcome->known)
			continue;
		number_of_cells++;
		double misses = outcome->low + outcome->high;
		double error = outcome->repetitions > 0
				       ? sqrt(misses * (1 - misses) / outcome->repetitions)
				       : 0;
		under += misses - 3 * error > 2.2 * method->tail;
		keep_worst(&low, outcome->low, outcome->repetitions);
		keep_worst(&high, outcome->high, outcome->repetitions);
	}
	fprintf(out, "| %s | %s | %u ", method->name, law_name(method->family), number_of_cells);
	write_worst(out, &low);
	write_worst(out, &high);
	fprintf(out, "| %u ", under);
	for (unsigned b = 1; b < BP_COUNT(bands); b++) {
		double width = is_compared(method) ? table_width(cells, count, number, bands[b][0],
							     bands[b][1], true)
						   : 0;
		if (width > 0)
			fprintf(out, "| %.2f ", width);
		else
			fprintf(out, "| ");
	}
	fprintf(out, "|\n");
}

/* By law of sizes: how each population fares, under both laws of sampling. */
static void write_size_law(FILE *out, const struct cell *cells, size_t count, unsigned law)
{
	static const enum family families[] = { FAMILY_EXACT, FAMILY_BERNOULLI };
	fprintf(out, "| %s ", size_laws[law].name);
	for (unsigned f = 0; f < 2; f++) {
		unsigned method = method_at(families[f], 0);
		struct worst low = { 0, 0 }, high = { 0, 0 };
		double widths[BP_COUNT(bands)] = { 0 }, numbers[BP_COUNT(bands)] = { 0 };
		for (size_t i = 0; i < count; i++) {
			const struct cell *cell = &cells[i];
			if (cell->law != law || cell->family != families[f])
				continue;
			const struct outcome *outcome = &cell->outcomes[0];
			keep_worst(&low, outcome->low, outcome->repetitions);
			keep_worst(&high, outcome->high, outcome->repetitions);
			double width = relative_width(cells, count, cell, method);
			for (unsigned b = 0; b < BP_COUNT(bands); b++)
				if (width > 0 && cell->expected >= bands[b][0] &&
					cell->expected <= bands[b][1]) {
					widths[b] += log(width);
					numbers[b]++;
				}
		}
		fprintf(out, "| %.2f / %.2f |", 100 * low.share, 100 * high.share);
		for (unsigned b = 1; b < BP_COUNT(bands); b++)
			if (numbers[b] > 0)
				fprintf(out, " %.2f", exp(widths[b] / numbers[b]));
			else
				fprintf(out, " -");
		fprintf(out, " ");
	}
	fprintf(out, "|\n");
}

/* By expected samples: where whole numbers make intervals cover more than they promise. */
static void write_coverage(FILE *out, const struct cell *cells, size_t count, double expected)
{
	static const enum family families[] = { FAMILY_EXACT, FAMILY_BERNOULLI };
	fprintf(out, "| %g ", expected);
	for (unsigned f = 0; f < 2; f++) {
		double least = 1, most = 0, sum = 0, tiny = 0;
		unsigned number = 0;
		for (size_t i = 0; i < count; i++) {
			const struct cell *cell = &cells[i];
			if (cell->expected != expected || cell->family != families[f] ||
				size_laws[cell->law].hard)
				continue;
			const struct outcome *outcome = &cell->outcomes[0];
			double covers = 1 - outcome->low - outcome->high;
			least = fmin(least, covers);
			most = fmax(most, covers);
			sum += covers;
			number++;
			if (cell->law == 0)
				tiny = covers;
		}
		fprintf(out, "| %.1f | %.1f | %.1f | %.1f ", 100 * tiny, 100 * least,
			100 * sum / number, 100 * most);
	}
	fprintf(out, "|\n");
}

static void write_coverages(FILE *out, const struct cell *cells, size_t count)
{
	double done[32];
	unsigned number = 0;
	for (size_t i = 0; i < count; i++) {
		bool again = is_part(cells[i].family) || size_laws[cells[i].law].hard ||
			     number == BP_COUNT(done);
		for (unsigned j = 0; j < number; j++)
			again = again || done[j] == cells[i].expected;
		if (again)
			continue;
		done[number++] = cells[i].expected;
		write_coverage(out, cells, count, cells[i].expected);
	}
}

/* A Markdown paragraph and table head each, in lines of the document. */
static const char text_of_methods[] =
	"Worst cells of each method: misses in % (nominal 2.5 below and above, 1 where one-sided), "
	"±\n"
	"one standard error; cells without it were enumerated. Under: cells that cover less than\n"
	"94.5 % (98 % where one-sided) by more than three standard errors. Width: of mixed sizes, "
	"as a\n"
	"multiple of that of the negative binomial [s, s + 1] of the same population under law\n"
	"`bernoulli` (parts of a total: of N3 of the same keys), geometric mean over the cells of "
	"that\n"
	"E[s].\n\n"
	"| method | law | cells | below | above | under | width, E[s] 2-5 | 8-20 | 50-100 | 1000 "
	"|\n"
	"|-|-|-|-|-|-|-|-|-|-|\n";

static const char text_of_sizes[] =
	"\nBy sizes: worst misses below / above of N3 (law `exact`) and of N3 by size classes "
	"(law\n"
	"`bernoulli`), and their widths as above, at E[s] 2-5, 8-20, 50-100, 1000.\n\n"
	"| sizes | exact | widths | bernoulli | widths |\n|-|-|-|-|-|\n";

static const char text_of_coverage[] = "\nCoverage of the same two in % by expected samples: of "
				       "objects of 16 B, and the least, mean\n"
				       "and largest over the eleven laws of sizes. What is above "
				       "95 is discreteness: few samples, whole\n"
				       "objects.\n\n"
				       "| E[s] | exact: 16 B | least | mean | largest | bernoulli: "
				       "16 B | least | mean | largest |\n"
				       "|-|-|-|-|-|-|-|-|-|\n";

void table_write(FILE *out, const struct cell *cells, size_t count)
{
	fputs(text_of_methods, out);
	for (unsigned m = 0; m < method_count; m++)
		write_method(out, cells, count, m);
	fputs(text_of_sizes, out);
	for (unsigned law = 0; law < size_law_count; law++)
		write_size_law(out, cells, count, law);
	fputs(text_of_coverage, out);
	write_coverages(out, cells, count);
}
