/* SPDX-License-Identifier: MIT */
/*
 * The option table of a command has let only known words through; what is read here are the small
 * languages of values. An option that a command's table lacks is skipped: see query_options.h.
 */
#include "cli/options/query_options.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "query/time_text.h"
#include "trace/format.h"

bool bp_option_time(const struct bp_arguments *arguments, const char *name, bool *ret_given,
	uint64_t *ret_ns, struct bp_error *error)
{
	struct bp_error reason;
	*ret_given = bp_option_given(arguments, name);
	if (!*ret_given || bp_time_read(bp_option_value(arguments, name), ret_ns, &reason))
		return true;
	return bp_error_set(error, "--%s %.800s", name, reason.text);
}

/* 0.05 or 5%, in [1e-12, 1 - 1e-12]; `example` is one that the option takes. */
static bool parse_probability(
	const char *text, const char *example, double *ret_probability, struct bp_error *error)
{
	char *rest;
	double number = strtod(text, &rest);
	if (strcmp(rest, "%") == 0) {
		number /= 100;
		rest++;
	}
	if (rest == text || *rest != '\0' || !(number > 0 && number < 1))
		return bp_error_set(error, "%s: must be between 0 and 1, as %s", text, example);
	/* Nearer to 0 or 1 the complement has too few digits for half of it to be one. */
	if (!(number >= 1e-12 && number <= 1 - 1e-12))
		return bp_error_set(error, "%s: must be from 1e-12 to 0.999999999999", text);
	*ret_probability = number;
	return true;
}

bool bp_option_probability(const struct bp_arguments *arguments, const char *name,
	double *ret_probability, struct bp_error *error)
{
	const char *text = bp_option_value(arguments, name);
	struct bp_error reason;
	const char *example = strcmp(name, "confidence") == 0 ? "0.95" : "0.01";
	if (text == NULL || parse_probability(text, example, ret_probability, &reason))
		return true;
	return bp_error_set(error, "--%s %.800s", name, reason.text);
}

bool bp_option_number(const struct bp_arguments *arguments, const char *name, uint64_t max,
	uint64_t *ret_number, struct bp_error *error)
{
	const char *text = bp_option_value(arguments, name);
	struct bp_error reason;
	if (text == NULL)
		return true;
	if (!bp_parse_number(text, ret_number, &reason))
		return bp_error_set(error, "--%s: %.800s", name, reason.text);
	if (*ret_number > max)
		return bp_error_set(error, "--%s %s: too large", name, text);
	return true;
}

static bool read_filters(const struct bp_arguments *arguments, struct bp_query_options *options,
	struct bp_error *error)
{
	for (int i = 0; i < arguments->given_count; i++) {
		if (strcmp(arguments->given[i].option->name, "filter") != 0)
			continue;
		if (options->query.filter_count == BP_FILTERS_MAX)
			return bp_error_set(
				error, "--filter: more than %d of them", BP_FILTERS_MAX);
		struct bp_filter *filter = &options->filters[options->query.filter_count++];
		if (!bp_filter_parse(arguments->given[i].value, filter, error))
			return false;
	}
	options->query.filters = options->filters;
	return true;
}

/* The entry of this name in the command's table, or NULL. */
static const struct bp_option *entry(const struct bp_arguments *arguments, const char *name)
{
	const struct bp_option *option = arguments->command->options;
	for (; option->name != NULL || option->summary != NULL; option++)
		if (option->name != NULL && strcmp(option->name, name) == 0)
			return option;
	return NULL;
}

/* The index of the word that was given, or `otherwise`. */
static int word(const struct bp_arguments *arguments, const char *name, const char *const *words,
	int count, int otherwise)
{
	if (entry(arguments, name) == NULL || !bp_option_given(arguments, name))
		return otherwise;
	int index = bp_word_index(words, count, bp_option_value(arguments, name));
	return index < 0 ? otherwise : index;
}

static bool flag(const struct bp_arguments *arguments, const char *name)
{
	return entry(arguments, name) != NULL && bp_option_given(arguments, name);
}

/* Words that only some commands have. */
static void read_mapped(const struct bp_arguments *arguments, struct bp_query_options *options)
{
	const char *given = flag(arguments, "metric") ? bp_option_value(arguments, "metric") : "";
#define READ(name, word)                                  \
	if (strcmp(given, word) == 0) {                   \
		options->query.metric = BP_METRIC_##name; \
		options->mapped = true;                   \
	}
	BP_MAPPED_METRICS(READ)
#undef READ
	if (strcmp(given, BP_SUM_METRIC) == 0) {
		options->query.metric = BP_METRIC_LIVE;
		options->all = true;
	}
}

