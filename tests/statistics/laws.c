/* SPDX-License-Identifier: MIT */
/*
 * The laws of every form in which sampling is offered to others (the byte counter, the allocation
 * context, lists), of the steps that lead to them, and of the form that was not chosen: each
 * against the exact law and against a trial for every byte, in two programs, with what happens to
 * real hosts: contexts that end, collections, sampling switched on in mid-run, T that changes,
 * objects outside.
 *
 * Then each with a discard planted that looks at what it discards: that must be found.
 *
 *	laws [--long] [--table FILE]
 *
 * 10^7 objects a case, a third of it where something happens meanwhile; --long (`make laws`): 10^9.
 * The literal specification makes 10^7 in both, a third of it with the second T: a coin for every
 * byte.
 *
 * False alarms: a case has six figures, five of which reject with probability 1e-9 and the worst of
 * at most 24 scores with 3e-8; so a correct sampler fails a first run of these cases with
 * probability below 2e-6. Seeds are fixed, stand in the table, and follow from the number of the
 * case.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "laws.h"
#include "steps.h"

#define SEED 77000
#define SHORT_OBJECTS 10000000
#define LONG_OBJECTS 1000000000
#define LITERAL_OBJECTS 10000000

/* Both: sizes as of small objects; every 64th object is larger. In the second, a context is what
 * .NET makes it, T too, and the sizes are those of its accuracy test. */
static const struct design designs[] = {
	{ "dense", { 100, 250 }, { 8, 16, 24, 32, 40, 48, 56, 64, 96, 160, 264, 400 }, 256, 100 },
	{ "as .NET", { 102400, 8192 }, { 24, 32, 48, 72, 80, 96, 144, 200, 304, 1048, 3000, 10264 },
		8192, 102400 },
};
#define DESIGNS (sizeof designs / sizeof *designs)

static const struct law_case cases[] = {
	{ "step", FORM_STEP, STEP_TRIALS, 0 },
	{ "step", FORM_STEP, STEP_GEOMETRIC, 0 },
	{ "step", FORM_STEP, STEP_COMBINED, 0 },
	{ "step", FORM_STEP, STEP_IMPLICIT, 0 },
	{ "byte counter", FORM_COUNTER, 0, 0 },
	{ "byte counter, law exact", FORM_COUNTER, 0, WITH_EXACT_LAW },
	{ "byte counter, pauses", FORM_COUNTER, 0, WITH_RESTARTS },
	{ "byte counter, T changes", FORM_COUNTER, 0, WITH_CHANGES },
	{ "byte counter, all of it, begun late", FORM_COUNTER, 0,
		WITH_RESTARTS | WITH_CHANGES | WITH_LATE_START | WITH_EXACT_LAW },
	{ "list", FORM_LIST, 0, 0 },
	{ "list, all of it, begun late", FORM_LIST, 0,
		WITH_RESTARTS | WITH_CHANGES | WITH_LATE_START | WITH_EXACT_LAW },
	{ "context", FORM_CONTEXT, 0, 0 },
	{ "context, law exact", FORM_CONTEXT, 0, WITH_EXACT_LAW },
	{ "context, collections", FORM_CONTEXT, 0, WITH_RESTARTS },
	{ "context, begun late", FORM_CONTEXT, 0, WITH_LATE_START },
	{ "context, T changes", FORM_CONTEXT, 0, WITH_CHANGES },
	{ "context, objects outside", FORM_CONTEXT, 0, WITH_OUTSIDE },
	{ "context, all of it", FORM_CONTEXT, 0,
		WITH_RESTARTS | WITH_CHANGES | WITH_OUTSIDE | WITH_LATE_START },
	{ "context, all of it, law exact", FORM_CONTEXT, 0,
		WITH_RESTARTS | WITH_CHANGES | WITH_OUTSIDE | WITH_LATE_START | WITH_EXACT_LAW },
	{ "implicit context", FORM_IMPLICIT_CONTEXT, 0, 0 },
	{ "implicit context, all of it, law exact", FORM_IMPLICIT_CONTEXT, 0,
		WITH_RESTARTS | WITH_CHANGES | WITH_OUTSIDE | WITH_LATE_START | WITH_EXACT_LAW },
	{ "byte counter, discards at pauses", FORM_COUNTER, 0, WITH_RESTARTS | PLANTED_DISCARD },
	{ "byte counter, discards at changes", FORM_COUNTER, 0, WITH_CHANGES | PLANTED_DISCARD },
	{ "list, discards before lists", FORM_LIST, 0, PLANTED_DISCARD },
	{ "context, discards at refills", FORM_CONTEXT, 0, PLANTED_DISCARD },
	{ "context, discards at collections", FORM_CONTEXT, 0, WITH_RESTARTS | PLANTED_DISCARD },
	{ "context, T taken up before the object", FORM_CONTEXT, 0,
		WITH_CHANGES | PLANTED_DISCARD },
	{ "implicit context, discards at refills", FORM_IMPLICIT_CONTEXT, 0, PLANTED_DISCARD },
};
#define CASES (sizeof cases / sizeof *cases)

