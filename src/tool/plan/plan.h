/* SPDX-License-Identifier: MIT */
/*
 * What `bytepoll plan` writes: answers to questions about accuracy, plans made from a profile, and
 * the tables and charts of the field. cli/plan.c reads the options and calls these; the arithmetic
 * is that of estimate/plan.h. Errors of the stream are the caller's to find (ferror).
 */
#ifndef BP_PLAN_PLAN_H
#define BP_PLAN_PLAN_H

#include "estimate/plan.h"
#include "report/report.h"

/* The interval of `bytepoll run` without --interval. */
#define BP_PLAN_INTERVAL_DEFAULT (512 << 10)

enum bp_plan_format { BP_PLAN_TEXT, BP_PLAN_JSON, BP_PLAN_CSV };

/* What was asked. Zeros: not given; the last three are always set. Bytes are below 2^53. */
struct bp_plan_question {
	uint64_t heap;		/* bytes that the figure is a part of */
	double share;		/* the part, in (0, 1) */
	bool counted;		/* the total is counted, as that of metric allocated is */
	uint64_t size;		/* of the objects; 0: small */
	uint64_t interval;	/* T */
	double accuracy;	/* wanted, as a part of the estimate */
	double change;		/* new / base that shall be found; 1 is not accepted */
	uint64_t limit;		/* bytes that a check shall tell from */
	const char *limit_text; /* the limit as given, bytes of any kind */
	double false_alarm;	/* of the check, one-sided */
	double power;		/* with which a change is found, or a check decides */
	double confidence;	/* of intervals; 1 - it is the level of tests, two-sided */
};

/* Answers the question, as text or JSON (schema bytepoll-plan-1). Without heap, share, size,
 * change, limit, interval and accuracy: a short table of what samples are good for. */
void bp_plan_write_answer(const struct bp_plan_question *question, enum bp_plan_format format,
	const struct bp_report_options *options, FILE *out);

/* For the first `options->rows` rows of an aggregation: how accurate they are, and the interval
 * that makes them as accurate as `question->accuracy`, which must be given. `interval` >= 1: the
 * largest T of the profile. Error: memory. */
bool bp_plan_write_profile(const struct bp_aggregation *aggregation, uint64_t interval,
	const struct bp_plan_question *question, enum bp_plan_format format,
	const struct bp_report_options *options, FILE *out, struct bp_error *error);

/* A service on many hosts. */
struct bp_plan_fleet {
	double bytes_per_s; /* of the figure, on a host, > 0 */
	double variation;   /* between hosts, as a part of their mean, >= 0 */
	double change;	    /* new / base that shall be found in an hour; not 1 */
	double power, confidence;
};

/* For 10, 1,000 and 100,000 hosts: T with which the change is found, and what that costs, as text
 * or JSON (schema bytepoll-plan-fleet-1). */
void bp_plan_write_fleet(const struct bp_plan_fleet *fleet, enum bp_plan_format format,
	const struct bp_report_options *options, FILE *out);

/* The charts, also as tables. */
enum bp_plan_chart {
	BP_PLAN_CHART_PROBABILITY, /* of at least one sample, by size and T */
	BP_PLAN_CHART_ERROR,	   /* mean absolute percentage error if sampled, by size and T */
	BP_PLAN_CHART_QUANTILES,   /* of the bytes between samples, by number of samples */
	BP_PLAN_CHART_COUNT
};
extern const char *const bp_plan_chart_names[BP_PLAN_CHART_COUNT];

/* Those of `charts`, a set of bits 1 << enum. `interval` >= 2 and `confidence`: for the quantiles,
 * those of the .NET document are 102400 and 0.95. CSV is one table for all: chart, interval_bytes,
 * x, value. */
void bp_plan_write_tables(unsigned charts, uint64_t interval, double confidence,
	enum bp_plan_format format, const struct bp_report_options *options, FILE *out);

/* The same as one SVG document: no script, no font, no link; light and dark by the reader's
 * wish. */
bool bp_plan_can_draw(struct bp_error *error); /* false: not in this build */
void bp_plan_write_svg(unsigned charts, uint64_t interval, double confidence, FILE *out);

/* "±10 %"-like numbers: a part as a percentage with two or three digits, without sign and unit. */
void bp_plan_percent_text(double part, char *buffer);

#endif
