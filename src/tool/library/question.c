/* SPDX-License-Identifier: MIT */
/* A caller's query into one of aggregation/aggregate.h. What is asked is copied whole: the caller's
 * texts may go when the call returns. */
#include <stdlib.h>
#include <string.h>

#include "library/handles.h"

int bp_question_word(const char *word, const char *const *words, int count, const char *what,
	struct bytepoll_error *error)
{
	char known[256] = "";
	const int index = word == NULL ? 0 : bp_word_index(words, count, word);
	if (index >= 0)
		return index;
	for (int i = 0; i < count; i++) {
		const size_t length = strlen(known);
		snprintf(
			known + length, sizeof known - length, "%s%s", i > 0 ? ", " : "", words[i]);
	}
	bp_call_wrong(error, "%s '%.100s': write one of %s", what, word, known);
	return -1;
}

static bool read_words(
	const struct bytepoll_query *asked, struct bp_query *query, struct bytepoll_error *error)
{
	const int metric =
		bp_question_word(asked->metric, bp_metric_names, BP_METRIC_COUNT, "metric", error);
	const int sort = metric < 0 ? -1
				    : bp_question_word(asked->sort, bp_sort_names, BP_SORT_COUNT,
					      "sort", error);
	const int estimator = sort < 0 ? -1
				       : bp_question_word(asked->estimator, bp_estimator_names,
						 BP_ESTIMATOR_COUNT, "estimator", error);
	const int method = estimator < 0 ? -1
					 : bp_question_word(asked->method, bp_method_names,
						   BP_METHOD_COUNT, "method", error);
	const int edges = method < 0 ? -1
				     : bp_question_word(asked->edges, bp_edges_names,
					       BP_EDGES_COUNT, "edges", error);
	if (edges < 0)
		return false;
	query->metric = (enum bp_metric)metric;
	query->sort = (enum bp_sort)sort;
	query->estimator = (enum bp_estimator)estimator;
	query->method = (enum bp_method)method;
	query->edges = (enum bp_window_edges)edges;
	return true;
}

static bool read_by(const struct bytepoll_query *asked, struct bp_question *question,
	struct bytepoll_error *error)
{
	struct bp_error reason;
	if (asked->by == NULL)
		return true;
	question->by = strdup(asked->by); /* "label:KEY" is pointed into */
	if (question->by == NULL)
		return bp_call_wrong(error, "out of memory");
	return bp_query_set_by(&question->query, question->by, &reason) ||
	       bp_call_failed(error, BYTEPOLL_ERROR_CALL, &reason);
}

static bool read_numbers(
	const struct bytepoll_query *asked, struct bp_query *query, struct bytepoll_error *error)
{
	const uint32_t known = BYTEPOLL_CUMULATIVE | BYTEPOLL_USABLE | BYTEPOLL_HAS_AT |
			       BYTEPOLL_HAS_FROM | BYTEPOLL_HAS_TO | BYTEPOLL_HAS_SIZE_MIN |
			       BYTEPOLL_WITHOUT_PEAK;
	struct bp_error reason;
	if ((asked->flags & ~known) != 0)
		return bp_call_wrong(error, "flags %#x of the query are not known", asked->flags);
	/* Nearer to 0 or 1 the complement has too few digits for half of it to be one. */
	if (asked->confidence != 0 &&
		!(asked->confidence >= 1e-12 && asked->confidence <= 1 - 1e-12))
		return bp_call_wrong(error, "confidence %g: must be from 1e-12 to 0.999999999999",
			asked->confidence);
	query->cumulative = (asked->flags & BYTEPOLL_CUMULATIVE) != 0;
	query->usable = (asked->flags & BYTEPOLL_USABLE) != 0;
	query->has_at = (asked->flags & BYTEPOLL_HAS_AT) != 0;
	query->has_from = (asked->flags & BYTEPOLL_HAS_FROM) != 0;
	query->has_to = (asked->flags & BYTEPOLL_HAS_TO) != 0;
	query->has_size_min = (asked->flags & BYTEPOLL_HAS_SIZE_MIN) != 0;
	query->without_peak = (asked->flags & BYTEPOLL_WITHOUT_PEAK) != 0;
	query->at_ns = asked->at_ns;
	query->from_ns = asked->from_ns;
	query->to_ns = asked->to_ns;
	query->size_min = asked->size_min;
	query->confidence = asked->confidence;
	query->pid = asked->pid;
	return bp_query_check(query, &reason) ||
	       bp_call_failed(error, BYTEPOLL_ERROR_CALL, &reason);
}

static bool read_filters(const struct bytepoll_query *asked, struct bp_question *question,
	struct bytepoll_error *error)
{
	const uint32_t count = asked->filter_count;
	struct bp_error reason;
	if (count > BP_LIBRARY_FILTERS_MAX)
		return bp_call_wrong(error, "more than %u filters", BP_LIBRARY_FILTERS_MAX);
	question->filters = calloc(count + 1u, sizeof *question->filters);
	question->texts = calloc(count + 1u, sizeof *question->texts);
	bool memory = question->filters != NULL && question->texts != NULL;
	for (uint32_t i = 0; memory && i < count; i++) {
		if (asked->filters == NULL || asked->filters[i] == NULL)
			return bp_call_wrong(error, "filter %u is NULL", i);
		question->texts[i] = strdup(asked->filters[i]);
		memory = question->texts[i] != NULL;
		if (memory && !bp_filter_parse(question->texts[i], &question->filters[i], &reason))
			return bp_call_failed(error, BYTEPOLL_ERROR_CALL, &reason);
	}

	if (!memory)
		return bp_call_wrong(error, "out of memory");
	question->query.filters = question->filters;
	question->query.filter_count = count;
	return true;
}

bool bp_question_read(const struct bytepoll_query *asked, struct bp_question *ret_question,
	struct bytepoll_error *error)
{
	struct bytepoll_query known;
	struct bp_question question = { 0 };
	if (bp_struct_take(&known, sizeof known, asked, "the query", error) &&
		read_words(&known, &question.query, error) && read_by(&known, &question, error) &&
		read_filters(&known, &question, error) &&
		read_numbers(&known, &question.query, error)) {
		question.metric_given = known.metric != NULL || question.query.has_at;
		*ret_question = question;
		return true;
	}
	bp_question_finish(&question);
	return false;
}

void bp_question_finish(struct bp_question *question)
{
	for (char **text = question->texts; text != NULL && *text != NULL; text++)
		free(*text);
	free(question->texts);
	free(question->by);
	free(question->filters);
	*question = (struct bp_question){ 0 };
}
