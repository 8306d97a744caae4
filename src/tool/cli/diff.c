/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll diff`: which file belongs to which side, every file into a profile of its own, every
 * profile into an aggregation by itself, all of them into a difference. Two moments of one file go
 * through diff/diff_moments.h instead. What is decided here: the sides. The metric
 * where none was asked for, and what figures are scaled by, are decided in policy/.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/files/page_file.h"
#include "cli/input.h"
#include "cli/options/allocator_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/query_options.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"
#include "estimate/diff.h"
#include "library/read.h"
#include "policy/defaults.h"
#include "policy/distinct.h"
#include "policy/shown.h"
#include "policy/work.h"
#include "query/time_text.h"
#include "report/diff/diff_report.h"
#include "report/parts/header.h"

#define ROWS_FOR_EYES 20

/* One file read. */
struct input {
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	struct bp_aggregation aggregation;
	bool read, aggregated;
};

struct request {
	struct bp_query_options query_options;
	struct bp_diff_query diff;
	struct bp_diff_options options;
	bool moments, json;
	struct bp_written_file html; /* where a page goes; path NULL: none is asked for */
	uint64_t at_ns[BP_SIDES];
	int counts[BP_SIDES]; /* files of each side; the base's come first among the operands */
	struct input *inputs; /* base first */
	struct bp_run *runs;
	struct bp_run_id *ids;
	/* For a page, the same by call paths: */
	struct bp_aggregation *path_aggregations;
	int path_aggregation_count;
	struct bp_run *path_runs;
	double *work; /* by run; NULL: no scaling */
};

/* Which files are base, which are new? */
static bool read_sides(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	int files = arguments->operand_count, base = files - 1, news = 0;
	for (int i = 0; i < arguments->given_count; i++)
		if (strcmp(arguments->given[i].option->name, "new") == 0) {
			base = arguments->given[i].operands_before;
			news++;
		}
	if (request->moments && (files != 1 || news > 0))
		return bp_error_set(
			error, "--at A --at B compares two moments of one file: give one file");
	request->counts[BP_BASE] = base;
	request->counts[BP_NEW] = files - base;
	if (request->moments)
		return true;
	if (news > 1)
		return bp_error_set(error, "--new stands once, between the base's files and the "
					   "new ones");
	if (news == 0 && files > 2)
		return bp_error_set(
			error, "more than two files: put --new before the first new one");
	if (news == 0 && files < 2)
		return bp_error_set(error, "two files are needed: bytepoll diff BASE NEW (or one "
					   "file with --at A --at B)");
	if (files > 2 && request->query_options.query.metric == BP_METRIC_PEAK)
		return bp_error_set(error,
			"--metric peak compares one run with one: every run has its peak at a "
			"moment of its own; use --metric live --at TIME, or allocated");
	if (base < 1 || files - base < 1)
		return bp_error_set(
			error, "--new needs files before it (base) and behind it (new)");
	return true;
}

/* No --at, one (for all files), or two (moments of one file). */
static bool read_moments(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	uint64_t at_ns[BP_SIDES];
	int count = 0;
	struct bp_error reason;
	for (int i = 0; i < arguments->given_count; i++) {
		if (strcmp(arguments->given[i].option->name, "at") != 0)
			continue;
		if (count == BP_SIDES)
			return bp_error_set(error, "--at: two moments at most");
		if (!bp_time_read(arguments->given[i].value, &at_ns[count++], &reason))
			return bp_error_set(error, "--at %.800s", reason.text);
	}
	if (count > 0 && request->query_options.query.metric != BP_METRIC_LIVE)
		return bp_error_set(error, "--at is for --metric live");
	if (count == 1) {
		request->query_options.query.has_at = true;
		request->query_options.query.at_ns = at_ns[0];
	}
	request->moments = count == BP_SIDES;
	if (!request->moments)
		return true;
	if (at_ns[BP_BASE] >= at_ns[BP_NEW])
		return bp_error_set(error, "--at A --at B: the second moment must be later");
	memcpy(request->at_ns, at_ns, sizeof at_ns);
	return !bp_option_given(arguments, "normalize") ||
	       bp_error_set(error, "--normalize is for different runs, not for two moments of one");
}

static bool read_shape(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	const char *sort = bp_option_value(arguments, "sort");
	uint64_t rows;
	request->json = bp_option_given(arguments, "json");
	request->html = bp_page_file(arguments, bp_option_value(arguments, "html"), "--html");
	const bool page = request->html.path != NULL;
	if (page && request->json)
		return bp_error_set(error, "--json and --html: choose one");
	if (request->html.force && !page)
		return bp_error_set(error, "--force is for --html");
	request->options.all = bp_option_given(arguments, "all");
	rows = page || request->json || request->options.all ? BP_ROWS_ALL : ROWS_FOR_EYES;
	if (!bp_option_number(arguments, "rows", UINT32_MAX, &rows, error) ||
		!bp_option_probability(arguments, "fdr", &request->diff.rate, error))
		return false;
	request->options.report.rows = (uint32_t)rows;
	request->options.report.si = bp_option_given(arguments, "si");
	request->diff.objects = bp_option_given(arguments, "objects");
	if (sort != NULL)
		request->diff.sort = (enum bp_diff_sort)bp_word_index(
			bp_diff_sort_names, BP_DIFF_SORT_COUNT, sort);
	/* Everything is Horvitz-Thompson, so that base + change = new; threads are counted. */
	if (request->query_options.query.by != BP_KEY_THREAD)
		request->query_options.query.estimator = BP_ESTIMATOR_HT;
	bp_terminal_look(&request->options.report);
	return true;
}

/* "1000,1010" for the runs of one side, or one number for each of them. */
static bool read_work(
	const char *text, size_t bytes, int count, double *ret_work, struct bp_error *error)
{
	const char *end = text + bytes;
	int numbers = 0;
	while (text < end) {
		char *rest;
		double number = strtod(text, &rest);
		if (rest == text || rest > end || !(number > 0 && number < 1e300) ||
			(rest < end && *rest != ',') || numbers == count)
			break;
		ret_work[numbers++] = number;
		text = rest < end ? rest + 1 : rest;
	}
	if (text < end || (bytes > 0 && end[-1] == ',') || (numbers != 1 && numbers != count))
		return bp_error_set(error,
			"--normalize: write the work of base and new as 1000:1200, or one number "
			"for every run: 1000,990:1200,1210");
	for (int i = numbers; i < count; i++)
		ret_work[i] = ret_work[0];
	return true;
}

/* What --normalize says; numbers of work are kept, the rest is measured later. */
static bool read_normalize(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	const char *text = bp_option_value(arguments, "normalize"), *colon;
	int base = request->counts[BP_BASE], new = request->counts[BP_NEW];
	if (text == NULL)
		return true;
	colon = strchr(text, ':');
	request->work = calloc((size_t)(base + new), sizeof *request->work);
	if (request->work == NULL)
		return bp_error_set(error, "out of memory");
	if (colon != NULL) {
		request->options.normalize = BP_WORK_COUNT;
		return read_work(text, (size_t)(colon - text), base, request->work, error) &&
		       read_work(colon + 1, strlen(colon + 1), new, request->work + base, error);
	}
	if (strcmp(text, "total") == 0 && request->query_options.mapped)
		return bp_error_set(error,
			"--normalize total is per byte that malloc gave: with --metric %s use "
			"--normalize duration or BASE:NEW",
			bp_option_value(arguments, "metric"));
	request->options.normalize = strcmp(text, "total") == 0	     ? BP_WORK_TOTAL
				     : strcmp(text, "duration") == 0 ? BP_WORK_DURATION
								     : BP_WORK_NONE;
	return request->options.normalize != BP_WORK_NONE ||
	       bp_error_set(error,
		       "--normalize %s: write total, duration, or the work of both sides as "
		       "1000:1200",
		       text);
}

/* Scales every run by what it did. */
static bool normalize(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	const enum bp_work_unit unit = request->options.normalize;
	const uint32_t base = (uint32_t)request->counts[BP_BASE],
		       new = (uint32_t)request->counts[BP_NEW];
	if (unit == BP_WORK_NONE)
		return true;
	for (uint32_t i = 0; i < base + new &&unit != BP_WORK_COUNT; i++)
		if (!bp_work_of_run(&request->inputs[i].aggregation, unit, arguments->operands[i],
			    &request->work[i], error))
			return false;
	request->options.work_reference = bp_work_scale(request->work, base, new, request->runs);
	request->options.work[BP_BASE] = request->work;
	request->options.work[BP_NEW] = request->work + base;
	return true;
}

static bool aggregate_all(struct request *request, int count, struct bp_error *error)
{
	struct bp_query *query = &request->query_options.query;
	query->all_cells = query->metric == BP_METRIC_PEAK;
	for (int i = 0; i < count; i++) {
		struct input *input = &request->inputs[i];
		if (input->aggregated)
			bp_aggregation_finish(&input->aggregation);
		input->aggregated = false;
		if (!bp_aggregate(&input->profile, query, &input->aggregation, error))
			return false;
		input->aggregated = true;
		(void)bp_read_warn(&input->aggregation, &input->symbols);
	}
	return true;
}

static bool check_profiled(const struct bp_arguments *arguments, const struct request *request,
	int count, struct bp_error *error)
{
	struct bp_error reason;
	for (int i = 0; i < count; i++)
		if (!bp_diff_has_figures(
			    &request->inputs[i].aggregation, arguments->operands[i], &reason))
			return bp_error_set(error, "%.800s: bytepoll report %s says why",
				reason.text, arguments->operands[i]);
	return true;
}

/* What is compared where nobody said (policy/shown.h). */
static bool choose_metric(const struct bp_arguments *arguments, struct request *request, int count,
	struct bp_error *error)
{
	enum bp_metric *metric = &request->query_options.query.metric;
	if (bp_option_given(arguments, "metric") || bp_option_given(arguments, "at") ||
		*metric == BP_METRIC_ALLOCATED)
		return true;
	*metric = bp_shown_metric_of_runs(request->runs, (uint32_t)count);
	return *metric == BP_METRIC_LIVE || aggregate_all(request, count, error);
}

/* The question by call paths: a family of keys of its own, judged by itself. The samples are the
 * same: with --cumulative a filter looks at every frame, so that stays. */
static struct bp_query query_by_path(const struct request *request)
{
	struct bp_query query = request->query_options.query;
	query.by = BP_KEY_FUNCTION;
	query.label = NULL;
	query.estimator = BP_ESTIMATOR_HT;
	return query;
}

static struct bp_diff_query difference_by_path(const struct request *request)
{
	struct bp_diff_query query = request->diff;
	query.paths = true;
	return query;
}

static bool write_page_of_runs(
	struct request *request, const struct bp_diff *diff, struct bp_error *error)
{
	const int base = request->counts[BP_BASE], count = base + request->counts[BP_NEW];
	const struct bp_query query = query_by_path(request);
	const struct bp_diff_query asked = difference_by_path(request);
	struct bp_diff paths;
	request->path_aggregations = calloc((size_t)count, sizeof *request->path_aggregations);
	request->path_runs = calloc((size_t)count, sizeof *request->path_runs);
	if (request->path_aggregations == NULL || request->path_runs == NULL)
		return bp_error_set(error, "out of memory");
	for (int i = 0; i < count; i++) {
		struct bp_aggregation *by_stack = &request->path_aggregations[i];
		if (!bp_aggregate(&request->inputs[i].profile, &query, by_stack, error))
			return false;
		request->path_aggregation_count++;
		request->path_runs[i] = request->runs[i];
		request->path_runs[i].shown = request->path_runs[i].compared = by_stack;
	}
	if (!bp_diff_make(&asked, request->path_runs, (uint32_t)base, request->path_runs + base,
		    (uint32_t)(count - base), &paths, error))
		return false;
	const bool good =
		bp_page_file_write_diff(&request->html, diff, &paths, &request->options, error);
	bp_diff_finish(&paths);
	return good;
}

static bool write_page_of_moments(struct request *request, const char *file,
	const struct bp_diff *diff, struct bp_error *error)
{
	const struct bp_query query = query_by_path(request);
	const struct bp_diff_query asked = difference_by_path(request);
	struct bp_diff_moments paths;
	if (!bp_diff_moments_make(&request->inputs[0].profile, &query, request->at_ns, &asked, file,
		    &paths, error))
		return false;
	const bool good = bp_page_file_write_diff(
		&request->html, diff, &paths.diff, &request->options, error);
	bp_diff_moments_finish(&paths);
	return good;
}

static bool show(const struct bp_arguments *arguments, struct request *request,
	const struct bp_diff *diff, struct bp_error *error)
{
	if (request->html.path != NULL)
		return request->moments
			       ? write_page_of_moments(request, arguments->operands[0], diff, error)
			       : write_page_of_runs(request, diff, error);
	bool *as_recorded = &request->options.report.names_as_recorded;
	*as_recorded = true;
	for (int i = 0; i < arguments->operand_count; i++)
		*as_recorded = *as_recorded && bp_names_as_recorded(&request->inputs[i].profile,
						       request->query_options.query.by);
	bp_pager_begin_unless(arguments);
	(request->json ? bp_write_diff_json : bp_write_diff_text)(diff, &request->options, stdout);
	return bp_pager_end(error);
}

static bool compare_runs(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	int count = arguments->operand_count, base = request->counts[BP_BASE];
	struct bp_diff diff;
	for (int i = 0; i < count; i++)
		request->runs[i] = (struct bp_run){ .shown = &request->inputs[i].aggregation,
			.compared = &request->inputs[i].aggregation,
			.scale = 1,
			.file = arguments->operands[i] };
	if (!aggregate_all(request, count, error) ||
		!check_profiled(arguments, request, count, error) ||
		!choose_metric(arguments, request, count, error))
		return false;
	if (!normalize(arguments, request, error) ||
		!bp_diff_make(&request->diff, request->runs, (uint32_t)base, request->runs + base,
			(uint32_t)(count - base), &diff, error))
		return false;
	const bool good = show(arguments, request, &diff, error);
	bp_diff_finish(&diff);
	return good;
}

static bool compare_moments(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	struct bp_diff_moments moments;
	if (!bp_diff_moments_make(&request->inputs[0].profile, &request->query_options.query,
		    request->at_ns, &request->diff, arguments->operands[0], &moments, error))
		return false;
	const bool good = show(arguments, request, &moments.diff, error);
	bp_diff_moments_finish(&moments);
	return good;
}

/* Is the last one of these files a run that was given before on its side? */
static bool check_distinct(const struct bp_arguments *arguments, const struct request *request,
	size_t last, struct bp_error *error)
{
	const size_t base = (size_t)request->counts[BP_BASE], first = last < base ? 0 : base;
	request->ids[last] = bp_run_id_of(&request->inputs[last].profile);
	return bp_last_run_is_distinct(request->ids + first,
		(const char *const *)arguments->operands + first, (uint32_t)(last - first + 1),
		error);
}

static bool read_all(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	size_t count = (size_t)arguments->operand_count;
	const struct bp_input_options input_options =
		bp_input_options_of(arguments, &request->query_options);
	request->inputs = calloc(count, sizeof *request->inputs);
	request->runs = calloc(count, sizeof *request->runs);
	request->ids = calloc(count, sizeof *request->ids);
	if (request->inputs == NULL || request->runs == NULL || request->ids == NULL)
		return bp_error_set(error, "out of memory");
	const bool given = bp_option_given(arguments, "metric") || bp_option_given(arguments, "at");
	enum bp_metric *metric = &request->query_options.query.metric;
	for (size_t i = 0; i < count; i++) {
		struct input *input = &request->inputs[i];
		if (!bp_input_read(&arguments->operands[i], 1, input_options, &input->profile,
			    &input->symbols, error))
			return false;
		input->read = true;
		if (!bp_input_knows_mappings(&input->profile, arguments->operands[i], error))
			return false;
		if (!given)
			*metric = bp_default_metric(&input->profile, &request->query_options.query);
		if (!check_distinct(arguments, request, i, error))
			return false;
	}
	return true;
}

static void finish(struct request *request, int count)
{
	for (int i = 0; request->inputs != NULL && i < count; i++) {
		if (request->inputs[i].aggregated)
			bp_aggregation_finish(&request->inputs[i].aggregation);
		if (request->inputs[i].read)
			bp_profile_finish(&request->inputs[i].profile);
	}
	for (int i = 0; i < request->path_aggregation_count; i++)
		bp_aggregation_finish(&request->path_aggregations[i]);
	free(request->path_aggregations);
	free(request->path_runs);
	free(request->inputs);
	free(request->runs);
	free(request->ids);
	free(request->work);
}

static int diff(const struct bp_arguments *arguments)
{
	struct request request = { 0 };
	struct bp_error error = { 0 };
	if (!bp_query_options_read(arguments, &request.query_options, &error) ||
		!bp_mapped_options_check(arguments, &request.query_options, &error) ||
		!read_moments(arguments, &request, &error) ||
		!read_sides(arguments, &request, &error) ||
		!read_shape(arguments, &request, &error) ||
		!read_normalize(arguments, &request, &error)) {
		free(request.work);
		return bp_command_fail_usage(arguments->command, "%s", error.text);
	}
	bool good = (request.html.path == NULL || bp_page_file_check(&request.html, &error)) &&
		    read_all(arguments, &request, &error) &&
		    (request.moments ? compare_moments : compare_runs)(arguments, &request, &error);
	finish(&request, arguments->operand_count);
	return good ? 0 : bp_command_fail(1, &error);
}

static const struct bp_option options[] = {
	{ .summary = "What is compared" },
	{ .name = "new", .summary = "the files before it are base, those behind it new" },
	{ .name = "metric",
		.letter = 'm',
		.argument = "METRIC",
		.choices = &BP_METRICS(BP_WORD_CHOICE) BP_MAPPED_METRICS(BP_WORD_CHOICE)[1],
		.summary = "default: live at exit; if little lives then, peak or allocated; "
			   "mapped, mapped-peak: what the programs mapped themselves" },
	{ .name = "at",
		.argument = "TIME",
		.repeatable = true,
		.summary = "live at this moment; given twice: two moments of one file" },
	BP_OPTION_BYTES,
	{ .name = "objects", .summary = "verdicts and order by objects instead of bytes" },
	BP_OPTION_FILTER,
	{ .name = "normalize",
		.argument = "WORK",
		.summary = "per byte allocated (total), per second (duration), or per unit: "
			   "BASE:NEW" },
	{ .summary = "How it is shown" },
	{ .name = "by",
		.letter = 'b',
		.argument = "KEY",
		.choices = "function|stack|module|size|type|kind|thread|label|label:KEY",
		.summary = "what a row stands for (default: function)" },
	BP_OPTION_CUMULATIVE,
	BP_OPTION_ALLOCATORS,
	BP_OPTION_FRAMES,
	{ .name = "all",
		.summary = "rows without a verdict too",
		.without_effect_in = "json|html" },
	{ .name = "sort",
		.argument = "KEY",
		.choices = "change|ratio|q|base|new|name",
		.summary = "order of the rows (default: change)" },
	{ .name = "rows",
		.letter = 'n',
		.argument = "N",
		.summary = "how many rows (20; with --all and --json all)" },
	{ .name = "json", .summary = "everything as JSON (schema bytepoll-diff-1)" },
	{ .name = "html",
		.argument = "FILE",
		.file = true,
		.summary = "as a page for a browser (- for standard output)" },
	{ .name = "force",
		.letter = 'f',
		.summary = "with --html: replace a file, unless it is a recording" },
	{ .name = "si",
		.summary = "kB, MB, GB instead of KiB, MiB, GiB",
		.without_effect_in = "json|html" },
	BP_OPTION_NO_PAGER,
	{ .summary = "How it is judged" },
	{ .name = "fdr",
		.argument = "RATE",
		.summary = "false ones among the verdicts, on average at most (default: 0.05)" },
	BP_OPTION_CONFIDENCE,
	BP_OPTION_MIN_SIZE,
	BP_OPTION_ASSUME_INTERVAL,
	BP_OPTION_DEBUG_DIRECTORY,
	{ 0 },
};

const struct bp_command bp_command_diff = {
	.name = "diff",
	.summary = "show what changed, and which changes are real",
	.usage = "[options] BASE... --new NEW... (two files: BASE NEW; one: --at A --at B FILE)",
	.details =
		"Compares two sides key by key. A row has a verdict (grew, shrank, new, gone)\n"
		"where the change is more than the noise of sampling, at a controlled rate of\n"
		"false ones over all rows; the others are summed in one line.\n"
		"\n"
		"Every FILE is one run; the processes it started are found beside it and belong to\n"
		"it. With several runs a side the program's own variation is estimated and covered\n"
		"too; 5 a side are a good number.\n"
		"\n"
		"Rows are matched by function names and inlined frames, never by address or line:\n"
		"rebuilding, moving or renaming sources and programs does not break them.\n"
		"\n"
		"--normalize scales all figures to the work of the new side: per byte allocated\n"
		"(total), per second (duration), or per unit of work, as 1000:1200 (several runs:\n"
		"one number each, as 1000,990:1200,1210).",
	.options = options,
	.examples = "bytepoll diff before.bpt after.bpt\n"
		    "    what changed between two runs\n"
		    "bytepoll diff old/*.bpt --new new/*.bpt\n"
		    "    the same over several runs of each version\n"
		    "bytepoll diff --at 10 --at 60 server.bpt\n"
		    "    what came and went between two moments of one run\n",
	.exit_statuses = "0  done, differences or not\n1  failed: a file cannot be read, say\n"
			 "2  wrong usage\n",
	.usage_status = 2,
	.run = diff,
};
