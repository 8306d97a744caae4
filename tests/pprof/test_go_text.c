/* SPDX-License-Identifier: MIT */
/*
 * What the importer of Go's text form says of the runtime's memory, and how it makes locations:
 * test_go_text FILE, where FILE is a heap profile that Go's runtime wrote.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "import/import.h"

#define HEAD "heap profile: 0: 0 [0: 1] @ heap/1048576\n\n\n# runtime.MemStats\n"
#define MEMORY                                                                             \
	"# Sys = 5000\n# HeapAlloc = 100\n# HeapIdle = 300\n# HeapInuse = 150\n"           \
	"# HeapReleased = 120\n# Stack = 10 / 20\n# MSpan = 30 / 40\n# MCache = 50 / 60\n" \
	"# BuckHashSys = 70\n# GCSys = 80\n"

static const char *file_of_go;

static void import(struct bp_profile *profile, const char *path)
{
	struct bp_error error = { .text = "" };
	assert_true(bp_profile_init(profile, &error));
	if (!bp_import_file(path, profile, &error))
		fail_msg("%s", error.text);
	assert_string_equal(bp_profile_text(profile, profile->processes.data[1].runtime), "Go");
}

static void import_text(struct bp_profile *profile, const char *text)
{
	char path[64];
	const int fd = memfd_create("go", MFD_CLOEXEC);
	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	import(profile, path);
	close(fd);
}

static void expect_part(const struct bp_profile *profile, uint32_t number, const char *name,
	enum bp_runtime_part_kind kind, uint64_t bytes)
{
	const struct bp_runtime_part *part = &profile->runtime_parts.data[number];
	assert_in_range(number, 0, profile->runtime_parts.count - 1);
	assert_string_equal(bp_profile_text(profile, part->name), name);
	assert_int_equal(part->kind, kind);
	assert_int_equal(part->bytes, bytes);
	assert_int_equal(part->time_ns, BP_TIME_NEVER);
	assert_int_equal(part->process.i, 1);
	assert_int_equal(part->has_live, number == 0);
}

static void parts_stand_in_their_order(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_text(&profile, HEAD MEMORY "# OtherSys = 90\n# MaxRSS = 4096\n");
	expect_part(&profile, 0, "objects, live or not swept yet", BP_RUNTIME_HELD, 100);
	expect_part(&profile, 1, "free in spans in use", BP_RUNTIME_HELD, 50);
	expect_part(&profile, 2, "idle spans, not given back", BP_RUNTIME_HELD, 180);
	expect_part(&profile, 3, "stacks of goroutines and threads", BP_RUNTIME_HELD, 20);
	expect_part(&profile, 4, "descriptions of spans", BP_RUNTIME_HELD, 40);
	expect_part(&profile, 5, "caches of processors", BP_RUNTIME_HELD, 60);
	expect_part(&profile, 6, "buckets of profiles", BP_RUNTIME_HELD, 70);
	expect_part(&profile, 7, "the collector's own", BP_RUNTIME_HELD, 80);
	expect_part(&profile, 8, "other", BP_RUNTIME_HELD, 90);
	expect_part(&profile, 9, "idle spans, given back", BP_RUNTIME_GIVEN_BACK, 120);
	expect_part(&profile, 10, "Sys", BP_RUNTIME_TOTAL, 5000);
	expect_part(&profile, 11, "MaxRSS", BP_RUNTIME_HIGH_WATER, 4096);
	assert_int_equal(profile.runtime_parts.count, 12);
	bp_profile_finish(&profile);
}

/* Old versions of Go, and systems that do not tell the high-water mark. */
static void parts_may_be_missing(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_text(&profile, HEAD MEMORY);
	assert_int_equal(profile.runtime_parts.count, 10);
	expect_part(&profile, 8, "idle spans, given back", BP_RUNTIME_GIVEN_BACK, 120);
	expect_part(&profile, 9, "Sys", BP_RUNTIME_TOTAL, 5000);
	bp_profile_finish(&profile);
}

static void contradictions_are_left_out(void **state)
{
	static const char *const texts[] = {
		HEAD, HEAD "# Sys = 5000\n", HEAD MEMORY "# HeapAlloc = 151\n",
		HEAD MEMORY "# HeapReleased = 301\n",
		HEAD MEMORY "# OtherSys = 4281\n", /* the sum is Sys + 1 */
		HEAD MEMORY "# OtherSys = 18446744073709551615\n",
		HEAD MEMORY "# HeapIdle = 18446744073709551616\n", HEAD MEMORY "# HeapIdle = -1\n",
		HEAD MEMORY "# Stack = 10\n", HEAD MEMORY "# Stack = 10 / \n",
		HEAD MEMORY "# Sys = 5000x\n",
		HEAD MEMORY "# Sys = 18446744073709551615\n", /* no address space has so much */
	};
	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct bp_profile profile;
		import_text(&profile, texts[i]);
		assert_int_equal(profile.runtime_parts.count, 0);
		bp_profile_finish(&profile);
	}
	struct bp_profile profile;
	import_text(&profile, HEAD MEMORY "# OtherSys = 4280\n");
	assert_int_equal(profile.runtime_parts.count, 11);
	bp_profile_finish(&profile);
}

/* Of a file that Go wrote, the parts are all that it has from the kernel. */
static void parts_add_up(void **state)
{
	struct bp_profile profile;
	uint64_t sum = 0, total = 0, most = 0;
	(void)state;
	import(&profile, file_of_go);
	for (uint32_t i = 0; i < profile.runtime_parts.count; i++) {
		const struct bp_runtime_part *part = &profile.runtime_parts.data[i];
		if (part->kind == BP_RUNTIME_TOTAL)
			total += part->bytes;
		else if (part->kind == BP_RUNTIME_HIGH_WATER)
			most += part->bytes;
		else
			sum += part->bytes;
	}
	assert_int_equal(profile.runtime_parts.count, 12);
	assert_true(total > 100 << 20 && most > 100 << 20);
	assert_int_equal(sum, total);
	bp_profile_finish(&profile);
}

/* Columns are aligned anew in every record, which makes no other place of a place. */
static void equal_places_are_one_location(void **state)
{
	struct bp_profile profile;
	(void)state;
	import_text(&profile,
		"heap profile: 2: 32 [2: 33] @ heap/1048576\n"
		"1: 16 [1: 16] @ 0x11 0x21\n#\t0x10\tf+0x1\t/a.go:1\n#\t0x20\tmain+0x1\t/a.go:9\n\n"
		"1: 16 [1: 16] @ 0x31 0x21\n#\t0x30\tlonger.g+0x1\t/a.go:2\n"
		"#\t0x20\tmain+0x1\t\t/a.go:9\n\n# runtime.MemStats\n");
	assert_int_equal(profile.locations.count, 1 + 3);
	assert_int_equal(profile.frames.count, 1 + 3);
	assert_int_equal(profile.stacks.count, 1 + 2);
	assert_false(profile.processes.data[1].cut_off);
	bp_profile_finish(&profile);
}

int main(int count, char **arguments)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_stand_in_their_order),
		cmocka_unit_test(parts_may_be_missing),
		cmocka_unit_test(contradictions_are_left_out),
		cmocka_unit_test(parts_add_up),
		cmocka_unit_test(equal_places_are_one_location),
	};
	if (count != 2)
		return 2;
	file_of_go = arguments[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
