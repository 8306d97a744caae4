/* SPDX-License-Identifier: MIT */
/*
 * From a finished profile to rows with confidence intervals: what every report shows. A query says
 * which samples (metric, moment, window, processes, filters) and by which key; the aggregation
 * holds the sums of every row, and computes intervals only for the rows that are asked for.
 *
 * Called by report/ and cli/. The profile must be finished and resolved, and must outlive the
 * aggregation. Reading a finished aggregation is safe from several threads.
 */
#ifndef BP_PROFILE_AGGREGATE_H
#define BP_PROFILE_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "estimate/estimate.h"
#include "estimate/negative_binomial.h"
#include "profile/losses.h"
#include "profile/profile.h"
#include "profile/sampling.h"

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
	BP_METHOD_DEFAULT, /* N3 (by size classes under law bernoulli); of a counted total: tilted beta */
	BP_METHOD_N3,		     /* N3 throughout */
	BP_METHOD_NEGATIVE_BINOMIAL, /* the .NET document's, by the exact incomplete beta function */
	BP_METHOD_CAMP_PAULSON,	     /* the same by Camp and Paulson's approximation */
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
	bool without_peak; /* its total is not known then, unless it is the metric: finding it is half of
			    * the work */
	bool all_cells; /* metric peak: keys also of what lived at other moments, for rivals.h */
	const struct bp_filter *filters; /* all must hold */
	uint32_t filter_count;
};

/* An interval and what the losses of the recorder do to it. */
struct bp_figure {
	struct bp_interval interval;
	bool lower_bound; /* samples were lost: the truth is at least this */
	bool upper_bound; /* frees were lost: the truth is at most this */
};

struct bp_total {
	bool known; /* false: no figure can be given (peak of unrelated files) */
	uint64_t samples;
	struct bp_figure bytes, objects;
};

struct bp_row {
	const char *name;		  /* NULL by stack; bytes of any kind */
	const struct bp_frame_id *frames; /* by stack: innermost first; 0 entries: no stack known */
	uint32_t frame_count;
	uint8_t stack_flags; /* enum bp_stack_flag of the trace */
	uint64_t samples;
	struct bp_figure bytes, objects;
};

struct bp_aggregation_state; /* private to aggregate.c */

struct bp_aggregation {
	const struct bp_profile *profile;
	/* What the report is about: the first process looked at, as its last image (`env` and
	 * shells that only start a program by exec are not what was meant); 0: no process. */
	struct bp_process_id subject;
	struct bp_query query; /* as asked, `confidence` filled in; the filters must outlive this */
	struct bp_total totals[BP_METRIC_COUNT]; /* of what window, processes and filters select */
	uint64_t at_ns;				 /* moment of metric live, since the start */
	uint64_t peak_at_ns;			 /* named as the peak's; BP_TIME_NEVER: none */
	struct bp_total peak_moment; /* what was live then: what rows of metric peak add up to */
	bool peak_instead; /* of metric peak because little is live at the end (shown.h) */
	uint64_t duration_ns;			 /* of the first process */
	uint64_t size_min;			 /* used for intervals of objects, bytes */
	bool frees_unseen; /* live, peak and temporary are absent: the file does not tell of frees */
	unsigned absent;   /* metrics that the file does not tell, bits of enum bp_metric */
	uint64_t samples;  /* in the processes looked at, before window and filters */
	uint64_t lost[BP_PROFILE_LOSSES]; /* by reason, in the processes looked at */
	uint64_t lost_samples; /* of which samples, frees and what else makes figures bounds */
	bool lost_more; /* parts of a file are damaged or missing: more was lost than was counted */
	struct bp_sampling sampling; /* of the processes looked at, whatever the window */
	uint32_t row_count;
	char **warnings; /* sentences for the header; NULL-terminated, never NULL itself */
	struct bp_aggregation_state *state;
};