static void read_words(const struct bp_arguments *arguments, struct bp_query *query)
{
	query->metric = (enum bp_metric)word(
		arguments, "metric", bp_metric_names, BP_METRIC_COUNT, (int)query->metric);
	query->sort = (enum bp_sort)word(
		arguments, "sort", bp_sort_names, BP_SORT_COUNT, (int)query->sort);
	query->estimator = (enum bp_estimator)word(arguments, "estimator", bp_estimator_names,
		BP_ESTIMATOR_COUNT, (int)query->estimator);
	query->method = (enum bp_method)word(
		arguments, "interval-method", bp_method_names, BP_METHOD_COUNT, (int)query->method);
	query->edges = (enum bp_window_edges)word(
		arguments, "edges", bp_edges_names, BP_EDGES_COUNT, (int)query->edges);
	query->cumulative = flag(arguments, "cumulative");
	query->usable = flag(arguments, "bytes") &&
			strcmp(bp_option_value(arguments, "bytes"), "usable") == 0;
}

/* `--at` may mean something else to a command that takes it twice. Of a command whose times are no
 * mere times (fleet) they are read there. */
static bool read_times(
	const struct bp_arguments *arguments, struct bp_query *query, struct bp_error *error)
{
	const struct bp_option *at = entry(arguments, "at");
	if (at != NULL && !at->repeatable && strcmp(at->argument, "TIME") == 0 &&
		!bp_option_time(arguments, "at", &query->has_at, &query->at_ns, error))
		return false;
	if (entry(arguments, "from") == NULL ||
		strcmp(entry(arguments, "from")->argument, "TIME") != 0)
		return true;
	if (!bp_option_time(arguments, "from", &query->has_from, &query->from_ns, error))
		return false;
	return entry(arguments, "until") == NULL ||
	       bp_option_time(arguments, "until", &query->has_to, &query->to_ns, error);
}

static bool read_pid(
	const struct bp_arguments *arguments, struct bp_query *query, struct bp_error *error)
{
	uint64_t pid = 0;
	if (!flag(arguments, "pid"))
		return true;
	if (!bp_option_number(arguments, "pid", UINT32_MAX, &pid, error))
		return false;
	if (pid == 0)
		return bp_error_set(error, "--pid 0: no process has this number");
	query->pid = (uint32_t)pid;
	return true;
}

static bool read_size_min(
	const struct bp_arguments *arguments, struct bp_query *query, struct bp_error *error)
{
	query->has_size_min = flag(arguments, "min-size");
	return !query->has_size_min ||
	       bp_parse_size(bp_option_value(arguments, "min-size"), &query->size_min, error);
}

static bool read_assume_interval(
	const struct bp_arguments *arguments, uint64_t *ret_bytes, struct bp_error *error)
{
	if (!flag(arguments, "assume-interval"))
		return true;
	const char *text = bp_option_value(arguments, "assume-interval");
	uint64_t bytes;
	if (!bp_parse_size(text, &bytes, error))
		return false;
	if (bytes < 1 || bytes > BP_INTERVAL_MAX)
		return bp_error_set(error, "--assume-interval %s: must be from 1 to 1T", text);
	*ret_bytes = bytes;
	return true;
}

bool bp_query_options_read(const struct bp_arguments *arguments,
	struct bp_query_options *ret_options, struct bp_error *error)
{
	struct bp_query *query = &ret_options->query;
	read_words(arguments, query);
	read_mapped(arguments, ret_options);
	ret_options->by_given = flag(arguments, "by");
	/* (A command whose table does not list the words of origins has refused them by now.) */
	if (ret_options->by_given &&
		!bp_query_set_by_origin(query, bp_option_value(arguments, "by")) &&
		!bp_query_set_by(query, bp_option_value(arguments, "by"), error))
		return false;
	if (!read_times(arguments, query, error) || !read_pid(arguments, query, error) ||
		!read_size_min(arguments, query, error) ||
		!read_assume_interval(arguments, &ret_options->assume_interval, error) ||
		!read_filters(arguments, ret_options, error))
		return false;
	if (flag(arguments, "confidence") &&
		!bp_option_probability(arguments, "confidence", &query->confidence, error))
		return false;
	return bp_query_check(query, error);
}

bool bp_mapped_options_check(const struct bp_arguments *arguments,
	const struct bp_query_options *options, struct bp_error *error)
{
	static const char *const of_samples[] = { "bytes", "suppressions", "allocators", "growth",
		"summary", "stats", "resident", "pages", "confidence", "estimator",
		"interval-method", "edges", "min-size", "assume-interval" };
	for (size_t i = 0; options->mapped && i < BP_COUNT(of_samples); i++)
		if (flag(arguments, of_samples[i]))
			return bp_error_set(error,
				"--metric %s is exact, and of memory that malloc does not know: "
				"leave --%s out",
				bp_option_value(arguments, "metric"), of_samples[i]);
	return true;
}
