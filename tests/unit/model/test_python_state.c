/* SPDX-License-Identifier: MIT */
/*
 * What is said of a CPython whose functions or small objects are not recorded, and whether its
 * arenas count as a heap that nothing is known of.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "model/gaps/own_heap.h"
#include "model/gaps/python_state.h"

static struct bp_profile profile;

static struct bp_process_python python_of(uint32_t frames, uint32_t objects)
{
	struct bp_error error;
	struct bp_process_python python = {
		.known = true, .frames_state = frames, .objects_state = objects
	};
	assert_true(bp_profile_string(&profile, "CPython 3.11.7", 14, &python.name, &error));
	return python;
}

static void each_reason_has_a_line(void **state)
{
	(void)state;
	static const struct {
		uint32_t frames, objects, count;
		const char *parts[2];
	} cases[] = {
		{ 0, 0, 0, { NULL } },
		{ 1, 1, 1, { "neither its functions nor its small objects" } },
		{ 0, 1, 1, { "small objects are not recorded: they were not asked for, or" } },
		{ 2, 2, 1, { "does not know this version" } },
		{ 3, 3, 1, { "this Python is free-threaded" } },
		{ 3, 1, 1, { "this Python is free-threaded" } },
		{ 2, 1, 1, { "does not know this version" } },
		{ 4, 0, 1, { "its functions are not in stacks: what was read" } },
		{ 0, 5, 1, { "PYTHONMALLOC=malloc" } },
		{ 4, 5, 2, { "its functions are not in stacks", "PYTHONMALLOC=malloc" } },
		{ 0, 6, 1, { "they are recorded from the moment on that it does" } },
		{ 0, 7, 1, { "has sub-interpreters" } },
		{ 0, 8, 1, { "tracemalloc" } },
		{ 77, 0, 1, { "the reason is not known to this bytepoll" } },
	};
	for (size_t i = 0; i < BP_COUNT(cases); i++) {
		char lines[BP_PYTHON_LINES][BP_PYTHON_LINE_BYTES];
		const struct bp_process_python python =
			python_of(cases[i].frames, cases[i].objects);
		const uint32_t count = bp_python_missing_lines(&profile, &python, lines);
		assert_int_equal(count, cases[i].count);
		for (uint32_t j = 0; j < count; j++) {
			assert_ptr_equal(strstr(lines[j], "CPython 3.11.7: "), lines[j]);
			assert_non_null(strstr(lines[j], cases[i].parts[j]));
			assert_in_range(strlen(lines[j]), 1, BP_PYTHON_LINE_BYTES - 2);
		}
	}
	const struct bp_process_python none = { .frames_state = 2 };
	char lines[BP_PYTHON_LINES][BP_PYTHON_LINE_BYTES];
	assert_int_equal(bp_python_missing_lines(&profile, &none, lines), 0);
	assert_string_equal(bp_python_state_name(BP_PROFILE_PYTHON_RECORDED), "recorded");
	assert_string_equal(bp_python_state_name(6), "waiting");
	assert_string_equal(bp_python_state_name(9), "other");
}

static void a_late_begin_has_a_line(void **state)
{
	(void)state;
	char lines[BP_PYTHON_LINES][BP_PYTHON_LINE_BYTES];
	struct bp_process_python python = python_of(0, 0);
	python.objects_after_ns = 3210000000u;
	assert_int_equal(bp_python_missing_lines(&profile, &python, lines), 1);
	assert_non_null(strstr(lines[0], "recorded from 3.21 s on"));
	python.objects_after_ns = 1000000;
	assert_int_equal(bp_python_missing_lines(&profile, &python, lines), 0);
}

static void arenas_are_unseen_where_objects_are_not_recorded(void **state)
{
	(void)state;
	static const struct {
		bool known;
		uint32_t objects;
		bp_own_heaps unseen;
	} cases[] = { { false, 0, 1u << BP_OWN_HEAP_PYTHON },
		{ true, BP_PROFILE_PYTHON_RECORDED, 0 },
		{ true, BP_PROFILE_PYTHON_ALL_IN_MALLOC, 0 },
		{ true, BP_PROFILE_PYTHON_NOT_ASKED, 1u << BP_OWN_HEAP_PYTHON },
		{ true, BP_PROFILE_PYTHON_WAITING, 1u << BP_OWN_HEAP_PYTHON },
		{ true, BP_PROFILE_PYTHON_FREE_THREADED, 1u << BP_OWN_HEAP_FREE_THREADED } };
	struct bp_error error;
	struct bp_process process = { .pid = 7 };
	struct bp_process_id id;
	assert_true(
		bp_profile_string(&profile, "/usr/bin/python3.11", 19, &process.program, &error));
	assert_true(bp_profile_add_process(&profile, &process, &id, &error));
	for (size_t i = 0; i < BP_COUNT(cases); i++) {
		profile.processes.data[id.i].python =
			(struct bp_process_python){ .known = cases[i].known,
				.frames_state = cases[i].objects,
				.objects_state = cases[i].objects };
		assert_int_equal(bp_own_heaps_of_modules(&profile, 7), cases[i].unseen);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_has_a_line),
		cmocka_unit_test(a_late_begin_has_a_line),
		cmocka_unit_test(arenas_are_unseen_where_objects_are_not_recorded),
	};
	struct bp_error error;
	if (!bp_profile_init(&profile, &error))
		return 1;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	bp_profile_finish(&profile);
	return failed;
}
