/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll report FILE...`: options into a query, files into a profile, the profile into an
 * aggregation, the aggregation into one of the reports. Everything that is decided here is how the
 * command line is read and what the terminal can show.
 */
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "import/import.h"
#include "profile/aggregate.h"
#include "profile/filter.h"
#include "report/report.h"
#include "symbols/symbols.h"

#define COLUMNS_DEFAULT 100 /* where the output is no terminal */
#define FILTERS_MAX 64

struct request {
	struct bp_query query;
	struct bp_filter filters[FILTERS_MAX];
	const struct bp_report *report;
	struct bp_report_options options;
	const char *debug_directory;
};

/* "12.5", "3s", "500ms", "2m", "1h" since the start, into nanoseconds. */
static bool parse_time(const char *text, uint64_t *ret_ns, struct bp_error *error)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 },
		{ "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 } };
	char *rest;
	if (*text < '0' || *text > '9' || text[1] == 'x' || text[1] == 'X')
		return bp_error_set(
			error, "%s is no time: write 12.5 (seconds), 500ms or 2m", text);
	double number = strtod(text, &rest);
	for (size_t i = 0; i < BP_COUNT(units); i++) {
		double ns = number * units[i].ns;
		if (strcmp(rest, units[i].suffix) != 0)
			continue;
		if (!(ns < 0x1p62))
			return bp_error_set(error, "%s is too long a time", text);
		*ret_ns = (uint64_t)llround(ns);
		return true;
	}
	return bp_error_set(error, "%s is no time: write 12.5 (seconds), 500ms or 2m", text);
}

static bool read_time(const struct bp_arguments *arguments, const char *name, bool *ret_given,
	uint64_t *ret_ns, struct bp_error *error)
{
	struct bp_error reason;
	*ret_given = bp_option_given(arguments, name);
	if (!*ret_given || parse_time(bp_option_value(arguments, name), ret_ns, &reason))
		return true;
	return bp_error_set(error, "--%s %.800s", name, reason.text);
}

/* A confidence level: 0.95, or 95% . */
static bool read_confidence(
	const struct bp_arguments *arguments, double *ret_confidence, struct bp_error *error)
{
	const char *text = bp_option_value(arguments, "confidence");
	char *rest;
	if (text == NULL)
		return true;
	double number = strtod(text, &rest);
	if (strcmp(rest, "%") == 0) {
		number /= 100;
		rest++;
	}
	if (rest == text || *rest != '\0' || !(number > 0 && number < 1))
		return bp_error_set(
			error, "--confidence %s: must be between 0 and 1, as 0.95", text);
	*ret_confidence = number;
	return true;
}

static bool read_number(const struct bp_arguments *arguments, const char *name, uint64_t max,
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

static bool read_filters(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	for (int i = 0; i < arguments->given_count; i++) {
		if (strcmp(arguments->given[i].option->name, "filter") != 0)
			continue;
		if (request->query.filter_count == FILTERS_MAX)
			return bp_error_set(error, "--filter: more than %d of them", FILTERS_MAX);
		struct bp_filter *filter = &request->filters[request->query.filter_count++];
		if (!bp_filter_parse(arguments->given[i].value, filter, error))
			return false;
	}
	request->query.filters = request->filters;
	return true;
}

/* Which words of a choice: the option table has let only known ones through. */
static int word(
	const struct bp_arguments *arguments, const char *name, const char *const *words, int count)
{
	const char *value = bp_option_value(arguments, name);
	int index = value != NULL ? bp_word_index(words, count, value) : 0;
	return index < 0 ? 0 : index;
}

static bool read_query(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	struct bp_query *query = &request->query;
	uint64_t pid = 0;
	const char *size_min = bp_option_value(arguments, "min-size");
	query->metric = (enum bp_metric)word(arguments, "metric", bp_metric_names, BP_METRIC_COUNT);
	query->by = (enum bp_key)word(arguments, "by", bp_key_names, BP_KEY_COUNT);
	query->sort = (enum bp_sort)word(arguments, "sort", bp_sort_names, BP_SORT_COUNT);
	query->estimator = (enum bp_estimator)word(
		arguments, "estimator", bp_estimator_names, BP_ESTIMATOR_COUNT);
	query->cumulative = bp_option_given(arguments, "cumulative");
	query->usable = strcmp(bp_option_value_or(arguments, "bytes", "requested"), "usable") == 0;
	if (!read_time(arguments, "at", &query->has_at, &query->at_ns, error) ||
		!read_time(arguments, "from", &query->has_from, &query->from_ns, error) ||
		!read_time(arguments, "to", &query->has_to, &query->to_ns, error) ||
		!read_confidence(arguments, &query->confidence, error) ||
		!read_number(arguments, "pid", UINT32_MAX, &pid, error) ||
		!read_filters(arguments, request, error))
		return false;
	if (bp_option_given(arguments, "pid") && pid == 0)
		return bp_error_set(error, "--pid 0: no process has this number");
	query->pid = (uint32_t)pid;
	query->has_size_min = size_min != NULL;
	if (size_min != NULL && !bp_parse_size(size_min, &query->size_min, error))
		return false;
	return bp_query_check(query, error);
}

/* Which report, and how many rows. */
static bool read_report(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	static const char *const names[] = { "tree", "json", "csv" };
	uint64_t rows;
	request->report = bp_reports[0];
	for (size_t i = 0; i < BP_COUNT(names); i++) {
		if (!bp_option_given(arguments, names[i]))
			continue;
		if (request->report != bp_reports[0])
			return bp_error_set(error, "--%s and --%s: choose one",
				request->report->name, names[i]);
		request->report = bp_report_find(names[i]);
	}
	rows = request->report->rows;
	if (!read_number(arguments, "rows", UINT32_MAX, &rows, error))
		return false;
	request->options.rows = (uint32_t)rows;
	if (!request->report->needs_stacks)
		return true;
	if (bp_option_given(arguments, "by") && request->query.by != BP_KEY_STACK)
		return bp_error_set(
			error, "--%s is by stack: leave --by out", request->report->name);
	if (request->query.cumulative)
		return bp_error_set(error, "--%s is cumulative by nature: leave --cumulative out",
			request->report->name);
	request->query.by = BP_KEY_STACK;
	if (request->query.sort != BP_SORT_OBJECTS)
		request->query.sort = BP_SORT_BYTES;
	return true;
}

static unsigned terminal_columns(void)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t number;
	if (text != NULL && bp_parse_number(text, &number, NULL) && number >= 20 && number <= 10000)
		return (unsigned)number;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return COLUMNS_DEFAULT;
}

static void look_at_terminal(struct bp_report_options *options)
{
	const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
	/* Characters only: numbers keep their decimal point. */
	setlocale(LC_CTYPE, "");
	options->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	options->columns = terminal_columns();
	options->colour = isatty(STDOUT_FILENO) && (no_colour == NULL || *no_colour == '\0') &&
			  (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

static bool import_all(
	const struct bp_arguments *arguments, struct bp_profile *profile, struct bp_error *error)
{
	for (int i = 0; i < arguments->operand_count; i++)
		if (!bp_import_file(arguments->operands[i], profile, error))
			return false;
	return bp_profile_finish_import(profile, arguments->operand_count > 1, error);
}

static void warn_of_symbols(
	struct bp_aggregation *aggregation, const struct bp_symbol_summary *summary)
{
	if (summary->modules_replaced > 0)
		bp_aggregation_warn(aggregation,
			"%u file%s replaced since the recording and not used "
			"for names, for example %s",
			summary->modules_replaced,
			summary->modules_replaced == 1 ? " was" : "s were",
			summary->replaced_example);
	if (summary->modules_missing > 0)
		bp_aggregation_warn(aggregation,
			"%u file%s of the program cannot be read for names",
			summary->modules_missing, summary->modules_missing == 1 ? "" : "s");
}

/* A program that freed all it had shows nothing at exit: without another wish, and for a reader's
 * eyes, its peak is what was asked. */
static bool aggregate(const struct bp_arguments *arguments, const struct request *request,
	struct bp_profile *profile, struct bp_aggregation *ret_aggregation, struct bp_error *error)
{
	struct bp_query peak = request->query;
	if (!bp_aggregate(profile, &request->query, ret_aggregation, error))
		return false;
	if (!request->report->for_eyes || bp_option_given(arguments, "metric") ||
		bp_option_given(arguments, "at") ||
		ret_aggregation->totals[BP_METRIC_LIVE].samples > 0 ||
		ret_aggregation->totals[BP_METRIC_PEAK].samples == 0 ||
		!ret_aggregation->totals[BP_METRIC_PEAK].known)
		return true;
	bp_aggregation_finish(ret_aggregation);
	peak.metric = BP_METRIC_PEAK;
	if (!bp_aggregate(profile, &peak, ret_aggregation, error))
		return false;
	bp_aggregation_warn(ret_aggregation,
		"no sampled object is live at exit: what was live at the peak is shown instead");
	return true;
}

static bool show(const struct bp_arguments *arguments, const struct request *request,
	struct bp_profile *profile, struct bp_error *error)
{
	struct bp_symbol_options symbols = { .debug_directory = request->debug_directory };
	struct bp_symbol_summary summary = { 0 };
	struct bp_aggregation aggregation;
	if (!import_all(arguments, profile, error) ||
		!bp_symbols_resolve(profile, &symbols, &summary, error) ||
		!aggregate(arguments, request, profile, &aggregation, error))
		return false;
	warn_of_symbols(&aggregation, &summary);
	bool good = request->report->write(&aggregation, &request->options, stdout, error);
	bp_aggregation_finish(&aggregation);
	return good;
}

static int report(const struct bp_arguments *arguments)
{
	struct request request = { 0 };
	struct bp_profile profile = { 0 };
	struct bp_error error = { 0 };
	if (arguments->operand_count == 0)
		return bp_command_fail_usage(
			arguments->command, "no file given: bytepoll report FILE");
	if (!read_query(arguments, &request, &error) || !read_report(arguments, &request, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	request.options.si = bp_option_given(arguments, "si");
	request.debug_directory = bp_option_value(arguments, "debug-directory");
	look_at_terminal(&request.options);
	bool good =
		bp_profile_init(&profile, &error) && show(arguments, &request, &profile, &error);
	bp_profile_finish(&profile);
	return good ? 0 : bp_command_fail(1, &error);
}

static const struct bp_option options[] = {
	{ .summary = "What is counted" },
	{ .name = "metric",
		.letter = 'm',
		.argument = "METRIC",
		.choices = "live|peak|allocated|temporary",
		.summary =
			"live at exit (default), peak, all that was allocated, or freed at once" },
	{ .name = "at", .argument = "TIME", .summary = "live at this moment instead of at exit" },
	{ .name = "from", .argument = "TIME", .summary = "only what was allocated from then on" },
	{ .name = "to", .argument = "TIME", .summary = "only what was allocated before" },
	{ .name = "bytes",
		.argument = "KIND",
		.choices = "requested|usable",
		.summary = "as requested (default), or as given by the allocator" },
	{ .name = "pid", .argument = "PID", .summary = "one process of the tree" },
	{ .name = "filter",
		.letter = 'f',
		.argument = "KEY=GLOB",
		.repeatable = true,
		.summary = "only what matches: function=parse_*, size=64..4K ..." },
	{ .summary = "How it is shown" },
	{ .name = "by",
		.letter = 'b',
		.argument = "KEY",
		.choices = "function|stack|line|file|module|thread|size|type|process",
		.summary = "what a row stands for (default: function)" },
	{ .name = "cumulative",
		.letter = 'c',
		.summary = "count under every function on the stack, not only the innermost" },
	{ .name = "sort",
		.argument = "KEY",
		.choices = "bytes|objects|samples|name",
		.summary = "order of the rows (default: bytes)" },
	{ .name = "rows", .letter = 'n', .argument = "N", .summary = "how many rows (20)" },
	{ .name = "tree", .summary = "the call tree from the outermost function on" },
	{ .name = "json", .summary = "everything as JSON (schema bytepoll-report-1)" },
	{ .name = "csv", .summary = "rows as comma-separated values" },
	{ .name = "si", .summary = "kB, MB, GB instead of KiB, MiB, GiB" },
	{ .summary = "How it is estimated" },
	{ .name = "confidence",
		.argument = "LEVEL",
		.summary = "of the intervals (default: 0.95)" },
	{ .name = "estimator",
		.argument = "NAME",
		.choices = "default|ht|calibrated",
		.summary = "Horvitz-Thompson, or as part of an exactly known total" },
	{ .name = "min-size",
		.argument = "SIZE",
		.summary = "smallest object assumed to exist (default: the smallest sampled)" },
	{ .name = "debug-directory",
		.argument = "DIR",
		.file = true,
		.summary = "where separate debug files are (default: /usr/lib/debug)" },
	{ 0 },
};

const struct bp_command bp_command_report = {
	.name = "report",
	.summary = "show where memory goes",
	.usage = "[options] FILE...",
	.details =
		"Shows what a recorded program held and allocated, with the confidence interval "
		"of\n"
		"every figure. The files of the processes it started are found beside FILE and\n"
		"summed. Several unrelated files are summed too; they have no common peak.\n"
		"\n"
		"A TIME is in seconds since the first process started, or has a unit: 500ms, 2m.\n"
		"A filter KEY is one of --by; stack=GLOB matches any function on the stack.",
	.options = options,
	.examples = "bytepoll report app.bpt\n"
		    "    what was live at exit, by function\n"
		    "bytepoll report --metric peak --by line app.bpt\n"
		    "    the source lines behind the peak\n"
		    "bytepoll report --metric allocated --tree app.bpt\n"
		    "    who calls whom to allocate\n",
	.exit_statuses = "0  done\n1  failed: a file cannot be read, say\n2  wrong usage\n",
	.usage_status = 2,
	.run = report,
};
