/* SPDX-License-Identifier: MIT */
/*
 * Names of code made at run time in the stacks of a profile, as of the time of each sample, from the
 * trace `jit` of tests/data/trace/make_traces.py and its FILE.jit. Argument: the folder of the
 * traces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "import/import.h"
#include "model/profile.h"

static const char *folder;

static void import_named(struct bp_profile *profile, const char *name)
{
	char path[4096];
	struct bp_error error = { .text = "" };
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_true(bp_profile_init(profile, &error));
	if (!bp_import_file(path, profile, &error))
		fail_msg("%s", error.text);
	assert_null(profile->jit);
}

static const struct bp_stack *stack_of_size(const struct bp_profile *profile, uint64_t size)
{
	for (uint32_t i = 1; i < profile->samples.count; i++)
		if (bp_profile_sample(profile, i).size == size)
			return &profile->stacks.data[bp_profile_sample(profile, i).stack.i];
	fail_msg("no sample of %u bytes", (unsigned)size);
	return NULL;
}

static const struct bp_location *location_at(
	const struct bp_profile *profile, const struct bp_stack *stack, uint32_t i)
{
	return &profile->locations.data[profile->stack_locations.data[stack->first_location + i].i];
}

/* Names in brackets behind the module and with their file, and addresses of what has none. */
static const char *text_of(const struct bp_profile *profile, uint64_t size)
{
	static char text[1024];
	const struct bp_stack *stack = stack_of_size(profile, size);
	size_t used = 0;
	for (uint32_t i = 0; i < stack->depth; i++) {
		const struct bp_location *location = location_at(profile, stack, i);
		const char *blank = i == 0 ? "" : ", ";
		if (!location->resolved) {
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%x", blank,
				(unsigned)location->address);
			continue;
		}
		const struct bp_frame *frame = &profile->frames.data[location->first_frame.i];
		const struct bp_module *module = &profile->modules.data[frame->module.i];
		assert_true(frame->named);
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s%s (%s)", blank,
			bp_profile_text(profile, module->path),
			bp_profile_text(profile, frame->function),
			bp_profile_text(profile, frame->source_file));
	}
	return text;
}

static void names_are_those_of_the_time(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_named(&profile, "jit.bpt");
	assert_string_equal(text_of(&profile, 100),
		"100, [jit]early (/app/a.js), [jit]void A.two() or void A.one() (), 30010, 200");
	assert_string_equal(text_of(&profile, 101),
		"100, [jit]late (/app/a.js), [jit]void A.two() or void A.one() (), 30010, 200");
	/* The same code is the same stack. */
	assert_ptr_equal(stack_of_size(&profile, 101), stack_of_size(&profile, 102));
	assert_int_equal(profile.unread_files, 0);
	bp_profile_finish(&profile);
}

/* A file that is damaged is said, and nothing is named by it. */
static void damaged_names_are_counted(void **state)
{
	struct bp_profile profile;
	char from[4096], to[4096], names[4200];
	char data[131072];
	(void)state;
	snprintf(from, sizeof from, "%s/jit.bpt", folder);
	snprintf(to, sizeof to, "%s/jit_damaged.bpt.tmp", folder);
	snprintf(names, sizeof names, "%s.jit", to);
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	assert_true(in != NULL && out != NULL);
	const size_t bytes = fread(data, 1, sizeof data, in);
	assert_int_equal(fwrite(data, 1, bytes, out), bytes);
	fclose(in);
	fclose(out);
	out = fopen(names, "w");
	fputs("bytepoll jit 1\ntrace_id=00\n", out);
	fclose(out);
	import_named(&profile, "jit_damaged.bpt.tmp");
	assert_string_equal(text_of(&profile, 100), "100, 10010, 20010, 30010, 200");
	assert_int_equal(profile.unread_files, 1);
	assert_non_null(strstr(
		bp_profile_text(&profile, profile.unread_example), ".jit is torn or damaged"));
	bp_profile_finish(&profile);
	remove(to);
	remove(names);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_those_of_the_time),
		cmocka_unit_test(damaged_names_are_counted),
	};
	if (argc != 2)
		return 2;
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
