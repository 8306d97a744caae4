/* SPDX-License-Identifier: MIT */
/*
 * Cumulative rows that are about the same samples: functions that stand on the same stacks, as main
 * and what it calls once. Each of them says the same figures, so that a report for people shows
 * them as one line (text/chain_text.h). Called by report/table.c.
 */
#ifndef BP_AGGREGATION_VIEWS_ROW_CHAINS_H
#define BP_AGGREGATION_VIEWS_ROW_CHAINS_H

#include "aggregation/aggregate.h"

struct bp_row_chain {
	uint32_t first, count; /* into rows */
};

struct bp_row_chains {
	struct bp_row_chain *chains; /* in the order of the first of their rows */
	uint32_t count;
	uint32_t *rows; /* numbers of rows; of a chain the outermost function first */
};

/* The chains of all rows; where the query is not cumulative by function every row is one by itself.
 * The aggregation must be finished. Returns false without memory. */
bool bp_row_chains_make(const struct bp_aggregation *aggregation, struct bp_row_chains *ret_chains);
void bp_row_chains_finish(struct bp_row_chains *chains);

#endif
