/* SPDX-License-Identifier: MIT */
/* The call tree: its shape, its exact sums at T = 1, pruning, and calibrated figures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "aggregation/views/call_tree.h"
#include "small_profile.h"

static const char *name_of(const struct bp_profile *profile, const struct bp_tree_node *node)
{
	return bp_profile_text(profile, profile->frames.data[node->frame.i].function);
}

static void assert_node(const struct bp_profile *profile, const struct bp_tree_node *node,
	const char *name, uint32_t depth, double bytes)
{
	assert_string_equal(name_of(profile, node), name);
	assert_int_equal(node->depth, depth);
	assert_true(node->row.bytes.interval.estimate == bytes);
	assert_true(node->row.bytes.interval.exact);
}

static void make(struct bp_profile *profile)
{
	small_init(profile);
	struct bp_process_id process = small_process(profile, 1, 1, 0, 0, 10, 1);
	small_sample(profile, process, small_stack(profile, "a;f;main"), 1000, 1, -1);
	small_sample(profile, process, small_stack(profile, "b;f;main"), 500, 1, -1);
	small_sample(profile, process, small_stack(profile, "g;main"), 2000, 1, -1);
	small_sample(profile, process, small_stack(profile, "f;main"), 30, 1, -1);
	small_sample(profile, process, small_stack(profile, "x;h;main"), 3, 1, -1);
	small_sample(profile, process, small_stack(profile, "y;i;main"), 4, 1, -1);
	small_sample(profile, process, (struct bp_stack_id){ 0 }, 100, 1, -1);
	small_totals(profile, process, 3637, 3637, 7, 7);
}

/* A call tree, and what it is of. */
struct grown {
	struct bp_profile profile;
	struct bp_aggregation aggregation;
	struct bp_call_tree tree;
};

static void grow(struct grown *grown, double share_min)
{
	const struct bp_query query = { .by = BP_KEY_STACK };
	struct bp_error error;
	make(&grown->profile);
	grown->aggregation = small_aggregate(&grown->profile, &query);
	assert_true(
		bp_call_tree_build(&grown->aggregation, share_min, false, &grown->tree, &error));
}

static void fell(struct grown *grown)
{
	bp_call_tree_finish(&grown->tree);
	bp_aggregation_finish(&grown->aggregation);
	bp_profile_finish(&grown->profile);
}

static void shape_and_sums(void **state)
{
	struct grown grown;
	(void)state;
	grow(&grown, 0);
	const struct bp_profile *profile = &grown.profile;
	const struct bp_tree_node *nodes = grown.tree.nodes;
	assert_int_equal(grown.tree.count, 10);
	assert_int_equal(grown.tree.pruned, 0);
	assert_node(profile, &nodes[0], "", 0, 3637);
	assert_true(nodes[0].has_self); /* the sample without a stack */
	assert_node(profile, &nodes[1], "main", 1, 3537);
	assert_node(profile, &nodes[2], "g", 2, 2000);
	assert_node(profile, &nodes[3], "f", 2, 1530);
	assert_true(nodes[3].has_self);
	assert_int_equal(nodes[3].children, 2);
	assert_node(profile, &nodes[4], "a", 3, 1000);
	assert_node(profile, &nodes[5], "b", 3, 500);
	assert_node(profile, &nodes[6], "i", 2, 4);
	assert_node(profile, &nodes[7], "y", 3, 4);
	fell(&grown);
}

static void what_is_pruned_is_counted(void **state)
{
	struct grown grown;
	(void)state;
	grow(&grown, 0.01);
	const struct bp_tree_node *nodes = grown.tree.nodes;
	assert_int_equal(grown.tree.count, 7);
	assert_int_equal(grown.tree.pruned, 2);
	assert_int_equal(nodes[6].pruned, 2);
	assert_int_equal(nodes[6].depth, 2);
	assert_true(nodes[6].row.bytes.interval.estimate == 7);
	assert_int_equal(nodes[6].row.samples, 2);
	assert_int_equal(nodes[1].children, 3);
	fell(&grown);
}

/* From who allocates to who calls it; what only allocates is left out; chains are found. */
static void callers_from_the_inside(void **state)
{
	const struct bp_query query = { .by = BP_KEY_STACK };
	struct bp_profile profile;
	struct bp_call_tree tree;
	struct bp_error error;
	(void)state;
	small_init(&profile);
	struct bp_process_id process = small_process(&profile, 1, 1, 0, 0, 10, 1);
	small_sample(&profile, process, small_stack(&profile, "malloc;copy;f;main"), 30, 1, -1);
	small_sample(&profile, process, small_stack(&profile, "malloc;copy;g;run;main"), 50, 1, -1);
	small_totals(&profile, process, 80, 80, 2, 2);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_true(bp_call_tree_build(&a, 0, true, &tree, &error));
	assert_int_equal(tree.count, 7);
	assert_node(&profile, &tree.nodes[1], "copy", 1, 80);
	assert_int_equal(bp_call_tree_chain(&tree, 0), 2);
	assert_node(&profile, &tree.nodes[2], "g", 2, 50);
	assert_node(&profile, &tree.nodes[3], "run", 3, 50);
	assert_node(&profile, &tree.nodes[4], "main", 4, 50);
	assert_int_equal(bp_call_tree_chain(&tree, 2), 3);
	assert_node(&profile, &tree.nodes[5], "f", 2, 30);
	assert_int_equal(bp_call_tree_chain(&tree, 5), 2);
	assert_int_equal(bp_call_tree_chain(&tree, 6), 1);
	bp_call_tree_finish(&tree);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

/* Calibrated: every level of the tree adds up to the counted total. */
static void levels_add_up(void **state)
{
	static const char *const stacks[] = { "a;f;main", "b;f;main", "g;main", "x;h;main" };
	struct bp_profile profile;
	struct bp_query query = { .by = BP_KEY_STACK, .metric = BP_METRIC_ALLOCATED };
	struct bp_call_tree tree;
	struct bp_error error;
	double sums[3] = { 0 };
	(void)state;
	small_init(&profile);
	struct bp_process_id process = small_process(&profile, 1, 1, 0, 0, 10, 4096);
	for (unsigned i = 0; i < 40; i++)
		small_sample(
			&profile, process, small_stack(&profile, stacks[i % 4]), 50 + 7 * i, 1, -1);
	small_totals(&profile, process, 200000, 200000, 1000, 1000);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_true(bp_call_tree_build(&a, 0, false, &tree, &error));
	for (uint32_t i = 0; i < tree.count; i++)
		if (tree.nodes[i].depth < 3)
			sums[tree.nodes[i].depth] += tree.nodes[i].row.bytes.interval.estimate;
	for (int depth = 0; depth < 3; depth++)
		assert_true(fabs(sums[depth] - 200000) < 0.01);
	bp_call_tree_finish(&tree);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_from_the_inside),
		cmocka_unit_test(shape_and_sums),
		cmocka_unit_test(what_is_pruned_is_counted),
		cmocka_unit_test(levels_add_up),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
