/* SPDX-License-Identifier: MIT */
/*
 * What was seen of a process beside its samples, for `bytepoll report --resident`. Called by
 * report.c.
 */
#ifndef BP_CLI_LOOKS_H
#define BP_CLI_LOOKS_H

#include "cli/command.h"
#include "report/report.h"

/* The lines of resident memory of the one FILE: from FILE.mappings, or what a runtime said of its
 * memory in FILE itself. `parts` is set, and finished by the caller; the options point at it. The
 * query's metric says which look: peak, that of most memory; else the last. */
bool bp_looks_take_apart(const struct bp_arguments *arguments, const struct bp_query *query,
	const struct bp_profile *profile, struct bp_parts *parts, struct bp_report_options *options,
	struct bp_error *error);

/* After that, what of live objects is not resident, from FILE.pages; of the look of most memory no
 * pages are kept. `residency` is set likewise, where it is known. */
bool bp_looks_at_pages(const struct bp_arguments *arguments, const struct bp_query *query,
	const struct bp_profile *profile, struct bp_residency *residency,
	struct bp_report_options *options, struct bp_error *error);

#endif
