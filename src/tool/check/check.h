/* SPDX-License-Identifier: MIT */
/*
 * Limits judged: what `bytepoll check` decides (docs/statistics.md, "Checks"). A limit is a bound
 * on a figure, or on its growth against other runs. Each run is measured for all limits at once and
 * may then be let go; judging looks at measures alone.
 *
 * A side of a figure can fail to hold for other reasons than sampling: samples were lost, processes
 * were not seen, names are missing. Then the outcome that would rest on it is not given. What was
 * allocated while sampling was off is counted: all of it may be what a limit is on, and so all of
 * it stands in the upper limit. (Of growth it makes the sides unequal, and there closes its side.)
 *
 * Called by cli/check/check.c, report/ and tests. Reading a finished profile is safe from several
 * threads.
 */
#ifndef BP_CHECK_CHECK_H
#define BP_CHECK_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregation/aggregate.h"
#include "base/error.h"
#include "estimate/check.h"
#include "query/filter.h"
#include "resident/pages/residency.h"
#include "resident/resident.h"

struct bp_limit {
	char *text; /* as it is shown, "live=200MiB" */
	enum bp_metric metric;
	enum bp_resident_metric resident; /* not NONE: on that, instead of `metric` */
	bool objects;			  /* a number of objects; otherwise bytes */
	bool growth;
	double most;		 /* bytes, objects; growth: new / base, 1.05 for 5 % */
	char *filter_text;	 /* "function=parse_*", or NULL: everything */
	struct bp_filter filter; /* of it */
};

/* Why a side of a figure does not hold. */
enum bp_blind {
	BP_BLIND_NOT,
	BP_BLIND_UNPROFILED,   /* the program was not profiled */
	BP_BLIND_NOTHING_SEEN, /* nor was any allocation seen */
	BP_BLIND_PROCESSES,    /* processes of the tree were not seen */
	BP_BLIND_LOST_SAMPLES, /* lost: the truth is at least what is shown */
	BP_BLIND_LOST_FREES,   /* lost: it is at most that */
	BP_BLIND_UNPLACED,     /* pages were not recorded, or samples are not in place */
	BP_BLIND_UNWATCHED,    /* resident memory was not recorded, or not to the end */
	BP_BLIND_UNMAPPED,     /* what the program mapped itself was not recorded */
	BP_BLIND_OTHERS,       /* resident memory of other processes was not recorded */
	BP_BLIND_OFF,	       /* sampling was off while more was allocated */
	BP_BLIND_NAMES,	       /* functions without a name may be what a filter looks for */
	BP_BLIND_COUNT
};

/* What is asked of a run beside the limits. */
struct bp_measuring {
	const struct bp_query
		*query; /* window, moment, processes, filters, kind of bytes; its metric,
				       * key and confidence do not matter */
	const struct bp_resident *resident; /* of the run; NULL: not recorded */
	/* live objects that are not resident, with the error `a` on each side; NULL: not known */
	const struct bp_residency *residency;
	/* what the program mapped itself, of any metric; NULL: not known */
	const struct bp_aggregation *mapped;
	bool only_seen; /* judge what was seen, as if what was not seen had been nothing */
	double a;	/* error of each side of each check, in (0, 1/2) */
	uint32_t runs;	/* that a growth compares, on both sides together */
};

/* What one run says of one limit. */
struct bp_measure {
	struct bp_figure figure; /* its limits have the error `error` on each side */
	double error;
	bool limits_only; /* counted, but known within limits only (killed) */
	bool low_holds, high_holds;
	enum bp_blind blind; /* why not both */
	uint64_t samples;
	uint64_t unnamed_samples; /* which may belong to it: the upper limit counts them in */
	double high_named;	  /* the upper limit without them */
	double off;	     /* in the upper limit: all that was allocated while sampling was off */
	bool off_unknown;    /* more than that, in usable bytes */
	struct bp_side side; /* for comparisons; without them */
	struct bp_side side_high; /* with them */
	struct bp_check_evidence evidence;
	uint64_t interval_max; /* largest T in force */
	double error_low;      /* of the lower limit: smaller than `error` for a peak */
};

/* Where sentences of an aggregation go (losses, processes not seen); the same one may come again.
 * `add` returns false if there is no memory. */
struct bp_warner {
	bool (*add)(void *context, const char *sentence);
	void *context;
};

/* Measures `count` limits on one profile, finished and resolved, into as many measures. Errors:
 * those of bp_aggregate. */
bool bp_measure_all(const struct bp_profile *profile, const struct bp_measuring *measuring,
	const struct bp_limit *limits, uint32_t count, struct bp_measure *ret_measures,
	struct bp_warner *warner, struct bp_error *error);

/* Why a check is undecided. */
enum bp_reason {
	BP_REASON_NONE,
	BP_REASON_BLIND,   /* a side does not hold: see `blind` */
	BP_REASON_KILLED,  /* the counted total is known within limits only */
	BP_REASON_NEAR,	   /* too near to the bound for any interval */
	BP_REASON_SAMPLES, /* too few samples: see `need` */
	BP_REASON_RUNS,	   /* the runs differ too much among themselves */
	BP_REASON_COUNT
};

struct bp_check_result {
	const struct bp_limit *limit;
	const char *file; /* of growth: the first new one */
	enum bp_outcome outcome;
	enum bp_reason reason;
	enum bp_blind blind;
	bool low_holds, high_holds;
	double a;		  /* the false-alarm rate of this check */
	double error;		  /* of each limit of `figure`: at most that */
	struct bp_figure figure;  /* what is judged; of growth: new / base */
	uint64_t samples;	  /* behind it; of growth: of the new runs */
	uint64_t unnamed_samples; /* in its upper limit alone */
	uint64_t interval_max;	  /* largest T in force */
	bool nothing_matches;	  /* it has a filter, and no sample passes */
	bool never_within; /* the bound is below what no sample at all leaves possible at this T */
	struct bp_check_need need;	    /* if the reason is SAMPLES */
	uint32_t new_runs, base_runs;	    /* of growth */
	double new_estimate, base_estimate; /* means; NAN: unknown */
	uint64_t base_samples;
	bool counted; /* nothing was estimated */
};

/* The word for what a limit is on, "peak", "peak-resident". */
const char *bp_limit_metric_name(const struct bp_limit *limit);

/* A limit on a figure of one run, `file`. */
void bp_check_limit(const struct bp_limit *limit, const struct bp_measure *measure,
	const char *file, double a, struct bp_check_result *ret_result);

/* A limit on growth; the measures of this limit on each run, at least one a side. */
void bp_check_growth(const struct bp_limit *limit, const struct bp_measure *const *base,
	uint32_t base_count, const struct bp_measure *const *new, uint32_t new_count,
	const char *file, double a, struct bp_check_result *ret_result);

/* A limit on what a host holds on average, or, with the number `all_hosts` > 0 of hosts that there
 * are, on what all of them hold; `hosts` are the measures of this limit on each of the `count` >= 2
 * hosts of a sample (docs/statistics.md, "A sample of hosts"). Not of growth, of a peak, or of
 * resident memory. Errors: memory. */
bool bp_check_hosts(const struct bp_limit *limit, const struct bp_measure *const *hosts,
	uint32_t count, uint32_t all_hosts, const char *file, double a,
	struct bp_check_result *ret_result, struct bp_error *error);

/* The word for why it is undecided, "samples-lost"; NULL: it is decided. */
const char *bp_reason_name(const struct bp_check_result *result);

/* Runs compared on one side at most, and filters that a query may bring along. */
#define BP_RUNS_MAX 256
#define BP_LIMIT_FILTERS_MAX 64

#endif
