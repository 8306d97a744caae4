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
#include "estimate/numeric/negative_binomial.h"
#include "query/words.h"

#define BP_ENUMERATOR(name, ...) BP_METRIC_##name,
enum bp_metric { BP_METRICS(BP_ENUMERATOR) BP_METRIC_COUNT };
#undef BP_ENUMERATOR

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
	BP_KEY_COUNT, /* of those that have a name of their own, by which filters know them */
	/* what a store of many runs says of the run: one thing, which bp_query.label names */
	BP_KEY_ORIGIN = BP_KEY_COUNT
};

#define BP_ENUMERATOR(name, ...) BP_SORT_##name,
enum bp_sort { BP_SORTS(BP_ENUMERATOR) BP_SORT_COUNT };
#undef BP_ENUMERATOR

#define BP_ENUMERATOR(name, ...) BP_ESTIMATOR_##name,
enum bp_estimator { BP_ESTIMATORS(BP_ENUMERATOR) BP_ESTIMATOR_COUNT };
#undef BP_ENUMERATOR

#define BP_ENUMERATOR(name, ...) BP_METHOD_##name,
enum bp_method { BP_METHODS(BP_ENUMERATOR) BP_METHOD_COUNT };
#undef BP_ENUMERATOR

/* Words of the command line and of JSON, indexed by the enums above. */
extern const char *const bp_metric_names[BP_METRIC_COUNT];
extern const char *const bp_key_names[BP_KEY_COUNT];
extern const char *const bp_sort_names[BP_SORT_COUNT];
extern const char *const bp_estimator_names[BP_ESTIMATOR_COUNT];
extern const char *const bp_method_names[BP_METHOD_COUNT];
extern const char *const bp_edges_names[BP_EDGES_COUNT];

/* The word of a metric of a profile: where it holds what the program mapped itself (`mapped`) that
 * is another one. */
const char *bp_metric_word(enum bp_metric metric, bool mapped);

/* Index of `word` in one of these arrays, or -1. */
int bp_word_index(const char *const *words, int count, const char *word);

/* Before the KEY of "label:KEY", by which `--by` and filters name one label. */
#define BP_LABEL_PREFIX "label:"

/* Before the KEY of "tag:KEY", by which rows of a store are those of one tag of its runs. */
#define BP_TAG_PREFIX "tag:"

struct bp_filter; /* filter.h */

/* The confidence of an interval where nobody asks for another one. */
#define BP_CONFIDENCE_DEFAULT 0.95

/* Zeroed: live at exit, by function, bytes as requested, 95 % intervals. Times are nanoseconds
 * since the start of the first process (of each file's own, where several unrelated ones are
 * summed), or of a day. */
struct bp_query {
	enum bp_metric metric;
	enum bp_key by;
	/* by label: NULL the whole set, or "label:KEY"; by origin: its word; the caller's text */
	const char *label;
	enum bp_sort sort;
	enum bp_estimator estimator;
	enum bp_method method;
	enum bp_window_edges edges; /* of the negative binomial intervals */
	bool cumulative;	    /* count a sample under every frame on its stack, once */
	bool usable;		    /* bytes as given by the allocator, not as requested */
	bool has_at, has_from, has_to, has_size_min;
	bool of_day;		 /* times are those of the profile's days (struct bp_profile) */
	uint64_t at_ns;		 /* live at that moment instead of at exit */
	bool has_gone_by;	 /* only what no longer lives at gone_by_ns, for comparing two */
	uint64_t gone_by_ns;	 /* moments of one run */
	uint64_t from_ns, to_ns; /* allocated in [from, to); peak: the moments looked at */
	uint64_t size_min;	 /* smallest size that can occur, for intervals of objects */
	double confidence;	 /* two-sided, in (0, 1); 0: BP_CONFIDENCE_DEFAULT */
	uint32_t pid;		 /* that process alone; 0: all */
	/* its total is not known then, unless it is the metric: finding it is half of the work */
	bool without_peak;
	bool named_callers; /* by function: what has no name counts under its nearest named caller */
	bool all_cells; /* metric peak: keys also of what lived at other moments, for rivals.h */
	const struct bp_filter *filters; /* all must hold */
	uint32_t filter_count;
};

/* The metrics that are not known where files lack so much (bits of enum bp_lack), as bits 1 << enum
 * bp_metric. Pure. */
unsigned bp_absent_metrics(uint32_t lacks);

/* What rows are by, as `--by` says it: a word of bp_key_names, or "label:KEY". `text` must stay. */
bool bp_query_set_by(struct bp_query *query, const char *text, struct bp_error *error);
/* The same where the profile was read from a store, and its processes have an origin: "service",
 * "release", "host" or "tag:KEY", whose key is as that of a label. False: it is none of these. */
bool bp_query_set_by_origin(struct bp_query *query, const char *text);
static inline const char *bp_query_by(const struct bp_query *query)
{
	return query->by == BP_KEY_ORIGIN || (query->by == BP_KEY_LABEL && query->label != NULL)
		       ? query->label
		       : bp_key_names[query->by];
}

/* Is it a key that can be asked for: printable ASCII, no quote, no backslash, no '='; 1 to 100 of
 * it? */
bool bp_label_key_is_good(const char *key, size_t bytes);

static inline bool bp_query_leaves_peak_out(const struct bp_query *query)
{
	return query->without_peak && query->metric != BP_METRIC_PEAK;
}

/* Is it another tool's estimator, or a method of hits (query/words.h)? Both look at where in an
 * object the successful byte was. */
bool bp_estimator_is_other(enum bp_estimator estimator);
bool bp_method_is_of_hits(enum bp_method method);

/* Does the query mean anything by itself? (Combinations of options; for errors of usage.) */
bool bp_query_check(const struct bp_query *query, struct bp_error *error);

#endif