/* What rows are by, as `--by` says it: a word of bp_key_names, or "label:KEY". `text` must stay. */
bool bp_query_set_by(struct bp_query *query, const char *text, struct bp_error *error);
static inline const char *bp_query_by(const struct bp_query *query)
{
	return query->by == BP_KEY_LABEL && query->label != NULL ? query->label
								 : bp_key_names[query->by];
}

/* Is it a key that can be asked for: printable ASCII, no quote, no backslash, no '='; 1 to 100 of it? */
bool bp_label_key_is_good(const char *key, size_t bytes);

static inline bool bp_query_leaves_peak_out(const struct bp_query *query)
{
	return query->without_peak && query->metric != BP_METRIC_PEAK;
}

/* Does the query mean anything by itself? (Combinations of options; for errors of usage.) */
bool bp_query_check(const struct bp_query *query, struct bp_error *error);

/* Errors: those of bp_query_check, an unknown pid, a moment outside the run, a peak of unrelated
 * files, memory. */
bool bp_aggregate(const struct bp_profile *profile, const struct bp_query *query,
	struct bp_aggregation *ret_aggregation, struct bp_error *error);
void bp_aggregation_finish(struct bp_aggregation *aggregation);

/* Adds a sentence to the warnings, from whoever read the profile. */
BP_PRINTF(2, 3)
bool bp_aggregation_warn(struct bp_aggregation *aggregation, const char *format, ...);

/* Row `i` < row_count in the order asked for, with its intervals. */
void bp_aggregation_row(
	const struct bp_aggregation *aggregation, uint32_t i, struct bp_row *ret_row);

/* What a comparison needs beside figures: the sums of a total, and what intervals of it assume. Valid as long as the aggregation. */
struct bp_assumptions {
	uint64_t interval_min, interval_max; /* smallest and largest T in force, >= 1 */
	uint64_t interval_unseen; /* for limits: the T that bounds what may be there unseen */
	uint64_t size_min; /* smallest size that can be among what is selected, bytes; 0: any */
	uint64_t size_min_beside; /* and among all else */
	uint32_t charge;
	double ratio_max; /* largest value per trial that can occur: 1 for bytes as requested */
	double turnovers; /* sampled allocations / samples live at the peak */
};
const struct bp_sums *bp_aggregation_total_sums(
	const struct bp_aggregation *aggregation, enum bp_metric metric);
struct bp_assumptions bp_aggregation_assumptions(const struct bp_aggregation *aggregation);

/* T as samples had it on average, by what they stand for: what advice on T starts from. The one T where
 * there is one, or no sample. Pure. */
uint64_t bp_mean_interval(const struct bp_sums *sums, const struct bp_assumptions *assumed);

/* What was live at one moment. */
struct bp_moment_figures {
	uint64_t time_ns; /* since the start of the first process */
	uint64_t samples;
	struct bp_figure bytes, objects;
	bool off;	 /* sampling was off then, for some thread */
	bool unrecorded; /* because nothing could be recorded: the figures say nothing */
};

/* The heap over time: what was live at `count` >= 2 evenly spaced moments from the start of the run,
 * or of the query's window, to its end; each is what metric live shows for that moment (`at_ns`),
 * whenever it was allocated. Every interval holds by itself; that all hold at once is less likely.
 * The aggregation must be of metric live, without at_ns. */
bool bp_aggregation_timeline(const struct bp_aggregation *aggregation, uint32_t count,
	struct bp_moment_figures *ret_moments, struct bp_error *error);

/* Everything selected that is under none of the first `shown` rows; false: nothing is left. */
bool bp_aggregation_rest(
	const struct bp_aggregation *aggregation, uint32_t shown, struct bp_row *ret_row);

/* What was allocated while sampling was off is counted as well as the rest. Where the question is about
 * the whole of what was allocated it is added to `interval`, the bytes or objects of the total: true, as
 * where sampling was never off. False, and nothing is added: some of it may belong there, and
 * nobody knows how much. Pure. */
bool bp_aggregation_add_off(const struct bp_aggregation *aggregation, enum bp_metric metric,
	bool objects, struct bp_interval *interval);

#endif
