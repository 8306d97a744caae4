/* SPDX-License-Identifier: MIT */
/*
 * The simulation suite's command line.
 *
 *	simulate                     the short form: what CI runs
 *	simulate --long              every cell, and the worst ones again with more repetitions
 *	         --threads N         of cells side by side (default 1); results do not depend on it
 *	         --table FILE        the tables of docs/statistics.md as Markdown
 *
 * Prints TAP. In the long form the worst cell of a method is worst by bad luck as well: it is run
 * again, with new seeds and five times the repetitions or more, and so is the cell that is then
 * worst, until the worst is one that was run again. What the table shows is therefore not the
 * largest of some hundred noisy numbers.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "simulate.h"

/* Repetitions of a cell, and of the worst cells again; fewer where a repetition costs most: parts
 * of a total, and many samples by size classes. */
struct form {
	unsigned repetitions, repetitions_costly, again, again_costly, sampler;
};
static const struct form short_form = { 6000, 2000, 0, 0, 6000 };
static const struct form long_form = { 10000, 2000, 50000, 10000, 10000 };

static const double expected_all[] = { .1, .5, 1, 2, 3, 5, 8, 10, 20, 50, 100, 1000 };
static const double expected_of_parts[] = { 1, 3, 10, 30, 100 };
static const double shares[] = { .2, .5, .8, .95 };
static const uint64_t intervals[] = { 102400, 524288 };

static struct {
	struct cell *cells;
	size_t count, capacity;
	bool is_long;
	const struct form *form;
	atomic_size_t next;
} run;

static void add_cell(struct cell cell)
{
	if (!cell_exists(&cell))
		return;
	if (run.count == run.capacity) {
		run.capacity = 2 * run.capacity + 256;
		run.cells = realloc(run.cells, run.capacity * sizeof *run.cells);
		if (run.cells == NULL)
			abort();
	}
	run.cells[run.count++] = cell;
}

/* Cells without chance cost little and are all in the short form too. */
static bool is_wanted(const struct cell *cell)
{
	bool mixed = size_laws[cell->law].mixed;
	/* Only for comparison: reports do not use the total there. */
	if (cell->family == FAMILY_PART_BERNOULLI)
		return run.is_long && cell->other_complement &&
		       (cell->share == .2 || cell->share == .8);
	if (run.is_long || (!mixed && cell->family <= FAMILY_USABLE))
		return true;
	if (cell->family >= FAMILY_PART)
		return cell->family == FAMILY_PART && (cell->law == 2 || cell->law == 5) &&
		       (cell->expected == 3 || cell->expected == 30) && cell->other_complement &&
		       (cell->share == .2 || cell->share == .8);
	return cell->interval == 524288 && (cell->expected == .5 || cell->expected == 2 ||
						   cell->expected == 8 || cell->expected == 50);
}

static void add_wanted(struct cell cell)
{
	bool other_estimators = cell.family == FAMILY_EXACT || cell.family == FAMILY_BERNOULLI;
	cell.offsets = run.is_long || size_laws[cell.law].mixed;
	cell.weights =
		other_estimators && cell.offsets && (cell.expected == 2 || cell.expected == 50);
	if (is_wanted(&cell))
		add_cell(cell);
}

static void list_cells(void)
{
	for (unsigned law = 0; law < size_law_count; law++)
		for (unsigned e = 0; e < BP_COUNT(expected_all); e++)
			for (unsigned t = 0; t < BP_COUNT(intervals); t++)
				for (enum family f = FAMILY_EXACT; f <= FAMILY_USABLE; f++)
					add_wanted((struct cell){ .family = f,
						.law = law,
						.expected = expected_all[e],
						.interval = intervals[t] });
	for (enum family f = FAMILY_PART; f <= FAMILY_PART_BERNOULLI; f++)
		for (unsigned law = 0; law < size_law_count; law++)
			for (unsigned e = 0; e < BP_COUNT(expected_of_parts); e++)
				for (unsigned s = 0; s < BP_COUNT(shares); s++)
					for (int other = 0; other < 2; other++)
						add_wanted((struct cell){ .family = f,
							.law = law,
							.expected = expected_of_parts[e],
							.interval = 524288,
							.share = shares[s],
							.other_complement = other });
	/* About where plain N3 is at its worst. */
	for (unsigned t = 0; t < BP_COUNT(intervals); t++)
		add_wanted((struct cell){ .family = FAMILY_BERNOULLI,
			.law = 11,
			.expected = 192,
			.interval = intervals[t] });
	/* A key that holds nothing at all: no sample, and the interval holds 0. */
	add_cell((struct cell){ .family = FAMILY_EXACT, .interval = 524288 });
	add_cell((struct cell){ .family = FAMILY_BERNOULLI, .interval = 524288 });
}

