/* SPDX-License-Identifier: MIT */
/*
 * Stacks with frames of Python in the profile, as tests/data/trace/make_traces.py has them in the
 * trace `python`: what they consist of by default, and as --frames and --hide imports choose.
 * Argument: the folder of the traces.
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
#include "model/python_frames.h"
#include "query/attribution.h"
#include "trace/format.h"

static const char *folder;

static void import_with(struct bp_profile *profile, struct bp_frame_choice shown)
{
	char path[4096];
	struct bp_error error = { .text = "" };
	snprintf(path, sizeof path, "%s/python.bpt", folder);
	assert_true(bp_profile_init(profile, &error));
	profile->frames_shown = shown;
	if (!bp_import_file(path, profile, &error))
		fail_msg("%s", error.text);
}

static struct bp_sample of_size(const struct bp_profile *profile, uint64_t size)
{
	for (uint32_t i = 1; i < profile->samples.count; i++)
		if (bp_profile_sample(profile, i).size == size)
			return bp_profile_sample(profile, i);
	fail_msg("no sample of %u bytes", (unsigned)size);
	return (struct bp_sample){ 0 };
}

/* The stack of the sample of that size: functions of Python by name, and C's as the address in its
 * file, innermost first. */
static const char *stack_of(const struct bp_profile *profile, uint64_t size)
{
	static char text[1024];
	const struct bp_sample sample = of_size(profile, size);
	const struct bp_stack *stack = &profile->stacks.data[sample.stack.i];
	size_t used = 0;
	text[0] = '\0';
	for (uint32_t i = 0; i < stack->depth; i++) {
		const struct bp_location *location =
			&profile->locations
				 .data[profile->stack_locations.data[stack->first_location + i].i];
		if (location->resolved)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
				i == 0 ? "" : " ",
				bp_profile_text(profile,
					profile->frames.data[location->first_frame.i].function));
		else
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%x",
				i == 0 ? "" : " ", (unsigned)location->address);
	}
	return text;
}

static void both_are_joined(void **state)
{
	(void)state;
	struct bp_profile profile;
	import_with(&profile, (struct bp_frame_choice){ 0 });
	/* Loops became what they ran; the interpreter's other functions are left out, and so are
	 * main and what called it. */
	assert_string_equal(stack_of(&profile, 100),
		"json.decoder.Decoder.raw index.Index.add.<locals>.<lambda> main (module)");
	/* An extension's functions stay, and a program that is not the interpreter. */
	assert_string_equal(
		stack_of(&profile, 5000), "100 json.decoder.Decoder.raw 200 main (module) 300");
	/* Loops that were not seen; the native stack was not known. */
	assert_string_equal(stack_of(&profile, 60),
		"json.decoder.Decoder.raw 100 index.Index.add.<locals>.<lambda> main (module)");
	assert_string_equal(stack_of(&profile, 62), "json.decoder.Decoder.raw (frame not named)");
	assert_string_equal(stack_of(&profile, 63),
		"json.decoder.Decoder.raw importlib._bootstrap._find_and_load main (module)");
	/* The last frame of a native walk that ended is not taken for a loop. */
	assert_string_equal(
		stack_of(&profile, 64), "100 200 json.decoder.Decoder.raw main (module)");
	assert_int_equal(profile.stacks.data[of_size(&profile, 64).stack.i].flags, 0);
	/* A stack without Python is what it was. */
	assert_string_equal(stack_of(&profile, 61), "100 200 300 400 500 100");
	const struct bp_sample cut = of_size(&profile, 60);
	assert_int_equal(profile.stacks.data[cut.stack.i].flags, BP_PROFILE_STACK_CUT);
	bp_profile_finish(&profile);
}

