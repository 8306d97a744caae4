/* SPDX-License-Identifier: MIT */
/*
 * The answer to a question about accuracy, before it becomes text or JSON: sections of facts. Every
 * fact has a name for scripts, a label for people and a unit, so that the two always say the same.
 * Private to plan_answer.c and plan_write.c. Pure, safe to call from any thread.
 */
#ifndef BP_PLAN_PLAN_ANSWER_H
#define BP_PLAN_PLAN_ANSWER_H

#include "plan/plan.h"
#include "text/quantity.h"

#define BP_PLAN_FACTS_MAX 64
#define BP_PLAN_NOTES_MAX 10

enum bp_plan_unit {
	BP_PLAN_UNIT_SECTION, /* a heading: `text` */
	BP_PLAN_UNIT_COUNT,
	BP_PLAN_UNIT_BYTES,
	BP_PLAN_UNIT_INTERVAL, /* bytes: a T */
	BP_PLAN_UNIT_COST,     /* samples, bytes of trace, seconds */
	BP_PLAN_UNIT_PERCENT,  /* a part of 1, shown as a percentage */
	BP_PLAN_UNIT_RATIO,    /* a multiple */
	BP_PLAN_UNIT_LIMITS,   /* of an interval around an estimate of 1: value - 1, high - 1 */
};

struct bp_plan_fact {
	enum bp_plan_unit unit;
	char name[48], label[96], text[240];
	double value, high;
	double bytes, seconds; /* of a cost */
};

struct bp_plan_answer {
	struct bp_plan_fact facts[BP_PLAN_FACTS_MAX];
	unsigned fact_count;
	const char *notes[BP_PLAN_NOTES_MAX]; /* what it assumes: clauses */
	unsigned note_count;
	bool two_sided, cost; /* it assumes the confidence; the cost of a sample */
	uint64_t interval;    /* the largest that serves; UINT64_MAX: none was looked for */
	const struct bp_plan_question *question;
	struct bp_quantity_style style;
};

/* `question` must outlive the answer. */
struct bp_plan_answer bp_plan_answer_of(
	const struct bp_plan_question *question, struct bp_quantity_style style);

#endif
