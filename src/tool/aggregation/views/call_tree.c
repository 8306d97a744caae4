/* SPDX-License-Identifier: MIT */
/*
 * Stacks are sorted by their functions from the outermost on; then every node of the tree is a
 * range of stacks, and what is not in it is what stands before and after the range. So a node's
 * sums and those of its complement (which calibrated estimates need) are merges of running sums,
 * and no trie is built. See call_tree.h.
 */
#include "aggregation/views/call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"

/* A stack, ready to be sorted. */
struct leaf {
	const struct bp_row_sums *row;
	const struct bp_frame_id *frames; /* innermost first */
	uint32_t count;
	bool callers; /* the tree begins at the innermost one */
};

/* A range of leaves that agree in their first `depth` frames. */
struct range {
	uint32_t first, end, depth;
	double order;
};

struct builder {
	const struct bp_aggregation *aggregation;
	const struct bp_profile *profile;
	struct leaf *leaves;
	uint32_t count;
	struct bp_sums *before, *after; /* of leaves below, and from a number on */
	double order_min;
	struct bp_call_tree tree;
};

/* The function of a leaf at a depth of the tree. */
static struct bp_frame_id frame_at(const struct leaf *leaf, uint32_t depth)
{
	return leaf->frames[leaf->callers ? depth : leaf->count - 1 - depth];
}

static uint32_t function_at(
	const struct bp_profile *profile, const struct leaf *leaf, uint32_t depth)
{
	return profile->frames.data[frame_at(leaf, depth).i].function.i;
}

static int compare_leaves(const void *left, const void *right, void *context)
{
	const struct leaf *a = left, *b = right;
	uint32_t shorter = a->count < b->count ? a->count : b->count;
	for (uint32_t depth = 0; depth < shorter; depth++) {
		uint32_t x = function_at(context, a, depth), y = function_at(context, b, depth);
		if (x != y)
			return x < y ? -1 : 1;
	}
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct range *a = left, *b = right;
	const int order = bp_figures_compare_order(a->order, b->order);
	if (order != 0)
		return order;
	return a->first < b->first ? -1 : a->first > b->first;
}

static struct bp_tree_node *add_node(struct builder *builder)
{
	struct bp_call_tree *tree = &builder->tree;
	if (!bp_grow((void **)&tree->nodes, tree->count, &tree->capacity, sizeof *tree->nodes))
		return NULL;
	tree->nodes[tree->count] = (struct bp_tree_node){ 0 };
	return &tree->nodes[tree->count++];
}

/* Adds what a range holds; false: no memory. */
static bool gather(
	const struct builder *builder, uint32_t first, uint32_t end, struct bp_tally *tally)
{
	for (uint32_t i = first; i < end; i++)
		if (!bp_tally_merge(tally, &builder->leaves[i].row->tally))
			return false;
	return true;
}

static bool estimate_range(
	const struct builder *builder, const struct range *range, struct bp_row *ret_row)
{
	struct bp_tally inside = { 0 };
	const struct bp_aggregation *aggregation = builder->aggregation;
	struct bp_sums others = aggregation->state->rest[aggregation->query.metric];
	bool good = gather(builder, range->first, range->end, &inside);
	bp_sums_merge(&others, &builder->before[range->first]);
	bp_sums_merge(&others, &builder->after[range->end]);
	bp_figures_of_tally(aggregation, &inside, &others, ret_row);
	bp_tally_finish(&inside);
	return good;
}

/* One node for the small children, which stand at the end of `children`. `parent`: the range they
 * are in; the complement is everything else. */
static bool add_pruned(struct builder *builder, const struct range *parent, uint32_t self_end,
	const struct range *children, uint32_t kept, uint32_t count)
{
	struct bp_tally inside = { 0 }, others = { 0 };
	bool good = true;
	struct bp_tree_node *node = add_node(builder);
	if (node == NULL)
		return false;
	node->depth = parent->depth + 1;
	node->pruned = count - kept;
	builder->tree.pruned += count - kept;
	others.sums = builder->aggregation->state->rest[builder->aggregation->query.metric];
	bp_sums_merge(&others.sums, &builder->before[self_end]);
	bp_sums_merge(&others.sums, &builder->after[parent->end]);
	for (uint32_t i = 0; good && i < count; i++)
		good = gather(
			builder, children[i].first, children[i].end, i < kept ? &others : &inside);
	bp_figures_of_tally(builder->aggregation, &inside, &others.sums, &node->row);
	bp_tally_finish(&inside);
	bp_tally_finish(&others);
	return good;
}

