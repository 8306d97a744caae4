/* SPDX-License-Identifier: MIT */
/*
 * What a program mapped itself, read beside its malloc: for the sum of both in a report, and for
 * the page that has both. Not thread-safe.
 */
#ifndef BP_CLI_MAPPED_BESIDE_H
#define BP_CLI_MAPPED_BESIDE_H

#include "aggregation/aggregate.h"
#include "cli/command.h"
#include "cli/input.h"

/* Zeroed memory: nothing was read. */
struct bp_mapped_beside {
	struct bp_profile profile;
	struct bp_aggregation aggregation;
	bool is_read, is_aggregated;
};

/* Reads the one FILE again, for its mappings, and aggregates them by `query`. False: it cannot be
 * read, or does not tell them. The caller finishes it in any case. */
bool bp_mapped_beside_read(const struct bp_arguments *arguments, struct bp_input_options input,
	const struct bp_query *query, struct bp_mapped_beside *beside, struct bp_error *error);
void bp_mapped_beside_finish(struct bp_mapped_beside *beside);

#endif
