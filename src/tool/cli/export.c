/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll export FILE... --to FORMAT -o OUT`: options into a query, files into a profile, the
 * profile into one aggregation for each metric that the format needs, and those into a file.
 */
#include <string.h>

#include "cli/command.h"
#include "cli/files/written_file.h"
#include "cli/files/written_folder.h"
#include "cli/input.h"
#include "cli/options/allocator_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/query_options.h"
#include "cli/options/tag_options.h"
#include "cli/say.h"
#include "export/export.h"
#include "export/export_set.h"
#include "library/read.h"

struct request {
	struct bp_query_options query_options;
	const struct bp_export *format;
	struct bp_export_options options;
	struct bp_written_file file;
	struct bp_written_folder folder; /* of a format that is a folder, instead */
	struct bp_tag_options tags;	 /* of formats that say whose recording it is */
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
		!request->format->labelled)
		return bp_error_set(error, "--label and --variances are for --to pprof and otlp");
	if (bp_option_given(arguments, "count") && request->format != &bp_export_collapsed)
		return bp_error_set(
			error, "--count is for --to collapsed: %s has both", request->format->name);
	return true;
}

/* A format that holds the whole profile has no place for a question. */
static bool check_whole(const struct bp_arguments *arguments, const struct bp_export *format,
	struct bp_error *error)
{
	static const char *const of_questions[] = { "by", "cumulative", "allocators", "metric",
		"at", "from", "until", "bytes", "pid", "filter", "confidence", "estimator",
		"min-size" };
	for (size_t i = 0; i < BP_COUNT(of_questions); i++)
		if (bp_option_given(arguments, of_questions[i]))
			return bp_error_set(error,
				"--to %s holds the whole profile, for any question: leave --%s out",
				format->name, of_questions[i]);
	return true;
}

/* What is shown by rows may have any key; everything else is by stack. */
static bool read_keys(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	static const char *const of_intervals[] = { "confidence", "min-size" };
	struct bp_query *query = &request->query_options.query;
	const struct bp_export *format = request->format;
	if (format->write_folder != NULL)
		return check_whole(arguments, format, error);
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
	if (request->query_options.mapped && !format->mapped)
		return bp_error_set(error,
			"--to %s is about malloc: of --metric %s choose collapsed, speedscope, "
			"json or csv",
			format->name, bp_option_value(arguments, "metric"));
	if (format->refused & BP_METRIC_BIT(query->metric))
		return bp_error_set(error,
			"--to %s has no place for --metric %s: choose collapsed, speedscope, "
			"json or csv",
			format->name, bp_metric_names[query->metric]);
	if (format->keeps_allocators && bp_option_given(arguments, "allocators"))
		return bp_error_set(error,
			"--to %s has whole stacks, allocation functions included: leave "
			"--allocators out",
			format->name);
	if (format->by_metrics && bp_option_given(arguments, "metric"))
		return bp_error_set(error,
			"--to %s has what is live, the peak and what was allocated side by side: "
			"leave --metric out",
			format->name);
	for (size_t i = 0; format->without_intervals && i < BP_COUNT(of_intervals); i++)
		if (bp_option_given(arguments, of_intervals[i]))
			return bp_error_set(error,
				"--to %s has no place for intervals: leave --%s out", format->name,
				of_intervals[i]);
	if (!format->by_rows)
		query->by = BP_KEY_STACK;
	return true;
}

static bool read_request(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	const char *to = bp_option_value(arguments, "to");
	if (arguments->operand_count == 0)
		return bp_input_missing("bytepoll export FILE --to FORMAT -o OUT", error);
	if (to == NULL)
		return bp_error_set(error, "which format? --to pprof, for example");
	request->format = bp_export_find(to);
	request->file = (struct bp_written_file){ .path = bp_option_value(arguments, "output"),
		.option = "-o",
		.force = bp_option_given(arguments, "force"),
		.mode = 0600,
		.inputs = (const char *const *)arguments->operands,
		.input_count = (size_t)arguments->operand_count };
	if (request->file.path == NULL || *request->file.path == '\0')
		return bp_error_set(error, "where to? -o FILE, or -o - for standard output");
	request->folder = (struct bp_written_folder){ .path = request->file.path,
		.option = "-o",
		.suffix = ".parquet",
		.force = request->file.force };
	if (request->format->write_folder != NULL && strcmp(request->file.path, "-") == 0)
		return bp_error_set(error, "--to %s is a folder of files: -o FOLDER", to);
	if (!request->format->tagged && bp_tag_options_given(arguments))
		return bp_error_set(error,
			"--service, --release, --host and --tag are for --to otlp and parquet");
	return bp_query_options_read(arguments, &request->query_options, error) &&
	       bp_mapped_options_check(arguments, &request->query_options, error) &&
	       bp_tag_options_read(arguments, &request->tags, error) &&
	       read_labels(arguments, request, error) && read_keys(arguments, request, error);
}

/* ---- writing ---- */

/* What the file does not say: which metric was chosen, or that it has nothing of it. */
static void say_metric(const struct bp_aggregation *asked)
{
	const enum bp_metric metric = asked->query.metric;
	if (asked->totals[metric].samples == 0 && metric != BP_METRIC_ALLOCATED)
		bp_say(stderr, "bytepoll: no samples of metric %s: try --metric peak or allocated",
			bp_metric_names[metric]);
	else if (asked->totals[metric].samples == 0)
		bp_say(stderr, "bytepoll: no samples: nothing was allocated, or no filter matches");
	else if (metric == BP_METRIC_PEAK)
		fputs("bytepoll: little is live at exit: what was live at the peak was "
		      "written (--metric live for the rest)\n",
			stderr);
}

static bool write_profile(const struct bp_arguments *arguments, struct request *request,
	const struct bp_profile *profile, const struct bp_symbol_summary *symbols,
	struct bp_error *error)
{
	struct bp_written_file *file = &request->file;
	struct bp_export_set set;
	bool good = bp_export_set_make(request->format, profile, &request->query_options.query,
		bp_option_given(arguments, "metric"), &set, error);
	if (good) {
		struct bp_export_source source = bp_export_set_source(&set);
		source.options = request->options;
		source.tags = &request->tags.tags;
		(void)bp_read_warn(&set.asked, symbols);
		good = bp_written_file_begin(file, error) &&
		       bp_written_file_end(
			       file, request->format->write(&source, file->out, error), error);
		if (good && !bp_option_given(arguments, "metric"))
			say_metric(&set.asked);
	}
	bp_export_set_finish(&set);
	return good;
}

static bool write_folder(
	struct request *request, const struct bp_profile *profile, struct bp_error *error)
{
	struct bp_written_folder *folder = &request->folder;
	return bp_written_folder_begin(folder, error) &&
	       bp_written_folder_end(folder,
		       request->format->write_folder(
			       profile, &request->tags.tags, folder->descriptor, error),
		       error);
}

/* May it be written where -o says? */
static bool check_output(const struct request *request, struct bp_error *error)
{
	return request->format->write_folder != NULL
		       ? bp_written_folder_check(&request->folder, error)
		       : bp_written_file_check(&request->file, error);
}

static int export(const struct bp_arguments *arguments)
{
	struct request request = { 0 };
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	struct bp_error error = { 0 };
	if (!read_request(arguments, &request, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	const bool whole = request.format->write_folder != NULL;
	struct bp_input_options input = bp_input_options_of(arguments, &request.query_options);
	input.keep_readings = input.keep_readings || whole;
	/* Before minutes of reading: can it be written at all? */
	bool good = check_output(&request, &error) &&
		    bp_input_read(arguments->operands, arguments->operand_count, input, &profile,
			    &symbols, &error);
	if (good) {
		good = bp_input_knows_mappings(&profile, arguments->operands[0], &error) &&
		       (whole ? write_folder(&request, &profile, &error)
			      : write_profile(arguments, &request, &profile, &symbols, &error));
		bp_profile_finish(&profile);
	}
	bp_tag_options_finish(&request.tags);
	return good ? 0 : bp_command_fail(1, &error);
}

/* "|pprof|collapsed|...": what follows the first bar is what --to takes. */
#define CHOICE(name) "|" #name

static const struct bp_option options[] = {
	{ .summary = "What is written" },
	{ .name = "to",
		.argument = "FORMAT",
		.choices = &BP_EXPORTS(CHOICE)[1],
		.summary = "the format" },
	{ .name = "output",
		.letter = 'o',
		.argument = "OUT",
		.file = true,
		.summary = "the file to write; - for standard output; parquet: a folder" },
	{ .name = "force",
		.letter = 'f',
		.summary = "replace OUT if it exists, unless it is a recording" },
	{ .name = "label",
		.argument = "LABEL",
		.choices = "thread|bytes",
		.repeatable = true,
		.summary = "pprof, otlp: keep threads, or sizes of objects, apart" },
	{ .name = "variances",
		.summary = "pprof, otlp: sample types with the variance of every value" },
	{ .name = "count",
		.argument = "WHAT",
		.choices = "bytes|objects",
		.summary = "collapsed: what the numbers are (default: bytes)" },
	{ .name = "by",
		.letter = 'b',
		.argument = "KEY",
		.choices = "function|stack|line|file|module|thread|size|type|kind|process|label|"
			   "label:KEY",
		.summary = "json, csv: what a row stands for (default: function)" },
	BP_OPTION_CUMULATIVE,
	BP_OPTION_ALLOCATORS,
	BP_OPTION_FRAMES,
	{ .summary = "What is counted" },
	BP_OPTION_METRIC_OR_MAPPED_ALONE,
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
	{ .summary = "Whose recording it is, for otlp and parquet" },
	BP_OPTION_TAGS,
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
		"  otlp          OpenTelemetry's profiles (an export request, protobuf)\n"
		"  collapsed     flamegraph.pl, inferno: a line for each stack\n"
		"  speedscope    https://speedscope.app\n"
		"  dhat          dh_view.html of valgrind, and the Firefox Profiler\n"
		"  firefox       https://profiler.firefox.com: allocations over time\n"
		"  json, csv     as bytepoll report --json and --csv\n"
		"  suppressions  for LeakSanitizer, and for bytepoll report --suppressions\n"
		"  parquet       a folder of tables: bytepoll fleet, DuckDB, pyarrow\n"
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
		    "    what was live at the peak\n"
		    "bytepoll export app.bpt --to parquet --service shop --release 1.4 -o fleet/1\n"
		    "    everything, as tables, then: bytepoll fleet top fleet\n",
	.exit_statuses = "0  done\n1  failed: a file cannot be read, say\n2  wrong usage\n",
	.usage_status = 2,
	.run = export,
};
