/* SPDX-License-Identifier: MIT */
/* Tables of the recorder that fill make T coarser before anything is lost. Nothing is random. */
#include "control_trace.h"

#include "recognition/live_set.h"
#include "unwind/stack_table.h"

/* A live set at three quarters of what it may hold doubles T, also T that the user gave; and once
 * more at each further 64th. Addresses are made up. */
static void a_full_table_makes_it_coarser(void **state)
{
	const uint32_t step = BP_LIVE_MAX / 64;
	(void)state;
	open_trace(&(struct bp_config){ .interval = 100 });
	for (uint32_t i = 0; i < BP_LIVE_MAX - 1; i++) {
		assert_true(bp_live_insert((void *)((uintptr_t)(i + 1) << 12), i + 1));
		if (i % 64 == 63) /* not each: a sample's look is as rare here as in a program */
			bp_budget_look_at_fill();
		if (i + 1 == BP_LIVE_MAX / 4 * 3 - 64)
			assert_true(word() == 100);
		if (i + 1 == BP_LIVE_MAX / 4 * 3 + 4 * step + 64 * 5)
			assert_true(bp_control_interval(word()) == 100 << 5);
	}
	assert_true(bp_control_interval(word()) == 100 << 16);
	assert_true((word() & BP_CONTROL_AUTO) == 0);
	assert_true(bp_live_insert((void *)8, 1)); /* the last that finds room */
	assert_false(bp_live_insert((void *)16, 1));
}

/* The table of stacks likewise; what it takes is made up here. */
static uint64_t stack_bytes;

uint64_t bp_stack_table_bytes(void)
{
	return stack_bytes;
}

static void full_stacks_make_it_coarser(void **state)
{
	(void)state;
	open_trace(&(struct bp_config){ .interval = 100 });
	stack_bytes = BP_STACK_TABLE_MAX_BYTES / 4 * 3 - 1;
	bp_budget_look_at_fill();
	assert_true(word() == 100);
	for (unsigned steps = 1; steps <= 16; steps++) {
		stack_bytes = BP_STACK_TABLE_MAX_BYTES / 64 * (47 + steps);
		bp_budget_look_at_fill();
		bp_budget_look_at_fill(); /* of one fill once */
		assert_true(bp_control_interval(word()) == 100u << steps);
	}
	stack_bytes = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(full_stacks_make_it_coarser, end),
		cmocka_unit_test_teardown(a_full_table_makes_it_coarser, end),
	};
	return cmocka_run_group_tests_name("fill", tests, NULL, NULL);
}
