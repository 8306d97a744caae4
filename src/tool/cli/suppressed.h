/* SPDX-License-Identifier: MIT */
/*
 * `--suppressions FILE`: stacks that the file names are hidden from what is live, and how much that
 * is is said. Used by the commands that have BP_OPTION_SUPPRESSIONS in their table.
 */
#ifndef BP_CLI_SUPPRESSED_H
#define BP_CLI_SUPPRESSED_H

#include <limits.h>

#include "cli/options/query_options.h"
#include "model/names/suppressions.h"

#define BP_OPTION_SUPPRESSIONS                                                             \
	{                                                                                  \
		.name = "suppressions", .argument = "FILE", .file = true,                  \
		.summary = "hide what leak:PATTERN lines of this file match (LSan syntax)" \
	}

/* Zeroed is valid; must outlive the query. */
struct bp_suppressed {
	struct bp_suppressions suppressions;
	char text[PATH_MAX + 32]; /* of the filter */
};

/* Reads the file, if one is given, and adds a filter to the query. */
bool bp_suppressed_read(const struct bp_arguments *arguments, struct bp_suppressed *suppressed,
	struct bp_query_options *options, struct bp_error *error);
void bp_suppressed_finish(struct bp_suppressed *suppressed);

/* Adds to the warnings how much is hidden; nothing if the query has no suppressions. */
bool bp_suppressed_tell(struct bp_aggregation *aggregation, struct bp_error *error);

#endif
