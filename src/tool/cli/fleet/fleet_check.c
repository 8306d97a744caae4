/* SPDX-License-Identifier: MIT */
/* `bytepoll fleet check`: limits on the sum of all runs, judged as `bytepoll check` judges those of
 * one file; with `--hosts sample` on what a host holds on average, or all hosts together. */
#include <stdlib.h>
#include <string.h>

#include "cli/check/check_limit.h"
#include "cli/command.h"
#include "cli/fleet/fleet_parts.h"
#include "cli/terminal/terminal.h"
#include "policy/defaults.h"
#include "report/check/check_report.h"

#define EXIT_EXCEEDED 1
#define EXIT_ERROR 2
#define EXIT_UNDECIDED 3

struct limits {
	struct bp_limit of[BP_FLEET_VALUES_MAX];
	struct bp_measure measures[BP_FLEET_VALUES_MAX];
	struct bp_check_result results[BP_FLEET_VALUES_MAX];
	uint32_t count;
	struct bp_check_warning warnings[BP_FLEET_VALUES_MAX];
	uint32_t warning_count;
	char shown_as[64]; /* what the limits are on */
};

static bool is_of_one_run(const struct bp_limit *limit)
{
	return limit->metric == BP_METRIC_PEAK || limit->resident != BP_RESIDENT_NONE;
}

static bool read_limits(
	const struct bp_arguments *arguments, struct limits *limits, struct bp_error *error)
{
	for (int i = 0; i < arguments->given_count; i++) {
		const struct bp_given *given = &arguments->given[i];
		if (strcmp(given->option->name, "limit") != 0)
			continue;
		if (limits->count == BP_FLEET_VALUES_MAX)
			return bp_error_set(error, "more than %d limits", BP_FLEET_VALUES_MAX);
		struct bp_limit *limit = &limits->of[limits->count];
		if (!bp_check_limit_parse(given->value, limit, error))
			return false;
		limits->count++;
		if (limit->filter_text != NULL && limit->filter.of_free)
			return bp_error_set(error,
				"--limit %.200s: a store does not keep where objects were freed: hold a "
				"run's file to it, by `bytepoll check`",
				given->value);
		if (limit->filter_text != NULL && limit->filter.of_time)
			return bp_error_set(error,
				"--limit %.200s: a store is asked about one part of the time: write "
				"--filter time=... beside --limit",
				given->value);
		if (is_of_one_run(limit))
			return bp_error_set(error,
				"--limit %.200s: peaks and resident memory are of one run: hold its "
				"file to it, by `bytepoll check`",
				given->value);
	}
	return limits->count > 0 || bp_error_set(error, "no limit given: --limit live=200MiB");
}

/* Each sentence once, as far as there is room. */
static bool add_warning(void *context, const char *sentence)
{
	struct limits *limits = context;
	for (uint32_t i = 0; i < limits->warning_count; i++)
		if (strcmp(limits->warnings[i].sentence, sentence) == 0)
			return true;
	if (limits->warning_count == BP_FLEET_VALUES_MAX)
		return true;
	char *copy = strdup(sentence);
	if (copy == NULL)
		return false;
	limits->warnings[limits->warning_count++] =
		(struct bp_check_warning){ limits->shown_as, copy, false };
	return true;
}

/* All runs together. */
static bool judge(const struct bp_fleet_request *request, struct limits *limits, double false_alarm,
	struct bp_error *error)
{
	const double a = false_alarm / limits->count;
	struct bp_warner warner = { add_warning, limits };
	const struct bp_measuring measuring = {
		.query = &request->query_options.query, .a = a, .runs = 1
	};
	struct bp_profile profile;
	if (!bp_fleet_profile(request, &request->filter, &profile, error))
		return false;
	const bool good = bp_measure_all(
		&profile, &measuring, limits->of, limits->count, limits->measures, &warner, error);
	for (uint32_t i = 0; good && i < limits->count; i++)
		bp_check_limit(&limits->of[i], &limits->measures[i], limits->shown_as, a,
			&limits->results[i]);
	bp_profile_finish(&profile);
	return good;
}

