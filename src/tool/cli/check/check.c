/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll check FILE...`: options into limits, every file into measures, measures into
 * results, results onto standard output and into an exit status. Every FILE is a run of its
 * own. Files are read one after another and let go, so that many runs need no more memory than the
 * largest.
 *
 * The false-alarm rate is divided by the number of results (Bonferroni): it is the probability
 * that the check as a whole says "exceeded" where nothing is.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/check/check_limit.h"
#include "cli/check/check_resident.h"
#include "cli/files/residency_read.h"
#include "cli/command.h"
#include "cli/files/written_file.h"
#include "cli/input.h"
#include "cli/options/allocator_options.h"
#include "cli/options/frame_options.h"
#include "cli/options/query_options.h"
#include "cli/terminal/terminal.h"
#include "policy/defaults.h"
#include "policy/distinct.h"
#include "report/check/check_report.h"
#include "resident/resident_file.h"

#define LIMITS_MAX 64
#define EXIT_EXCEEDED 1
#define EXIT_ERROR 2
#define EXIT_UNDECIDED 3

struct request {
	struct bp_query_options query_options;
	struct bp_limit limits[LIMITS_MAX]; /* those of growth first */
	uint32_t limit_count, growth_count;
	const char *base[BP_RUNS_MAX];
	uint32_t base_count;
	char **files;
	uint32_t file_count;
	double false_alarm;
	struct bp_input_options input;
	struct bp_written_file junit; /* path NULL: none */
	const char *inputs[2 * BP_RUNS_MAX];
	bool only_seen, undecided_allowed, json, github, si;
};

/* What was read and judged. */
struct work {
	struct bp_measure *base, *new; /* [file][limit] */
	struct bp_check_result *results;
	uint32_t result_count;
	struct bp_check_warning *warnings;
	uint32_t warning_count, warning_capacity;
	bool warnings_first;		       /* those that are added now come before the limits */
	const char *file;		       /* being read */
	struct bp_run_id runs[2][BP_RUNS_MAX]; /* of base and new, in the order of files */
	char *program;			       /* of the first file */
	const char *first;		       /* that file */
};

static bool add_limit(struct request *request, struct bp_limit limit, struct bp_error *error)
{
	if (request->limit_count == LIMITS_MAX) {
		bp_check_limit_finish(&limit);
		return bp_error_set(error, "more than %d limits", LIMITS_MAX);
	}
	request->growth_count += limit.growth;
	request->limits[request->limit_count++] = limit;
	return true;
}

/* --max-growth 5%: one limit for each --metric. */
static bool add_growth(const struct bp_arguments *arguments, const char *text,
	struct request *request, struct bp_error *error)
{
	struct bp_limit limit;
	bool alone = strchr(text, '=') == NULL;
	for (int i = 0; alone && i < arguments->given_count; i++) {
		const struct bp_given *given = &arguments->given[i];
		if (strcmp(given->option->name, "metric") != 0)
			continue;
		int metric = bp_word_index(bp_metric_names, BP_METRIC_COUNT, given->value);
		if (!bp_check_growth_parse(text, (enum bp_metric)metric, &limit, error) ||
			!add_limit(request, limit, error))
			return false;
	}
	if (alone && bp_option_given(arguments, "metric"))
		return true;
	return bp_check_growth_parse(text, BP_METRIC_ALLOCATED, &limit, error) &&
	       add_limit(request, limit, error);
}

static bool read_limits(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	struct bp_limit limit;
	for (int pass = 0; pass < 2; pass++)
		for (int i = 0; i < arguments->given_count; i++) {
			const struct bp_given *given = &arguments->given[i];
			if (pass == 0 && strcmp(given->option->name, "max-growth") == 0 &&
				!add_growth(arguments, given->value, request, error))
				return false;
			if (pass == 1 && strcmp(given->option->name, "limit") == 0 &&
				(!bp_check_limit_parse(given->value, &limit, error) ||
					!add_limit(request, limit, error)))
				return false;
		}
	return true;
}

static bool read_base(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	for (int i = 0; i < arguments->given_count; i++) {
		if (strcmp(arguments->given[i].option->name, "against") != 0)
			continue;
		if (request->base_count == BP_RUNS_MAX)
			return bp_error_set(error, "--against: more than %d", BP_RUNS_MAX);
		request->base[request->base_count++] = arguments->given[i].value;
	}
	request->files = arguments->operands;
	request->file_count = (uint32_t)arguments->operand_count;
	if (request->file_count == 0)
		return bp_input_missing("bytepoll check FILE --limit live=200MiB", error);
	if (request->file_count > BP_RUNS_MAX)
		return bp_error_set(error, "more than %d files", BP_RUNS_MAX);
	memcpy(request->inputs, request->base, sizeof request->base);
	memcpy(request->inputs + request->base_count, request->files,
		request->file_count * sizeof *request->files);
	request->junit.inputs = request->inputs;
	request->junit.input_count = request->base_count + request->file_count;
	return true;
}

/* Does all that was given belong together? */
static bool check_request(
	const struct bp_arguments *arguments, const struct request *request, struct bp_error *error)
{
	if (request->limit_count == 0)
		return bp_error_set(error, "no limit given: --limit live=200MiB, or --against BASE "
					   "--max-growth 5%%");
	if ((request->growth_count > 0) != (request->base_count > 0))
		return bp_error_set(error, "%s",
			request->growth_count > 0
				? "--max-growth needs what to compare with: --against FILE"
				: "--against needs a limit: --max-growth 5%");
	if (bp_option_given(arguments, "metric") && request->growth_count == 0)
		return bp_error_set(
			error, "--metric is for --max-growth 5%%: a --limit names its own");
	for (uint32_t i = 0; i < request->limit_count; i++)
		if (request->query_options.query.has_at &&
			(request->limits[i].metric != BP_METRIC_LIVE ||
				request->limits[i].resident != BP_RESIDENT_NONE))
			return bp_error_set(error, "--at is for live: %.500s has no moment",
				request->limits[i].text);
	bool by_function = request->query_options.query.filter_count > 0;
	for (uint32_t i = 0; i < request->limit_count; i++)
		by_function = by_function || request->limits[i].filter_text != NULL;
	if (bp_option_given(arguments, "allocators") && !by_function)
		return bp_error_set(error,
			"--allocators says whose functions' callers are charged, and no limit here "
			"is of a function: leave it out");
	if (request->json && request->github)
		return bp_error_set(error, "--json and --github: choose one");
	if (request->junit.path != NULL && strcmp(request->junit.path, "-") == 0)
		return bp_error_set(error, "--junit -: standard output has the verdicts: name a "
					   "file");
	if (request->junit.force && request->junit.path == NULL)
		return bp_error_set(error, "--force is for --junit FILE");
	if (!(request->false_alarm < 0.5))
		return bp_error_set(error, "--false-alarm: must be below 0.5");
	return true;
}

static bool read_request(
	const struct bp_arguments *arguments, struct request *request, struct bp_error *error)
{
	request->false_alarm = BP_FALSE_ALARM_DEFAULT;
	request->junit = (struct bp_written_file){ .path = bp_option_value(arguments, "junit"),
		.option = "--junit",
		.force = bp_option_given(arguments, "force"),
		.mode = 0666 };
	request->only_seen = bp_option_given(arguments, "only-seen");
	request->undecided_allowed = bp_option_given(arguments, "allow-undecided");
	request->json = bp_option_given(arguments, "json");
	request->si = bp_option_given(arguments, "si");
	request->github = bp_option_given(arguments, "github");
	if (!bp_query_options_read(arguments, &request->query_options, error))
		return false;
	request->input = bp_input_options_of(arguments, &request->query_options);
	return bp_option_probability(arguments, "false-alarm", &request->false_alarm, error) &&
	       read_base(arguments, request, error) && read_limits(arguments, request, error) &&
	       check_request(arguments, request, error);
}

/* A sentence of an aggregation, once for each file. */
static bool add_warning(void *context, const char *sentence)
{
	struct work *work = context;
	/* Said better, limit by limit, where it matters. */
	if (strncmp(sentence, "no sample matches", 17) == 0)
		return true;
	for (uint32_t i = 0; i < work->warning_count; i++)
		if (strcmp(work->warnings[i].file, work->file) == 0 &&
			strcmp(work->warnings[i].sentence, sentence) == 0)
			return true;
	if (work->warning_count == work->warning_capacity) {
		uint32_t capacity = 2 * work->warning_capacity + 8;
		void *grown = realloc(work->warnings, capacity * sizeof *work->warnings);
		if (grown == NULL)
			return false;
		work->warnings = grown;
		work->warning_capacity = capacity;
	}
	char *copy = strdup(sentence);
	if (copy == NULL)
		return false;
	work->warnings[work->warning_count++] = (struct bp_check_warning){
		.file = work->file, .sentence = copy, .first = work->warnings_first
	};
	return true;
}

/* Growth of one program against another is seldom meant. */
static bool compare_programs(
	const struct request *request, const struct bp_profile *profile, struct work *work)
{
	char sentence[1024];
	const char *name = bp_process_name(profile, &profile->processes.data[profile->root.i]);
	if (request->base_count == 0)
		return true;
	if (work->program == NULL) {
		work->first = work->file;
		work->program = strdup(name);
		return work->program != NULL;
	}
	if (strcmp(work->program, name) == 0)
		return true;
	snprintf(sentence, sizeof sentence, "is a profile of %.300s, %.300s one of %.300s", name,
		work->first, work->program);
	return add_warning(work, sentence);
}

/* Several runs on a side tell how much the program varies: none may stand there twice. */
static bool check_distinct(const struct request *request, const struct bp_profile *profile,
	bool base, uint32_t number, struct work *work, struct bp_error *error)
{
	struct bp_run_id *runs = work->runs[!base];
	const char *const *files = base ? request->base : (const char *const *)request->files;
	runs[number] = bp_run_id_of(profile);
	return request->growth_count == 0 ||
	       bp_last_run_is_distinct(runs, files, number + 1, error);
}

/* What a limit on not-resident needs, if there is one. */
static bool read_residency(const struct request *request, const struct bp_profile *profile,
	uint32_t count, struct bp_measuring *measuring, struct bp_residency *residency,
	struct work *work, struct bp_error *error)
{
	const struct bp_query query = { .by = BP_KEY_TYPE, .confidence = 1 - 2 * measuring->a };
	struct bp_error torn = { 0 };
	bool wanted = false, known = false;
	for (uint32_t i = 0; i < count; i++)
		wanted = wanted || request->limits[i].resident == BP_RESIDENT_ABSENT;
	if (!wanted)
		return true;
	if (!bp_residency_read(work->file, profile, &query, residency, &known, &torn, error))
		return false;
	measuring->residency = known ? residency : NULL;
	return torn.text[0] == '\0' || add_warning(work, torn.text) ||
	       bp_error_set(error, "out of memory");
}

/* What a limit on mapped or mapped-peak needs, if there is one: the file read once more. */
struct mapped {
	struct bp_profile profile;
	struct bp_aggregation aggregation;
	bool is_read, is_known;
};

static bool read_mapped(const struct request *request, uint32_t count, struct mapped *mapped,
	struct work *work, struct bp_error *error)
{
	struct bp_query query = request->query_options.query;
	struct bp_input_options input = request->input;
	struct bp_symbol_summary symbols;
	char *file = (char *)(uintptr_t)work->file;
	bool wanted = false;
	for (uint32_t i = 0; i < count; i++)
		wanted = wanted || request->limits[i].resident >= BP_RESIDENT_MAPPED;
	if (!wanted)
		return true;
	query.metric = BP_METRIC_LIVE;
	query.by = BP_KEY_TYPE;
	query.filter_count = 0;
	input.mapped = true;
	if (!bp_input_read(&file, 1, input, &mapped->profile, &symbols, error))
		return false;
	mapped->is_read = true;
	if (!bp_input_knows_mappings(&mapped->profile, work->file, NULL))
		return true;
	mapped->is_known = bp_aggregate(&mapped->profile, &query, &mapped->aggregation, error);
	return mapped->is_known;
}

static void finish_mapped(struct mapped *mapped)
{
	if (mapped->is_known)
		bp_aggregation_finish(&mapped->aggregation);
	if (mapped->is_read)
		bp_profile_finish(&mapped->profile);
}

/* All limits on one profile, and what is known of the whole process. */
static bool measure(const struct request *request, const struct bp_profile *profile, bool base,
	struct bp_measure *measures, struct work *work, struct bp_error *error)
{
	const uint32_t count = base ? request->growth_count : request->limit_count;
	const struct bp_query *query = &request->query_options.query;
	struct bp_warner warner = { add_warning, work };
	struct bp_resident resident;
	struct bp_error torn = { 0 };
	if (!bp_resident_read(work->file, profile, &resident, &torn) &&
		!add_warning(work, torn.text))
		return bp_error_set(error, "out of memory");
	struct bp_measuring measuring = { .query = query,
		.resident = &resident,
		.only_seen = request->only_seen,
		.a = request->false_alarm / work->result_count,
		.runs = request->base_count + request->file_count };
	struct bp_residency residency = { 0 };
	struct mapped mapped = { .is_read = false };
	work->warnings_first = true;
	bool good = read_residency(request, profile, count, &measuring, &residency, work, error) &&
		    read_mapped(request, count, &mapped, work, error);
	measuring.mapped = good && mapped.is_known ? &mapped.aggregation : NULL;
	good = good &&
	       (base || bp_check_warn_of_process(profile, &resident, query, request->limits, count,
				(struct bp_quantity_style){ .utf8 = true, .si = request->si },
				&warner, error));
	work->warnings_first = false;
	good = good && bp_measure_all(profile, &measuring, request->limits, count, measures,
			       &warner, error);
	finish_mapped(&mapped);
	bp_residency_finish(&residency);
	bp_resident_finish(&resident);
	return good;
}

/* File `number` of `base` or of the new ones. */
static bool read_file(const struct request *request, bool base, uint32_t number, struct work *work,
	struct bp_error *error)
{
	struct bp_profile profile;
	struct bp_symbol_summary symbols;
	struct bp_measure *measures =
		(base ? work->base : work->new) + (size_t)number * request->limit_count;
	work->file = base ? request->base[number] : request->files[number];
	char *path = strdup(work->file);
	if (path == NULL)
		return bp_error_set(error, "out of memory");
	bool good = bp_input_read(&path, 1, request->input, &profile, &symbols, error);
	free(path);
	if (!good)
		return false;
	good = check_distinct(request, &profile, base, number, work, error) &&
	       measure(request, &profile, base, measures, work, error);
	if (good && !compare_programs(request, &profile, work))
		good = bp_error_set(error, "out of memory");
	bp_profile_finish(&profile);
	return good;
}

static bool read_files(const struct request *request, struct work *work, struct bp_error *error)
{
	for (uint32_t i = 0; i < request->base_count; i++)
		if (!read_file(request, true, i, work, error))
			return false;
	for (uint32_t i = 0; i < request->file_count; i++)
		if (!read_file(request, false, i, work, error))
			return false;
	return true;
}

/* The measures of one limit over the files of one side. */
static void pick(const struct bp_measure *measures, uint32_t files, uint32_t limits, uint32_t limit,
	const struct bp_measure **ret_picked)
{
	for (uint32_t i = 0; i < files; i++)
		ret_picked[i] = &measures[(size_t)i * limits + limit];
}

static void judge(const struct request *request, struct work *work)
{
	double a = request->false_alarm / work->result_count;
	struct bp_check_result *result = work->results;
	const struct bp_measure *base[BP_RUNS_MAX], *new[BP_RUNS_MAX];
	uint32_t limits = request->limit_count;
	for (uint32_t file = 0; file < request->file_count; file++)
		for (uint32_t i = request->growth_count; i < limits; i++)
			bp_check_limit(&request->limits[i], &work->new[(size_t)file * limits + i],
				request->files[file], a, result++);
	for (uint32_t i = 0; i < request->growth_count; i++) {
		pick(work->base, request->base_count, limits, i, base);
		pick(work->new, request->file_count, limits, i, new);
		bp_check_growth(&request->limits[i], base, request->base_count, new,
			request->file_count, request->files[0], a, result++);
	}
}

static bool write_junit(
	const struct bp_check *check, struct bp_written_file *file, struct bp_error *error)
{
	if (file->path == NULL)
		return true;
	if (!bp_written_file_begin(file, error))
		return false;
	bp_check_write_junit(check, file->out);
	return bp_written_file_end(file, true, error);
}

static int show(const struct bp_arguments *arguments, struct request *request,
	const struct work *work, struct bp_error *error)
{
	static const int statuses[BP_OUTCOME_COUNT] = { 0, EXIT_EXCEEDED, EXIT_UNDECIDED };
	struct bp_report_options options = { .si = bp_option_given(arguments, "si") };
	struct bp_check check = { .results = work->results,
		.count = work->result_count,
		.verdict = BP_OUTCOME_WITHIN,
		.false_alarm = request->false_alarm,
		.undecided_allowed = request->undecided_allowed,
		.files = request->files,
		.file_count = request->file_count,
		.base = request->base,
		.base_count = request->base_count,
		.warnings = work->warnings,
		.warning_count = work->warning_count };
	for (uint32_t i = 0; i < check.count; i++)
		check.verdict = bp_check_both(check.verdict, check.results[i].outcome);
	if (!write_junit(&check, &request->junit, error))
		return EXIT_ERROR;
	bp_terminal_look(&options);
	if (request->json)
		bp_check_write_json(&check, stdout);
	else
		bp_check_write_text(&check, &options, stdout);
	if (request->github)
		bp_check_write_github(&check, stdout);
	/* Output that did not arrive is an error, not a finding; main.c says which. */
	if (fflush(stdout) != 0 || ferror(stdout))
		return EXIT_ERROR;
	if (check.verdict == BP_OUTCOME_UNDECIDED && request->undecided_allowed)
		return 0;
	return statuses[check.verdict];
}

static int run(const struct bp_arguments *arguments, struct request *request)
{
	struct work work = { 0 };
	struct bp_error error = { 0 };
	uint32_t limits = request->limit_count;
	int status = EXIT_ERROR;
	work.result_count =
		(limits - request->growth_count) * request->file_count + request->growth_count;
	work.base = calloc((size_t)(request->base_count + 1) * limits, sizeof *work.base);
	work.new = calloc((size_t)request->file_count * limits, sizeof *work.new);
	work.results = calloc(work.result_count, sizeof *work.results);
	if (work.base == NULL || work.new == NULL || work.results == NULL) {
		bp_error_set(&error, "out of memory");
	} else if (read_files(request, &work, &error)) {
		judge(request, &work);
		status = show(arguments, request, &work, &error);
	}
	for (uint32_t i = 0; i < work.warning_count; i++)
		free(work.warnings[i].sentence);
	free(work.warnings);
	free(work.program);
	free(work.results);
	free(work.new);
	free(work.base);
	return *error.text != '\0' ? bp_command_fail(EXIT_ERROR, &error) : status;
}

static int check(const struct bp_arguments *arguments)
{
	struct request request = { 0 };
	struct bp_error error = { 0 };
	int status;
	if (!read_request(arguments, &request, &error))
		status = bp_command_fail_usage(arguments->command, "%s", error.text);
	/* Before minutes of reading: can it be written at all? */
	else if (request.junit.path != NULL && !bp_written_file_check(&request.junit, &error))
		status = bp_command_fail(EXIT_ERROR, &error);
	else
		status = run(arguments, &request);
	for (uint32_t i = 0; i < request.limit_count; i++)
		bp_check_limit_finish(&request.limits[i]);
	return status;
}

static const struct bp_option options[] = {
	{ .summary = "What must hold" },
	{ .name = "limit",
		.letter = 'l',
		.argument = "LIMIT",
		.repeatable = true,
		.summary =
			"METRIC=SIZE: live=200MiB, 'allocated:parse_*=10M', peak-resident=1G ..." },
	{ .name = "max-growth",
		.letter = 'g',
		.argument = "GROWTH",
		.repeatable = true,
		.summary = "against other runs: 5%, 'peak=10%', 'allocated:parse_*=5%'" },
	{ .name = "against",
		.letter = 'a',
		.argument = "FILE",
		.repeatable = true,
		.file = true,
		.summary = "what growth is counted from; once for each run" },
	{ .name = "metric",
		.letter = 'm',
		.argument = "METRIC",
		.choices = BP_CHOICES(BP_METRICS),
		.repeatable = true,
		.summary = "what --max-growth 5% is of (default: allocated)" },
	{ .name = "false-alarm",
		.argument = "RATE",
		.summary = "probability of a wrong verdict of the whole check (0.01)" },
	{ .summary = "What is counted" },
	{ .name = "at", .argument = "TIME", .summary = "live at this moment instead of at exit" },
	BP_OPTION_FROM,
	BP_OPTION_UNTIL,
	BP_OPTION_BYTES,
	BP_OPTION_PID,
	BP_OPTION_FILTER,
	BP_OPTION_ALLOCATORS,
	BP_OPTION_FRAMES,
	{ .name = "min-size",
		.argument = "SIZE",
		.summary = "no object is smaller: narrows intervals of objects (default: 0)" },
	{ .name = "only-seen",
		.summary = "judge what was seen, though processes or names are missing" },
	BP_OPTION_ASSUME_INTERVAL,
	BP_OPTION_DEBUG_DIRECTORY,
	{ .summary = "What comes of it" },
	{ .name = "allow-undecided", .summary = "exit status 0 instead of 3" },
	{ .name = "json", .summary = "everything as JSON (schema bytepoll-check-1)" },
	{ .name = "junit",
		.argument = "FILE",
		.file = true,
		.summary = "write JUnit XML to FILE too" },
	{ .name = "force", .letter = 'f', .summary = "replace the file of --junit" },
	{ .name = "github", .summary = "add annotations for GitHub's workflows" },
	{ .name = "si",
		.summary = "kB, MB, GB instead of KiB, MiB, GiB",
		.without_effect_in = "json" },
	{ 0 },
};

const struct bp_command bp_command_check = {
	.name = "check",
	.summary = "hold a program to limits, for CI",
	.usage = "[options] FILE... (--limit LIMIT | --against FILE --max-growth GROWTH)...",
	.details =
		"Decides by confidence limits, so that the noise of sampling raises a false\n"
		"alarm no more often than --false-alarm says: \"exceeded\" if the lower limit is\n"
		"above, \"within\" if the upper limit is not, else \"undecided\", with what would\n"
		"decide. Several limits share the rate. Every FILE is a run of its own; growth\n"
		"compares the means of all FILEs and all --against, and with two runs or more\n"
		"on both sides counts in how much the program itself varies.\n"
		"\n"
		"A LIMIT is METRIC[:FILTER]=SIZE, or METRIC.objects[:FILTER]=NUMBER, with METRIC\n"
		"live, peak, allocated or temporary. A FILTER is the name of the function that\n"
		"allocates, with * ? [...] and A|B, or any KEY=GLOB of --filter: live:stack=load_*=1M is\n"
		"what any function called load_... is responsible for. A GROWTH ends in N%\n"
		"instead of SIZE.",
	.options = options,
	.examples = "bytepoll check app.bpt --limit live=200MiB --limit 'allocated:parse_*=10M'\n"
		    "    two limits, wrong once in a hundred times at most\n"
		    "bytepoll check new.bpt --against main.bpt --max-growth 5% --metric peak\n"
		    "    the peak has not grown by more than 5 %\n"
		    "bytepoll check new*.bpt --against a.bpt --against b.bpt --max-growth 5%\n"
		    "    the same of what was allocated, from several runs a side\n"
		    "bytepoll check app.bpt --limit peak=1G --github --force --junit memory.xml\n"
		    "    for CI\n",
	.exit_statuses =
		"0  all limits hold\n1  a limit is exceeded\n2  wrong usage, or an error: a "
		"file cannot be read, say\n3  undecided\n",
	.usage_status = 2,
	.run = check,
};
