/* SPDX-License-Identifier: MIT */
/*
 * The simulation suite: every interval that a report can show, on populations of known truth, over
 * and over, to see how often it misses (docs/statistics.md, "Simulated coverage"). What is where:
 *
 *	simulate_populations.c   which objects exist: laws of sizes, scaled to an expected number of samples
 *	simulate_draws.c         which of them are sampled: binomial counts per size, offsets, enumeration
 *	simulate_methods.c       what is made of them: the intervals under test, and what each must do
 *	simulate_cells.c         one population under one design: misses and widths of all its methods
 *	simulate_verdict.c       what the program asserts, with the exact false-alarm rate of each assertion
 *	simulate_table.c         the tables of the documentation
 *	chance.c                 random numbers, and how many misses chance allows
 *	simulate_sampler.c       do binomial draws have the law of the real sampler?
 *	simulate.c               the command line, the threads, the list of cells
 *
 * A miss is counted apart for each side: low where the truth is below the lower limit, high where
 * it is above the upper one. Everything is seeded by the cell, so that a run is repeatable whatever
 * the number of threads.
 */
#ifndef BP_TEST_SIMULATE_H
#define BP_TEST_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"
#include "estimate/estimate.h"
#include "estimate/size_classes.h"

#include "chance.h"

#define SIMULATE_GROUPS_MAX 64
#define SIMULATE_CHARGE 1u
#define SIMULATE_METHODS_MAX 10 /* of one family */

/* ---- populations ---- */

/* Equal objects. */
struct group {
	uint64_t size;
	double objects; /* a whole number >= 1 */
};

struct population {
	struct group groups[SIMULATE_GROUPS_MAX];
	unsigned count;
	double bytes, objects, usable, trials; /* the truth */
	double expected;		       /* samples, every object tried (law `bernoulli`) */
	uint64_t size_min;
};

struct size_law {
	const char *name;
	bool mixed; /* objects of several sizes */
	bool hard;  /* added to the eleven laws of the table of widths */
	void (*fill)(struct population *population, double expected, uint64_t interval);
};
extern const struct size_law size_laws[];
extern const unsigned size_law_count;

/* Fills a population of about `expected` samples at T = `interval`. False: whole objects do not
 * come within a third of that. */
bool population_fill(struct population *population, const struct size_law *law, double expected,
	uint64_t interval);

/* Usable bytes that glibc gives for a request. */
uint64_t usable_of(uint64_t size);

/* ---- designs and draws ---- */

struct design {
	bool exact;		 /* law `exact`; false: `bernoulli` */
	uint64_t interval;	 /* T */
	uint64_t interval_other; /* T of every other group; 0: the same */
};

/* How many of one group are sampled, as a table, and what one sample of it adds. */
struct group_draw {
	uint64_t trials, interval;
	double inclusion;
	bool exact;
	unsigned size_class;
	struct bp_sums one, one_usable;
	unsigned first, count; /* numbers first ... first + count - 1 occur */
	double *cumulative;    /* P(number <= first + i); NULL: all of them, with certainty */
};

/* A population under a design. */
struct sampling {
	const struct population *population;
	struct design design;
	struct group_draw groups[SIMULATE_GROUPS_MAX];
	double variance; /* of the Horvitz-Thompson estimate of the bytes */
	double ratio_max;
	unsigned varying; /* groups whose number of samples is random */
	bool has_large;	  /* objects of m >= T that are tried */
};

/* The samples of one repetition. */
struct drawn {
	struct bp_sums sums, usable;
	struct bp_size_classes classes; /* kept if the design needs them */
	uint64_t tried;			/* samples not taken exactly ... */
	double after_hits;		/* ... and their trials from the hit on */
	double exact_trials;		/* of those taken exactly */
	double weighted[3];		/* estimates of the bytes by other estimators, see below */
	unsigned numbers[SIMULATE_GROUPS_MAX];
};
enum { WEIGHTED_FAILED_TRIALS, WEIGHTED_HITS, WEIGHTED_MEMRAY, WEIGHTED_COUNT };

void sampling_init(struct sampling *sampling, const struct population *population,
	const struct design *design);
void sampling_finish(struct sampling *sampling);

/* One repetition: numbers, sums, classes. `offsets`: where in the objects the hits were, too;
 * `weights`: the other estimators, too. */
void sampling_draw(const struct sampling *sampling, struct stream *stream, bool offsets,
	bool weights, struct drawn *ret_drawn);

/* Variance of the bytes by another estimator, WEIGHTED_... */
double sampling_variance(const struct sampling *sampling, unsigned weighted);

