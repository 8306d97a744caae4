/* SPDX-License-Identifier: MIT */
/*
 * The options that say which samples are looked at and how figures are made of them: the same words
 * with the same meaning in every command that aggregates (report, diff, check, plan). A command
 * puts the entries it takes into its option table; reading skips those its table lacks. Not
 * thread-safe, as options.h.
 */
#ifndef BP_CLI_OPTIONS_QUERY_OPTIONS_H
#define BP_CLI_OPTIONS_QUERY_OPTIONS_H

#include "aggregation/aggregate.h"
#include "cli/options/options.h"
#include "query/filter.h"

#define BP_FILTERS_MAX 64

/* `query.filters` points to `filters`: neither may be moved alone. */
struct bp_query_options {
	struct bp_query query;
	struct bp_filter filters[BP_FILTERS_MAX];
	bool by_given;
	bool mapped; /* the metric is one of BP_MAPPED_METRICS; in the query it is live or peak */
	bool all;    /* it is BP_SUM_METRIC; in the query it is live */
	uint64_t assume_interval; /* for bp_input_read, bytes; 0: not given */
};

/* Reads every query option of the command's table into `*ret_options`, which must stay where it is;
 * what was not given keeps the value it has there (zeros: the defaults of bp_query). */
bool bp_query_options_read(const struct bp_arguments *arguments,
	struct bp_query_options *ret_options, struct bp_error *error);

/* Values of single options, for commands that have further ones of the same kind. The output is
 * untouched if the option was not given. */
bool bp_option_time(const struct bp_arguments *arguments, const char *name, bool *ret_given,
	uint64_t *ret_ns, struct bp_error *error);
bool bp_option_number(const struct bp_arguments *arguments, const char *name, uint64_t max,
	uint64_t *ret_number, struct bp_error *error);
/* A probability in (0, 1): 0.05 or 5%. */
bool bp_option_probability(const struct bp_arguments *arguments, const char *name,
	double *ret_probability, struct bp_error *error);

/* What was mapped is no sample, and no object of malloc's: false where the metric is one of
 * BP_MAPPED_METRICS and an option of estimates or of malloc was given. `options`: as read. */
bool bp_mapped_options_check(const struct bp_arguments *arguments,
	const struct bp_query_options *options, struct bp_error *error);

/* Entries for option tables, one subject each. */
#define BP_OPTION_METRIC                                                                         \
	{                                                                                        \
		.name = "metric", .letter = 'm', .argument = "METRIC",                           \
		.choices = BP_CHOICES(BP_METRICS),                                               \
		.summary =                                                                       \
			"live at exit (default), peak, all that was allocated, or freed at once" \
	}
/* The same of a command that also shows what the program mapped itself, but not the sum. */
#define BP_OPTION_METRIC_OR_MAPPED_ALONE                                                          \
	{                                                                                         \
		.name = "metric", .letter = 'm', .argument = "METRIC",                            \
		.choices = &BP_METRICS(BP_WORD_CHOICE) BP_MAPPED_METRICS(BP_WORD_CHOICE)[1],      \
		.summary =                                                                        \
			"live at exit (default), peak, all that was allocated, or freed at once;" \
			" mapped, mapped-peak: what the program mapped itself, exactly"           \
	}
/* The same of a command that shows the sum of both, too. */
#define BP_OPTION_METRIC_OR_MAPPED                                                                \
	{                                                                                         \
		.name = "metric", .letter = 'm', .argument = "METRIC",                            \
		.choices = &BP_METRICS(BP_WORD_CHOICE)                                            \
				   BP_MAPPED_METRICS(BP_WORD_CHOICE) "|" BP_SUM_METRIC[1],        \
		.summary =                                                                        \
			"live at exit (default), peak, all that was allocated, or freed at once;" \
			" mapped, mapped-peak: what the program mapped itself, exactly;"          \
			" all: mapped and live together"                                          \
	}
#define BP_OPTION_FROM                                            \
	{                                                         \
		.name = "from", .argument = "TIME",               \
		.summary = "only what was allocated from then on" \
	}
#define BP_OPTION_UNTIL                                            \
	{                                                          \
		.name = "until", .also = "to", .argument = "TIME", \
		.summary = "only what was allocated before"        \
	}
#define BP_OPTION_BYTES                                                             \
	{                                                                           \
		.name = "bytes", .argument = "KIND", .choices = "requested|usable", \
		.summary = "as requested (default), or as given by the allocator"   \
	}
#define BP_OPTION_PID                                                                  \
	{                                                                              \
		.name = "pid", .argument = "PID", .summary = "one process of the tree" \
	}
#define BP_OPTION_FILTER                                                                     \
	{                                                                                    \
		.name = "filter", .letter = 'F', .argument = "KEY=GLOB", .repeatable = true, \
		.summary = "only what matches: function=parse_*|load_*, size=64..4K ..."     \
	}
/* What rows can be by in every command that reports. */
#define BP_BY_CHOICES \
	"function|stack|line|file|module|thread|size|type|kind|process|label|label:KEY"
#define BP_OPTION_BY                                                                      \
	{                                                                                 \
		.name = "by", .letter = 'b', .argument = "KEY", .choices = BP_BY_CHOICES, \
		.summary = "what a row stands for (default: function)"                    \
	}
#define BP_OPTION_CUMULATIVE                                                                 \
	{                                                                                    \
		.name = "cumulative", .letter = 'c',                                         \
		.summary = "count under every function on the stack, not only the innermost" \
	}
#define BP_OPTION_CONFIDENCE                                  \
	{                                                     \
		.name = "confidence", .argument = "LEVEL",    \
		.summary = "of the intervals (default: 0.95)" \
	}
#define BP_OPTION_ESTIMATOR                                                                    \
	{                                                                                      \
		.name = "estimator", .argument = "NAME", .choices = BP_CHOICES(BP_ESTIMATORS), \
		.summary = "the best (default), or another one for comparison"                 \
	}
#define BP_OPTION_INTERVAL_METHOD                                                                 \
	{                                                                                         \
		.name = "interval-method", .argument = "NAME", .choices = BP_CHOICES(BP_METHODS), \
		.summary = "the best (default), or another one for comparison"                    \
	}
#define BP_OPTION_EDGES                                                                      \
	{                                                                                    \
		.name = "edges", .argument = "EDGES", .choices = BP_CHOICES(BP_EDGES_WORDS), \
		.summary = "negative binomial: samples counted at a window's edges"          \
	}
#define BP_OPTION_MIN_SIZE                                                                   \
	{                                                                                    \
		.name = "min-size", .argument = "SIZE",                                      \
		.summary = "no object is smaller: narrows intervals of objects (default: 0)" \
	}
#define BP_OPTION_ASSUME_INTERVAL                                                    \
	{                                                                            \
		.name = "assume-interval", .argument = "SIZE",                       \
		.summary = "T of files that do not tell theirs (.NET: 102400 bytes)" \
	}
/* Everything about where names come from; main.c takes the last two (symbol_options.h). */
#define BP_OPTION_DEBUG_DIRECTORY                                                         \
	{ .name = "debug-directory",                                                      \
		.argument = "DIR",                                                        \
		.file = true,                                                             \
		.summary = "where separate debug files are (default: /usr/lib/debug)" },  \
		{ .name = "debuginfod",                                                   \
			.argument = "URLS",                                               \
			.summary = "ask these servers for debug files (environment: "     \
				   "those of $DEBUGINFOD_URLS)" },                        \
	{                                                                                 \
		.name = "no-symbol-cache",                                                \
		.summary = "neither use nor fill the cache of names in ~/.cache/bytepoll" \
	}

#endif