/* A seed from what a cell is, so that other cells and other forms do not change it. */
static uint64_t seed_of(const struct cell *cell, uint64_t stage)
{
	uint64_t seed = stage;
	uint64_t parts[] = { cell->family, cell->law, (uint64_t)(10 * cell->expected),
		cell->interval, (uint64_t)(100 * cell->share), cell->other_complement };
	for (unsigned i = 0; i < BP_COUNT(parts); i++)
		seed = (seed ^ parts[i]) * UINT64_C(0x9e3779b97f4a7c15) +
		       UINT64_C(0x632be59bd9b4e019);
	return seed;
}

static bool is_costly(const struct cell *cell)
{
	return cell->family >= FAMILY_PART ||
	       (cell->family == FAMILY_BERNOULLI && cell->expected >= 100);
}

static void *run_cells(void *unused)
{
	(void)unused;
	for (size_t i; (i = atomic_fetch_add(&run.next, 1)) < run.count;) {
		struct cell *cell = &run.cells[i];
		cell_run(cell,
			is_costly(cell) ? run.form->repetitions_costly : run.form->repetitions,
			seed_of(cell, 1), UINT_MAX);
	}
	return NULL;
}

/* The cell with the most misses on one side; NULL: none. */
static struct cell *worst_cell(unsigned method, bool high)
{
	struct cell *worst = NULL;
	unsigned place = method_place(method);
	double most = -1;
	for (size_t i = 0; i < run.count; i++) {
		const struct outcome *outcome = &run.cells[i].outcomes[place];
		double share = high ? outcome->high : outcome->low;
		if (run.cells[i].family != methods[method].family || !outcome->known ||
			share <= most)
			continue;
		most = share;
		worst = &run.cells[i];
	}
	return worst;
}

static void *run_worst(void *unused)
{
	enum { TRIES = 60 };
	(void)unused;
	for (size_t i; (i = atomic_fetch_add(&run.next, 1)) < method_count;) {
		unsigned place = method_place((unsigned)i);
		for (unsigned try = 0; methods[i].duty != DUTY_MUST_FAIL && try < 2 * TRIES;
			try++) {
			struct cell *cell = worst_cell((unsigned)i, try % 2 == 1);
			double done = cell->outcomes[place].repetitions;
			unsigned again_count =
				is_costly(cell) ? run.form->again_costly : run.form->again;
			if (done == 0 || done >= again_count)
				continue;
			/* Other threads are at the other places of the same cell. */
			struct cell again = { .family = cell->family,
				.law = cell->law,
				.expected = cell->expected,
				.interval = cell->interval,
				.share = cell->share,
				.other_complement = cell->other_complement,
				.offsets = true };
			cell_run(&again, again_count, seed_of(cell, 2), (unsigned)i);
			cell->outcomes[place] = again.outcomes[place];
		}
	}
	return NULL;
}

static void side_by_side(void *(*work)(void *), unsigned threads)
{
	pthread_t others[64];
	atomic_store(&run.next, 0);
	if (threads > BP_COUNT(others))
		threads = BP_COUNT(others);
	for (unsigned i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, work, NULL) != 0)
			abort();
	work(NULL);
	for (unsigned i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
}

int main(int argc, char **argv)
{
	struct verdict verdict = { .out = stdout };
	const char *table = NULL;
	unsigned threads = 1;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--long") == 0)
			run.is_long = true;
		else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc)
			threads = (unsigned)atoi(argv[++i]);
		else if (strcmp(argv[i], "--table") == 0 && i + 1 < argc)
			table = argv[++i];
		else {
			fprintf(stderr, "usage: simulate [--long] [--threads N] [--table FILE]\n");
			return 2;
		}
	}
	run.form = run.is_long ? &long_form : &short_form;
	list_cells();
	side_by_side(run_cells, threads);
	if (run.form->again > 0)
		side_by_side(run_worst, threads);
	verdict_of_sampler(&verdict, run.form->sampler);
	verdict_of_cells(&verdict, run.cells, run.count);
	printf("1..%u\n", verdict.number);
	if (table != NULL) {
		FILE *out = fopen(table, "w");
		if (out == NULL) {
			perror(table);
			return 2;
		}
		table_write(out, run.cells, run.count);
		fclose(out);
	}
	free(run.cells);
	return verdict.failed > 0;
}
