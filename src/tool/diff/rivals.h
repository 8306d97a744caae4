/* SPDX-License-Identifier: MIT */
/*
 * The moments that compete for the peak, and how much of each key lived at any of them. A run names
 * one moment as its peak's, by its samples. Another one competes if what lived there and no longer
 * at the named one may be as much, by its upper limit, as what was made since and lived there, by
 * its lower limit; and there a key may hold quite another amount. What is said of two runs' keys at
 * their peaks must hold for each of these moments (docs/statistics.md, "Differences", "Peaks").
 * Called by diff.c. Thread-safety: belongs to its caller.
 */
#ifndef BP_DIFF_RIVALS_H
#define BP_DIFF_RIVALS_H

#include "aggregation/aggregation_state.h"

/* The error at which moments do not compete: the truth is at none of them as often as that. */
#define BP_RIVALS_ALPHA 0.001

enum bp_rivals_unit { BP_RIVALS_BYTES, BP_RIVALS_OBJECTS, BP_RIVALS_UNITS };

/* Of one key, for bytes and objects: the sums at the competing moments where its limits are lowest
 * and highest, about, and those moments since the start, in ns. Zeroed: it held nothing at any. */
struct bp_rivals {
	struct bp_sums least[BP_RIVALS_UNITS], most[BP_RIVALS_UNITS];
	uint64_t least_at_ns[BP_RIVALS_UNITS], most_at_ns[BP_RIVALS_UNITS];
};

/* Which keys a cell counts under: pairs, sorted by cell. */
struct bp_cell_key {
	uint32_t cell, key;
};

/* Walks through the run and fills `rivals`, one for each of `key_count` keys, zeroed by the caller.
 * The aggregation is of metric peak, with `all_cells`, and has a peak. False: no memory. */
bool bp_rivals_find(const struct bp_aggregation *aggregation, const struct bp_cell_key *pairs,
	uint32_t pair_count, struct bp_rivals *rivals, uint32_t key_count);

#endif