static void one_kind_is_chosen(void **state)
{
	(void)state;
	struct bp_profile profile;
	import_with(&profile, (struct bp_frame_choice){ .python = BP_PYTHON_FRAMES_PYTHON });
	assert_string_equal(stack_of(&profile, 5000), "json.decoder.Decoder.raw main (module)");
	assert_string_equal(stack_of(&profile, 61), "100 200 300 400 500 100");
	bp_profile_finish(&profile);
	import_with(&profile, (struct bp_frame_choice){ .python = BP_PYTHON_FRAMES_NATIVE });
	assert_string_equal(stack_of(&profile, 100), "100 200 300 400 500 100");
	assert_string_equal(stack_of(&profile, 62), "");
	bp_profile_finish(&profile);
	import_with(&profile, (struct bp_frame_choice){ .hide_imports = true });
	assert_string_equal(stack_of(&profile, 63), "json.decoder.Decoder.raw main (module)");
	bp_profile_finish(&profile);
}

static void rows_are_of_the_innermost_python(void **state)
{
	(void)state;
	struct bp_profile profile;
	struct bp_attribution attribution;
	struct bp_error error;
	import_with(&profile, (struct bp_frame_choice){ 0 });
	assert_true(bp_attribution_init(&attribution, &profile, &error));
	assert_int_equal(bp_attribution_index(&attribution, of_size(&profile, 5000).stack), 1);
	assert_int_equal(bp_attribution_index(&attribution, of_size(&profile, 100).stack), 0);
	uint32_t count;
	const struct bp_frame_id *frames =
		bp_attribution_frames(&attribution, of_size(&profile, 100).stack, &count);
	const struct bp_frame *frame = &profile.frames.data[frames[0].i];
	assert_int_equal(frame->line, 353);
	assert_string_equal(bp_profile_text(&profile, profile.modules.data[frame->module.i].path),
		"json.decoder");
	bp_attribution_finish(&attribution);
	bp_profile_finish(&profile);
}

static void the_interpreter_is_described(void **state)
{
	(void)state;
	struct bp_profile profile;
	import_with(&profile, (struct bp_frame_choice){ 0 });
	const struct bp_process_python *python = &profile.processes.data[1].python;
	assert_true(python->known);
	assert_string_equal(bp_profile_text(&profile, python->name), "CPython 3.11.7");
	assert_int_equal(python->frames_state, BP_PYTHON_RECORDED);
	assert_int_equal(python->objects_state, BP_PYTHON_ALL_IN_MALLOC);
	bp_profile_finish(&profile);
}

static void modules_are_named_as_import_has_them(void **state)
{
	(void)state;
	static const struct {
		const char *file, *module;
		bool import;
	} cases[] = {
		{ "/usr/lib/python3.11/json/decoder.py", "json.decoder", false },
		{ "/usr/lib/python3.11/json/__init__.py", "json", false },
		{ "/usr/lib/python3.13t/re/_parser.py", "re._parser", false },
		{ "/v/lib/python3.9/site-packages/requests/api.py", "requests.api", false },
		{ "/usr/lib/python3/dist-packages/yaml/__init__.py", "yaml", false },
		{ "/srv/shop/index.py", "index", false },
		{ "tool", "tool", false },
		{ "/usr/lib/python3.8/runpy.py", "runpy", true },
		{ "/srv/shop/runpy.py", "runpy", false },
		{ "<frozen runpy>", "runpy", true },
		{ "<frozen importlib._bootstrap>", "importlib._bootstrap", true },
		{ "<frozen zipimport>", "zipimport", true },
		{ "<frozen os>", "os", false },
		{ "<string>", "<string>", false },
		{ "<frozen ", "<frozen ", false },
		{ "", "", false },
	};
	for (size_t i = 0; i < BP_COUNT(cases); i++) {
		char name[64], cut[4];
		bp_python_module_name(cases[i].file, name, sizeof name);
		assert_string_equal(name, cases[i].module);
		assert_int_equal(bp_python_is_import(cases[i].file), cases[i].import);
		bp_python_module_name(cases[i].file, cut, sizeof cut);
		assert_true(strlen(cut) < sizeof cut);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_are_joined),
		cmocka_unit_test(one_kind_is_chosen),
		cmocka_unit_test(rows_are_of_the_innermost_python),
		cmocka_unit_test(the_interpreter_is_described),
		cmocka_unit_test(modules_are_named_as_import_has_them),
	};
	if (argc != 2)
		return 2;
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
