/* SPDX-License-Identifier: MIT */
/* The tables of a profile: what is equal, how processes are linked, how samples are ordered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/sample_order.h"
#include "small_profile.h"

static void equal_strings_are_one(void **state)
{
	struct bp_profile profile;
	struct bp_error error;
	struct bp_string_id a, b;
	(void)state;
	small_init(&profile);
	assert_int_equal(small_string(&profile, "").i, 0);
	a = small_string(&profile, "hello");
	assert_int_equal(small_string(&profile, "hello").i, a.i);
	assert_int_not_equal(small_string(&profile, "hell").i, a.i);
	assert_true(bp_profile_string(&profile, "hello\0x", 7, &b, &error));
	assert_int_equal(b.i, a.i);
	assert_true(bp_profile_string(&profile, "helloworld", 5, &b, &error));
	assert_int_equal(b.i, a.i);
	assert_string_equal(bp_profile_text(&profile, a), "hello");
	assert_string_equal(bp_profile_text(&profile, (struct bp_string_id){ 12345 }), "");
	bp_profile_finish(&profile);
	bp_profile_finish(&profile);
}

/* Texts must stay where they are while tables and blocks grow. */
static void many_strings_stay(void **state)
{
	struct bp_profile profile;
	char text[64];
	(void)state;
	small_init(&profile);
	const char *first = bp_profile_text(&profile, small_string(&profile, "first"));
	for (unsigned i = 0; i < 50000; i++) {
		snprintf(text, sizeof text, "function number %u", i);
		assert_int_equal(small_string(&profile, text).i, i + 2);
	}
	char *large = malloc(200001);
	memset(large, 'x', 200000);
	large[200000] = '\0';
	struct bp_string_id id = small_string(&profile, large);
	assert_string_equal(bp_profile_text(&profile, id), large);
	free(large);
	assert_string_equal(first, "first");
	for (unsigned i = 0; i < 50000; i += 777) {
		snprintf(text, sizeof text, "function number %u", i);
		assert_int_equal(small_string(&profile, text).i, i + 2);
	}
	bp_profile_finish(&profile);
}

static uint32_t add_module(struct bp_profile *profile, const char *path, const char *build_id,
	uint64_t file_bytes, uint64_t start)
{
	struct bp_module_id id;
	struct bp_error error;
	struct bp_module module = { .path = small_string(profile, path),
		.build_id = small_string(profile, build_id),
		.file_bytes = file_bytes,
		.start = start };
	assert_true(bp_profile_add_module(profile, &module, &id, &error));
	return id.i;
}

static void equal_modules_are_one(void **state)
{
	struct bp_profile profile;
	(void)state;
	small_init(&profile);
	uint32_t libc = add_module(&profile, "/lib/libc.so", "aa", 100, 0x1000);
	assert_int_equal(add_module(&profile, "/lib/libc.so", "aa", 100, 0x2000), libc);
	assert_int_not_equal(add_module(&profile, "/lib/libc.so", "bb", 100, 0x1000), libc);
	uint32_t bare = add_module(&profile, "/lib/bare.so", "", 100, 0x1000);
	assert_int_equal(add_module(&profile, "/lib/bare.so", "", 100, 0x5000), bare);
	assert_int_not_equal(add_module(&profile, "/lib/bare.so", "", 101, 0x1000), bare);
	uint32_t nameless = add_module(&profile, "", "", 0, 0x1000);
	assert_int_not_equal(add_module(&profile, "", "", 0, 0x2000), nameless);
	bp_profile_finish(&profile);
}

static void equal_locations_and_stacks_are_one(void **state)
{
	struct bp_profile profile;
	struct bp_error error;
	struct bp_location_id one, two, three, list[2];
	struct bp_stack_id a, b, c, d, empty;
	(void)state;
	small_init(&profile);
	struct bp_module_id module = { add_module(&profile, "/bin/x", "aa", 1, 0) };
	assert_true(bp_profile_add_location(&profile, module, 16, false, &one, &error));
	assert_true(bp_profile_add_location(&profile, module, 16, true, &two, &error));
	assert_true(bp_profile_add_location(&profile, module, 16, false, &three, &error));
	assert_int_equal(one.i, three.i);
	assert_int_not_equal(one.i, two.i);
	list[0] = one;
	list[1] = two;
	assert_true(bp_profile_add_stack(&profile, list, 2, 0, &a, &error));
	assert_true(bp_profile_add_stack(&profile, list, 2, 0, &b, &error));
	assert_true(bp_profile_add_stack(&profile, list, 1, 0, &c, &error));
	assert_true(bp_profile_add_stack(&profile, list, 2, 1, &d, &error));
	assert_true(bp_profile_add_stack(&profile, NULL, 0, 0, &empty, &error));
	assert_int_equal(a.i, b.i);
	assert_int_not_equal(a.i, c.i);
	assert_int_not_equal(a.i, d.i);
	assert_int_equal(profile.stacks.data[empty.i].depth, 0);
	bp_profile_finish(&profile);
}

