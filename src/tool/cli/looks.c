/* SPDX-License-Identifier: MIT */
/* See looks.h. */
#include "cli/looks.h"

#include "cli/files/residency_read.h"
#include "cli/say.h"
#include "resident/mappings_file.h"

/* What a runtime said of its memory, into the lines of --resident; *ret_known: it said something.
 * Files of runtimes have no other lines. */
static bool take_apart_runtime(const struct bp_query *query, const struct bp_profile *profile,
	const char *file, struct bp_parts *parts, bool *ret_known, struct bp_error *error)
{
	*ret_known = bp_runtime_parts_make(
		profile, query, query->metric == BP_METRIC_PEAK, parts, error);
	if (*ret_known || error->text[0] != '\0')
		return *ret_known;
	if ((profile->lacks & BP_LACKS_COUNTERS) == 0)
		return true;
	return bp_error_set(error,
		"%s: holds no figures of the runtime's memory, or they are cut off or contradict "
		"each other: of Go, /debug/pprof/heap?debug=1 ends with them; of .NET, bytepoll "
		"dotnet records them at each garbage collection",
		file);
}

bool bp_looks_take_apart(const struct bp_arguments *arguments, const struct bp_query *query,
	const struct bp_profile *profile, struct bp_parts *parts, struct bp_report_options *options,
	struct bp_error *error)
{
	struct bp_mappings mappings;
	bool known;
	if (arguments->operand_count != 1)
		return bp_error_set(error, "--resident is about one process: give one FILE");
	options->parts = parts;
	if (!take_apart_runtime(query, profile, arguments->operands[0], parts, &known, error))
		return false;
	if (known)
		return true;
	if (!bp_mappings_read(arguments->operands[0], profile, &mappings, error))
		return false;
	const enum bp_mapping_moment moment =
		query->metric == BP_METRIC_PEAK ? BP_MAPPINGS_HIGHEST : BP_MAPPINGS_LAST;
	const bool good =
		bp_parts_make(profile, query, &mappings.cuts[moment], mappings.pid, parts, error);
	bp_mappings_finish(&mappings);
	return good;
}

bool bp_looks_at_pages(const struct bp_arguments *arguments, const struct bp_query *query,
	const struct bp_profile *profile, struct bp_residency *residency,
	struct bp_report_options *options, struct bp_error *error)
{
	struct bp_error torn;
	bool known = false;
	options->without_pages = query->metric == BP_METRIC_PEAK;
	if (options->without_pages || options->parts->runtime != NULL)
		return true;
	if (!bp_residency_read(
		    arguments->operands[0], profile, query, residency, &known, &torn, error))
		return false;
	if (torn.text[0] != '\0')
		bp_say(stderr, "bytepoll: warning: %s", torn.text);
	options->residency = known ? residency : NULL;
	return true;
}
