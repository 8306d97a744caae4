/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll fleet diff`: the runs of one release against those of another. With `--hosts all` the
 * runs of a side are all there are, and their sum is compared with the other side's: only sampling
 * is noise. A new release has had fewer runs than the old one: then base is multiplied so that it
 * has as many. With `--hosts sample` the hosts of a side are taken for a sample of more: all runs
 * of a host are one run, since they are not independent of each other, and how much hosts vary is
 * estimated from them and counted in, as `bytepoll diff` does with several files a side.
 */
#include "cli/command.h"
#include "cli/fleet/fleet_parts.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"
#include "report/diff/diff_report.h"

#define EXIT_FAILED 1
#define ROWS_FOR_EYES 20
#define HOSTS_LEAST 2 /* of each side: together they have two degrees of freedom */

/* The parts are hosts, or whole sides: base first. */
struct sides {
	struct bp_fleet_parts parts;
	uint32_t counts[2];
};

/* The runs of one release, together or host by host. */
static bool read_side(const struct bp_fleet_request *request, const char *release, bool apart,
	struct sides *sides, uint32_t side, struct bp_error *error)
{
	struct bp_fleet_filter filter = request->filter;
	const uint32_t before = sides->parts.count;
	filter.releases = &release;
	filter.release_count = 1;
	const bool good =
		apart ? bp_fleet_parts_read_hosts(
				request, &filter, HOSTS_LEAST, &sides->parts, error)
		      : bp_fleet_parts_read(request, &filter, release, &sides->parts, error);
	sides->counts[side] = sides->parts.count - before;
	return good;
}

/* The number of runs of a whole side. */
static uint32_t runs_of(const struct sides *sides, uint32_t side)
{
	const uint32_t runs = sides->parts.parts[side].profile.stored_runs;
	return runs > 0 ? runs : 1;
}

/* Sums of different numbers of runs would differ where nothing changed. */
static void level(struct sides *sides)
{
	sides->parts.runs[BP_BASE].scale = (double)runs_of(sides, BP_NEW) / runs_of(sides, BP_BASE);
}

static bool say_levelled(const struct sides *sides, struct bp_diff *diff)
{
	const uint32_t base = runs_of(sides, BP_BASE), new = runs_of(sides, BP_NEW);
	const struct bp_fleet_part *parts = sides->parts.parts;
	return base == new || bp_diff_warn(diff,
				      "%.100s has %u run%s and %.100s %u: the figures of base are "
				      "multiplied by %.4g, as if it had as many",
				      parts[BP_BASE].name, base, base == 1 ? "" : "s",
				      parts[BP_NEW].name, new, sides->parts.runs[BP_BASE].scale);
}

static bool write_diff(const struct bp_fleet_request *request, const struct sides *sides,
	const struct bp_diff_query *asked, const struct bp_diff_options *options,
	struct bp_error *error)
{
	const bool json = bp_option_given(request->arguments, "json");
	struct bp_diff diff;
	if (!bp_diff_make(asked, sides->parts.runs, sides->counts[0],
		    sides->parts.runs + sides->counts[0], sides->counts[1], &diff, error))
		return false;
	if (!bp_fleet_is_sample(request) && !say_levelled(sides, &diff)) {
		bp_diff_finish(&diff);
		return bp_error_set(error, "out of memory");
	}
	bp_pager_begin_unless(request->arguments);
	(json ? bp_write_diff_json : bp_write_diff_text)(&diff, options, stdout);
	bp_diff_finish(&diff);
	return bp_pager_end(error);
}

static bool read_options(const struct bp_arguments *arguments, struct bp_diff_query *ret_asked,
	struct bp_diff_options *ret_options, struct bp_error *error)
{
	const bool all = bp_option_given(arguments, "all");
	uint64_t rows = all || bp_option_given(arguments, "json") ? BP_ROWS_ALL : ROWS_FOR_EYES;
	if (!bp_option_number(arguments, "rows", UINT32_MAX, &rows, error) ||
		!bp_option_probability(arguments, "fdr", &ret_asked->rate, error))
		return false;
	ret_asked->objects = bp_option_given(arguments, "objects");
	ret_options->all = all;
	ret_options->report.rows = (uint32_t)rows;
	ret_options->report.si = bp_option_given(arguments, "si");
	bp_terminal_look(&ret_options->report);
	return true;
}

int bp_fleet_diff(const struct bp_fleet_request *request, struct bp_error *error)
{
	const struct bp_arguments *arguments = request->arguments;
	const bool apart = bp_fleet_is_sample(request);
	const char *releases[2] = { bp_option_value(arguments, "base"),
		bp_option_value(arguments, "new") };
	struct bp_diff_query asked = { .rate = 0 };
	struct bp_diff_options options = { .all = false };
	struct sides sides = { .counts = { 0 } };
	bool good = read_options(arguments, &asked, &options, error);
	for (uint32_t side = 0; good && side < 2; side++)
		good = read_side(request, releases[side], apart, &sides, side, error);
	good = good && bp_fleet_parts_aggregate(request, 1, &sides.parts, error);
	if (good && !apart)
		level(&sides);
	options.report.names_as_recorded =
		good && bp_fleet_parts_as_recorded(request, &sides.parts);
	good = good && write_diff(request, &sides, &asked, &options, error);
	bp_fleet_parts_finish(&sides.parts);
	return good ? 0 : EXIT_FAILED;
}