/* With one varying group every outcome can be listed: number `i` of `sampling_outcomes`, and its
 * probability. */
unsigned sampling_outcomes(const struct sampling *sampling);
double sampling_outcome(const struct sampling *sampling, unsigned i, struct drawn *ret_drawn);

/* P(number = 0), P(1) ... of a binomial variable where it is not negligible. Allocated; the caller
 * frees it. The first number is set too. */
double *binomial_probabilities(double n, double p, unsigned *ret_first, unsigned *ret_count);

/* ---- methods ---- */

/* A family is the methods that are computed from the same draws. */
enum family {
	FAMILY_EXACT,	       /* law exact */
	FAMILY_BERNOULLI,      /* law bernoulli */
	FAMILY_TWO_INTERVALS,  /* law exact, T and T/4 in one key */
	FAMILY_USABLE,	       /* law exact, usable bytes */
	FAMILY_PART,	       /* law exact, the key is part of a counted total */
	FAMILY_PART_BERNOULLI, /* the same under law bernoulli */
	FAMILY_COUNT
};

enum truth { TRUTH_BYTES, TRUTH_OBJECTS, TRUTH_USABLE, TRUTH_TRIALS };

struct evidence {
	const struct sampling *sampling;
	const struct drawn *drawn;
	const struct drawn *others; /* families of parts */
	double total_bytes, total_objects;
	uint64_t size_min; /* that can occur, in the key or beside it */
	uint64_t interval_max;
};

enum duty {
	DUTY_HOLDS,	/* no tail above 1.1 times its nominal error */
	DUTY_SHOWN,	/* shown for comparison */
	DUTY_MUST_FAIL, /* by far: the test bites */
};

struct method {
	const char *name;
	enum family family;
	enum truth truth;
	enum duty duty;
	double tail;  /* nominal error of each side */
	bool offsets; /* needs to know where the hits were */
	struct bp_interval (*interval)(const struct evidence *evidence, double alpha);
};
extern const struct method methods[];
extern const unsigned method_count;
double truth_of(const struct population *population, enum truth truth);

/* ---- cells ---- */

struct outcome {
	double low, high;   /* shares of misses */
	double repetitions; /* 0: enumerated, without chance */
	double width;	    /* mean, relative to the truth; 0 if there is none */
	bool known;	    /* computed at all */
};

/* Sums over repetitions of an estimator's error and its square, for the test of its mean and
 * variance. */
struct moments {
	double error, square, fourth;
	double variance; /* by theory, of one repetition */
	double repetitions;
};
#define MOMENTS_COUNT (1 + WEIGHTED_COUNT) /* Horvitz-Thompson first */

struct cell {
	enum family family;
	unsigned law;
	double expected; /* nominal */
	uint64_t interval;
	double share;	       /* of the key in the total, families of parts */
	bool other_complement; /* the rest of the total has another law of sizes than the key */
	bool weights;	       /* try the other estimators as well */
	bool offsets;	       /* run the methods that look at where the hits were as well */
	struct outcome outcomes[SIMULATE_METHODS_MAX]; /* by place in the family */
	struct moments moments[MOMENTS_COUNT];
	double actual; /* samples expected, every object tried */
};

/* Can whole objects make up this cell? */
bool cell_exists(const struct cell *cell);

/* Runs a cell's methods `repetitions` times, those that can be enumerated once over all outcomes.
 * `only` (or UINT_MAX): that method alone. */
void cell_run(struct cell *cell, unsigned repetitions, uint64_t seed, unsigned only);

/* Place of a method in its family, and the method at a place; method_count if there is none. */
unsigned method_place(unsigned method);
unsigned method_at(enum family family, unsigned place);

/* ---- verdicts ---- */

struct verdict {
	FILE *out;
	unsigned number, failed;
	double false_alarm; /* sum over all assertions of chance */
};
BP_PRINTF(3, 4)
void verdict_line(struct verdict *verdict, bool good, const char *format, ...);
void verdict_of_cells(struct verdict *verdict, const struct cell *cells, size_t count);
void verdict_of_sampler(struct verdict *verdict, unsigned repetitions);

/* ---- tables ---- */

void table_write(FILE *out, const struct cell *cells, size_t count);
/* Geometric mean of a method's widths relative to the negative binomial [s, s + 1] of the same
 * population under law bernoulli (families of parts: to N3 of the same key), over cells of mixed or
 * of all sizes with `from` <= E[s] <= `to`; 0: no cell. */
double table_width(const struct cell *cells, size_t count, unsigned method, double from, double to,
	bool mixed_only);

#endif
