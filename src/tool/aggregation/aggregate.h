/* SPDX-License-Identifier: MIT */
/*
 * From a finished profile to rows with confidence intervals: what every report shows. A query says
 * which samples (metric, moment, window, processes, filters) and by which key; the aggregation
 * holds the sums of every row, and computes intervals only for the rows that are asked for.
 *
 * Called by report/ and cli/. The profile must be finished and resolved, and must outlive the
 * aggregation. Reading a finished aggregation is safe from several threads.
 */
#ifndef BP_AGGREGATION_AGGREGATE_H
#define BP_AGGREGATION_AGGREGATE_H

#include <stdbool.h>
#include <stdint.h>

#include "aggregation/sampling.h"
#include "base/error.h"
#include "estimate/estimate.h"
#include "model/gaps/losses.h"
#include "model/profile.h"
#include "query/query.h"

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

/* See aggregation_state.h, for what adds figures of its own to a finished aggregation. */
struct bp_aggregation_state;

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
	bool peak_instead;    /* of metric peak because little is live at the end (shown.h) */
	uint64_t duration_ns; /* of the first process */
	uint64_t size_min;    /* used for intervals of objects, bytes */
	uint32_t lacks;	  /* what the files of the processes looked at cannot tell: enum bp_lack */
	unsigned absent;  /* metrics that are not known therefore, bits of enum bp_metric */
	uint64_t samples; /* in the processes looked at, before window and filters */
	uint64_t lost[BP_PROFILE_LOSSES]; /* by reason, in the processes looked at */
	uint64_t lost_samples; /* of which samples, frees and what else makes figures bounds */
	bool lost_more; /* parts of a file are damaged or missing: more was lost than was counted */
	struct bp_sampling sampling; /* of the processes looked at, whatever the window */
	uint32_t row_count;
	char **warnings; /* sentences for the header; NULL-terminated, never NULL itself */
	struct bp_aggregation_state *state;
};

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

/* The name of a row, or where it is a stack (`name` NULL) its functions, innermost first: "parse <
 * read < main". The caller frees it. NULL: no memory. */
char *bp_row_label(const struct bp_profile *profile, const char *name,
	const struct bp_frame_id *frames, uint32_t frame_count);

/* What a comparison needs beside figures: the sums of a total, and what intervals of it assume.
 * Valid as long as the aggregation. */
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

/* T as samples had it on average, by what they stand for: what advice on T starts from. The one T
 * where there is one, or no sample. Pure. */
uint64_t bp_mean_interval(const struct bp_sums *sums, const struct bp_assumptions *assumed);

/* What was live at one moment. */
struct bp_moment_figures {
	uint64_t time_ns; /* since the start of the first process */
	uint64_t samples;
	struct bp_figure bytes, objects;
	bool off;	 /* sampling was off then, for some thread */
	bool unrecorded; /* because nothing could be recorded: the figures say nothing */
};

/* The heap over time: what was live at `count` >= 2 evenly spaced moments from the start of the
 * run, or of the query's window, to its end; each is what metric live shows for that moment
 * (`at_ns`), whenever it was allocated. Every interval holds by itself; that all hold at once is
 * less likely. The aggregation must be of metric live, without at_ns. */
bool bp_aggregation_timeline(const struct bp_aggregation *aggregation, uint32_t count,
	struct bp_moment_figures *ret_moments, struct bp_error *error);

/* Everything selected that is under none of the first `shown` rows; false: nothing is left. */
bool bp_aggregation_rest(
	const struct bp_aggregation *aggregation, uint32_t shown, struct bp_row *ret_row);

/* What was allocated while sampling was off is counted as well as the rest. Where the question is
 * about the whole of what was allocated it is added to `interval`, the bytes or objects of the
 * total: true, as where sampling was never off. False, and nothing is added: some of it may belong
 * there, and nobody knows how much. Pure. */
bool bp_aggregation_add_off(const struct bp_aggregation *aggregation, enum bp_metric metric,
	bool objects, struct bp_interval *interval);

#endif