/* The measures of all hosts, by host and then by limit, judged limit by limit. */
static bool judge_measures(const struct bp_measure *measures, uint32_t hosts, uint32_t all_hosts,
	double a, struct limits *limits, struct bp_error *error)
{
	const struct bp_measure **of_limit = calloc(hosts, sizeof *of_limit);
	bool good = of_limit != NULL || bp_error_set(error, "out of memory");
	for (uint32_t i = 0; good && i < limits->count; i++) {
		for (uint32_t host = 0; host < hosts; host++)
			of_limit[host] = &measures[(size_t)host * limits->count + i];
		good = bp_check_hosts(&limits->of[i], of_limit, hosts, all_hosts, limits->shown_as,
			a, &limits->results[i], error);
	}
	free(of_limit);
	return good;
}

/* The hosts as a sample of more. */
static bool judge_hosts(const struct bp_fleet_request *request, struct limits *limits,
	double false_alarm, struct bp_error *error)
{
	const double a = false_alarm / limits->count;
	struct bp_warner warner = { add_warning, limits };
	const struct bp_measuring measuring = {
		.query = &request->query_options.query, .a = a, .runs = 1
	};
	struct bp_fleet_parts parts = { .count = 0 };
	struct bp_measure *measures = NULL;
	uint32_t all_hosts = 0;
	bool good = bp_fleet_parts_read_hosts(
			    request, &request->filter, BP_FLEET_HOSTS_LEAST, &parts, error) &&
		    bp_fleet_host_count(request, parts.count, &all_hosts, error);
	if (good) {
		measures = calloc((size_t)parts.count * limits->count, sizeof *measures);
		good = measures != NULL || bp_error_set(error, "out of memory");
	}
	for (uint32_t i = 0; good && i < parts.count; i++)
		good = bp_measure_all(&parts.parts[i].profile, &measuring, limits->of,
			limits->count, &measures[(size_t)i * limits->count], &warner, error);
	if (good && all_hosts > 0)
		snprintf(limits->shown_as, sizeof limits->shown_as, "all %u hosts (%u recorded)",
			all_hosts, parts.count);
	else if (good)
		snprintf(limits->shown_as, sizeof limits->shown_as,
			"the mean of one host (%u recorded)", parts.count);
	good = good && judge_measures(measures, parts.count, all_hosts, a, limits, error);
	free(measures);
	bp_fleet_parts_finish(&parts);
	return good;
}

static int show(const struct bp_arguments *arguments, struct limits *limits, double false_alarm)
{
	static const int statuses[BP_OUTCOME_COUNT] = { 0, EXIT_EXCEEDED, EXIT_UNDECIDED };
	char *files[] = { limits->shown_as };
	struct bp_report_options options = { .si = bp_option_given(arguments, "si") };
	struct bp_check check = { .results = limits->results,
		.count = limits->count,
		.verdict = BP_OUTCOME_WITHIN,
		.false_alarm = false_alarm,
		.files = files,
		.file_count = 1,
		.warnings = limits->warnings,
		.warning_count = limits->warning_count };
	for (uint32_t i = 0; i < check.count; i++)
		check.verdict = bp_check_both(check.verdict, check.results[i].outcome);
	bp_terminal_look(&options);
	if (bp_option_given(arguments, "json"))
		bp_check_write_json(&check, stdout);
	else
		bp_check_write_text(&check, &options, stdout);
	return fflush(stdout) != 0 || ferror(stdout) ? EXIT_ERROR : statuses[check.verdict];
}

int bp_fleet_check(const struct bp_fleet_request *request, struct bp_error *error)
{
	double false_alarm = BP_FALSE_ALARM_DEFAULT;
	struct limits *limits = calloc(1, sizeof *limits);
	int status = EXIT_ERROR;
	if (limits == NULL) {
		bp_error_set(error, "out of memory");
		return status;
	}
	snprintf(limits->shown_as, sizeof limits->shown_as, "the fleet");
	if (bp_option_probability(request->arguments, "false-alarm", &false_alarm, error) &&
		read_limits(request->arguments, limits, error) &&
		(bp_fleet_is_sample(request) ? judge_hosts : judge)(
			request, limits, false_alarm, error))
		status = show(request->arguments, limits, false_alarm);
	for (uint32_t i = 0; i < limits->count; i++)
		bp_check_limit_finish(&limits->of[i]);
	for (uint32_t i = 0; i < limits->warning_count; i++)
		free(limits->warnings[i].sentence);
	free(limits);
	return status;
}