static void run_literal(const struct design *design, struct tally *tally)
{
	tally_init(tally, design, SEED);
	for (unsigned regime = 0; regime < REGIMES; regime++) {
		const struct law_case literal = { "literal", FORM_STEP, STEP_TRIALS, 0 };
		struct design other = *design;
		struct tally one;
		other.interval[0] = design->interval[regime];
		tally_init(&one, &other, SEED + regime);
		allocate_case(&literal, &other, SEED + regime,
			regime == 0 ? LITERAL_OBJECTS : LITERAL_OBJECTS / 3, &one);
		memcpy(tally->passed[regime], one.passed[0], sizeof one.passed[0]);
		memcpy(tally->hit[regime], one.hit[0], sizeof one.hit[0]);
		tally_finish(&one);
	}
}

static void write_row(FILE *table, const char *design, const char *name, uint64_t seed,
	const struct tally *tally, const struct verdict *v)
{
	if (table != NULL)
		fprintf(table,
			"| %s | %s | %.4g | %llu | %.2f | %.2g | %.2g | %.2g | %.2g | %.2g | %llu |\n",
			design, name, (double)tally->objects, (unsigned long long)tally->samples,
			v->score, v->cells, v->gaps, v->anderson_darling, v->pairs, v->literal,
			(unsigned long long)seed);
}

static bool run_case(unsigned number, const struct law_case *law_case, const struct design *design,
	uint64_t objects, const struct tally *literal, FILE *table)
{
	const uint64_t seed = SEED + 1000 + number;
	const bool planted = law_case->with & PLANTED_DISCARD;
	const clock_t begun = clock();
	struct tally tally;
	char name[100];
	if (law_case->form == FORM_STEP)
		snprintf(name, sizeof name, "step %s", step_name(law_case->step));
	else
		snprintf(name, sizeof name, "%s%s", law_case->name, planted ? " (planted)" : "");
	/* The short form has 10^7 objects where the law is all, fewer where much happens. */
	const bool thrown = law_case->form == FORM_STEP && law_case->step < STEP_OBJECTS;
	if (objects == SHORT_OBJECTS && (law_case->with != 0 || thrown))
		objects = SHORT_OBJECTS / 3;
	/* Literally, 10^9 objects would be 10^11 coins; and what is planted shows sooner. */
	if (objects == LONG_OBJECTS && (thrown || planted))
		objects = SHORT_OBJECTS;
	tally_init(&tally, design, seed);
	allocate_case(law_case, design, seed, objects, &tally);
	const struct verdict verdict = tally_judge(&tally, literal);
	const bool good = planted ? !verdict_holds(&verdict)
				  : verdict_holds(&verdict) && tally.samples > 1000;
	write_row(table, design->name, name, seed, &tally, &verdict);
	printf("%s %u - %s: %s\n", good ? "ok" : "not ok", number, design->name, name);
	printf("# %.4g objects, %llu samples, worst score %.2f, cells %.2g, gaps %.2g, "
	       "Anderson-Darling %.2g, pairs %.2g, literal %.2g, seed %llu, %.1f s\n",
		(double)tally.objects, (unsigned long long)tally.samples, verdict.score,
		verdict.cells, verdict.gaps, verdict.anderson_darling, verdict.pairs,
		verdict.literal, (unsigned long long)seed,
		(double)(clock() - begun) / CLOCKS_PER_SEC);
	fflush(stdout);
	tally_finish(&tally);
	return good;
}

static int run_all(uint64_t objects, FILE *table)
{
	unsigned number = 0, bad = 0;
	if (table != NULL)
		fprintf(table, "| program | form | objects | samples | worst score | cells | gaps "
			       "| A.-D. | pairs | literal | seed |\n|-|-|-|-|-|-|-|-|-|-|-|\n");
	printf("1..%zu\n", DESIGNS * CASES);
	for (unsigned i = 0; i < DESIGNS; i++) {
		struct tally literal;
		run_literal(&designs[i], &literal);
		for (unsigned j = 0; j < CASES; j++)
			bad += !run_case(
				++number, &cases[j], &designs[i], objects, &literal, table);
		tally_finish(&literal);
	}
	return bad != 0;
}

int main(int argc, char **argv)
{
	uint64_t objects = SHORT_OBJECTS;
	FILE *table = NULL;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--long") == 0) {
			objects = LONG_OBJECTS;
		} else if (strcmp(argv[i], "--table") == 0 && i + 1 < argc && table == NULL) {
			table = fopen(argv[++i], "w");
			if (table == NULL) {
				fprintf(stderr, "laws: %s: cannot be written\n", argv[i]);
				return 2;
			}
		} else {
			fprintf(stderr, "usage: laws [--long] [--table FILE]\n");
			return 2;
		}
	}
	const int status = run_all(objects, table);
	if (table != NULL && fclose(table) != 0) {
		fprintf(stderr, "laws: the table could not be written\n");
		return 2;
	}
	return status;
}
