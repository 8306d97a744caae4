/* SPDX-License-Identifier: MIT */
/*
 * Rules that processes of one tree share: what a child stores its parent finds, for code of modules
 * that were there at the start and for no other; and once one of these is gone, nothing is shared.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "unwind/machine.h"
#include "unwind/frame_rules.h"
#include "unwind/shared_rules.h"

#define RULES 4711u

static void *early; /* opened before the start */

static uint64_t address_in(void *library)
{
	return (uintptr_t)dlsym(library, "walked_plugin");
}

/* In a child of fork; returns its status. */
static int in_child(void (*work)(uint64_t address), uint64_t address)
{
	int status = -1;
	const pid_t child = fork();
	if (child == 0) {
		work(address);
		_exit(bp_shared_rules_find(address) == RULES ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

static void store(uint64_t address)
{
	bp_shared_rules_store(address, RULES);
}

static void nothing_before_the_start(void **state)
{
	const uint64_t own = (uintptr_t)nothing_before_the_start;
	(void)state;
	store(own);
	assert_int_equal(bp_shared_rules_find(own), 0);
	bp_shared_rules_init();
	assert_int_equal(bp_shared_rules_find(own), 0);
}

static void of_a_child_and_of_its_siblings(void **state)
{
	const uint64_t own = (uintptr_t)of_a_child_and_of_its_siblings;
	const uint64_t of_libc = (uintptr_t)dlsym(RTLD_DEFAULT, "qsort");
	(void)state;
	assert_int_equal(in_child(store, own), 0);
	assert_int_equal(bp_shared_rules_find(own), RULES);
	assert_int_equal(bp_shared_rules_find(own + 1), 0);
	store(of_libc);
	assert_int_equal(in_child((void (*)(uint64_t))(void *)bp_shared_rules_check, of_libc), 0);
}

static void of_no_other_code(void **state)
{
	uint64_t *heap = malloc(sizeof *heap);
	void *late = dlopen("libwalked-plugin-large.so", RTLD_LAZY);
	(void)state;
	assert_non_null(late);
	store((uintptr_t)heap);
	assert_int_equal(bp_shared_rules_find((uintptr_t)heap), 0);
	store(address_in(late));
	assert_int_equal(bp_shared_rules_find(address_in(late)), 0);
	dlclose(late);
	bp_module_ranges_look(); /* as the hook of dlclose has it done, before what follows */
	bp_shared_rules_check();
	store(address_in(early));
	assert_int_equal(bp_shared_rules_find(address_in(early)), RULES);
	free(heap);
}

static void not_after_one_is_gone(void **state)
{
	const uint64_t own = (uintptr_t)not_after_one_is_gone;
	const uint64_t address = address_in(early);
	(void)state;
	store(own);
	assert_int_equal(bp_shared_rules_find(own), RULES);
	dlclose(early);
	bp_module_ranges_look();
	bp_shared_rules_check();
	assert_int_equal(bp_shared_rules_find(own), 0);
	assert_int_equal(bp_shared_rules_find(address), 0);
	store(own);
	assert_int_equal(bp_shared_rules_find(own), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_before_the_start),
		cmocka_unit_test(of_a_child_and_of_its_siblings),
		cmocka_unit_test(of_no_other_code),
		cmocka_unit_test(not_after_one_is_gone),
	};
	early = dlopen("libwalked-plugin-small.so", RTLD_LAZY);
	if (early == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
