/* SPDX-License-Identifier: MIT */
/*
 * What is behind the handles of bytepoll/analysis.h, and the questions that they are asked in the
 * words of model/. A profile is held by whoever opened it and by every table and difference made
 * of it; the last one to go frees it. Everything in it is written before bytepoll_open returns.
 */
#ifndef BP_LIBRARY_HANDLES_H
#define BP_LIBRARY_HANDLES_H

#include <stdatomic.h>

#include "aggregation/aggregate.h"
#include "bytepoll/analysis.h"
#include "library/structs.h"
#include "model/names/allocators.h"
#include "query/attribution.h"
#include "query/filter.h"
#include "symbols/symbols.h"

#define BP_LIBRARY_FILTERS_MAX 64u

struct bytepoll_profile {
	atomic_uint holders;
	char *file; /* the first one given, for messages */
	struct bp_allocators allocators;
	char *allocator_texts[BP_ALLOCATOR_PATTERNS_MAX];
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	struct bp_attribution attribution;
};

void bp_profile_hold(struct bytepoll_profile *profile);

/* A query in our own words, with the texts that it points into. */
struct bp_question {
	struct bp_query query;
	bool metric_given; /* false: the metric is to be chosen (policy/) */
	struct bp_filter *filters;
	char **texts; /* of the filters */
	char *by;
};

/* Reads a caller's query; NULL is the default one. Nothing to finish on failure. To be called in
 * the plain locale. */
bool bp_question_read(const struct bytepoll_query *asked, struct bp_question *ret_question,
	struct bytepoll_error *error);
void bp_question_finish(struct bp_question *question);

/* The number of a word; NULL is the first one, -1 (and an error) one that nobody knows. */
int bp_question_word(const char *word, const char *const *words, int count, const char *what,
	struct bytepoll_error *error);

struct bytepoll_table {
	struct bytepoll_profile *profile;
	struct bp_question question;
	struct bp_aggregation aggregation;
	uint32_t warnings;
};

/* Ours into theirs. */
struct bytepoll_figure bp_figure_given(const struct bp_figure *figure);
struct bytepoll_figure bp_interval_given(const struct bp_interval *interval);
struct bytepoll_count bp_count_given(struct bp_known_total total);

#endif
