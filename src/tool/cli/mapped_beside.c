/* SPDX-License-Identifier: MIT */
/* See mapped_beside.h. */
#include "cli/mapped_beside.h"

bool bp_mapped_beside_read(const struct bp_arguments *arguments, struct bp_input_options input,
	const struct bp_query *query, struct bp_mapped_beside *beside, struct bp_error *error)
{
	struct bp_symbol_summary symbols;
	input.mapped = true;
	beside->is_read =
		bp_input_read(arguments->operands, 1, input, &beside->profile, &symbols, error);
	beside->is_aggregated =
		beside->is_read &&
		bp_input_knows_mappings(&beside->profile, arguments->operands[0], error) &&
		bp_aggregate(&beside->profile, query, &beside->aggregation, error);
	return beside->is_aggregated;
}

void bp_mapped_beside_finish(struct bp_mapped_beside *beside)
{
	if (beside->is_aggregated)
		bp_aggregation_finish(&beside->aggregation);
	if (beside->is_read)
		bp_profile_finish(&beside->profile);
}
