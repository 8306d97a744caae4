/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll fleet growth`: what all runs together held at one moment, and what they held at a
 * later one, as `bytepoll report --growth` shows it for one run. The moments are of a day, or
 * since the start of each run; there is no default, since runs of different lengths have no common
 * half. A run that was not recorded at both is left out, because what begins or ends in between
 * would look like growth.
 */
#include <stdlib.h>

#include "cli/command.h"
#include "cli/fleet/fleet_parts.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"
#include "policy/shown.h"
#include "report/diff/diff_report.h"
#include "report/parts/header.h"

#define EXIT_FAILED 1
#define ERROR_OF_SUSPECTS 0.05 /* chance of any false suspect, as of `report --growth` */
#define ROWS_FOR_EYES 20
#define SHOWN_AS "the fleet"

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
