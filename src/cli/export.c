/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll export FILE... --to FORMAT -o OUT`: options into a query, files into a profile, the profile
 * into one aggregation for each metric that the format needs, and those into a file. The file appears
 * under its name when it is complete: it is written beside it and renamed, so that a failure leaves
 * nothing, and what was there stays until something better is.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/input.h"
#include "cli/query_options.h"
#include "report/export.h"

struct request {
	struct bp_query_options query_options;
	const struct bp_export *format;
	struct bp_export_options options;
	const char *path; /* "-": standard output */
	bool force;
};

/* ---- options ---- */

static bool read_labels(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	struct bp_entry_options *labels = &request->options.labels;
	for (int i = 0; i < arguments->given_count; i++) {
		const struct bp_given *given = &arguments->given[i];
		if (strcmp(given->option->name, "label") != 0)
			continue;
		labels->by_thread = labels->by_thread || strcmp(given->value, "thread") == 0;
		labels->by_size = labels->by_size || strcmp(given->value, "bytes") == 0;
	}
	request->options.variances = bp_option_given(arguments, "variances");
	request->options.objects =
		strcmp(bp_option_value_or(arguments, "count", "bytes"), "objects") == 0;
	if ((labels->by_thread || labels->by_size || request->options.variances) &&
		request->format != &bp_export_pprof)
		return bp_error_set(error, "--label and --variances are for --to pprof");
	if (bp_option_given(arguments, "count") && request->format != &bp_export_collapsed)
		return bp_error_set(
			error, "--count is for --to collapsed: %s has both", request->format->name);
	return true;
}

/* What is shown by rows may have any key; everything else is by stack. */
static bool read_keys(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	struct bp_query *query = &request->query_options.query;
	const struct bp_export *format = request->format;
	if (!format->by_rows && (bp_option_given(arguments, "by") || query->cumulative))
		return bp_error_set(error, "--to %s is by stack: leave --by and --cumulative out",
			format->name);
	if (format->live_only && bp_option_given(arguments, "metric") &&
		query->metric != BP_METRIC_LIVE)
		return bp_error_set(
			error, "--to %s is about what is live: leave --metric out", format->name);
	if (format->live_only && (bp_option_given(arguments, "by") || query->cumulative))
		return bp_error_set(error,
			"--to %s is by function: leave --by and --cumulative out", format->name);
	if (format->refused & BP_METRIC_BIT(query->metric))
		return bp_error_set(error,
			"--to %s has no place for --metric %s: choose collapsed, speedscope, "
			"json or csv",
			format->name, bp_metric_names[query->metric]);
	if (!format->by_rows)
		query->by = BP_KEY_STACK;
	return true;
}

static bool read_request(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	const char *to = bp_option_value(arguments, "to");
	if (arguments->operand_count == 0)
		return bp_error_set(
			error, "no file given: bytepoll export FILE --to FORMAT -o OUT");
	if (to == NULL)
		return bp_error_set(error, "which format? --to pprof, for example");
	request->format = bp_export_find(to);
	request->path = bp_option_value(arguments, "output");
	request->force = bp_option_given(arguments, "force");
	if (request->path == NULL || *request->path == '\0')
		return bp_error_set(error, "where to? -o FILE, or -o - for standard output");
	return bp_query_options_read(arguments, &request->query_options, error) &&
	       read_labels(arguments, request, error) && read_keys(arguments, request, error);
}

/* ---- the file ---- */

struct output {
	FILE *file;
	char beside[PATH_MAX]; /* where it is written; "": standard output */
};

static bool open_output(
	const struct request *request, struct output *output, struct bp_error *error)
{
	struct stat status;
	output->beside[0] = '\0';
	output->file = stdout;
	if (strcmp(request->path, "-") == 0)
		return true;
	if (lstat(request->path, &status) == 0) {
		if (!S_ISREG(status.st_mode))
			return bp_error_set(
				error, "%s is no regular file: choose another -o", request->path);
		if (!request->force)
			return bp_error_set(error,
				"%s exists: choose another -o, or replace it by --force",
				request->path);
	}
	int length = snprintf(output->beside, sizeof output->beside, "%s.XXXXXX", request->path);
	if (length < 0 || (size_t)length >= sizeof output->beside)
		return bp_error_set(error, "%.64s...: path too long", request->path);
	int descriptor = mkostemp(output->beside, O_CLOEXEC); /* mode 0600 */
	output->file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
	if (output->file == NULL)
		return bp_error_set(error, "%s cannot be created: %s: choose another -o",
			request->path, strerror(errno));
	return true;
}

/* Without --force the name must still be free: a link fails where a rename would replace. */
static bool name_output(
	const struct request *request, const struct output *output, struct bp_error *error)
{
	if (request->force) {
		if (rename(output->beside, request->path) == 0)
			return true;
	} else if (link(output->beside, request->path) == 0) {
		unlink(output->beside);
		return true;
	} else if (errno != EEXIST && rename(output->beside, request->path) == 0) {
		return true; /* a file system without links */
	}
	return bp_error_set(error, "%s cannot be created: %s", request->path, strerror(errno));
}

/* Ends what open_output began; `good`: all was written. */
static bool close_output(
	const struct request *request, struct output *output, bool good, struct bp_error *error)
{
	if (output->file == NULL || output->beside[0] == '\0')
		return good; /* (main.c looks after standard output) */
	errno = 0;
	bool written = fflush(output->file) == 0 && !ferror(output->file);
	written = fclose(output->file) == 0 && written;
	if (good && !written)
		good = bp_error_set(error, "%s cannot be written: %s", request->path,
			errno != 0 ? strerror(errno) : "input/output error");
	good = good && name_output(request, output, error);
	if (!good)
		unlink(output->beside);
	return good;
}

/* ---- aggregations ---- */

struct set {
	struct bp_aggregation asked, metrics[BP_METRIC_COUNT];
	bool has_asked, has[BP_METRIC_COUNT];
};

static void finish_set(struct set *set)
{
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++)
		if (set->has[metric])
			bp_aggregation_finish(&set->metrics[metric]);
	if (set->has_asked)
		bp_aggregation_finish(&set->asked);
}

/* The metrics that the format needs beside, as far as the file tells them. */
static bool aggregate_metrics(const struct request *request, const struct bp_profile *profile,
	struct set *set, struct bp_error *error)
{
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		struct bp_query query = set->asked.query;
		if (!(request->format->metrics & BP_METRIC_BIT(metric)) ||
			set->asked.absent & BP_METRIC_BIT(metric) ||
			(set->asked.frees_unseen && metric != BP_METRIC_ALLOCATED) ||
			(metric == BP_METRIC_PEAK && profile->merged_unrelated) ||
			metric == (int)set->asked.query.metric)
			continue;
		query.metric = (enum bp_metric)metric;
		query.has_at = query.has_at && metric == BP_METRIC_LIVE;
		set->has[metric] = bp_aggregate(profile, &query, &set->metrics[metric], error);
		if (!set->has[metric])
			return false;
	}
	return true;
}

static bool aggregate(const struct bp_arguments *arguments, struct request *request,
	const struct bp_profile *profile, struct set *set, struct bp_error *error)
{
	struct bp_query *query = &request->query_options.query;
	if (!bp_option_given(arguments, "metric") && bp_profile_lacks_frees(profile)) {
		if (request->format->live_only)
			return bp_error_set(error,
				"--to %s: this file does not tell what was freed, so that nobody "
				"knows what is live",
				request->format->name);
		query->metric = BP_METRIC_ALLOCATED;
	}
	set->has_asked = bp_aggregate(profile, query, &set->asked, error);
	return set->has_asked && aggregate_metrics(request, profile, set, error);
}

static bool write_profile(const struct bp_arguments *arguments, struct request *request,
	const struct bp_profile *profile, const struct bp_symbol_summary *symbols,
	struct bp_error *error)
{
	struct set set = { 0 };
	struct output output;
	bool good = aggregate(arguments, request, profile, &set, error);
	if (good) {
		struct bp_export_source source = {
			.profile = profile, .asked = &set.asked, .options = request->options
		};
		for (int metric = 0; metric < BP_METRIC_COUNT; metric++)
			if (set.has[metric])
				source.metrics[metric] = &set.metrics[metric];
		source.metrics[set.asked.query.metric] = &set.asked;
		bp_input_warn(&set.asked, symbols);
		good = open_output(request, &output, error);
		if (good) {
			good = request->format->write(&source, output.file, error);
			good = close_output(request, &output, good, error);
		}
		const enum bp_metric metric = set.asked.query.metric;
		if (good && set.asked.totals[metric].samples == 0 &&
			!bp_option_given(arguments, "metric"))
			fprintf(stderr,
				"bytepoll: no samples of metric %s: try --metric peak or "
				"allocated\n",
				bp_metric_names[metric]);
	}
	finish_set(&set);
	return good;
}

static int export(const struct bp_arguments *arguments)
{
	struct request request = { 0 };
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	struct bp_error error = { 0 };
	struct output probe;
	if (!read_request(arguments, &request, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	/* Before minutes of reading: can it be written at all? */
	if (!open_output(&request, &probe, &error))
		return bp_command_fail(1, &error);
	close_output(&request, &probe, false, &error);
	const struct bp_query *query = &request.query_options.query;
	struct bp_input_options input = { .debug_directory =
						  bp_option_value(arguments, "debug-directory"),
		.assume_interval = request.query_options.assume_interval,
		.keep_readings = query->has_from || query->has_to };
	if (!bp_input_read(arguments->operands, arguments->operand_count, input, &profile, &symbols,
		    &error))
		return bp_command_fail(1, &error);
	bool good = write_profile(arguments, &request, &profile, &symbols, &error);
	bp_profile_finish(&profile);
	return good ? 0 : bp_command_fail(1, &error);
}

static const struct bp_option options[] = {
	{ .summary = "What is written" },
	{ .name = "to",
		.argument = "FORMAT",
		.choices = "pprof|collapsed|speedscope|dhat|firefox|json|csv|suppressions",
		.summary = "the format" },
	{ .name = "output",
		.letter = 'o',
		.argument = "OUT",
		.file = true,
		.summary = "the file to write; - for standard output" },
	{ .name = "force", .summary = "replace OUT if it exists" },
	{ .name = "label",
		.argument = "LABEL",
		.choices = "thread|bytes",
		.repeatable = true,
		.summary = "pprof: keep threads, or sizes of objects, apart" },
	{ .name = "variances", .summary = "pprof: sample types with the variance of every value" },
	{ .name = "count",
		.argument = "WHAT",
		.choices = "bytes|objects",
		.summary = "collapsed: what the numbers are (default: bytes)" },
	{ .name = "by",
		.letter = 'b',
		.argument = "KEY",
		.choices = "function|stack|line|file|module|thread|size|type|kind|process",
		.summary = "json, csv: what a row stands for (default: function)" },
	BP_OPTION_CUMULATIVE,
	{ .summary = "What is counted" },
	BP_OPTION_METRIC,
	{ .name = "at", .argument = "TIME", .summary = "live at this moment instead of at exit" },
	BP_OPTION_FROM,
	{ .name = "until", .argument = "TIME", .summary = "only what was allocated before" },
	BP_OPTION_BYTES,
	BP_OPTION_PID,
	BP_OPTION_FILTER,
	{ .summary = "How it is estimated" },
	BP_OPTION_CONFIDENCE,
	BP_OPTION_ESTIMATOR,
	BP_OPTION_MIN_SIZE,
	BP_OPTION_ASSUME_INTERVAL,
	BP_OPTION_DEBUG_DIRECTORY,
	{ 0 },
};

const struct bp_command bp_command_export = {
	.name = "export",
	.summary = "write a profile for other tools",
	.usage = "[options] FILE... --to FORMAT -o OUT",
	.details =
		"Writes what `bytepoll report` shows in the format of another tool:\n"
		"\n"
		"  pprof         go tool pprof, Pyroscope, Parca, Grafana (profile.proto, gzip)\n"
		"  collapsed     flamegraph.pl, inferno: a line for each stack\n"
		"  speedscope    https://speedscope.app\n"
		"  dhat          dh_view.html of valgrind, and the Firefox Profiler\n"
		"  firefox       https://profiler.firefox.com: allocations over time\n"
		"  json, csv     as bytepoll report --json and --csv\n"
		"  suppressions  for LeakSanitizer, and for bytepoll report --suppressions\n"
		"\n"
		"Values are estimates of all objects, weighted already. Most formats have no\n"
		"place for intervals: totals have them in a comment or a title, json and csv\n"
		"everywhere.",
	.options = options,
	.examples = "bytepoll export app.bpt --to pprof -o app.pb.gz\n"
		    "    then: go tool pprof -http : app.pb.gz\n"
		    "bytepoll export app.bpt --to collapsed -o - | flamegraph.pl > app.svg\n"
		    "    a flame graph of what was live at exit\n"
		    "bytepoll export app.bpt --metric peak --to speedscope -o peak.json\n"
		    "    what was live at the peak\n",
	.exit_statuses = "0  done\n1  failed: a file cannot be read, say\n2  wrong usage\n",
	.usage_status = 2,
	.run = export,
};
