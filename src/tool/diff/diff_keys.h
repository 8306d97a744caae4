/* SPDX-License-Identifier: MIT */
/*
 * Matching: the keys of several aggregations under one roof. Each aggregation is a column; what it
 * summed under a key stands in one cell of the table, a tally. Keys are chains of stable names
 * (stable_name.h), one name long but for stacks. Private to diff/: diff.c fills and reads
 * it.
 *
 * Cells of an aggregation are merged, not its rows: two rows (parse and parse.part.0) may be one
 * key here, and with `cumulative` a sample on a stack with both counts once.
 *
 * Thread-safety: belongs to its caller; reading is safe from several threads.
 */
#ifndef BP_DIFF_DIFF_KEYS_H
#define BP_DIFF_DIFF_KEYS_H

#include "aggregation/aggregation_state.h"
#include "diff/rivals.h"

/* What one column holds under one key. */
struct bp_key_cell {
	struct bp_tally tally;
	const struct bp_rivals *rivals;	       /* of metric peak; NULL: not known */
	double counted_bytes, counted_objects; /* of threads that have counters of their own */
	bool uncounted; /* something here has no exact counter: only the tally speaks */
};

struct bp_diff_key {
	uint32_t first_name, name_count; /* into `chains` */
	uint64_t size;			 /* key size, bytes */
	/* Where it was seen last, for reports that show stacks; 0: not a stack. */
	const struct bp_aggregation *seen_in;
	struct bp_stack_id stack;
	uint64_t counted_for; /* the last cell that counts here, with its column: once each */
	/* With `paths`: numbers of keys and 1, 0 for none. A chain is a name and the caller's
	 * number. */
	uint32_t caller, first_callee;
	uint32_t callees; /* how many */
	bool is_end;	  /* some stack ends here */
};

struct bp_diff_keys {
	uint32_t columns;
	/* columns are moments of one run: functions without a name have their addresses */
	bool same_run;
	bool paths; /* keys are the beginnings of stacks (diff.h) */
	/* Paths end at the function that is charged; what it calls to allocate is left out. */
	bool until_charged;
	struct bp_diff_key *keys;
	struct bp_key_cell *cells; /* by key, then by column */
	uint32_t key_count, key_capacity, cell_capacity;
	struct bp_id_index key_index; /* key number + 1 by chain */
	uint32_t *chains;	      /* numbers of names */
	uint32_t chain_count, chain_capacity;
	char *text; /* of names, terminated */
	uint32_t text_bytes, text_capacity;
	uint32_t *names; /* where a name begins in `text` */
	uint32_t name_count, name_capacity;
	struct bp_id_index name_index; /* name number + 1 by text */
	/* Where `keeps_pairs`: which keys the cells of the last column count under, sorted by
	 * cell. */
	bool keeps_pairs;
	struct bp_cell_key *pairs;
	uint32_t pair_count, pair_capacity;
};

/* Sums the cells of an aggregation into one column. All columns must be of the same `by` and
 * `cumulative`. `program`: the stable name of the program's own file (it may have been renamed
 * between two runs; "" leaves it what it is called). Add columns in the order in which stacks
 * should be looked up, best one last. */
bool bp_diff_keys_add(struct bp_diff_keys *keys, uint32_t column,
	const struct bp_aggregation *aggregation, const char *program, struct bp_error *error);
void bp_diff_keys_finish(struct bp_diff_keys *keys);

/* The text of name `i` of a key. */
const char *bp_diff_key_name(
	const struct bp_diff_keys *keys, const struct bp_diff_key *key, uint32_t i);

/* The key of the one path that goes on from this one and has the same samples, and 1; 0: none. */
static inline uint32_t bp_diff_key_same(const struct bp_diff_key *key)
{
	return key->callees == 1 && !key->is_end ? key->first_callee : 0;
}

static inline const struct bp_key_cell *bp_diff_key_cell(
	const struct bp_diff_keys *keys, uint32_t key, uint32_t column)
{
	return &keys->cells[(size_t)key * keys->columns + column];
}

#endif
