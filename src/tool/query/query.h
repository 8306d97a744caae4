/* SPDX-License-Identifier: MIT */
/*
 * The question: which samples a figure is about (metric, moment, window, processes, filters), by
 * which key rows are made, and how figures are estimated. Whoever asks, answers or shows includes
 * this. Pure; safe from any thread.
 */
#ifndef BP_QUERY_QUERY_H
#define BP_QUERY_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "estimate/negative_binomial.h"

enum bp_metric {
	BP_METRIC_LIVE,	     /* live when the first process ends, or at `at_ns` */
	BP_METRIC_PEAK,	     /* total: the most bytes live at any time; rows: at the named moment */
	BP_METRIC_ALLOCATED, /* ever allocated */
	BP_METRIC_TEMPORARY, /* freed by the allocating thread before it allocated again */
	BP_METRIC_COUNT
};

enum bp_key {
	BP_KEY_FUNCTION, /* innermost function that is not part of an allocator */
	BP_KEY_STACK,
	BP_KEY_LINE, /* these three: of that innermost frame */
	BP_KEY_FILE,
	BP_KEY_MODULE,
	BP_KEY_THREAD,
	BP_KEY_SIZE, /* requested, exact */
	BP_KEY_TYPE, /* what the object is, where a runtime tells; else as BP_KEY_KIND */
	BP_KEY_PROCESS,
	BP_KEY_KIND,  /* of call: malloc, operator new ...; of heap: small, large, pinned object */
	BP_KEY_LABEL, /* a label that the thread had: the value of one key, or the whole set */
	BP_KEY_COUNT
};

enum bp_sort { BP_SORT_BYTES, BP_SORT_OBJECTS, BP_SORT_SAMPLES, BP_SORT_NAME, BP_SORT_COUNT };

/* What a sample weighs (docs/statistics.md, "Estimators and how they relate"). */
enum bp_estimator {
	BP_ESTIMATOR_DEFAULT,  /* calibrated where an exact total is known, else Horvitz-Thompson */
	BP_ESTIMATOR_HT,       /* Horvitz-Thompson: .NET's approach 1 */
	BP_ESTIMATOR_WEIGHTED, /* the same under the word of .NET's tools */
	BP_ESTIMATOR_CALIBRATED, /* part of an exactly known total; an error where there is none */
	BP_ESTIMATOR_FAILED_TRIALS, /* .NET's approach 2 */
	BP_ESTIMATOR_TCMALLOC,	    /* the same number under the name of TCMalloc's formula */
	BP_ESTIMATOR_HITS,	    /* T x hits; hits after the first are drawn */
	BP_ESTIMATOR_MEMRAY,	    /* as memray: exact from T on, T x hits below */
	BP_ESTIMATOR_COUNT
};

/* How intervals are made. */
enum bp_method {
	/* N3 (by size classes under law bernoulli); of a counted total: tilted beta */
	BP_METHOD_DEFAULT,
	BP_METHOD_N3, /* N3 throughout */
	/* the .NET document's, by the exact incomplete beta function */
	BP_METHOD_NEGATIVE_BINOMIAL,
	BP_METHOD_CAMP_PAULSON, /* the same by Camp and Paulson's approximation */
	BP_METHOD_COUNT
};

/* Words of the command line and of JSON, indexed by the enums above. */
extern const char *const bp_metric_names[BP_METRIC_COUNT];
extern const char *const bp_key_names[BP_KEY_COUNT];
extern const char *const bp_sort_names[BP_SORT_COUNT];
extern const char *const bp_estimator_names[BP_ESTIMATOR_COUNT];
extern const char *const bp_method_names[BP_METHOD_COUNT];
extern const char *const bp_edges_names[BP_EDGES_COUNT];

/* Index of `word` in one of these arrays, or -1. */
int bp_word_index(const char *const *words, int count, const char *word);

/* Before the KEY of "label:KEY", by which `--by` and filters name one label. */
#define BP_LABEL_PREFIX "label:"

struct bp_filter; /* filter.h */

/* Zeroed: live at exit, by function, bytes as requested, 95 % intervals. Times are nanoseconds
 * since the start of the first process (of each file's own, where several unrelated ones are
 * summed). */
struct bp_query {
	enum bp_metric metric;
	enum bp_key by;
	const char *label; /* by label: NULL the whole set, or "label:KEY", the caller's text */
	enum bp_sort sort;
	enum bp_estimator estimator;
	enum bp_method method;
	enum bp_window_edges edges; /* of the negative binomial intervals */
	bool cumulative;	    /* count a sample under every frame on its stack, once */
	bool usable;		    /* bytes as given by the allocator, not as requested */
	bool has_at, has_from, has_to, has_size_min;
	uint64_t at_ns;		 /* live at that moment instead of at exit */
	bool has_gone_by;	 /* only what no longer lives at gone_by_ns, for comparing two */
	uint64_t gone_by_ns;	 /* moments of one run */
	uint64_t from_ns, to_ns; /* allocated in [from, to); peak: the moments looked at */
	uint64_t size_min;	 /* smallest size that can occur, for intervals of objects */
	double confidence;	 /* two-sided, in (0, 1); 0: 0.95 */
	uint32_t pid;		 /* that process alone; 0: all */
	/* its total is not known then, unless it is the metric: finding it is half of the work */
	bool without_peak;
	bool all_cells; /* metric peak: keys also of what lived at other moments, for rivals.h */
	const struct bp_filter *filters; /* all must hold */
	uint32_t filter_count;
};

/* The metrics that are not known where files lack so much (bits of enum bp_lack), as bits 1 << enum
 * bp_metric. Pure. */
unsigned bp_absent_metrics(uint32_t lacks);

/* What rows are by, as `--by` says it: a word of bp_key_names, or "label:KEY". `text` must stay. */
bool bp_query_set_by(struct bp_query *query, const char *text, struct bp_error *error);
static inline const char *bp_query_by(const struct bp_query *query)
{
	return query->by == BP_KEY_LABEL && query->label != NULL ? query->label
								 : bp_key_names[query->by];
}

/* Is it a key that can be asked for: printable ASCII, no quote, no backslash, no '='; 1 to 100 of
 * it? */
bool bp_label_key_is_good(const char *key, size_t bytes);

static inline bool bp_query_leaves_peak_out(const struct bp_query *query)
{
	return query->without_peak && query->metric != BP_METRIC_PEAK;
}

/* Does a word of the query stand for something else than our own methods: another tool's estimator,
 * which begin at BP_ESTIMATOR_FAILED_TRIALS, or intervals by the negative binomial distribution? */
bool bp_estimator_is_other(enum bp_estimator estimator);
bool bp_method_is_negative_binomial(enum bp_method method);

/* Does the query mean anything by itself? (Combinations of options; for errors of usage.) */
bool bp_query_check(const struct bp_query *query, struct bp_error *error);

#endif
