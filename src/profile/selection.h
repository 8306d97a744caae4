/* SPDX-License-Identifier: MIT */
/*
 * Which samples the filters of a query let through: decided once per stack, thread, process and
 * kind, so that a sample costs a few table look-ups. Called by aggregate.c and timeline.c.
 */
#ifndef BP_PROFILE_SELECTION_H
#define BP_PROFILE_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "profile/aggregate.h"
#include "profile/attribution.h"

struct bp_selection {
	bool *stacks, *threads, *processes; /* by id: may it pass? */
	bool kinds[256];
	uint64_t size_low, size_high;
};

bool bp_selection_init(struct bp_selection *selection, const struct bp_attribution *attribution,
	const struct bp_query *query, struct bp_error *error);
void bp_selection_finish(struct bp_selection *selection);

static inline bool bp_selection_holds(
	const struct bp_selection *selection, const struct bp_sample *sample)
{
	return selection->stacks[sample->stack.i] && selection->threads[sample->thread.i] &&
	       selection->processes[sample->process.i] && selection->kinds[sample->kind] &&
	       sample->size >= selection->size_low && sample->size <= selection->size_high;
}

/* The name of a kind of call, for `--by type`. */
const char *bp_kind_name(uint8_t kind);

#endif
