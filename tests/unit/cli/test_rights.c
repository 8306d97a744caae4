/* SPDX-License-Identifier: MIT */
/* Which restriction is named, by level; and texts of /proc/PID/status with and without shadow
 * stacks, as Linux 6.6 writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/attach/rights.h"

static void test_scope(void **state)
{
	(void)state;
	assert_int_equal(bp_yama_scope(""), 0);
	assert_int_equal(bp_yama_scope("0\n"), 0);
	assert_int_equal(bp_yama_scope("1\n"), 1);
	assert_int_equal(bp_yama_scope("3\n"), 3);
	assert_int_equal(bp_yama_scope("7\n"), 0);
}

static void expect(long scope, bool root, const char *words, const char *absent)
{
	struct bp_error error = { 0 };
	assert_false(bp_trace_refused(4121, scope, root, &error));
	assert_non_null(strstr(error.text, "4121"));
	assert_non_null(strstr(error.text, words));
	assert_null(strstr(error.text, absent));
}

static void test_refused(void **state)
{
	(void)state;
	expect(0, false, "be root, or have CAP_SYS_PTRACE; a program that is not dumpable", "yama");
	expect(1, false, "ptrace_scope is 1): be root, or have CAP_SYS_PTRACE, or set it to 0",
		"run");
	expect(2, false, "ptrace_scope is 2): be root, or have CAP_SYS_PTRACE", "set it to 0");
	expect(3, false, "ptrace_scope is 3, until the machine starts anew)", "be root");
	expect(3, true, "start process 4121 with bytepoll run", "be root");
	expect(0, true, "--cap-add SYS_PTRACE", "be root");
	expect(1, true, "--cap-add SYS_PTRACE", "be root");
}

static void test_shadow_stacks(void **state)
{
	(void)state;
	assert_true(
		bp_has_shadow_stacks("Name:\tx\nSeccomp:\t0\nx86_Thread_features:\tshstk wrss \n"
				     "x86_Thread_features_locked:\tshstk \n"));
	assert_true(bp_has_shadow_stacks("Name:\tx\nx86_Thread_features:\tshstk"));
	/* Off, though it was locked that way. */
	assert_false(bp_has_shadow_stacks("Name:\tx\nx86_Thread_features:\t\n"
					  "x86_Thread_features_locked:\tshstk wrss \n"));
	assert_false(bp_has_shadow_stacks("Name:\tshstk\nSeccomp:\t0\n"));
	assert_false(bp_has_shadow_stacks("Name:\tx86_Thread_features:\tshstk\nSeccomp:\t0\n"));
	assert_false(bp_has_shadow_stacks(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scope),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_shadow_stacks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
