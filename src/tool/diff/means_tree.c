/* SPDX-License-Identifier: MIT */
/*
 * Paths are keys that know their caller (diff_keys.h). They are sorted by it, and those of one
 * caller by what they hold, so that the children of a path are a range. See means_tree.h.
 */
#include "diff/means_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "diff/diff_state.h"

/* Children of one path: `order[first]` to `order[end - 1]`. */
struct range {
	uint32_t first, end;
};

struct builder {
	const struct bp_means *means;
	const struct bp_diff_state *state;
	uint32_t *order;	/* keys, sorted */
	struct range *children; /* by the number of the caller: 0 of the outermost ones */
	double least;
	struct bp_means_tree tree;
};

static int compare(const void *left, const void *right, void *context)
{
	const struct bp_diff_state *state = context;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const uint32_t x = state->keys.keys[a].caller, y = state->keys.keys[b].caller;
	if (x != y)
		return x < y ? -1 : 1;
	const int order = bp_figures_compare_order(state->results[a].new, state->results[b].new);
	const int names = order != 0 ? 0 : strcmp(state->results[a].name, state->results[b].name);
	return order != 0 ? order : names != 0 ? names : a < b ? -1 : a > b;
}

/* Returns the whole, of all estimates of the outermost functions. */
static double sort(struct builder *builder)
{
	const struct bp_diff_state *state = builder->state;
	const uint32_t count = builder->means->row_count;
	double whole = 0;
	memcpy(builder->order, builder->means->order, count * sizeof *builder->order);
	qsort_r(builder->order, count, sizeof *builder->order, compare, (void *)(uintptr_t)state);
	for (uint32_t i = 0; i < count; i++) {
		struct range *range =
			&builder->children[state->keys.keys[builder->order[i]].caller];
		if (range->end == 0)
			range->first = i;
		range->end = i + 1;
		if (state->keys.keys[builder->order[i]].caller == 0)
			whole += state->results[builder->order[i]].new;
	}
	return whole;
}

static struct bp_cells_of_row cells_of(const struct builder *builder, uint32_t key)
{
	return (struct bp_cells_of_row){ .cells = bp_diff_key_cell(&builder->state->keys, key, 0) };
}

/* A node of these cells; its number in the tree is `count` - 1 then. False: no memory. */
static bool add(
	struct builder *builder, const struct bp_cells_of_row *cells, struct bp_means_node node)
{
	struct bp_means_tree *tree = &builder->tree;
	if (!bp_vec_reserve(&tree->nodes, &tree->capacity, tree->count + 1u, sizeof *tree->nodes))
		return false;
	bp_means_fill(&builder->means->diff, cells, &node.row);
	tree->nodes[tree->count++] = node;
	return true;
}

/* One node for the paths from `first` on, which go on from different functions: no sample is in
 * two. */
static bool add_pruned(struct builder *builder, const struct range *small, uint32_t depth)
{
	const uint32_t hosts = builder->means->host_count;
	struct bp_key_cell *sums = calloc(hosts, sizeof *sums);
	const struct bp_cells_of_row cells = { .cells = sums };
	bool good = sums != NULL;
	for (uint32_t i = small->first; good && i < small->end; i++)
		for (uint32_t host = 0; good && host < hosts; host++)
			good = bp_tally_merge(&sums[host].tally,
				&bp_diff_key_cell(&builder->state->keys, builder->order[i], host)
					 ->tally);
	const uint32_t count = small->end - small->first;
	good = good &&
	       add(builder, &cells, (struct bp_means_node){ .depth = depth, .pruned = count });
	builder->tree.pruned += count;
	for (uint32_t host = 0; sums != NULL && host < hosts; host++)
		bp_tally_finish(&sums[host].tally);
	free(sums);
	return good;
}

static bool add_children(struct builder *builder, uint32_t caller, uint32_t depth)
{
	const struct bp_diff_state *state = builder->state;
	const struct range range = builder->children[caller];
	struct range small = range;
	while (small.first < range.end &&
		state->results[builder->order[small.first]].new >= builder->least)
		small.first++;
	/* A node for one pruned child would only hide its name. */
	if (small.first + 1 == range.end && small.first > range.first)
		small.first = range.end;
	/* Are all samples of the caller, the node added last, in the one path that goes on? */
	builder->tree.nodes[builder->tree.count - 1].goes_on =
		small.first > range.first &&
		(caller == 0 ? range.end - range.first == 1
			     : bp_diff_key_same(&state->keys.keys[caller - 1]) != 0);
	for (uint32_t i = range.first; i < small.first; i++) {
		const uint32_t key = builder->order[i];
		const struct bp_cells_of_row cells = cells_of(builder, key);
		if (!add(builder, &cells,
			    (struct bp_means_node){
				    .name = state->results[key].name, .depth = depth }) ||
			!add_children(builder, key + 1, depth + 1))
			return false;
	}
	return small.first == small.end || add_pruned(builder, &small, depth);
}

/* (What has no stack is a path, too: the whole is all outermost ones.) */
static bool add_all(struct builder *builder)
{
	const struct bp_cells_of_row whole = { .cells = builder->state->totals, .whole = true };
	return add(builder, &whole, (struct bp_means_node){ .depth = 0 }) &&
	       add_children(builder, 0, 1);
}

bool bp_means_tree_build(const struct bp_means *means, double share_min,
	struct bp_means_tree *ret_tree, struct bp_error *error)
{
	const struct bp_diff_state *state = means->diff.state;
	struct builder builder = { .means = means,
		.state = state,
		.order = calloc((size_t)means->row_count + 1, sizeof *builder.order),
		.children = calloc((size_t)state->keys.key_count + 1, sizeof *builder.children) };
	bool good = builder.order != NULL && builder.children != NULL;
	if (good) {
		builder.least = share_min * sort(&builder);
		good = add_all(&builder);
	}
	free(builder.order);
	free(builder.children);
	if (!good) {
		bp_means_tree_finish(&builder.tree);
		return bp_error_set(error, "out of memory");
	}
	*ret_tree = builder.tree;
	return true;
}

void bp_means_tree_finish(struct bp_means_tree *tree)
{
	free(tree->nodes);
	*tree = (struct bp_means_tree){ .count = 0 };
}
