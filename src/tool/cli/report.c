/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll report FILE...`: options into a query, files into a profile, the profile into an
 * aggregation, the aggregation into one of the reports. Everything that is decided here is how the
 * command line is read and what the terminal can show.
 */
#include <string.h>

#include "aggregation/views/pairs.h"
#include "cli/command.h"
#include "cli/files/keepers_read.h"
#include "cli/growth.h"
#include "cli/input.h"
#include "cli/looks.h"
#include "cli/mapped_beside.h"
#include "cli/options/allocator_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/query_options.h"
#include "cli/process/own_heaps.h"
#include "cli/suppressed.h"
#include "cli/terminal/pager.h"
#include "cli/say.h"
#include "cli/terminal/terminal.h"
#include "library/read.h"
#include "policy/defaults.h"
#include "policy/shown.h"
#include "report/parts/header.h"
#include "resident/resident_file.h"

struct request {
	struct bp_query_options query_options;
	const struct bp_report *report;
	struct bp_report_options options;
	bool takes_apart; /* --resident: resident memory, line by line */
	bool keepers;	  /* --pages: whose objects keep pages of the heap */
};

#define MOMENTS_SHOWN 24 /* for eyes */
#define MOMENTS_WRITTEN 200
#define MOMENTS_MAX 100000

/* The timeline is a report of its own, or with --json and --csv a part of theirs. */
static bool read_timeline(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	const struct bp_query *query = &request->query_options.query;
	bool data = bp_option_given(arguments, "json") || bp_option_given(arguments, "csv");
	uint64_t moments = data ? MOMENTS_WRITTEN : MOMENTS_SHOWN;
	if (!bp_option_given(arguments, "timeline"))
		return true;
	if (query->metric != BP_METRIC_LIVE || query->has_at)
		return bp_error_set(error,
			"--timeline shows what was live, moment by moment: leave --metric and "
			"--at out");
	static const char *const of_rows[] = { "by", "cumulative", "rows", "sort", "allocators" };
	for (size_t i = 0; !data && i < BP_COUNT(of_rows); i++)
		if (bp_option_given(arguments, of_rows[i]))
			return bp_error_set(error,
				"--timeline shows the whole, moment by moment: leave --%s out",
				of_rows[i]);
	if (!bp_option_number(arguments, "moments", MOMENTS_MAX, &moments, error))
		return false;
	if (moments < 2)
		return bp_error_set(error, "--moments: at least 2");
	request->options.moments = (uint32_t)moments;
	if (!data)
		request->report = &bp_report_timeline;
	return true;
}

/* Distributions are of what was allocated, and the summary chooses its rows itself. */
static bool read_whole(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	static const char *const chosen[] = { "by", "cumulative", "sort", "timeline", "growth" };
	struct bp_query *query = &request->query_options.query;
	const bool stats = bp_option_given(arguments, "stats");
	const char *name = stats ? "stats" : "summary";
	if (!stats && !bp_option_given(arguments, "summary"))
		return true;
	for (size_t i = 0; i < BP_COUNT(chosen); i++)
		if (bp_option_given(arguments, chosen[i]))
			return bp_error_set(error, "--%s and --%s: choose one", name, chosen[i]);
	if (stats && bp_option_given(arguments, "allocators"))
		return bp_error_set(error,
			"--stats is about sizes, lifetimes and time: leave --allocators out");
	if (!stats && bp_option_given(arguments, "rows"))
		return bp_error_set(error, "--summary is one screen: leave --rows out");
	if (!stats) {
		query->by = BP_KEY_FUNCTION;
		return !bp_option_given(arguments, "json") ||
		       bp_error_set(error, "--summary is for reading: take --json alone");
	}
	if (bp_option_given(arguments, "metric"))
		return bp_error_set(error,
			"--stats is about all that was allocated, and what of it is live: leave "
			"--metric out");
	request->options.stats = true;
	query->metric = BP_METRIC_ALLOCATED;
	query->by = BP_KEY_SIZE;
	return true;
}

/* Lifetimes are of what was allocated, by any key. */
static bool read_lifetimes(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	static const char *const others[] = { "timeline", "growth", "stats", "summary", "tree",
		"csv", "estimator", "interval-method" };
	static const char *const parts[] = { "pairs", "complete", "age-bytes" };
	request->options.complete = bp_option_given(arguments, "complete");
	request->options.lifetimes = bp_option_given(arguments, "lifetimes");
	request->options.pairs = bp_option_given(arguments, "pairs");
	request->options.age_bytes = bp_option_given(arguments, "age-bytes");
	for (size_t i = 0; i < BP_COUNT(parts) && !request->options.lifetimes; i++)
		if (bp_option_given(arguments, parts[i]))
			return bp_error_set(error, "--%s is for --lifetimes", parts[i]);
	if (!request->options.lifetimes)
		return true;
	if (request->options.pairs && (!bp_pairs_are_by(request->query_options.query.by) ||
					      request->query_options.query.cumulative))
		return bp_error_set(error,
			"--pairs is about places in the program: with --by function, line, file, "
			"module or stack, without --cumulative");
	for (size_t i = 0; i < BP_COUNT(others); i++)
		if (bp_option_given(arguments, others[i]))
			return bp_error_set(error, "--lifetimes and --%s: choose one", others[i]);
	if (bp_option_given(arguments, "metric") || bp_option_given(arguments, "at"))
		return bp_error_set(error,
			"--lifetimes is about all that was allocated: leave --metric and --at out");
	request->query_options.query.metric = BP_METRIC_ALLOCATED;
	return true;
}

/* What is given beyond what is asked for is of both kinds of bytes, and of one estimator. */
static bool read_rounding(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	static const char *const others[] = { "timeline", "growth", "stats", "summary", "lifetimes",
		"tree", "csv", "estimator", "interval-method" };
	const struct bp_query_options *asked = &request->query_options;
	request->options.rounding = bp_option_given(arguments, "rounding");
	if (!request->options.rounding)
		return true;
	for (size_t i = 0; i < BP_COUNT(others); i++)
		if (bp_option_given(arguments, others[i]))
			return bp_error_set(error, "--rounding and --%s: choose one", others[i]);
	if (bp_option_given(arguments, "bytes"))
		return bp_error_set(
			error, "--rounding is about requested and usable bytes: leave --bytes out");
	if (bp_option_given(arguments, "sort"))
		return bp_error_set(
			error, "--rounding is sorted by what is lost: leave --sort out");
	return !asked->mapped && asked->query.metric != BP_METRIC_TEMPORARY
		       ? true
		       : bp_error_set(error,
				 "--rounding: with --metric live, peak or allocated, not %s",
				 bp_option_value(arguments, "metric"));
}

/* Resident memory is taken apart as a whole, at one of the looks that were kept. */
static bool read_resident_options(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	static const char *const whole[] = { "at", "from", "until", "bytes", "pid", "filter",
		"suppressions", "cumulative", "sort", "rows", "timeline", "growth", "summary",
		"stats", "lifetimes", "rounding", "tree", "csv", "estimator", "interval-method" };
	const enum bp_metric metric = request->query_options.query.metric;
	request->takes_apart = bp_option_given(arguments, "resident");
	for (size_t i = 0; request->takes_apart && i < BP_COUNT(whole); i++)
		if (bp_option_given(arguments, whole[i]))
			return bp_error_set(error,
				"--resident is about all resident memory at one look, the last or, with "
				"--metric peak, that of the highest resident memory: leave --%s out",
				whole[i]);
	return !request->takes_apart || metric == BP_METRIC_LIVE || metric == BP_METRIC_PEAK ||
	       bp_error_set(error,
		       "--resident: with --metric peak of the highest look, else of the last one");
}

/* Pages are those of the last look, and of all objects that live then. */
static bool read_pages_options(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	static const char *const of_others[] = { "metric", "at", "from", "until", "bytes", "pid",
		"filter", "suppressions", "sort", "timeline", "growth", "summary", "stats",
		"lifetimes", "rounding", "resident", "tree", "csv", "estimator",
		"interval-method" };
	request->keepers = bp_option_given(arguments, "pages");
	if (request->keepers && request->query_options.query.metric == BP_METRIC_PEAK)
		return bp_error_set(error,
			"--pages is about the last look, since no pages are kept of the highest "
			"one: leave --metric peak out");
	for (size_t i = 0; request->keepers && i < BP_COUNT(of_others); i++)
		if (bp_option_given(arguments, of_others[i]))
			return bp_error_set(error,
				"--pages is about all that lives at the last look: leave --%s out",
				of_others[i]);
	return !request->keepers || arguments->operand_count == 1 ||
	       bp_error_set(error, "--pages is about one process: give one FILE");
}

/* The sum of two recordings of one program is one table. */
static bool read_all_options(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	static const char *const others[] = { "from", "until", "bytes", "suppressions",
		"allocators", "cumulative", "sort", "growth", "summary", "stats", "lifetimes",
		"rounding", "resident", "timeline", "tree", "csv", "estimator", "interval-method" };
	if (!request->query_options.all)
		return true;
	for (size_t i = 0; i < BP_COUNT(others); i++)
		if (bp_option_given(arguments, others[i]))
			return bp_error_set(error,
				"--metric " BP_SUM_METRIC
				" is one table, of what is mapped and live at one moment: leave --%s out",
				others[i]);
	if (bp_option_given(arguments, "rows") && bp_option_given(arguments, "json"))
		return bp_error_set(
			error, "--metric " BP_SUM_METRIC " --json has all rows: leave --rows out");
	if (arguments->operand_count != 1)
		return bp_error_set(
			error, "--metric " BP_SUM_METRIC " is about one program: give one FILE");
	request->report = &bp_report_all;
	return true;
}

/* Which report, and how many rows. */
static bool read_report(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	uint64_t rows;
	request->report = &bp_report_table;
	if (bp_option_given(arguments, "moments") && !bp_option_given(arguments, "timeline"))
		return bp_error_set(error, "--moments is for --timeline");
	if (!read_lifetimes(arguments, request, error) ||
		!read_rounding(arguments, request, error) ||
		!bp_mapped_options_check(arguments, &request->query_options, error) ||
		!read_all_options(arguments, request, error) ||
		!read_whole(arguments, request, error) ||
		!read_resident_options(arguments, request, error) ||
		!read_pages_options(arguments, request, error))
		return false;
	if (bp_option_given(arguments, "growth"))
		return bp_growth_check(arguments, &request->query_options.query, error);
	if (!read_timeline(arguments, request, error))
		return false;
	for (size_t i = 0; bp_reports[i] != NULL; i++) {
		if (!bp_option_given(arguments, bp_reports[i]->name))
			continue;
		if ((request->options.stats || request->options.lifetimes ||
			    request->options.rounding || request->takes_apart ||
			    request->keepers) &&
			bp_reports[i] == &bp_report_json)
			request->report = &bp_report_table; /* the same as JSON */
		if (request->report != &bp_report_table && request->report != &bp_report_all)
			return bp_error_set(error, "--%s and --%s: choose one",
				request->report->name, bp_reports[i]->name);
		request->report = bp_reports[i];
	}
	rows = request->report->rows;
	if (!bp_option_number(arguments, "rows", UINT32_MAX, &rows, error))
		return false;
	request->options.rows = (uint32_t)rows;
	if (!request->report->needs_stacks)
		return true;
	if (bp_option_given(arguments, "by") && request->query_options.query.by != BP_KEY_STACK)
		return bp_error_set(
			error, "--%s is by stack: leave --by out", request->report->name);
	if (request->query_options.query.cumulative)
		return bp_error_set(error, "--%s is cumulative by nature: leave --cumulative out",
			request->report->name);
	if (bp_option_given(arguments, "allocators"))
		return bp_error_set(error,
			"--%s shows whole stacks, allocation functions included: leave "
			"--allocators out",
			request->report->name);
	request->query_options.query.by = BP_KEY_STACK;
	if (request->query_options.query.sort > BP_SORT_OBJECTS)
		return bp_error_set(error,
			"--%s is sorted by bytes or objects: leave --sort %s out",
			request->report->name, bp_sort_names[request->query_options.query.sort]);
	return true;
}

static bool aggregate(const struct bp_arguments *arguments, const struct request *request,
	const struct bp_profile *profile, struct bp_aggregation *ret_aggregation,
	struct bp_error *error)
{
	struct bp_query query = request->query_options.query;
	const bool given = bp_option_given(arguments, "metric");
	const bool hides = bp_option_given(arguments, "suppressions");
	/* What programs read has the metric that was asked for. */
	const bool looks = request->takes_apart || request->keepers;
	const bool by_default = !given && !hides && !looks && request->report->for_eyes &&
				request->options.moments == 0 && !request->options.stats &&
				!request->options.lifetimes;
	if (!given)
		query.metric = bp_default_metric(profile, &query);
	/* Lines of a look are no rows of the peak, at whatever moment the look was. */
	if (looks && request->report->for_eyes && query.metric == BP_METRIC_PEAK)
		query.metric = BP_METRIC_LIVE;
	/* A runtime's file may not know what lives; its lines do not depend on the metric. */
	if (looks && (profile->lacks & BP_LACKS_FREES) != 0)
		query.metric = BP_METRIC_ALLOCATED;
	if (!bp_aggregate_shown(profile, &query, by_default, ret_aggregation, error))
		return false;
	return !hides || query.metric != BP_METRIC_LIVE ||
	       bp_suppressed_tell(ret_aggregation, error);
}

static bool show(const struct bp_arguments *arguments, const struct request *request,
	const struct bp_profile *profile, const struct bp_symbol_summary *symbols,
	struct bp_error *error)
{
	const struct bp_query *query = &request->query_options.query;
	struct bp_report_options options = request->options;
	struct bp_aggregation aggregation;
	struct bp_explained explained;
	struct bp_parts parts = { 0 };
	struct bp_residency residency = { 0 };
	struct bp_pages pages = { 0 };
	struct bp_keepers keepers = { 0 };
	if (!aggregate(arguments, request, profile, &aggregation, error))
		return false;
	(void)bp_read_warn_alone(&aggregation, symbols);
	if (options.mapped != NULL)
		(void)bp_read_warn_of_mappings(options.mapped->profile, &aggregation);
	if (!profile->mapped && bp_explain_process(&aggregation, options.resident, &explained))
		options.explained = &explained;
	bool good =
		!request->takes_apart ||
		(bp_looks_take_apart(arguments, query, profile, &parts, &options, error) &&
			bp_looks_at_pages(arguments, query, profile, &residency, &options, error));
	if (good && request->keepers) {
		good = bp_keepers_read(arguments->operands[0], profile,
			&request->query_options.query, &pages, &keepers, error);
		options.keepers = &keepers;
	}
	if (good)
		good = request->report->write(&aggregation, &options, stdout, error);
	bp_parts_finish(&parts);
	bp_residency_finish(&residency);
	bp_keepers_finish(&keepers);
	bp_pages_finish(&pages);
	bp_aggregation_finish(&aggregation);
	return good;
}

/* FILE.resident, if it is there; what is wrong with it is a warning. */
static void read_resident(const struct bp_arguments *arguments, const struct bp_profile *profile,
	struct bp_resident *ret_resident)
{
	struct bp_error error;
	*ret_resident = (struct bp_resident){ 0 };
	if (arguments->operand_count == 1 && !profile->mapped &&
		!bp_resident_read(arguments->operands[0], profile, ret_resident, &error))
		bp_say(stderr, "bytepoll: warning: %s", error.text);
}

/* Through a pager, where there is one. */
static bool write_report(const struct bp_arguments *arguments, struct request *request,
	const struct bp_profile *profile, const struct bp_symbol_summary *symbols,
	struct bp_error *error)
{
	struct bp_resident resident;
	struct bp_error pager_error;
	struct bp_mapped_beside mapped = { .is_read = false };
	if (!bp_input_knows_mappings(profile, arguments->operands[0], error) ||
		(request->options.pairs &&
			!bp_input_knows_frees(profile, arguments->operands[0], error)) ||
		(request->query_options.all &&
			!bp_mapped_beside_read(arguments,
				bp_input_options_of(arguments, &request->query_options),
				&request->query_options.query, &mapped, error))) {
		bp_mapped_beside_finish(&mapped);
		return false;
	}
	request->options.mapped = mapped.is_aggregated ? &mapped.aggregation : NULL;
	read_resident(arguments, profile, &resident);
	request->options.resident = resident.count > 0 ? &resident : NULL;
	request->options.names_as_recorded =
		bp_names_as_recorded(profile, request->query_options.query.by);
	request->options.file = arguments->operand_count == 1 ? arguments->operands[0] : NULL;
	bp_pager_begin_unless(arguments);
	bool good = bp_option_given(arguments, "growth")
			    ? bp_growth_write(arguments, profile, &request->query_options.query,
				      &request->options, symbols, error)
			    : show(arguments, request, profile, symbols, error);
	if (!bp_pager_end(&pager_error) && good) {
		*error = pager_error;
		good = false;
	}
	bp_resident_finish(&resident);
	bp_mapped_beside_finish(&mapped);
	return good;
}

static int report(const struct bp_arguments *arguments)
{
	struct request request = { 0 };
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	struct bp_suppressed suppressed = { 0 };
	struct bp_error error = { 0 };
	if (arguments->operand_count == 0) {
		bp_input_missing("bytepoll report FILE", &error);
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	}
	if (!bp_query_options_read(arguments, &request.query_options, &error) ||
		!read_report(arguments, &request, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	request.options.si = bp_option_given(arguments, "si");
	bp_terminal_look(&request.options);
	if (!bp_suppressed_read(arguments, &suppressed, &request.query_options, &error))
		return bp_command_fail(1, &error);
	struct bp_input_options input = bp_input_options_of(arguments, &request.query_options);
	input.keep_readings = input.keep_readings || request.options.age_bytes;
	bool good = bp_input_read(
		arguments->operands, arguments->operand_count, input, &profile, &symbols, &error);
	if (good) {
		good = write_report(arguments, &request, &profile, &symbols, &error);
		bp_profile_finish(&profile);
	}
	bp_suppressed_finish(&suppressed);
	return good ? 0 : bp_command_fail(1, &error);
}

/* A report chosen by the option of its name. */
#define OPTION(name_, summary_) { .name = #name_, .summary = summary_ },

static const struct bp_option options[] = {
	{ .summary = "What is counted" },
	BP_OPTION_METRIC_OR_MAPPED,
	{ .name = "at", .argument = "TIME", .summary = "live at this moment instead of at exit" },
	BP_OPTION_FROM,
	BP_OPTION_UNTIL,
	BP_OPTION_BYTES,
	BP_OPTION_PID,
	BP_OPTION_FILTER,
	BP_OPTION_SUPPRESSIONS,
	{ .summary = "How it is shown" },
	BP_OPTION_BY,
	BP_OPTION_CUMULATIVE,
	BP_OPTION_ALLOCATORS,
	BP_OPTION_FRAMES,
	{ .name = "sort",
		.argument = "KEY",
		.choices = BP_CHOICES(BP_SORTS),
		.summary = "order of the rows (default: bytes)" },
	{ .name = "rows", .letter = 'n', .argument = "N", .summary = "how many rows (20)" },
	BP_REPORTS_TO_READ(OPTION){ .name = "growth",
		.summary = "what grew from --from (half of the run) to --until (nine tenths)" },
	{ .name = "timeline", .summary = "live memory over time, with its confidence band" },
	{ .name = "moments",
		.argument = "N",
		.summary = "of the timeline (24; with --json and --csv 200)" },
	{ .name = "pairs", .summary = "of --lifetimes: by where objects were freed, too" },
	{ .name = "complete", .summary = "of --lifetimes: only objects that were freed (biased)" },
	{ .name = "age-bytes",
		.summary = "of --lifetimes: ages in bytes allocated meanwhile, not in time" },
	BP_REPORTS_AS_DATA(OPTION){ .name = "si",
		.summary = "kB, MB, GB instead of KiB, MiB, GiB",
		.without_effect_in = "json|csv" },
	BP_OPTION_NO_PAGER,
	{ .summary = "How it is estimated" },
	BP_OPTION_CONFIDENCE,
	BP_OPTION_ESTIMATOR,
	BP_OPTION_INTERVAL_METHOD,
	BP_OPTION_EDGES,
	BP_OPTION_MIN_SIZE,
	BP_OPTION_ASSUME_INTERVAL,
	BP_OPTION_DEBUG_DIRECTORY,
	{ 0 },
};

const struct bp_command bp_command_report = {
	.name = "report",
	.summary = "show where memory goes",
	.usage = "[options] FILE...",
	.details =
		"Shows what a recorded program held and allocated, with the confidence interval of\n"
		"every figure. The files of the processes it started are found beside FILE and\n"
		"summed. Several unrelated files are summed too; they have no common peak.\n"
		"\n"
		"Without --metric it is about what was live at exit, or where that is no more\n"
		"than a quarter of the peak, about the peak. Allocation functions (malloc, "
		"operator new, xmalloc ...) are left out:\n"
		"their callers are charged (--allocators).\n"
		"\n"
		"A TIME is in seconds since the first process started, or has a unit: 500ms, 2m.\n"
		"A filter KEY is one of --by; stack=GLOB matches any function on the stack, and\n"
		"freed-by=GLOB any on the stack that freed the object (run --free-stacks).\n"
		"\n"
		"Where `bytepoll run` left FILE.resident, resident memory stands beside the\n"
		"estimate. On a terminal, what is longer than the screen goes through $PAGER,\n"
		"or less.",
	.options = options,
	.examples = "bytepoll report --summary app.bpt\n"
		    "    what happened, and where to look\n"
		    "bytepoll report app.bpt\n"
		    "    what was live at exit, by function\n"
		    "bytepoll report --metric peak --by line app.bpt\n"
		    "    the source lines behind the peak\n"
		    "bytepoll report --metric allocated --tree app.bpt\n"
		    "    who calls whom to allocate\n"
		    "bytepoll report --filter freed-by=cache_evict app.bpt\n"
		    "    where was allocated what a function freed\n"
		    "bytepoll report --timeline --from 10 app.bpt\n"
		    "    the heap over time, from the tenth second on\n"
		    "bytepoll report --growth --from 60 app.bpt\n"
		    "    what leaks, in bytes a second, after a minute of warming up\n",
	.exit_statuses = "0  done\n1  failed: a file cannot be read, say\n2  wrong usage\n",
	.usage_status = 2,
	.run = report,
};
