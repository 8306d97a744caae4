/* SPDX-License-Identifier: MIT */
/*
 * Stacks of frees in the profile, as tests/data/trace/make_traces.py has them in the trace
 * `free_stacks`; a trace without them takes no memory for them. Argument: the folder of the traces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "import/import.h"

static const char *folder;

static void import_trace(struct bp_profile *profile, const char *name)
{
	char path[4096];
	struct bp_error error = { .text = "" };
	snprintf(path, sizeof path, "%s/%s.bpt", folder, name);
	assert_true(bp_profile_init(profile, &error));
	if (!bp_import_file(path, profile, &error) ||
		!bp_profile_finish_import(profile, false, &error))
		fail_msg("%s", error.text);
}

/* The innermost function of a stack; "" of the empty one. */
static const char *function_of(const struct bp_profile *profile, struct bp_stack_id id)
{
	const struct bp_stack *stack = &profile->stacks.data[id.i];
	if (stack->depth == 0)
		return "";
	const struct bp_location *location =
		&profile->locations.data[profile->stack_locations.data[stack->first_location].i];
	return bp_profile_text(profile, profile->frames.data[location->first_frame.i].function);
}

static void each_free_has_its_stack(void **state)
{
	(void)state;
	static const char *const places[] = { "load_page", "parse_page", "add_to_index" };
	struct bp_profile profile;
	import_trace(&profile, "free_stacks");
	assert_true(profile.processes.data[1].free_stacks);
	assert_int_equal(profile.samples.count, 181);
	for (uint32_t i = 0; i < 180; i++) {
		const struct bp_sample sample = bp_profile_sample(&profile, i + 1);
		const bool lives = i % 7 == 3, has_none = i % 11 == 5;
		assert_string_equal(function_of(&profile, sample.stack), places[i % 3]);
		assert_int_equal(sample.free_time_ns == BP_TIME_NEVER, lives);
		assert_string_equal(function_of(&profile, sample.free_stack),
			lives || has_none     ? ""
			: i > 0 && i % 2 == 0 ? "sweep"
					      : "drop_page");
	}
	bp_profile_finish(&profile);
}

static void none_takes_no_memory(void **state)
{
	(void)state;
	static const char *const names[] = { "simple", "host", "jit" };
	for (size_t i = 0; i < BP_COUNT(names); i++) {
		struct bp_profile profile;
		import_trace(&profile, names[i]);
		assert_false(profile.processes.data[1].free_stacks);
		assert_null(profile.samples.free_stacks);
		for (uint32_t sample = 0; sample < profile.samples.count; sample++)
			assert_int_equal(bp_profile_sample(&profile, sample).free_stack.i, 0);
		bp_profile_finish(&profile);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_free_has_its_stack),
		cmocka_unit_test(none_takes_no_memory),
	};
	folder = argc > 1 ? argv[1] : ".";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
