/* SPDX-License-Identifier: MIT */
/*
 * The lists of words that a question consists of: each word stands here once, and enums, names,
 * options of the command line and what library and JSON take are made from these lists.
 * X(NAME, WORD, ...): the enumerator BP_..._NAME is WORD on the command line.
 *
 * A new interval method is a function in a file of src/tool/aggregation, and one line here.
 */
#ifndef BP_QUERY_WORDS_H
#define BP_QUERY_WORDS_H

/* clang-format off */
#define BP_METRICS(X) \
	X(LIVE, "live") /* when the first process ends, or at `at_ns` */ \
	X(PEAK, "peak") /* total: the most bytes live at any time; rows: at the named moment */ \
	X(ALLOCATED, "allocated") /* ever */ \
	X(TEMPORARY, "temporary") /* freed by the allocating thread before it allocated again */

/* Of what the program mapped itself, where a profile holds that (profile->mapped): what LIVE, PEAK
 * and ALLOCATED are called then. The first two are words of `report --metric`. */
#define BP_MAPPED_METRICS(X) \
	X(LIVE, "mapped") \
	X(PEAK, "mapped-peak")
#define BP_MAPPED_METRIC_ALL "mapped-ever"
/* A word of `report --metric`: what is mapped and what is live, added. */
#define BP_SUM_METRIC "all"

#define BP_SORTS(X) \
	X(BYTES, "bytes") \
	X(OBJECTS, "objects") \
	X(SAMPLES, "samples") \
	X(NAME, "name")

/* What a sample weighs (docs/statistics.md, "Estimators and how they relate"). Those from
 * FAILED_TRIALS on look at where in an object the successful byte was. */
#define BP_ESTIMATORS(X) \
	X(DEFAULT, "default") /* calibrated where an exact total is known, else Horvitz-Thompson */ \
	X(HT, "ht") /* Horvitz-Thompson: .NET's approach 1 */ \
	X(WEIGHTED, "weighted") /* the same under the word of .NET's tools */ \
	X(CALIBRATED, "calibrated") /* part of an exactly known total; an error where there is none */ \
	X(FAILED_TRIALS, "failed-trials") /* .NET's approach 2 */ \
	X(TCMALLOC, "tcmalloc") /* the same number under the name of TCMalloc's formula */ \
	X(HITS, "hits") /* T x hits; hits after the first are drawn */ \
	X(MEMRAY, "memray") /* as memray: exact from T on, T x hits below */

/* How intervals of bytes are computed. X(NAME, WORD, HITS, VALUES): HITS: from where in an object
 * the successful byte was, so that it has no form for the peak, whose moment is chosen by looking
 * at samples; VALUES: the function (aggregation/interval_methods.h). */
#define BP_METHODS(X) \
	X(DEFAULT, "default", false, bp_values_n3) /* of a counted total: tilted beta; else N3 */ \
	X(N3, "n3", false, bp_values_n3) /* N3 throughout */ \
	X(NEGATIVE_BINOMIAL, "negative-binomial", true, bp_values_negative_binomial) /* .NET's */ \
	X(CAMP_PAULSON, "camp-paulson", true, bp_values_camp_paulson) /* its approximation */

/* What the negative binomial counts at a window's edges (enum bp_window_edges of estimate). */
#define BP_EDGES_WORDS(X) \
	X(END, "end") \
	X(AT_SAMPLES, "sample") \
	X(BOTH, "both")
/* clang-format on */

/* For options: "|live|peak|...", of which the part behind the first bar is wanted. */
#define BP_WORD_CHOICE(name, word, ...) "|" word
#define BP_CHOICES(list) &list(BP_WORD_CHOICE)[1]

#endif
