/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll fleet growth`: what all runs together held at one moment, and what they held at a
 * later one, as `bytepoll report --growth` shows it for one run. The moments are of a day, or
 * since the start of each run; there is no default, since runs of different lengths have no common
 * half. A run that was not recorded at both is left out, because what begins or ends in between
 * would look like growth.
 */
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "cli/command.h"
#include "cli/fleet/fleet_parts.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"
#include "policy/shown.h"
#include "query/time_text.h"
#include "report/diff/diff_report.h"
#include "report/parts/header.h"

#define EXIT_FAILED 1
#define ERROR_OF_SUSPECTS 0.05 /* chance of any false suspect, as of `report --growth` */
#define ROWS_FOR_EYES 20
#define SHOWN_AS "the fleet"

static bool read_moment(const char *name, const char *text, bool *ret_of_day, int64_t *ret_ns,
	struct bp_error *error)
{
	struct bp_error ignored;
	uint64_t since_start_ns;
	*ret_of_day = bp_fleet_date_read(text, ret_ns);
	if (*ret_of_day)
		return true;
	if (!bp_time_read(text, &since_start_ns, &ignored))
		return bp_error_set(error,
			"--%s %.200s: write a time since the start of each run, as 600 or 2h, or a "
			"date and a time in UTC: 2026-01-31T23:59",
			name, text);
	*ret_ns = (int64_t)since_start_ns;
	return true;
}

static bool differ(const char *name, const char *text, const char *other_name, const char *other,
	struct bp_error *error)
{
	return bp_error_set(error,
		"--%s %.200s and --%s %.200s: give both as dates, or both as times since the start of "
		"each run",
		name, text, other_name, other);
}

/* All of them are of a day, or all since the start of each run. */
bool bp_fleet_window_read(
	const struct bp_arguments *arguments, struct bp_query *query, struct bp_error *error)
{
	const struct {
		const char *name;
		bool *has;
		uint64_t *ns;
	} moments[] = { { "from", &query->has_from, &query->from_ns },
		{ "until", &query->has_to, &query->to_ns },
		{ "at", &query->has_at, &query->at_ns } };
	const char *first = NULL, *first_name = NULL;
	for (size_t i = 0; i < BP_COUNT(moments); i++) {
		const char *text = bp_option_value(arguments, moments[i].name);
		int64_t ns;
		bool of_day;
		if (text == NULL)
			continue;
		if (!read_moment(moments[i].name, text, &of_day, &ns, error))
			return false;
		if (first != NULL && of_day != query->of_day)
			return differ(first_name, first, moments[i].name, text, error);
		first = text;
		first_name = moments[i].name;
		query->of_day = of_day;
		*moments[i].has = true;
		*moments[i].ns = ns > 0 ? (uint64_t)ns : 0;
	}
	return bp_query_check(query, error);
}

bool bp_fleet_moments_read(const struct bp_arguments *arguments,
	struct bp_fleet_moments *ret_moments, struct bp_error *error)
{
	const char *from = bp_option_value(arguments, "from");
	const char *until = bp_option_value(arguments, "until");
	struct bp_fleet_moments moments = { .of_day = false };
	bool of_day;
	if (from == NULL || until == NULL)
		return bp_error_set(error,
			"growth is between two moments: --from 600 --until 3600, since the start of "
			"each run, or of a day, in UTC: --from 2026-01-31T10:00 --until "
			"2026-01-31T12:00");
	if (!read_moment("from", from, &moments.of_day, &moments.from_ns, error) ||
		!read_moment("until", until, &of_day, &moments.until_ns, error))
		return false;
	if (of_day != moments.of_day)
		return differ("from", from, "until", until, error);
	if (moments.from_ns >= moments.until_ns)
		return bp_error_set(
			error, "--from %.200s: must be before --until %.200s", from, until);
	*ret_moments = moments;
	return true;
}

/* As the moments are counted in the profile: those of a day from the first one on
 * (fleet/fleet.h). */
static int64_t origin_of(const struct bp_fleet_moments *asked)
{
	return asked->of_day ? asked->from_ns : 0;
}

/* Of all runs together, or host by host. */
static bool compare(const struct bp_fleet_request *request, const struct bp_fleet_parts *parts,
	struct bp_diff_moments *ret_moments, struct bp_error *error)
{
	const struct bp_fleet_moments *asked = request->filter.moments;
	const struct bp_diff_query growth = { .growth = true, .rate = ERROR_OF_SUSPECTS };
	const uint64_t at_ns[BP_SIDES] = { [BP_BASE] =
						   (uint64_t)(asked->from_ns - origin_of(asked)),
		[BP_NEW] = (uint64_t)(asked->until_ns - origin_of(asked)) };
	const struct bp_query *query = &request->query_options.query;
	if (!bp_fleet_is_sample(request))
		return bp_diff_moments_make(&parts->parts[0].profile, query, at_ns, &growth,
			SHOWN_AS, ret_moments, error);
	const struct bp_profile **profiles = calloc(parts->count, sizeof *profiles);
	const char **names = calloc(parts->count, sizeof *names);
	bool good = (profiles != NULL && names != NULL) || bp_error_set(error, "out of memory");
	for (uint32_t i = 0; good && i < parts->count; i++) {
		profiles[i] = &parts->parts[i].profile;
		names[i] = parts->parts[i].name;
	}
	good = good && bp_diff_moments_make_hosts(profiles, names, parts->count, query, at_ns,
			       &growth, ret_moments, error);
	free(profiles);
	free(names);
	return good;
}

/* `left_out`: runs that are not among the parts. */
static bool make(const struct bp_fleet_request *request, const struct bp_fleet_parts *parts,
	uint32_t left_out, struct bp_diff_moments *ret_moments, struct bp_error *error)
{
	uint32_t runs = left_out;
	for (uint32_t i = 0; i < parts->count; i++)
		runs += parts->parts[i].profile.stored_runs;
	if (!compare(request, parts, ret_moments, error))
		return false;
	ret_moments->origin_unix_ns = (uint64_t)origin_of(request->filter.moments);
	if (left_out > 0)
		bp_diff_warn(&ret_moments->diff,
			"%u of %u runs were not recorded at both moments, and are left out",
			left_out, runs);
	return true;
}

/* What is read sets how many runs are left out, which the request has no use for. */
static bool read_parts(const struct bp_fleet_request *request, struct bp_fleet_parts *parts,
	uint32_t *ret_left_out, struct bp_error *error)
{
	struct bp_fleet_moments moments = *request->filter.moments;
	struct bp_fleet_filter filter = request->filter;
	filter.moments = &moments;
	*ret_left_out = 0;
	if (!bp_fleet_is_sample(request)) {
		const bool good = bp_fleet_parts_read(request, &filter, SHOWN_AS, parts, error);
		*ret_left_out = moments.left_out;
		return good;
	}
	if (!bp_fleet_parts_read_hosts(request, &filter, BP_FLEET_HOSTS_LEAST, parts, error))
		return false;
	*ret_left_out = parts->left_out;
	return true;
}

int bp_fleet_growth(const struct bp_fleet_request *request, struct bp_error *error)
{
	const struct bp_arguments *arguments = request->arguments;
	const bool json = bp_option_given(arguments, "json");
	struct bp_report_options options = { .si = bp_option_given(arguments, "si") };
	struct bp_diff_moments moments;
	struct bp_fleet_parts parts = { .count = 0 };
	uint32_t left_out = 0;
	uint64_t rows = json ? BP_ROWS_ALL : ROWS_FOR_EYES;
	bool good = bp_option_number(arguments, "rows", UINT32_MAX, &rows, error) &&
		    read_parts(request, &parts, &left_out, error);
	options.rows = (uint32_t)rows;
	bp_terminal_look(&options);
	options.names_as_recorded = good && bp_fleet_parts_as_recorded(request, &parts);
	good = good && make(request, &parts, left_out, &moments, error);
	if (good) {
		bp_pager_begin_unless(arguments);
		(json ? bp_write_growth_json : bp_write_growth_text)(&moments, &options, stdout);
		bp_diff_moments_finish(&moments);
		good = bp_pager_end(error);
	}
	bp_fleet_parts_finish(&parts);
	return good ? 0 : EXIT_FAILED;
}
