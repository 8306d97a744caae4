/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll fleet html`: the page of `bytepoll html`, of the sum of all runs. Runs have no common
 * time, so that the page has neither a timeline nor a peak, as that of several unrelated files.
 */
#include <string.h>

#include "cli/command.h"
#include "cli/files/page_file.h"
#include "cli/fleet/fleet_request.h"
#include "page/html.h"
#include "policy/shown.h"

#define EXIT_FAILED 1

static bool write_page(struct bp_written_file *file, const struct bp_aggregation *aggregation,
	struct bp_error *error)
{
	const struct bp_page_options options = { .bytes_max = BP_PAGE_BYTES_MAX };
	struct bp_page_summary summary = { 0 };
	if (!bp_written_file_begin(file, error))
		return false;
	const bool good = bp_page_write(aggregation, NULL, &options, file->out, &summary, error);
	if (!bp_written_file_end(file, good, error))
		return false;
	bp_page_file_tell(file->path, summary.bytes, summary.pruned);
	return true;
}

int bp_fleet_html(const struct bp_fleet_request *request, struct bp_error *error)
{
	const struct bp_arguments *arguments = request->arguments;
	struct bp_written_file file =
		bp_page_file(arguments, bp_option_value(arguments, "output"), "-o");
	struct bp_aggregation aggregation;
	struct bp_profile profile;
	if (!bp_page_file_check(&file, error) ||
		!bp_fleet_profile(request, &request->filter, &profile, error))
		return EXIT_FAILED;
	bool good = bp_aggregate_shown(&profile, &request->query_options.query,
		!bp_option_given(arguments, "metric"), &aggregation, error);
	if (good) {
		good = write_page(&file, &aggregation, error);
		bp_aggregation_finish(&aggregation);
	}
	bp_profile_finish(&profile);
	return good ? 0 : EXIT_FAILED;
}
