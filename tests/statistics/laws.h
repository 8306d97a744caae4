/* SPDX-License-Identifier: MIT */
/*
 * The laws of the sampler's forms, judged: laws_forms.c allocates, laws_tally.c counts and judges,
 * laws.c says what is run. Nothing is shared between threads.
 */
#ifndef BP_TEST_LAWS_H
#define BP_TEST_LAWS_H

#include <stdbool.h>
#include <stdint.h>

#define REGIMES 2	/* intervals that may be in force */
#define CLASSES_SMALL 8 /* sizes of which most objects are */
#define CLASSES 12	/* all sizes */
#define BINS 8		/* of the offsets within a size; even, so that the tail is exact */
#define ANDERSON_DARLING_MAX (1 << 20)
#define GAP_CELLS 101
#define PAIR_CELLS 11

/* A program: sizes in bytes, T, contexts. */
struct design {
	const char *name;
	uint64_t interval[REGIMES]; /* the first is in force unless it is changed */
	uint64_t size[CLASSES];	    /* the last four: every 64th object */
	uint64_t context_bytes;
	uint64_t near_bytes; /* a planted discard looks so far ahead */
};

/* ---- what was seen (laws_tally.c) ---- */

struct tally {
	const struct design *design;
	double rate[REGIMES];	 /* -ln(1 - 1/T) */
	double success[REGIMES]; /* 1/T */
	uint64_t passed[REGIMES][CLASSES], hit[REGIMES][CLASSES][BINS];
	double hazard; /* sum of rate x failed trials since the last success */
	uint64_t random[4];
	bool has_previous;
	double previous;
	uint64_t gaps[GAP_CELLS], pairs[PAIR_CELLS][PAIR_CELLS];
	float *first; /* of the gaps, for Anderson and Darling */
	uint64_t objects, samples, first_count;
	bool broken; /* sampled while off, or not sampled though certain */
};

void tally_init(struct tally *tally, const struct design *design, uint64_t seed);
void tally_finish(struct tally *tally);

/* `count` objects of a class were not sampled, or one was, at `offset`. `regime`: of the T that
 * they were decided by. */
void tally_pass(struct tally *tally, unsigned regime, unsigned class, uint64_t count);
void tally_hit(struct tally *tally, unsigned regime, unsigned class, uint64_t offset);

/* P of what is at least as far from the law; `score` the worst of the sizes' inclusions. */
struct verdict {
	double score, cells, gaps, pairs, anderson_darling, literal;
};
/* `literal`: what a trial for every byte gave, NULL if there is none. */
struct verdict tally_judge(const struct tally *tally, const struct tally *literal);
/* Nothing is less probable than 1e-9. */
bool verdict_holds(const struct verdict *verdict);

/* ---- what allocates (laws_forms.c) ---- */

enum form { FORM_COUNTER, FORM_CONTEXT, FORM_IMPLICIT_CONTEXT, FORM_LIST, FORM_STEP };

/* What happens meanwhile, at one object in 32. */
enum {
	WITH_RESTARTS = 1,   /* counter: a pause; context: a collection */
	WITH_CHANGES = 2,    /* T changes, is off for a while, too; by the thread or by another */
	WITH_OUTSIDE = 4,    /* large objects lie outside the context */
	WITH_LATE_START = 8, /* off for the first tenth */
	WITH_EXACT_LAW = 16,
	PLANTED_DISCARD = 32 /* where a countdown may be discarded, it is if its success is near */
};

struct law_case {
	const char *name;
	enum form form;
	unsigned step; /* of FORM_STEP: enum step */
	unsigned with;
};

/* Allocates `objects` objects. */
void allocate_case(const struct law_case *law_case, const struct design *design, uint64_t seed,
	uint64_t objects, struct tally *tally);

#endif
