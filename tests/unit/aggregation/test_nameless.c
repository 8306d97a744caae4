/* SPDX-License-Identifier: MIT */
/* How much lies in functions without a name, in which files, and from when on that is said. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "aggregation/views/nameless.h"
#include "small_profile.h"

/* Takes the name of a function away; its code lies in `path`. */
static void strip(struct bp_profile *profile, const char *function, const char *path)
{
	const struct bp_string_id name = small_string(profile, function);
	struct bp_module_id module;
	struct bp_error error;
	assert_true(bp_profile_add_module(profile,
		&(struct bp_module){ .path = small_string(profile, path) }, &module, &error));
	for (uint32_t i = 1; i < profile->frames.count; i++)
		if (profile->frames.data[i].function.i == name.i) {
			profile->frames.data[i].named = false;
			profile->frames.data[i].module = module;
		}
}

/* At T = 1, live: `named` bytes of a function with a name, 60 and 20 of two without. */
static void make(struct bp_profile *profile, uint64_t named)
{
	small_init(profile);
	struct bp_process_id process = small_process(profile, 10, 1, 0, 0, 10, 1);
	small_sample(
		profile, process, small_stack(profile, "malloc;with_name;git+0x9"), named, 1, -1);
	small_sample(profile, process, small_stack(profile, "malloc;git+0x1;main"), 60, 1, -1);
	small_sample(profile, process, small_stack(profile, "libz.so.1+0x2;main"), 20, 1, -1);
	small_sample(profile, process, small_stack(profile, "libz.so.1+0x2;main"), 500, 2, 3);
	small_totals(profile, process, named + 580, named + 580, 4, 4);
	strip(profile, "git+0x1", "/usr/bin/git");
	strip(profile, "git+0x9", "/usr/bin/git");
	strip(profile, "libz.so.1+0x2", "/usr/lib/libz.so.1");
}

static void expect_warning(
	uint64_t named, enum bp_key by, enum bp_metric metric, const char *warned)
{
	struct bp_profile profile;
	const struct bp_query query = { .by = by, .metric = metric };
	make(&profile, named);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_true(bp_aggregation_warn_of_nameless(&a, false, NULL));
	assert_int_equal(small_has_warning(&a, "without a name"), warned != NULL);
	if (warned != NULL)
		assert_true(small_has_warning(&a, warned));
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

/* Debug symbols of the new file are not those of the one that ran. */
static void replaced_files_are_recorded_again(void **state)
{
	(void)state;
	struct bp_profile profile;
	const struct bp_query query = { .by = BP_KEY_FUNCTION, .metric = BP_METRIC_LIVE };
	make(&profile, 80);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_true(bp_aggregation_warn_of_nameless(&a, true, NULL));
	assert_true(small_has_warning(&a,
		"libz.so.1): record again what was replaced; for other files install debug "
		"symbols"));
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static bool package_of(const char *path, char *buffer, size_t bytes)
{
	snprintf(buffer, bytes, "git-dbgsym");
	return strcmp(path, "/usr/bin/git") == 0;
}

static void packages_are_named(void **state)
{
	struct bp_profile profile;
	const struct bp_query query = { .by = BP_KEY_FUNCTION, .metric = BP_METRIC_LIVE };
	(void)state;
	make(&profile, 80);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_true(bp_aggregation_warn_of_nameless(&a, false, package_of));
	assert_true(small_has_warning(&a,
		"install debug symbols (Debian: git-dbgsym, from debian-debug: docs/report.md) or pass"));
	/* The order is with_name 80, git+0x1 60, libz.so.1+0x2 20. */
	assert_false(bp_aggregation_row_is_nameless(&a, 0));
	assert_true(bp_aggregation_row_is_nameless(&a, 1));
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

/* What has no name counts under who called it. */
static void named_callers_are_charged(void **state)
{
	struct bp_profile profile;
	struct bp_row row;
	const struct bp_query query = { .by = BP_KEY_FUNCTION, .named_callers = true };
	(void)state;
	make(&profile, 70);
	struct bp_aggregation a = small_aggregate(&profile, &query);
	assert_int_equal(a.row_count, 2);
	bp_aggregation_row(&a, 0, &row);
	assert_string_equal(row.name, "main");
	assert_true(row.bytes.interval.estimate == 80);
	bp_aggregation_finish(&a);
	bp_profile_finish(&profile);
}

static void the_innermost_function_counts(void **state)
{
	(void)state;
	expect_warning(80, BP_KEY_FUNCTION, BP_METRIC_LIVE,
		"50 % of what is live lies in functions without a name (git, "
		"libz.so.1): install debug symbols");
	expect_warning(80, BP_KEY_STACK, BP_METRIC_LIVE, "50 %");
	expect_warning(80, BP_KEY_LINE, BP_METRIC_LIVE, "50 %");
	expect_warning(20, BP_KEY_FUNCTION, BP_METRIC_ALLOCATED,
		"97 % of what was allocated lies in functions without a name "
		"(libz.so.1, git)");
}

static void little_goes_without_saying(void **state)
{
	(void)state;
	expect_warning(720, BP_KEY_FUNCTION, BP_METRIC_LIVE, "10 %");
	expect_warning(721, BP_KEY_FUNCTION, BP_METRIC_LIVE, NULL);
}

static void other_keys_show_no_functions(void **state)
{
	(void)state;
	expect_warning(80, BP_KEY_THREAD, BP_METRIC_LIVE, NULL);
	expect_warning(80, BP_KEY_SIZE, BP_METRIC_LIVE, NULL);
	expect_warning(80, BP_KEY_MODULE, BP_METRIC_LIVE, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(packages_are_named),
		cmocka_unit_test(named_callers_are_charged),
		cmocka_unit_test(the_innermost_function_counts),
		cmocka_unit_test(replaced_files_are_recorded_again),
		cmocka_unit_test(little_goes_without_saying),
		cmocka_unit_test(other_keys_show_no_functions) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
