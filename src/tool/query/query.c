/* SPDX-License-Identifier: MIT */
/* The words of a question, and which of them mean something together; see query.h. */
#include "query/query.h"

#include <string.h>

#include "model/capabilities.h"

#define WORD(name, word, ...) word,
#define EDGES_WORD(name, word) [BP_EDGES_##name] = word,

const char *const bp_metric_names[BP_METRIC_COUNT] = { BP_METRICS(WORD) };
const char *const bp_key_names[BP_KEY_COUNT] = { "function", "stack", "line", "file", "module",
	"thread", "size", "type", "process", "kind", "label" };
const char *const bp_sort_names[BP_SORT_COUNT] = { BP_SORTS(WORD) };
const char *const bp_estimator_names[BP_ESTIMATOR_COUNT] = { BP_ESTIMATORS(WORD) };
const char *const bp_method_names[BP_METHOD_COUNT] = { BP_METHODS(WORD) };
const char *const bp_edges_names[BP_EDGES_COUNT] = { BP_EDGES_WORDS(EDGES_WORD) };

const char *bp_metric_word(enum bp_metric metric, bool mapped)
{
#define MAPPED_WORD(name, word) [BP_METRIC_##name] = word,
	static const char *const words[BP_METRIC_COUNT] = {
		BP_MAPPED_METRICS(MAPPED_WORD)[BP_METRIC_ALLOCATED] = BP_MAPPED_METRIC_ALL
	};
	return mapped && words[metric] != NULL ? words[metric] : bp_metric_names[metric];
}

int bp_word_index(const char *const *words, int count, const char *word)
{
	for (int i = 0; i < count; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

bool bp_estimator_is_other(enum bp_estimator estimator)
{
	return estimator >= BP_ESTIMATOR_FAILED_TRIALS;
}

#define OF_HITS(name, word, hits, values) hits,
static const bool of_hits[BP_METHOD_COUNT] = { BP_METHODS(OF_HITS) };

bool bp_method_is_of_hits(enum bp_method method)
{
	return of_hits[method];
}

unsigned bp_absent_metrics(uint32_t lacks)
{
	unsigned absent = 0;
	if (lacks & BP_LACKS_FREES)
		absent |= 1u << BP_METRIC_LIVE;
	if (lacks & (BP_LACKS_FREES | BP_LACKS_TIMES))
		absent |= 1u << BP_METRIC_PEAK | 1u << BP_METRIC_TEMPORARY;
	if (lacks & BP_LACKS_OBJECT_COUNTERS)
		absent |= 1u << BP_METRIC_TEMPORARY;
	if (lacks & BP_LACKS_FREED_OBJECTS)
		absent |= 1u << BP_METRIC_ALLOCATED;
	return absent;
}

static bool key_is_of_stack(enum bp_key key)
{
	return key <= BP_KEY_MODULE;
}

bool bp_query_check(const struct bp_query *query, struct bp_error *error)
{
	bool counted = query->metric == BP_METRIC_ALLOCATED && !query->usable;
	if (!(query->confidence >= 0 && query->confidence < 1))
		return bp_error_set(error, "--confidence %g: must be between 0 and 1, as 0.95",
			query->confidence);
	if (query->cumulative && (!key_is_of_stack(query->by) || query->by == BP_KEY_STACK))
		return bp_error_set(error,
			"--cumulative with --by %s means nothing: use --by function, line, file "
			"or module",
			bp_query_by(query));
	if (query->metric == BP_METRIC_PEAK && query->has_at)
		return bp_error_set(error, "--at with --metric peak means nothing: use --metric "
					   "live --at TIME");
	if (query->has_at && query->metric != BP_METRIC_LIVE)
		return bp_error_set(error,
			"--at with --metric %s means nothing: use --until TIME for what was "
			"allocated until then",
			bp_metric_names[query->metric]);
	if (query->has_to && query->to_ns <= (query->has_from ? query->from_ns : 0))
		return bp_error_set(error, "--until must be later than --from");
	if (query->metric == BP_METRIC_PEAK &&
		(bp_estimator_is_other(query->estimator) || bp_method_is_of_hits(query->method)))
		return bp_error_set(error,
			"--metric peak: the moment is chosen by looking at the samples, which "
			"other estimators and methods do not allow for; use --metric live "
			"--at TIME");
	if (query->edges != BP_EDGES_END && !bp_method_is_of_hits(query->method))
		return bp_error_set(error,
			"--edges is for --interval-method negative-binomial and camp-paulson");
	if (query->estimator == BP_ESTIMATOR_CALIBRATED && query->method != BP_METHOD_DEFAULT)
		return bp_error_set(error,
			"--estimator calibrated has an interval of its own: leave "
			"--interval-method out");
	if (query->estimator == BP_ESTIMATOR_CALIBRATED && !counted)
		return bp_error_set(error,
			"--estimator calibrated: an exact total is known only for --metric "
			"allocated --bytes requested");
	return true;
}