static void processes_are_linked(void **state)
{
	struct bp_profile profile;
	struct bp_error error;
	(void)state;
	small_init(&profile);
	struct bp_process_id child = small_process(&profile, 11, 2, 1, 1, 2, 1);
	struct bp_process_id root = small_process(&profile, 10, 1, 0, 0, 3, 1);
	struct bp_process_id grandchild = small_process(&profile, 12, 3, 2, 1.5, 2, 1);
	/* The root turns into another image; its trace knows no parent. */
	profile.processes.data[root.i].end_reason = 5;
	struct bp_process_id image = small_process(&profile, 10, 4, 0, 3, 9, 1);
	/* Equal trace ids are one process; zeros are no id. */
	assert_int_equal(small_process(&profile, 11, 2, 1, 1, 2, 1).i, child.i);
	assert_true(bp_profile_finish_import(&profile, true, &error));
	assert_int_equal(profile.root.i, root.i);
	assert_int_equal(profile.processes.data[child.i].parent.i, root.i);
	assert_int_equal(profile.processes.data[grandchild.i].parent.i, child.i);
	assert_int_equal(profile.processes.data[image.i].parent.i, root.i);
	assert_false(profile.merged_unrelated);
	small_process(&profile, 99, 9, 0, 5, 6, 1);
	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_false(profile.merged_unrelated);
	assert_true(bp_profile_finish_import(&profile, true, &error));
	assert_true(profile.merged_unrelated);
	bp_profile_finish(&profile);
}

/* A hostile file may say that two processes are each other's parents. */
static void circles_are_cut(void **state)
{
	struct bp_profile profile;
	struct bp_error error;
	(void)state;
	small_init(&profile);
	small_process(&profile, 1, 1, 2, 0, 1, 1);
	small_process(&profile, 2, 2, 1, 0, 1, 1);
	small_process(&profile, 3, 3, 3, 0, 1, 1);
	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_int_not_equal(profile.root.i, 0);
	for (uint32_t i = 1; i < profile.processes.count; i++) {
		uint32_t steps = 0;
		for (uint32_t p = i; p != 0; p = profile.processes.data[p].parent.i)
			assert_true(steps++ < 4);
	}
	bp_profile_finish(&profile);
}

/* Lanes: ascending runs, shuffled. Checked against the order that is asked for. */
static void samples_are_sorted(void **state)
{
	enum { COUNT = 20000 };
	struct bp_profile profile;
	struct bp_error error;
	(void)state;
	small_init(&profile);
	struct bp_process_id process = small_process(&profile, 1, 1, 0, 0, 1, 1);
	uint64_t random = 12345;
	uint64_t sum = 0;
	for (unsigned i = 0; i < COUNT; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		struct bp_sample sample = { .process = process, .interval = 1, .size = i + 3 };
		sample.time_ns = i % 1000 < 900 ? SMALL_BASE_NS + i % 1000 : random >> 40;
		sample.sequence = random >> 50;
		sum += sample.size;
		assert_true(bp_profile_add_sample(&profile, &sample, &error));
	}
	assert_true(bp_profile_finish_import(&profile, false, &error));
	assert_int_equal(profile.samples.count, COUNT + 1);
	for (unsigned i = 1; i <= COUNT; i++) {
		const struct bp_sample now = bp_profile_sample(&profile, i);
		sum -= now.size;
		if (i == 1)
			continue;
		const struct bp_sample before = bp_profile_sample(&profile, i - 1);
		assert_true(before.time_ns < now.time_ns ||
			    (before.time_ns == now.time_ns && before.sequence <= now.sequence));
	}
	assert_int_equal(sum, 0);
	assert_int_equal(profile.processes.data[process.i].size_min, 3);
	bp_profile_finish(&profile);
}

/* What somebody started is the name, not the file that the kernel found behind it. */
static void processes_are_named_as_they_were_started(void **state)
{
	static const struct {
		const char *program, *command_line, *name;
	} cases[] = { { "/usr/bin/redis-check-rdb", "/usr/bin/redis-server *:6379",
			      "redis-server" },
		{ "/usr/bin/redis-check-rdb", "redis-server", "redis-server" },
		{ "/usr/bin/ls", "ls -l /usr/bin", "ls" }, { "/usr/bin/ls", "", "ls" },
		{ "/usr/bin/busybox", "tar xf a/b c", "tar" },
		{ "/opt/my program/do it", "/opt/my program/do it now", "do it" },
		{ "/opt/my program/do it", "./do it now", "do it" },
		{ "/usr/bin/bash", "-bash", "bash" }, { "/usr/bin/x", "/", "x" },
		{ "/usr/bin/x", " a", "x" }, { "/usr/bin/x", "- a", "x" }, { "", "a/b c", "b" },
		{ "/usr/lib/postgresql/15/bin/postgres", "postgres: walwriter", "postgres" },
		{ "/bin/x", ": y", ":" },
		{ "/opt/x", "/lib64/ld-linux-x86-64.so.2 --argv0 y ./x", "x" },
		{ "/usr/bin/ld-linux-x86-64.so.2", "ld.so ./x", "ld-linux-x86-64.so.2" },
		{ "", "", "" }, { "dotnet", "dotnet app.dll", "dotnet" },
		{ "/usr/bin/x", "a\x1b[31m b", "a\x1b[31m" } };
	struct bp_profile profile;
	struct bp_error error;
	(void)state;
	small_init(&profile);
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_process_id id = small_process(&profile, 10 + i, i + 1, 0, 0, 1, 1);
		struct bp_process *process = &profile.processes.data[id.i];
		process->program = small_string(&profile, cases[i].program);
		process->command_line = small_string(&profile, cases[i].command_line);
	}
	assert_true(bp_profile_finish_import(&profile, true, &error));
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(
			bp_process_name(&profile, &profile.processes.data[i + 1]), cases[i].name);
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_strings_are_one),
		cmocka_unit_test(many_strings_stay),
		cmocka_unit_test(equal_modules_are_one),
		cmocka_unit_test(equal_locations_and_stacks_are_one),
		cmocka_unit_test(processes_are_linked),
		cmocka_unit_test(circles_are_cut),
		cmocka_unit_test(samples_are_sorted),
		cmocka_unit_test(processes_are_named_as_they_were_started),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
