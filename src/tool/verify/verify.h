/* SPDX-License-Identifier: MIT */
/*
 * What a report shows against what was counted: the figures of bytepoll on the user's own program,
 * judged by the exact sums that `bytepoll run --verify` takes beside the samples
 * (docs/statistics.md, "Checking on your own program").
 *
 * A group is a metric and a key: all figures of `--metric live --by function`, say. Rows without a
 * sample are figures too: what a report leaves out it claims to be [0, 3.69 T]. The groups of
 * several processes (each compared by itself) are pooled.
 *
 * The result. A figure of confidence 1 - alpha may miss with probability alpha at most; less
 * where its truth is small: with M trials expected samples are M / T, without a sample there is no
 * miss as long as M / T <= ln(2 / alpha), and too low a limit has probability alpha / 2 at most.
 * The sum of these bounds, and the number of figures, give the most misses that chance allows
 * (Hoeffding 1956: of all independent trials with that sum, equal ones have the heaviest tail,
 * beyond the mean plus one). Figures of different rows of one group are independent, as their
 * objects are disjoint; those calibrated to a common total (allocated) nearly so. Groups are not
 * independent: each is judged with a share of the error.
 *
 * Intervals of objects assume a smallest size, by default the smallest that was sampled. Where the
 * exact sums know of a smaller one they are computed again with that: so a wrong assumption and
 * wrong statistics are told apart.
 *
 * Called by cli/. One thread.
 */
#ifndef BP_VERIFY_VERIFY_H
#define BP_VERIFY_VERIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregation/aggregate.h"
#include "base/error.h"

enum bp_verify_unit { BP_VERIFY_BYTES, BP_VERIFY_OBJECTS, BP_VERIFY_UNITS };
enum { BP_VERIFY_METRICS = 3, BP_VERIFY_KEYS = 2 };
#define BP_VERIFY_GROUPS (BP_VERIFY_METRICS * BP_VERIFY_KEYS)

/* A figure and its truth. */
struct bp_verify_figure {
	struct bp_figure shown;
	uint64_t truth;
	bool held;
};

/* A row that is worth showing; `name` is the row's own. */
struct bp_verify_row {
	char *name; /* a function; by stack: innermost functions */
	uint32_t pid;
	uint64_t samples;
	struct bp_verify_figure units[BP_VERIFY_UNITS];
};

/* Rows kept of a group, the worst first, at most BP_VERIFY_KEPT. */
#define BP_VERIFY_KEPT 10
struct bp_verify_list {
	struct bp_verify_row rows[BP_VERIFY_KEPT];
	uint32_t count;
	uint64_t seen; /* all that qualified */
};

struct bp_verify_tally {
	uint64_t figures, held;
	uint64_t unsampled; /* of the figures: rows without a sample */
	double chance;	    /* sum over the figures of the largest probability of a miss */
	/* Of bp_verify_judge: */
	uint64_t misses_allowed;
	bool good;
};

struct bp_verify_group {
	enum bp_metric metric;
	enum bp_key by;
	struct bp_verify_tally units[BP_VERIFY_UNITS];
	struct bp_verify_tally informed; /* objects, with the program's true smallest size */
	struct bp_verify_list missed;	 /* in either unit; largest truth first */
	struct bp_verify_list errors;	 /* rows of many samples, largest relative error first */
};

/* The least samples of a row in `errors`. */
#define BP_VERIFY_MANY_SAMPLES 100u

/* The whole of one process. */
struct bp_verify_process {
	char *program;
	uint32_t pid, threads; /* threads: that allocated */
	bool ended;	       /* in order; otherwise as of the moment it was killed */
	uint64_t samples, interval, interval_min; /* interval: the largest T */
	uint64_t size_min, smallest; /* assumed by intervals of objects; and the truth */
	struct bp_process_verify_sums verify_sums;
	struct bp_verify_figure totals[BP_METRIC_COUNT][BP_VERIFY_UNITS]; /* allocated: counted */
	struct bp_verify_figure by_samples[BP_VERIFY_UNITS]; /* allocated, as if it were not */
	/* The same at the confidence of the result, allocated by samples; and then with the true
	 * smallest size. */
	struct bp_verify_figure wide[BP_METRIC_COUNT][BP_VERIFY_UNITS];
	struct bp_verify_figure informed[BP_METRIC_COUNT][BP_VERIFY_UNITS];
};

enum bp_verify_verdict {
	BP_VERIFY_GOOD,	   /* everything is within what chance allows */
	BP_VERIFY_ASSUMED, /* it would be, were the smallest size as assumed */
	BP_VERIFY_BAD,	   /* it is not */
	BP_VERIFY_UNSURE   /* the sums are incomplete: some truths are not known */
};

struct bp_verify {
	struct bp_query query; /* confidence, estimator ... of all figures */
	double error;	       /* probability that all is well and the verdict BAD, at most */
	uint32_t tests;	       /* that share it */
	struct bp_verify_group groups[BP_VERIFY_GROUPS];
	struct bp_verify_process *processes;
	uint32_t process_count, process_capacity;
	uint32_t totals_missed, counts_wrong, totals_assumed; /* of bp_verify_judge */
	enum bp_verify_verdict verdict;
};

/* `query`: how figures are made (confidence, estimator, method, size_min); its metric and key are
 * not used. `error` in (0, 1); `processes` that will be added. */
void bp_verify_init(
	struct bp_verify *verify, const struct bp_query *query, double error, uint32_t processes);

/* Compares one process: a profile that holds it alone, with its exact sums and with names. */
bool bp_verify_add(
	struct bp_verify *verify, const struct bp_profile *profile, struct bp_error *error);

/* After the last process: the verdict. */
void bp_verify_judge(struct bp_verify *verify);

void bp_verify_finish(struct bp_verify *verify);

/* The least q with P(Binomial(figures, chance / figures) > q) <= error. Pure. */
uint64_t bp_verify_misses_allowed(uint64_t figures, double chance, double error);

/* Does the verdict look at this total of a process? (At allocated by samples alone: it needs none,
 * but nothing tells better whether T and the weights are right.) Not at the peak where there are
 * several threads: what all of them hold at a moment depends on the order of their events, which is
 * known but for the objects in flight. Nor at the number of objects at the peak, which belongs to a
 * moment: the samples may have chosen another one with nearly as many bytes, and neither is wrong.
 * Pure. */
bool bp_verify_is_judged(
	const struct bp_verify_process *process, enum bp_metric metric, enum bp_verify_unit unit);

/* Does a figure hold its truth? What losses have made a bound is only held to that side. Pure. */
bool bp_verify_holds(const struct bp_figure *figure, uint64_t truth);

#endif
