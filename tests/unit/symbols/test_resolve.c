/* SPDX-License-Identifier: MIT */
/*
 * bp_symbols_resolve on a profile as importers leave it: several modules, some of them the same
 * file, places that are known already, nothing at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "model/profile.h"
#include "symbols/symbols.h"
#include "workshop.h"

static struct bp_error error;

static struct bp_string_id text_id(struct bp_profile *profile, const char *text)
{
	struct bp_string_id id = { 0 };
	assert_true(bp_profile_string(profile, text, strlen(text), &id, &error));
	return id;
}

static struct bp_module_id add_module(
	struct bp_profile *profile, const char *path, const char *build_id)
{
	struct bp_module module = { .path = text_id(profile, path),
		.build_id = text_id(profile, build_id) };
	struct bp_module_id id = { 0 };
	assert_true(bp_profile_add_module(profile, &module, &id, &error));
	return id;
}

static struct bp_location_id add_location(
	struct bp_profile *profile, struct bp_module_id module, uint64_t address, bool exact)
{
	struct bp_location_id id = { 0 };
	assert_true(bp_profile_add_location(profile, module, address, exact, &id, &error));
	return id;
}

static void check_name(
	const struct bp_profile *profile, struct bp_location_id id, const char *function)
{
	const struct bp_location *location = &profile->locations.data[id.i];
	assert_true(location->resolved);
	assert_true(location->frame_count >= 1);
	assert_string_equal(
		bp_profile_text(profile, profile->frames.data[location->first_frame.i].function),
		function);
	assert_int_equal(
		profile->frames.data[location->first_frame.i].module.i, location->module.i);
}

static void test_nothing(void **state)
{
	struct bp_profile profile;
	struct bp_symbol_summary summary;
	(void)state;
	assert_true(bp_profile_init(&profile, &error));
	assert_true(bp_symbols_resolve(&profile, NULL, &summary, &error));
	assert_int_equal(summary.locations, 0);
	assert_int_equal(summary.modules, 0);
	assert_true(bp_symbols_resolve(&profile, NULL, NULL, NULL));
	bp_profile_finish(&profile);
}

/* The return address behind a call that ends `first` is the start of `second`. */
static void test_modules(void **state)
{
	struct bp_profile profile;
	struct bp_symbol_summary summary;
	struct bp_module_id one, two, vdso, gone, none = { 0 };
	struct bp_location_id return_address, exact, other, system, lost, nowhere, later;
	char build_id[128];
	uint64_t second = 0;
	(void)state;
	write_source("two.s", ".text\n.globl first\n.type first, @function\nfirst: nop\n nop\n"
			      ".size first, 2\n.globl second\n.type second, @function\n"
			      "second: nop\n nop\n.size second, 2\n");
	run_command("gcc -shared -nostdlib -Wl,--build-id two.s -o one.so && cp one.so two.so");
	read_build_id("one.so", build_id, sizeof build_id);
	second = symbol_value("one.so", "second");
	assert_true(bp_profile_init(&profile, &error));
	one = add_module(&profile, "./one.so", build_id);
	two = add_module(&profile, "./two.so", build_id);
	vdso = add_module(&profile, "[vdso]", "");
	gone = add_module(&profile, "/no/such/gone.so", build_id);
	return_address = add_location(&profile, one, second, false);
	exact = add_location(&profile, one, second, true);
	other = add_location(&profile, two, second + 1, true);
	system = add_location(&profile, vdso, 0x7ff, false);
	lost = add_location(&profile, gone, 0x40, false);
	nowhere = add_location(&profile, none, 0x7f0012345678, false);
	assert_true(bp_symbols_resolve(&profile, NULL, &summary, &error));
	check_name(&profile, return_address, "first");
	check_name(&profile, exact, "second");
	check_name(&profile, other, "second");
	check_name(&profile, system, "[vdso]+0x7ff");
	check_name(&profile, lost, "gone.so+0x40");
	check_name(&profile, nowhere, "0x7f0012345678");
	assert_int_equal(summary.locations, 6);
	assert_int_equal(summary.named, 3);
	assert_int_equal(summary.modules, 3);
	assert_int_equal(summary.modules_missing, 1);
	later = add_location(&profile, two, second, true);
	assert_true(bp_symbols_resolve(&profile, NULL, &summary, &error));
	check_name(&profile, later, "second");
	assert_int_equal(summary.locations, 1);
	assert_int_equal(summary.modules, 1);
	bp_profile_finish(&profile);
}

/* The processes of a tree may give the same file in several modules: it is read once. */
static void test_one_file_many_modules(void **state)
{
	struct bp_profile profile;
	struct bp_symbol_summary summary;
	struct bp_location_id locations[8];
	struct stat status;
	(void)state;
	write_source("same.c", "int same(int a) { return a + 2; }\n");
	run_command("gcc -O2 -g -shared -fPIC same.c -o same.so");
	assert_int_equal(stat("same.so", &status), 0);
	assert_true(bp_profile_init(&profile, &error));
	for (uint32_t i = 0; i < 8; i++) {
		struct bp_module module = { .path = text_id(&profile, "./same.so"),
			.start = i << 20,
			.file_bytes = (uint64_t)status.st_size,
			.file_mtime_ns = (uint64_t)status.st_mtim.tv_sec * 1000000000u +
					 (uint64_t)status.st_mtim.tv_nsec };
		/* Appended as they are: whether equal ones become one is the profile's affair. */
		struct bp_module_id id = { 0 };
		assert_true(bp_profile_add_module(&profile, &module, &id, &error));
		locations[i] =
			add_location(&profile, id, symbol_value("same.so", "same") + (i & 1), true);
	}
	assert_true(bp_symbols_resolve(&profile, NULL, &summary, &error));
	assert_int_equal(summary.modules, 1);
	for (uint32_t i = 0; i < 8; i++)
		check_name(&profile, locations[i], "same");
	bp_profile_finish(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_one_file_many_modules),
	};
	return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
