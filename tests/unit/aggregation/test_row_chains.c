/* SPDX-License-Identifier: MIT */
/* Which cumulative rows stand on the same stacks, and in which order a chain of them is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "aggregation/views/row_chains.h"
#include "small_profile.h"

static void make(struct bp_profile *profile)
{
	small_init(profile);
	struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, 1);
	small_sample(profile, process, small_stack(profile, "malloc;parse;serve;main;_start"), 70,
		1, -1);
	small_sample(
		profile, process, small_stack(profile, "malloc;copy;serve;main;_start"), 70, 1, -1);
	/* As much as under `parse` and `copy`, but of another stack. */
	small_sample(profile, process, small_stack(profile, "malloc;load;main;_start"), 70, 1, -1);
	small_totals(profile, process, 210, 210, 3, 3);
}

static const char *name_of(
	const struct bp_aggregation *a, const struct bp_row_chains *chains, uint32_t i)
{
	struct bp_row row;
	bp_aggregation_row(a, chains->rows[i], &row);
	return row.name;
}

static void same_stacks_are_one_chain(void **state)
{
	static const char *const names[] = { "_start", "main", "malloc", "serve" };
	const struct bp_query query = { .by = BP_KEY_FUNCTION, .cumulative = true };
	struct bp_profile profile;
	struct bp_row_chains chains;
	(void)state;
	make(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 7);
	assert_true(bp_row_chains_make(&a, &chains));
	assert_int_equal(chains.count, 5);
	assert_int_equal(chains.chains[0].count, 3); /* all of it */
	for (uint32_t i = 0; i < 4; i++)
		assert_string_equal(name_of(&a, &chains, i), names[i]);
	/* Equal figures alone make no chain. */
	for (uint32_t i = 1; i < chains.count; i++)
		assert_int_equal(chains.chains[i].count, 1);
	bp_row_chains_finish(&chains);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void other_rows_are_alone(void **state)
{
	const struct bp_query query = { .by = BP_KEY_FUNCTION };
	struct bp_profile profile;
	struct bp_row_chains chains;
	(void)state;
	make(&profile);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_true(bp_row_chains_make(&a, &chains));
	assert_int_equal(chains.count, a.row_count);
	for (uint32_t i = 0; i < chains.count; i++)
		assert_true(chains.rows[i] == i && chains.chains[i].count == 1);
	bp_row_chains_finish(&chains);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_stacks_are_one_chain),
		cmocka_unit_test(other_rows_are_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
