/* SPDX-License-Identifier: MIT */
/*
 * Two moments of one run, and growth between them: what cancels, what counts on which side, the
 * order of suspects. At T = 1 everything is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "diff/diff_moments.h"
#include "diff_rows.h"
#include "small_profile.h"

static const uint64_t at_ns[BP_SIDES] = { 2 * (uint64_t)SMALL_SECOND, 8 * (uint64_t)SMALL_SECOND };

static void begin(struct bp_profile *profile, uint64_t interval)
{
	small_init(profile);
	small_process(profile, 10, 1, 0, 0, 10, interval);
}

/* Ten seconds at T = 1: what lives at both moments cancels. */
static void fill_moments(struct bp_profile *profile)
{
	struct bp_process_id process = { 1 };
	struct bp_stack_id kept = small_stack(profile, "kept;main");
	struct bp_stack_id made = small_stack(profile, "made;main");
	struct bp_stack_id freed = small_stack(profile, "freed;main");
	struct bp_stack_id brief = small_stack(profile, "brief;main");
	small_sample(profile, process, kept, 1000, 1, -1);
	small_sample(profile, process, made, 1, 1, -1);
	small_sample(profile, process, made, 40, 2, -1); /* at the first moment itself */
	small_sample(profile, process, made, 200, 5, -1);
	small_sample(profile, process, freed, 70, 1, 4);
	small_sample(profile, process, freed, 7, 1, 9);
	small_sample(profile, process, brief, 500, 3, 5);
	small_sample(profile, process, made, 9000, 9, -1); /* after the second */
}

static void moments_cancel(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_diff_query asked = { 0 };
	struct bp_diff_moments moments;
	struct bp_error error;
	static const uint64_t wrong_ns[BP_SIDES] = { 8, 8 };
	(void)state;
	begin(&profile, 1);
	fill_moments(&profile);
	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_true(
		bp_diff_moments_make(&profile, &query, at_ns, &asked, "file", &moments, &error));
	const struct bp_diff *diff = &moments.diff;
	assert_change(difference_row(diff, "kept").bytes, 1000, 1000);
	assert_change(difference_row(diff, "made").bytes, 41, 241);
	assert_change(difference_row(diff, "freed").bytes, 77, 7);
	assert_int_equal(difference_row(diff, "made").verdict, BP_VERDICT_GREW);
	assert_int_equal(difference_row(diff, "freed").verdict, BP_VERDICT_SHRANK);
	/* What cancels has no samples in the comparison. */
	assert_int_equal(difference_row(diff, "kept").samples[BP_BASE], 0);
	assert_int_equal(difference_row(diff, "kept").samples[BP_NEW], 0);
	struct bp_diff_row row;
	assert_false(find_difference_row(diff, "brief", &row));
	bp_diff_total(diff, &row);
	assert_change(row.bytes, 1118, 1248);
	bp_diff_moments_finish(&moments);
	assert_false(
		bp_diff_moments_make(&profile, &query, wrong_ns, &asked, "file", &moments, &error));
	assert_non_null(strstr(error.text, "later"));
	bp_profile_finish(&profile);
}

static void growth_orders_suspects(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_diff_query asked = { .growth = true };
	struct bp_diff_moments moments;
	struct bp_error error;
	struct bp_diff_row row;
	(void)state;
	begin(&profile, 1000);
	struct bp_process_id process = { 1 };
	struct bp_stack_id steady = small_stack(&profile, "steady;main");
	struct bp_stack_id sure = small_stack(&profile, "sure;main");
	struct bp_stack_id large = small_stack(&profile, "large;main");
	struct bp_stack_id swings = small_stack(&profile, "swings;main");
	for (int i = 0; i < 100; i++) {
		small_sample(&profile, process, steady, 10, 1, -1);
		small_sample(&profile, process, sure, 10, 3, -1);
		small_sample(&profile, process, swings, 10, 1, 4);
		small_sample(&profile, process, swings, 10, 4, -1);
	}
	small_sample(&profile, process, large, 2000000, 5, -1);
	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_true(
		bp_diff_moments_make(&profile, &query, at_ns, &asked, "file", &moments, &error));
	const struct bp_diff *diff = &moments.diff;
	assert_int_equal(diff->verdict_count, 2);
	bp_diff_row(diff, 0, &row);
	assert_string_equal(row.name, "large");
	assert_true(row.bytes.lower > 1.9e6 && row.bytes.lower < 2e6);
	bp_diff_row(diff, 1, &row);
	assert_string_equal(row.name, "sure");
	assert_true(row.bytes.lower > 50000 && row.bytes.lower < 91000);
	assert_true(row.bytes.lower < row.bytes.change.interval.low);
	assert_int_equal(difference_row(diff, "swings").verdict, BP_VERDICT_UNCLEAR);
	assert_true(difference_row(diff, "swings").bytes.lower < 0);
	bp_diff_moments_finish(&moments);
	bp_profile_finish(&profile);
}

/* Within one run an address is a name: the rows are those of the table. */
static void nameless_functions_keep_their_addresses(void **state)
{
	struct bp_profile profile;
	struct bp_query query = { 0 };
	struct bp_diff_query asked = { 0 };
	struct bp_diff_moments moments;
	struct bp_error error;
	(void)state;
	begin(&profile, 1);
	small_sample(&profile, (struct bp_process_id){ 1 }, small_stack(&profile, "libx.so+0x1"),
		40, 1, -1);
	small_sample(&profile, (struct bp_process_id){ 1 }, small_stack(&profile, "libx.so+0x2"), 2,
		5, -1);
	for (uint32_t i = 1; i < profile.frames.count; i++)
		profile.frames.data[i].named = false;
	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_true(
		bp_diff_moments_make(&profile, &query, at_ns, &asked, "file", &moments, &error));
	assert_change(difference_row(&moments.diff, "libx.so+0x1").bytes, 40, 40);
	assert_change(difference_row(&moments.diff, "libx.so+0x2").bytes, 0, 2);
	bp_diff_moments_finish(&moments);
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nameless_functions_keep_their_addresses),
		cmocka_unit_test(moments_cancel),
		cmocka_unit_test(growth_orders_suspects),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
