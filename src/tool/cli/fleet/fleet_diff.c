/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll fleet diff`: the runs of one release against those of another. With `--hosts all` the
 * runs of a side are all there are, and their sum is compared with the other side's: only sampling
 * is noise. With `--hosts sample` they are taken for a sample of more of their kind: every run is a
 * run of its own, and how much they vary is estimated from them and counted in, as `bytepoll diff`
 * does with several files a side.
 */
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "cli/command.h"
#include "cli/fleet/fleet_request.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"
#include "policy/defaults.h"
#include "policy/shown.h"
#include "report/diff/diff_report.h"
#include "report/parts/header.h"

#define EXIT_FAILED 1
#define ROWS_FOR_EYES 20

/* A run of a side, or a whole side. */
struct part {
	struct bp_profile profile;
	struct bp_aggregation aggregation;
	bool read, aggregated;
	char name[33];
};

struct sides {
	struct part *parts; /* base first */
	struct bp_run *runs;
	uint32_t counts[2], count;
};

static bool read_part(const struct bp_fleet_request *request, const struct bp_fleet_filter *filter,
	const char *name, struct part *part, struct bp_error *error)
{
	strncpy(part->name, name, sizeof part->name - 1);
	part->read = bp_fleet_profile(request, filter, &part->profile, error);
	return part->read;
}

static bool grow(struct sides *sides, uint32_t more, struct bp_error *error)
{
	struct part *parts = realloc(sides->parts, (size_t)(sides->count + more) * sizeof *parts);
	if (parts == NULL)
		return bp_error_set(error, "out of memory");
	memset(parts + sides->count, 0, more * sizeof *parts);
	sides->parts = parts;
	return true;
}

/* The runs of one release, together or each by itself. */
static bool read_side(const struct bp_fleet_request *request, const char *release, bool apart,
	struct sides *sides, uint32_t side, struct bp_error *error)
{
	struct bp_fleet_filter filter = request->filter;
	struct bp_fleet_runs runs = { 0 };
	filter.releases = &release;
	filter.release_count = 1;
	if (!apart) {
		sides->counts[side] = 1;
		return grow(sides, 1, error) &&
		       read_part(request, &filter, release, &sides->parts[sides->count++], error);
	}
	bool good = bp_fleet_list_runs(&request->store, &filter, &runs, error);
	if (good && runs.count > BP_RUNS_MAX)
		good = bp_error_set(error, "--hosts sample: %u runs of %s are more than %d",
			runs.count, release, BP_RUNS_MAX);
	good = good && grow(sides, runs.count, error);
	for (uint32_t i = 0; good && i < runs.count; i++) {
		filter.run = runs.ids[i];
		good = read_part(
			request, &filter, runs.ids[i], &sides->parts[sides->count++], error);
	}
	sides->counts[side] = runs.count;
	free(runs.ids);
	return good;
}

static bool aggregate(const struct bp_fleet_request *request, struct sides *sides,
	struct bp_query query, struct bp_error *error)
{
	if (!bp_option_given(request->arguments, "metric"))
		query.metric = bp_default_metric(&sides->parts[0].profile, query.metric);
	/* Everything is Horvitz-Thompson, so that base + change = new; threads are counted. */
	if (query.by != BP_KEY_THREAD)
		query.estimator = BP_ESTIMATOR_HT;
	sides->runs = calloc(sides->count, sizeof *sides->runs);
	if (sides->runs == NULL)
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 0; i < sides->count; i++) {
		struct part *part = &sides->parts[i];
		part->aggregated = bp_aggregate(&part->profile, &query, &part->aggregation, error);
		if (!part->aggregated ||
			!bp_diff_has_figures(&part->aggregation, part->name, error))
			return false;
		sides->runs[i] = (struct bp_run){ .shown = &part->aggregation,
			.compared = &part->aggregation,
			.scale = 1,
			.file = part->name };
	}
	return true;
}

static bool write_diff(const struct bp_fleet_request *request, const struct sides *sides,
	const struct bp_diff_query *asked, const struct bp_diff_options *options,
	struct bp_error *error)
{
	const bool json = bp_option_given(request->arguments, "json");
	struct bp_diff diff;
	if (!bp_diff_make(asked, sides->runs, sides->counts[0], sides->runs + sides->counts[0],
		    sides->counts[1], &diff, error))
		return false;
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
	const bool apart = strcmp(bp_option_value_or(arguments, "hosts", "all"), "sample") == 0;
	const char *releases[2] = { bp_option_value(arguments, "base"),
		bp_option_value(arguments, "new") };
	struct bp_diff_query asked = { .rate = 0 };
	struct bp_diff_options options = { .all = false };
	struct sides sides = { .count = 0 };
	bool good = read_options(arguments, &asked, &options, error);
	for (uint32_t side = 0; good && side < 2; side++)
		good = read_side(request, releases[side], apart, &sides, side, error);
	good = good && aggregate(request, &sides, request->query_options.query, error);
	options.report.names_as_recorded = good;
	for (uint32_t i = 0; good && i < sides.count; i++)
		options.report.names_as_recorded &= bp_names_as_recorded(
			&sides.parts[i].profile, request->query_options.query.by);
	good = good && write_diff(request, &sides, &asked, &options, error);
	for (uint32_t i = 0; i < sides.count; i++) {
		if (sides.parts[i].aggregated)
			bp_aggregation_finish(&sides.parts[i].aggregation);
		if (sides.parts[i].read)
			bp_profile_finish(&sides.parts[i].profile);
	}
	free(sides.parts);
	free(sides.runs);
	return good ? 0 : EXIT_FAILED;
}
