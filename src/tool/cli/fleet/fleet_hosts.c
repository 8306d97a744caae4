/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll fleet top --hosts sample`, and `tree`: the hosts that were recorded are taken for a
 * sample of more of their kind. Shown is what a host holds on average, or with --host-count what
 * all of them hold, with intervals that cover how much hosts differ. Several runs of one host are
 * summed: they are not independent of each other.
 */
#include "cli/command.h"
#include "cli/fleet/fleet_parts.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/terminal.h"
#include "report/diff/means_report.h"

#define EXIT_FAILED 1
#define ROWS_FOR_EYES 20

static bool write_means(const struct bp_fleet_request *request, const struct bp_fleet_parts *parts,
	const struct bp_means_options *options, struct bp_error *error)
{
	const bool json = bp_option_given(request->arguments, "json");
	const bool tree = request->word == BP_FLEET_TREE && !json;
	struct bp_error pager_error;
	struct bp_means means;
	if (!bp_means_make(parts->runs, parts->count, tree, &means, error))
		return false;
	bp_pager_begin_unless(request->arguments);
	bool good = true;
	if (tree)
		good = bp_write_means_tree(&means, options, stdout, error);
	else
		(json ? bp_write_means_json : bp_write_means_text)(&means, options, stdout);
	bp_means_finish(&means);
	if (!bp_pager_end(&pager_error) && good) {
		*error = pager_error;
		good = false;
	}
	return good;
}

int bp_fleet_hosts(const struct bp_fleet_request *request, struct bp_error *error)
{
	const struct bp_arguments *arguments = request->arguments;
	const bool all = bp_option_given(arguments, "json") || request->word == BP_FLEET_TREE;
	uint64_t rows = all ? BP_ROWS_ALL : ROWS_FOR_EYES;
	struct bp_means_options options = { .report.si = bp_option_given(arguments, "si") };
	struct bp_fleet_parts parts = { .count = 0 };
	bool good = bp_option_number(arguments, "rows", UINT32_MAX, &rows, error) &&
		    bp_fleet_parts_read_hosts(
			    request, &request->filter, BP_FLEET_HOSTS_LEAST, &parts, error) &&
		    bp_fleet_host_count(request, parts.count, &options.all_hosts, error);
	const double scale = options.all_hosts > 0 ? options.all_hosts : 1;
	good = good && bp_fleet_parts_aggregate(request, scale, &parts, error);
	options.report.rows = (uint32_t)rows;
	options.report.names_as_recorded = good && bp_fleet_parts_as_recorded(request, &parts);
	bp_terminal_look(&options.report);
	good = good && write_means(request, &parts, &options, error);
	bp_fleet_parts_finish(&parts);
	return good ? 0 : EXIT_FAILED;
}
