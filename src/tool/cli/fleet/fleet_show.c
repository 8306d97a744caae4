/* SPDX-License-Identifier: MIT */
/* `bytepoll fleet top` and `tree`: the reports of `bytepoll report`, of the sum of all runs. */
#include "cli/command.h"
#include "cli/fleet/fleet_request.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"
#include "policy/defaults.h"
#include "policy/shown.h"
#include "report/parts/header.h"

#define EXIT_FAILED 1

static const struct bp_report *report_of(const struct bp_fleet_request *request)
{
	if (bp_option_given(request->arguments, "json"))
		return &bp_report_json;
	if (bp_option_given(request->arguments, "csv"))
		return &bp_report_csv;
	return request->word == BP_FLEET_TREE ? &bp_report_tree : &bp_report_table;
}

int bp_fleet_show(const struct bp_fleet_request *request, struct bp_error *error)
{
	const struct bp_arguments *arguments = request->arguments;
	const struct bp_report *report = report_of(request);
	struct bp_report_options options = { .si = bp_option_given(arguments, "si") };
	struct bp_query query = request->query_options.query;
	struct bp_aggregation aggregation;
	struct bp_profile profile;
	struct bp_error pager_error;
	uint64_t rows = report->rows;
	if (bp_fleet_is_sample(request))
		return bp_fleet_hosts(request, error);
	if (!bp_option_number(arguments, "rows", UINT32_MAX, &rows, error) ||
		!bp_fleet_profile(request, &request->filter, &profile, error))
		return EXIT_FAILED;
	options.rows = (uint32_t)rows;
	bp_terminal_look(&options);
	options.names_as_recorded = bp_names_as_recorded(&profile, query.by);
	if (!bp_option_given(arguments, "metric"))
		query.metric = bp_default_metric(&profile, &query);
	bool good = bp_aggregate_shown(&profile, &query, false, &aggregation, error);
	if (good) {
		bp_pager_begin_unless(arguments);
		good = report->write(&aggregation, &options, stdout, error);
		if (!bp_pager_end(&pager_error) && good) {
			*error = pager_error;
			good = false;
		}
		bp_aggregation_finish(&aggregation);
	}
	bp_profile_finish(&profile);
	return good ? 0 : EXIT_FAILED;
}
