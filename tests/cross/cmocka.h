/* SPDX-License-Identifier: MIT */
/*
 * As much of cmocka as the unit tests of the inside half use, for machines that it is not installed
 * for: the tests are compiled against this header in place of the library's own. A failed assertion
 * says where, prints the test's `not ok`, and ends the program: later tests of the program are not
 * run. Results are TAP. For one thread, and its children, which end themselves.
 */
#ifndef BP_TESTS_CROSS_CMOCKA_H
#define BP_TESTS_CROSS_CMOCKA_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*test)(void **state);
	int (*setup)(void **state);
	int (*teardown)(void **state);
};

#define cmocka_unit_test(function)              \
	{                                       \
#function, function, NULL, NULL \
	}
#define cmocka_unit_test_setup(function, setup)  \
	{                                        \
#function, function, setup, NULL \
	}
#define cmocka_unit_test_setup_teardown(function, setup, teardown) \
	{                                                          \
#function, function, setup, teardown               \
	}
#define cmocka_run_group_tests(tests, setup, teardown) \
	cross_run(tests, sizeof(tests) / sizeof *(tests), setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown) \
	cmocka_run_group_tests(tests, setup, teardown)

static int cross_number;
static const char *cross_name = "the group's setup";

__attribute__((noreturn, format(printf, 3, 4))) static inline void cross_fail(
	const char *file, int line, const char *format, ...)
{
	va_list arguments;
	printf("# %s:%d: ", file, line);
	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	printf("\nnot ok %d - %s\n", cross_number, cross_name);
	fflush(stdout);
	exit(1);
}

static inline int cross_run(const struct CMUnitTest *tests, size_t count,
	int (*group_setup)(void **state), int (*group_teardown)(void **state))
{
	void *group = NULL;
	printf("1..%zu\n", count);
	fflush(stdout);
	if (group_setup != NULL && group_setup(&group) != 0)
		cross_fail(__FILE__, __LINE__, "failed");
	for (size_t i = 0; i < count; i++) {
		void *state = group;
		cross_number = (int)i + 1;
		cross_name = tests[i].name;
		if (tests[i].setup != NULL && tests[i].setup(&state) != 0)
			cross_fail(__FILE__, __LINE__, "its setup failed");
		tests[i].test(&state);
		if (tests[i].teardown != NULL && tests[i].teardown(&state) != 0)
			cross_fail(__FILE__, __LINE__, "its teardown failed");
		printf("ok %d - %s\n", cross_number, cross_name);
		fflush(stdout);
	}
	return group_teardown == NULL ? 0 : group_teardown(&group);
}

#define CROSS_CHECK(condition, ...)                                  \
	do {                                                         \
		if (!(condition))                                    \
			cross_fail(__FILE__, __LINE__, __VA_ARGS__); \
	} while (0)

#define CROSS_NUMBER(value) ((long long)(value))

#define fail() cross_fail(__FILE__, __LINE__, "failed")
#define fail_msg(...) cross_fail(__FILE__, __LINE__, __VA_ARGS__)
#define print_message(...) ((void)printf(__VA_ARGS__))
#define assert_true(condition) CROSS_CHECK(condition, "not true: %s", #condition)
#define assert_false(condition) CROSS_CHECK(!(condition), "true: %s", #condition)
#define assert_null(pointer) CROSS_CHECK((pointer) == NULL, "not NULL: %s", #pointer)
#define assert_non_null(pointer) CROSS_CHECK((pointer) != NULL, "NULL: %s", #pointer)
#define assert_ptr_equal(a, b) \
	CROSS_CHECK((const void *)(a) == (const void *)(b), "not the same: %s, %s", #a, #b)
#define assert_int_equal(a, b)                                                      \
	CROSS_CHECK(CROSS_NUMBER(a) == CROSS_NUMBER(b), "%s is %lld, not %lld", #a, \
		CROSS_NUMBER(a), CROSS_NUMBER(b))
#define assert_in_range(value, low, high)                                                          \
	CROSS_CHECK(                                                                               \
		(uintmax_t)(value) >= (uintmax_t)(low) && (uintmax_t)(value) <= (uintmax_t)(high), \
		"%s is %lld", #value, CROSS_NUMBER(value))
#define assert_memory_equal(a, b, bytes) \
	CROSS_CHECK(memcmp(a, b, bytes) == 0, "%s and %s differ", #a, #b)

#endif
