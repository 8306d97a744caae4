/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll plan`: how many samples, and which interval T, for a wanted accuracy. Reads a question
 * from the options, or a profile, and lets plan/plan.h answer. The options decide which of four
 * answers it gives: questions in numbers; the next run from a profile (FILE); the tables and charts
 * (--table, --chart, --svg); and without any of these a short table and where to go on.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check/check_limit.h"
#include "cli/command.h"
#include "cli/files/written_file.h"
#include "cli/input.h"
#include "cli/options/allocator_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/query_options.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"
#include "plan/plan.h"
#include "policy/shown.h"
#include "report/parts/header.h"

/* The mean interval of the .NET document, for its table. */
#define INTERVAL_DOTNET 102400
#define ROWS_DEFAULT 10

struct request {
	struct bp_query_options query_options;
	struct bp_plan_question question;
	struct bp_report_options options;
	enum bp_plan_format format;
	unsigned charts;
	const char *svg; /* path of the SVG document, "-" for standard output; NULL: none */
	bool force;
};

static const char *const question_options[] = { "heap", "share", "counted", "size", "change",
	"limit", "false-alarm", "power" };
static const char *const profile_options[] = { "metric", "by", "cumulative", "filter", "pid",
	"rows", "debug-directory", "allocators", "frames", "hide", "assume-interval" };
static const char *const table_options[] = { "table", "chart", "svg" };

/* The first of these options that was given, or NULL. */
static const char *given(
	const struct bp_arguments *arguments, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (bp_option_given(arguments, names[i]))
			return names[i];
	return NULL;
}

/* A part: "10%" or 0.1. A bare number above 1 is more likely a forgotten % than a multiple. */
static bool read_part(const struct bp_arguments *arguments, const char *name, double least,
	double most, double *ret_part, struct bp_error *error)
{
	const char *text = bp_option_value(arguments, name);
	char *rest;
	if (text == NULL)
		return true;
	double number = strtod(text, &rest);
	bool percent = strcmp(rest, "%") == 0;
	double part = percent ? number / 100 : number;
	if (rest == text || (!percent && *rest != '\0') || !(percent || number <= 1))
		return bp_error_set(error, "--%s %s: write 10%% or 0.1", name, text);
	if (!(part >= least && part <= most))
		return bp_error_set(error, "--%s %s: must be from %g%% to %g%%", name, text,
			100 * least, 100 * most);
	*ret_part = part;
	return true;
}

/* "10%", "+10%", "-30%", or a factor: "x1.5", "1.5x". */
static bool read_change(
	const struct bp_arguments *arguments, double *ret_factor, struct bp_error *error)
{
	const char *text = bp_option_value(arguments, "change");
	char *rest;
	if (text == NULL)
		return true;
	bool before = *text == 'x';
	double number = strtod(text + before, &rest), factor = number;
	bool whole = *rest == '\0' && rest > text + before;
	if (!before && strcmp(rest, "%") == 0)
		factor = 1 + number / 100;
	else if (before ? !whole : strcmp(rest, "x") != 0)
		return bp_error_set(
			error, "--change %s: write 10%%, -30%% or a factor as x1.5", text);
	if (!(factor >= 0.00099 && factor <= 1e6 && fabs(factor - 1) >= 0.00099))
		return bp_error_set(error,
			"--change %s: must be from -99.9%% to x1000000, and at least 0.1%% "
			"either way",
			text);
	*ret_factor = factor;
	return true;
}

static bool read_size(const struct bp_arguments *arguments, const char *name, uint64_t most,
	uint64_t *ret_size, struct bp_error *error)
{
	const char *text = bp_option_value(arguments, name);
	struct bp_error reason;
	uint64_t size;
	if (text == NULL)
		return true;
	if (!bp_parse_size(text, &size, &reason))
		return bp_error_set(error, "--%s %.800s", name, reason.text);
	if (size < 1 || size > most)
		return bp_error_set(error, "--%s %s: must be from 1 to %lluT", name, text,
			(unsigned long long)(most >> 40));
	*ret_size = size;
	return true;
}

/* As `check` takes it: live=200M, allocated:parse_*=10M, or the size alone. */
static bool read_limit(const struct bp_arguments *arguments, struct bp_plan_question *question,
	struct bp_error *error)
{
	const char *text = bp_option_value(arguments, "limit");
	struct bp_error reason;
	if (text == NULL)
		return true;
	const char *equals = strrchr(text, '=');
	if (!bp_parse_size(equals != NULL ? equals + 1 : text, &question->limit, &reason))
		return bp_error_set(error, "--limit %.800s", reason.text);
	if (question->limit < 1)
		return bp_error_set(error, "--limit %s: nothing is below 0", text);
	struct bp_limit limit;
	if (equals != NULL && !bp_check_limit_parse(text, &limit, error))
		return false;
	if (equals != NULL)
		bp_check_limit_finish(&limit);
	question->limit_text = equals != NULL ? text : NULL;
	const char *objects = equals != NULL ? strstr(text, ".objects") : NULL;
	if (objects != NULL && (objects[8] == '=' || objects[8] == ':'))
		return bp_error_set(error, "--limit %s: only limits in bytes can be planned", text);
	return true;
}

/* The options of --fleet that mean something without it, and those that are of nothing else. */
static bool check_fleet(const struct bp_arguments *arguments, struct bp_error *error)
{
	static const char *const of_fleet[] = { "bytes-per-second", "host-variation" };
	static const char *const others[] = { "heap", "share", "counted", "size", "interval",
		"accuracy", "limit", "false-alarm", "table", "chart", "svg", "force", "csv", "by",
		"cumulative", "rows", "allocators", "metric" };
	const char *other = given(arguments, others, BP_COUNT(others));
	const char *own = given(arguments, of_fleet, BP_COUNT(of_fleet));
	if (!bp_option_given(arguments, "fleet"))
		return own == NULL ||
		       bp_error_set(error, "--%s is for --fleet: give that too", own);
	if (other != NULL)
		return bp_error_set(error, "--%s and --fleet: leave one of them out", other);
	const char *profile = given(arguments, profile_options, BP_COUNT(profile_options));
	if (profile != NULL && arguments->operand_count == 0)
		return bp_error_set(
			error, "--%s needs a profile: bytepoll plan --fleet FILE", profile);
	if (!bp_option_given(arguments, "host-variation"))
		return bp_error_set(error,
			"how much do hosts differ? --host-variation 10%%: \"host to host\" over "
			"\"bytes\" of `bytepoll fleet top --hosts sample`");
	if (bp_option_given(arguments, "bytes-per-second") == (arguments->operand_count > 0))
		return bp_error_set(error,
			"how much is allocated on a host? --bytes-per-second SIZE, or a profile");
	return true;
}

static bool read_question(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	struct bp_plan_question *question = &request->question;
	double confidence = request->query_options.query.confidence;
	question->confidence = confidence > 0 ? confidence : BP_CONFIDENCE_DEFAULT;
	question->power = 0.8;
	question->false_alarm = 0.01;
	question->counted = bp_option_given(arguments, "counted");
	if (question->confidence < 0.5 || question->confidence > 0.999999)
		return bp_error_set(error, "--confidence must be from 0.5 to 0.999999 here");
	if (!read_size(arguments, "heap", (uint64_t)1 << 52, &question->heap, error) ||
		!read_size(arguments, "size", (uint64_t)1 << 52, &question->size, error) ||
		!read_size(
			arguments, "interval", BP_PLAN_INTERVAL_MAX, &question->interval, error) ||
		!read_part(arguments, "share", 1e-6, 1, &question->share, error) ||
		!read_part(arguments, "accuracy", 0.0005, 10, &question->accuracy, error) ||
		!read_change(arguments, &question->change, error) ||
		!read_limit(arguments, question, error) ||
		!read_part(arguments, "power", 0.5, 0.9999, &question->power, error) ||
		!read_part(arguments, "false-alarm", 1e-9, 0.5, &question->false_alarm, error))
		return false;
	if (question->share == 1)
		question->share = 0;
	return true;
}

/* Options that go together. */
static bool check_question(const struct bp_arguments *arguments,
	const struct bp_plan_question *question, struct bp_error *error)
{
	if (bp_option_given(arguments, "share") && question->heap == 0 && !question->counted)
		return bp_error_set(error, "--share is a part of --heap: give that too");
	if (question->counted && question->share == 0)
		return bp_error_set(error,
			"--counted is about a part of a counted total: give its --share too");
	if (question->heap > 0 && question->size > question->heap)
		return bp_error_set(error, "--size is larger than --heap");
	if (bp_option_given(arguments, "confidence") && question->limit > 0)
		return bp_error_set(error,
			"--limit is judged at a rate of false alarms: --false-alarm in place of "
			"--confidence");
	if (bp_option_given(arguments, "false-alarm") && question->limit == 0)
		return bp_error_set(error, "--false-alarm is of a check: give its --limit too");
	if (question->interval == 1 && (question->limit > 0 || question->change > 0))
		return bp_error_set(error, "--interval 1 records every object: what is counted "
					   "decides on any limit and shows any change");
	if (question->limit > 0 && question->heap > 0)
		return bp_error_set(error, "--limit says how much it is about: leave --heap out");
	if (question->size > 0 && (question->limit > 0 || question->change > 0))
		return bp_error_set(error,
			"--%s is planned for small objects, the worst case: leave --size out",
			question->limit > 0 ? "limit" : "change");
	if (question->limit > 0 && question->change > 0 && question->change < 1.01)
		return bp_error_set(
			error, "--change with --limit is the margin around it: at least 1%%");
	return true;
}

/* Which of the four things it is, and that nothing was given that belongs to another one. */
static bool check_kind(
	const struct bp_arguments *arguments, const struct request *request, struct bp_error *error)
{
	static const char *const of_quantiles[] = { "interval", "confidence" };
	const char *table = given(arguments, table_options, BP_COUNT(table_options));
	const char *question = given(arguments, question_options, BP_COUNT(question_options));
	const char *profile = given(arguments, profile_options, BP_COUNT(profile_options));
	if (question == NULL && table != NULL && bp_option_given(arguments, "accuracy"))
		question = "accuracy";
	if (arguments->operand_count > 0) {
		const char *other = table != NULL ? table : question;
		if (other == NULL && bp_option_given(arguments, "interval"))
			other = "interval";
		if (other != NULL)
			return bp_error_set(
				error, "--%s and a profile: leave one of them out", other);
	} else if (profile != NULL) {
		return bp_error_set(error, "--%s needs a profile: bytepoll plan FILE", profile);
	}
	if (table != NULL && question != NULL)
		return bp_error_set(error, "--%s and --%s: choose one", table, question);
	if (table != NULL && bp_option_given(arguments, "si"))
		return bp_error_set(error, "--%s has no sizes: leave --si out", table);
	const bool quantiles = request->charts & 1U << BP_PLAN_CHART_QUANTILES;
	for (size_t i = 0; table != NULL && !quantiles && i < BP_COUNT(of_quantiles); i++)
		if (bp_option_given(arguments, of_quantiles[i]))
			return bp_error_set(
				error, "--%s is for the chart of quantiles", of_quantiles[i]);
	if (request->svg != NULL && bp_option_given(arguments, "table"))
		return bp_error_set(error, "--table and --svg: choose one");
	if (request->force && request->svg == NULL)
		return bp_error_set(error, "--force replaces the file of --svg: give that too");
	if (bp_option_given(arguments, "json") && bp_option_given(arguments, "csv"))
		return bp_error_set(error, "--json and --csv: choose one");
	if (request->svg != NULL && request->format != BP_PLAN_TEXT)
		return bp_error_set(error, "--svg and --%s: choose one",
			request->format == BP_PLAN_JSON ? "json" : "csv");
	if (request->format == BP_PLAN_CSV && arguments->operand_count == 0 &&
		(question != NULL || bp_option_given(arguments, "accuracy")))
		return bp_error_set(error, "--csv is for tables and profiles: take --json");
	return true;
}

static bool read_charts(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	const char *value = bp_option_value(arguments, "chart");
	uint64_t interval = request->question.interval;
	request->svg = bp_option_value(arguments, "svg");
	request->force = bp_option_given(arguments, "force");
	if (value != NULL)
		request->charts = 1U
				  << bp_word_index(bp_plan_chart_names, BP_PLAN_CHART_COUNT, value);
	else if (given(arguments, table_options, BP_COUNT(table_options)) != NULL ||
		 (request->format == BP_PLAN_CSV && arguments->operand_count == 0))
		request->charts = (1U << BP_PLAN_CHART_COUNT) - 1;
	if (request->charts != 0 && interval == 1)
		return bp_error_set(error, "--interval 1 records every object: no table for that");
	return true;
}

static int write_charts(const struct bp_arguments *arguments, const struct request *request)
{
	struct bp_error error;
	double confidence = request->question.confidence;
	uint64_t interval =
		request->question.interval > 0 ? request->question.interval : INTERVAL_DOTNET;
	if (request->svg == NULL) {
		bp_pager_begin_unless(arguments);
		bp_plan_write_tables(request->charts, interval, confidence, request->format,
			&request->options, stdout);
		return bp_pager_end(&error) ? 0 : bp_command_fail(1, &error);
	}
	if (!bp_plan_can_draw(&error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	struct bp_written_file file = {
		.path = request->svg, .option = "--svg", .force = request->force, .mode = 0666
	};
	if (!bp_written_file_begin(&file, &error))
		return bp_command_fail(1, &error);
	bp_plan_write_svg(request->charts, interval, confidence, file.out);
	return bp_written_file_end(&file, true, &error) ? 0 : bp_command_fail(1, &error);
}

/* T of the profile: where it changed, that of its samples on average. */
static uint64_t interval_of(const struct bp_aggregation *aggregation)
{
	const struct bp_assumptions assumed = bp_aggregation_assumptions(aggregation);
	return bp_mean_interval(
		bp_aggregation_total_sums(aggregation, BP_METRIC_ALLOCATED), &assumed);
}

static bool plan_profile(const struct bp_arguments *arguments, struct request *request,
	const struct bp_profile *profile, struct bp_error *error)
{
	struct bp_aggregation aggregation;
	if (!bp_aggregate_shown(profile, &request->query_options.query,
		    !bp_option_given(arguments, "metric"), &aggregation, error))
		return false;
	request->options.names_as_recorded =
		bp_names_as_recorded(profile, request->query_options.query.by);
	bp_pager_begin_unless(arguments);
	bool good = bp_plan_write_profile(&aggregation, interval_of(&aggregation),
		&request->question, request->format, &request->options, stdout, error);
	good = bp_pager_end(good ? error : NULL) && good;
	bp_aggregation_finish(&aggregation);
	return good;
}

static int write_profile(const struct bp_arguments *arguments, struct request *request)
{
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	struct bp_error error = { 0 };
	if (!bp_input_read(arguments->operands, arguments->operand_count,
		    bp_input_options_of(arguments, &request->query_options), &profile, &symbols,
		    &error))
		return bp_command_fail(1, &error);
	bool good = plan_profile(arguments, request, &profile, &error);
	bp_profile_finish(&profile);
	return good ? 0 : bp_command_fail(1, &error);
}

/* What a profile allocates in a second, of what passes its filters. */
static bool read_rate(const struct bp_arguments *arguments, struct request *request,
	double *ret_bytes_per_s, struct bp_error *error)
{
	struct bp_query query = request->query_options.query;
	struct bp_aggregation aggregation;
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	query.metric = BP_METRIC_ALLOCATED;
	query.without_peak = true;
	if (!bp_input_read(arguments->operands, arguments->operand_count,
		    bp_input_options_of(arguments, &request->query_options), &profile, &symbols,
		    error))
		return false;
	bool good = bp_aggregate(&profile, &query, &aggregation, error);
	if (good) {
		const double bytes =
			aggregation.totals[BP_METRIC_ALLOCATED].bytes.interval.estimate;
		*ret_bytes_per_s = bytes / ((double)aggregation.duration_ns / 1e9);
		good = (bytes > 0 && aggregation.duration_ns > 0) ||
		       bp_error_set(error,
			       "%s: nothing was allocated in it in a time that is known",
			       arguments->operands[0]);
		bp_aggregation_finish(&aggregation);
	}
	bp_profile_finish(&profile);
	return good;
}

static int write_fleet(const struct bp_arguments *arguments, struct request *request)
{
	const struct bp_plan_question *question = &request->question;
	struct bp_plan_fleet fleet = { .change = question->change > 0 ? question->change : 1.01,
		.power = question->power,
		.confidence = question->confidence };
	struct bp_error error;
	uint64_t rate = 0;
	if (!read_part(arguments, "host-variation", 0, 10, &fleet.variation, &error) ||
		!read_size(arguments, "bytes-per-second", (uint64_t)1 << 50, &rate, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	fleet.bytes_per_s = (double)rate;
	if (rate == 0 && !read_rate(arguments, request, &fleet.bytes_per_s, &error))
		return bp_command_fail(1, &error);
	bp_pager_begin_unless(arguments);
	bp_plan_write_fleet(&fleet, request->format, &request->options, stdout);
	return bp_pager_end(&error) ? 0 : bp_command_fail(1, &error);
}

static int plan(const struct bp_arguments *arguments)
{
	struct request request = { 0 };
	struct bp_plan_question *question = &request.question;
	struct bp_error error = { 0 };
	uint64_t rows = ROWS_DEFAULT;
	const bool fleet = bp_option_given(arguments, "fleet");
	request.format = bp_option_given(arguments, "json")  ? BP_PLAN_JSON
			 : bp_option_given(arguments, "csv") ? BP_PLAN_CSV
							     : BP_PLAN_TEXT;
	if (!bp_query_options_read(arguments, &request.query_options, &error) ||
		!check_fleet(arguments, &error) || !read_question(arguments, &request, &error) ||
		!read_charts(arguments, &request, &error) ||
		!(fleet || (check_kind(arguments, &request, &error) &&
				   check_question(arguments, question, &error))) ||
		!bp_option_number(arguments, "rows", UINT32_MAX, &rows, &error))
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	request.options.rows = (uint32_t)rows;
	request.options.si = bp_option_given(arguments, "si");
	bp_terminal_look(&request.options);
	if (fleet)
		return write_fleet(arguments, &request);
	bool other = question->interval > 0 || question->change > 0 || question->limit > 0;
	if (question->accuracy == 0 &&
		(arguments->operand_count > 0 || (question->heap > 0 && !other) ||
			(question->interval > 0 && question->heap == 0 && question->size == 0 &&
				question->change == 0 && question->limit == 0)))
		question->accuracy = 0.1;
	if (request.charts != 0)
		return write_charts(arguments, &request);
	if (arguments->operand_count > 0)
		return write_profile(arguments, &request);
	bp_plan_write_answer(question, request.format, &request.options, stdout);
	return 0;
}

static const struct bp_option options[] = {
	{ .summary = "What is known" },
	{ .name = "heap",
		.argument = "SIZE",
		.summary = "bytes in all, live or allocated, that the figure is a part of" },
	{ .name = "share",
		.argument = "PERCENT",
		.summary = "which part of --heap the figure is (default: all of it)" },
	{ .name = "counted",
		.summary = "the whole is counted, as of metric allocated: its parts are surer" },
	{ .name = "size",
		.argument = "SIZE",
		.summary = "of each object (default: small against T, the worst case)" },
	{ .name = "interval",
		.letter = 'i',
		.argument = "SIZE",
		.summary = "what this mean sampling interval T gives" },
	{ .name = "fleet",
		.summary = "for a service on 10, 1,000 and 100,000 hosts: T, and what it costs" },
	{ .name = "bytes-per-second",
		.argument = "SIZE",
		.summary = "fleet: of the figure, allocated on a host (or FILE says so)" },
	{ .name = "host-variation",
		.argument = "PERCENT",
		.summary = "fleet: standard deviation between hosts, of their mean" },
	{ .summary = "What is wanted" },
	{ .name = "accuracy",
		.argument = "PERCENT",
		.summary = "both limits of the interval so near to the estimate (10%)" },
	{ .name = "change",
		.argument = "CHANGE",
		.summary =
			"that diff shall find: 10%, -30%, x1.5; of --limit: its margin; fleet: 1%" },
	{ .name = "limit", .argument = "[METRIC=]SIZE", .summary = "that check shall decide on" },
	{ .name = "false-alarm",
		.argument = "RATE",
		.summary = "of that decision (default: 0.01)" },
	{ .name = "power",
		.argument = "PERCENT",
		.summary = "of runs that are so accurate, find the change, decide (80%)" },
	BP_OPTION_CONFIDENCE,
	{ .summary = "The rows of a profile" },
	{ .name = "metric",
		.letter = 'm',
		.argument = "METRIC",
		.choices = BP_CHOICES(BP_METRICS),
		.summary = "which bytes (default: live at exit; the peak if little lives "
			   "then)" },
	{ .name = "by",
		.letter = 'b',
		.argument = "KEY",
		.choices =
			"function|line|file|module|thread|size|type|kind|process|label|label:KEY",
		.summary = "what a row stands for (default: function)" },
	BP_OPTION_CUMULATIVE,
	BP_OPTION_ALLOCATORS,
	BP_OPTION_FRAMES,
	BP_OPTION_FILTER,
	BP_OPTION_PID,
	{ .name = "rows", .letter = 'n', .argument = "N", .summary = "how many rows (10)" },
	BP_OPTION_ASSUME_INTERVAL,
	BP_OPTION_DEBUG_DIRECTORY,
	{ .summary = "Tables, charts, formats" },
	{ .name = "table",
		.summary = "by size and T: chance of a sample, error; quantiles by samples" },
	{ .name = "chart",
		.argument = "NAME",
		.choices = "probability|error|quantiles",
		.summary = "one of these tables alone" },
	{ .name = "svg",
		.argument = "FILE",
		.file = true,
		.summary = "the tables drawn into FILE, or with - to standard output" },
	{ .name = "force", .letter = 'f', .summary = "replace the file of --svg" },
	{ .name = "json", .summary = "as JSON (schemas bytepoll-plan-...-1)" },
	{ .name = "csv", .summary = "tables or rows as comma-separated values" },
	{ .name = "si",
		.summary = "kB, MB, GB instead of KiB, MiB, GiB",
		.without_effect_in = "json|csv" },
	BP_OPTION_NO_PAGER,
	{ 0 },
};

const struct bp_command bp_command_plan = {
	.name = "plan",
	.summary = "how many samples, which interval, for a wanted accuracy",
	.usage = "[options] [FILE...]",
	.details =
		"Says which sampling interval T a figure needs to be known within +-x %, what a\n"
		"given T makes of it, which change can be found and on which limit can be\n"
		"decided; before the first run from numbers, or from the profile of the last run\n"
		"for the next one. Without options: a short table.\n"
		"\n"
		"A figure of N bytes in small objects gets about N/T samples, and its accuracy\n"
		"follows from them alone; a smaller T costs time and trace in proportion. Every\n"
		"answer says what it assumes. Objects of T bytes or more are recorded each.\n"
		"\n"
		"PERCENT is 10% or 0.1. --table and --svg show, by size and T, the probability of\n"
		"a sample and the mean absolute percentage error of one object's estimate, and\n"
		"between which limits the bytes lie that are allocated before sample number s\n"
		"(for T = 102400, as the .NET document has it, or --interval).",
	.options = options,
	.examples = "bytepoll plan --heap 2G --share 5% --accuracy 10%\n"
		    "    T for a function that holds 5 % of a heap of 2 GiB\n"
		    "bytepoll plan --heap 200M --interval 512K\n"
		    "    what the default interval makes of 200 MiB\n"
		    "bytepoll plan --heap 200M --change 10%\n"
		    "    T at which diff finds a growth by a tenth\n"
		    "bytepoll plan --limit live=200M --false-alarm 0.01\n"
		    "    T at which check can decide on that limit\n"
		    "bytepoll plan app.bpt --accuracy 5%\n"
		    "    T for the largest functions of a profile\n"
		    "bytepoll plan --fleet --bytes-per-second 20M --host-variation 5%\n"
		    "    T for a service on many hosts\n"
		    "bytepoll plan --svg charts.svg\n"
		    "    the charts\n",
	.exit_statuses = "0  done\n1  failed: a file cannot be read or written\n2  wrong usage\n",
	.usage_status = 2,
	.run = plan,
};