/* Splits a range into children; `*ret_self_end`: leaves before it end in this node itself. */
static struct range *split(const struct builder *builder, const struct range *range,
	uint32_t *ret_self_end, uint32_t *ret_count)
{
	struct range *children = NULL;
	uint32_t count = 0, capacity = 0, i = range->first;
	while (i < range->end && builder->leaves[i].count == range->depth)
		i++;
	*ret_self_end = i;
	while (i < range->end) {
		uint32_t function =
			function_at(builder->profile, &builder->leaves[i], range->depth);
		struct range child = { i, i, range->depth + 1, 0 };
		while (i < range->end && function_at(builder->profile, &builder->leaves[i],
						 range->depth) == function)
			child.order += builder->leaves[i++].row->order;
		child.end = i;
		if (!bp_grow((void **)&children, count, &capacity, sizeof *children)) {
			free(children);
			return NULL;
		}
		children[count++] = child;
	}
	if (children == NULL)
		children = calloc(1, sizeof *children);
	else
		qsort(children, count, sizeof *children, compare_ranges);
	*ret_count = count;
	return children;
}

static bool add_range(struct builder *builder, const struct range *range)
{
	uint32_t self_end, count, kept = 0;
	struct bp_tree_node *node = add_node(builder);
	if (node == NULL)
		return false;
	uint32_t number = builder->tree.count - 1;
	node->depth = range->depth;
	if (range->depth > 0)
		node->frame = frame_at(&builder->leaves[range->first], range->depth - 1);
	if (!estimate_range(builder, range, &node->row))
		return false;
	struct range *children = split(builder, range, &self_end, &count);
	if (children == NULL)
		return false;
	while (kept < count && children[kept].order >= builder->order_min)
		kept++;
	/* A node for one pruned child would only hide its name. */
	if (kept + 1 == count && kept > 0)
		kept = count;
	builder->tree.nodes[number].children = kept + (kept < count);
	builder->tree.nodes[number].has_self = self_end > range->first;
	bool good = true;
	for (uint32_t i = 0; good && i < kept; i++)
		good = add_range(builder, &children[i]);
	if (good && kept < count)
		good = add_pruned(builder, range, self_end, children, kept, count);
	free(children);
	return good;
}

static bool prepare(struct builder *builder, bool callers)
{
	const struct bp_aggregation *aggregation = builder->aggregation;
	const struct bp_aggregation_state *state = aggregation->state;
	size_t count = (size_t)aggregation->row_count + 1;
	builder->leaves = calloc(count, sizeof *builder->leaves);
	builder->before = calloc(count, sizeof *builder->before);
	builder->after = calloc(count, sizeof *builder->after);
	if (builder->leaves == NULL || builder->before == NULL || builder->after == NULL)
		return false;
	builder->count = aggregation->row_count;
	for (uint32_t i = 0; i < builder->count; i++) {
		struct leaf *leaf = &builder->leaves[i];
		leaf->row = &state->rows[state->order[i]];
		uint64_t stack = state->cells[leaf->row->first_cell].id;
		const struct bp_stack_id id = { (uint32_t)stack };
		leaf->frames = bp_attribution_frames(&state->attribution, id, &leaf->count);
		leaf->callers = callers;
		if (leaf->count > 0) {
			const uint32_t charged = bp_attribution_index(&state->attribution, id);
			leaf->frames += charged;
			leaf->count -= charged;
		}
	}
	qsort_r(builder->leaves, builder->count, sizeof *builder->leaves, compare_leaves,
		(void *)(uintptr_t)builder->profile);
	for (uint32_t i = 0; i < builder->count; i++) {
		builder->before[i + 1] = builder->before[i];
		bp_sums_merge(&builder->before[i + 1], &builder->leaves[i].row->tally.sums);
	}
	for (uint32_t i = builder->count; i-- > 0;) {
		builder->after[i] = builder->after[i + 1];
		bp_sums_merge(&builder->after[i], &builder->leaves[i].row->tally.sums);
	}
	return true;
}

bool bp_call_tree_build(const struct bp_aggregation *aggregation, double share_min, bool callers,
	struct bp_call_tree *ret_tree, struct bp_error *error)
{
	struct builder builder = { .aggregation = aggregation, .profile = aggregation->profile };
	bool good = prepare(&builder, callers);
	struct range whole = { 0, builder.count, 0, 0 };
	for (uint32_t i = 0; good && i < builder.count; i++)
		whole.order += builder.leaves[i].row->order;
	builder.order_min = whole.order * share_min;
	good = good && add_range(&builder, &whole);
	free(builder.leaves);
	free(builder.before);
	free(builder.after);
	if (!good) {
		bp_call_tree_finish(&builder.tree);
		return bp_error_set(error, "out of memory");
	}
	*ret_tree = builder.tree;
	return true;
}

uint32_t bp_call_tree_chain(const struct bp_call_tree *tree, uint32_t i)
{
	uint32_t length = 1;
	for (; i + 1 < tree->count; i++, length++)
		if (tree->nodes[i].children != 1 || tree->nodes[i].has_self ||
			tree->nodes[i + 1].pruned > 0)
			break;
	return length;
}

void bp_call_tree_finish(struct bp_call_tree *tree)
{
	free(tree->nodes);
	memset(tree, 0, sizeof *tree);
}
