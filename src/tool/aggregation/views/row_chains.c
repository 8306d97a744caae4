/* SPDX-License-Identifier: MIT */
/*
 * The stacks of a row are the cells that count under it. Each cell has a random-looking number of
 * 64 bits, and the sum of those of a row's cells stands for the set: two sets with one sum are the
 * same but for a chance of 2^-64 a pair. See row_chains.h.
 */
#include "aggregation/views/row_chains.h"

#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"

/* A row, ready to be sorted. */
struct member {
	uint64_t set;	   /* stands for its cells */
	uint32_t first;	   /* the first row with that set */
	uint32_t row;	   /* its number in the order of rows */
	uint32_t position; /* of its function on a stack, counted from the innermost frame */
};

static int compare_sets(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	if (a->set != b->set)
		return a->set < b->set ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static int compare_chains(const void *left, const void *right)
{
	const struct member *a = left, *b = right;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->position != b->position)
		return a->position > b->position ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* By number of the row as the state has it. */
static uint64_t *sets_of(const struct bp_aggregation_state *state)
{
	uint64_t *sets = calloc((size_t)state->row_count + 1, sizeof *sets);
	for (uint32_t i = 0; sets != NULL && i < state->cell_count; i++) {
		const struct bp_cell *cell = &state->cells[i];
		for (uint32_t j = 0; j < cell->row_count; j++)
			sets[state->cell_rows[cell->first_row + j]] += bp_hash_word(11, i);
	}
	return sets;
}

/* The outermost frame of the row's function on a stack that all rows of its chain stand on. */
static uint32_t position_of(const struct bp_aggregation *aggregation, uint32_t first, uint32_t row)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_row_sums *sums = &state->rows[state->order[row]];
	const uint32_t cell = state->rows[state->order[first]].first_cell;
	const struct bp_stack_id stack = { (uint32_t)state->cells[cell].id };
	uint32_t count, position = 0;
	const struct bp_frame_id *frames =
		bp_attribution_frames(&state->attribution, stack, &count);
	for (uint32_t i = 0; i < count; i++)
		if (aggregation->profile->frames.data[frames[i].i].function.i == sums->a)
			position = i;
	return position;
}

/* Sorts the members so that those of a chain stand together, in the order of the chains. */
static bool sort_members(const struct bp_aggregation *aggregation, struct member *members)
{
	const uint32_t count = aggregation->row_count;
	uint64_t *sets = sets_of(aggregation->state);
	if (sets == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
		members[i] = (struct member){ .set = sets[aggregation->state->order[i]], .row = i };
	free(sets);
	qsort(members, count, sizeof *members, compare_sets);
	for (uint32_t i = 0; i < count; i++) {
		const bool same = i > 0 && members[i].set == members[i - 1].set;
		members[i].first = same ? members[i - 1].first : members[i].row;
		members[i].position = position_of(aggregation, members[i].first, members[i].row);
	}
	qsort(members, count, sizeof *members, compare_chains);
	return true;
}

bool bp_row_chains_make(const struct bp_aggregation *aggregation, struct bp_row_chains *ret_chains)
{
	const uint32_t count = aggregation->row_count;
	const bool chained =
		aggregation->query.cumulative && aggregation->query.by == BP_KEY_FUNCTION;
	struct bp_row_chains chains = {
		.chains = calloc((size_t)count + 1, sizeof *chains.chains),
		.rows = calloc((size_t)count + 1, sizeof *chains.rows),
	};
	struct member *members = calloc((size_t)count + 1, sizeof *members);
	bool good = chains.chains != NULL && chains.rows != NULL && members != NULL;
	for (uint32_t i = 0; good && i < count; i++)
		members[i] = (struct member){ .first = i, .row = i };
	good = good && (!chained || sort_members(aggregation, members));
	for (uint32_t i = 0; good && i < count; i++) {
		chains.rows[i] = members[i].row;
		if (i == 0 || members[i].first != members[i - 1].first)
			chains.chains[chains.count++] = (struct bp_row_chain){ .first = i };
		chains.chains[chains.count - 1].count++;
	}
	free(members);
	if (good)
		*ret_chains = chains;
	else
		bp_row_chains_finish(&chains);
	return good;
}

void bp_row_chains_finish(struct bp_row_chains *chains)
{
	free(chains->chains);
	free(chains->rows);
	memset(chains, 0, sizeof *chains);
}
