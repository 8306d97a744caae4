/* SPDX-License-Identifier: MIT */
/* Where a thread may be made to call a function, and where not: each stack is of a kind that was
 * met, with the names that Debian's libraries export. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/syscall.h>

#include "base/attributes.h"
#include "cli/attach/judge.h"

#define FRAME(kind, name)         \
	{                         \
		kind, name, false \
	}
#define PROGRAM FRAME(BP_IN_PROGRAM, NULL)
#define NAMELESS FRAME(BP_IN_LIBC, NULL)
#define LIBC(name) FRAME(BP_IN_LIBC, name)
#define INTERRUPTED(kind, name)  \
	{                        \
		kind, name, true \
	}
#define THREAD_START NAMELESS, NAMELESS
#define MAIN_START NAMELESS, LIBC("__libc_start_main"), FRAME(BP_IN_PROGRAM, "_start")
#define NONE (-1)

#define JUDGE(system_call, ...)                                                             \
	({                                                                                  \
		const struct bp_stack_frame frames[] = { __VA_ARGS__ };                     \
		const char *reason = NULL;                                                  \
		bp_judge(frames, (uint32_t)BP_COUNT(frames), true, (system_call), &reason); \
	})

static void code_of_the_program_is_safe(void **state)
{
	(void)state;
	assert_true(JUDGE(NONE, PROGRAM, PROGRAM, THREAD_START));
	assert_true(JUDGE(NONE, PROGRAM, MAIN_START));
}

static void waits_are_safe(void **state)
{
	(void)state;
	assert_true(JUDGE(SYS_poll, LIBC("__poll"), PROGRAM, MAIN_START));
	assert_true(JUDGE(SYS_read, LIBC("__libc_read"), PROGRAM, THREAD_START));
	/* pthread_cond_wait, and pthread_join, whose wait has no name. */
	assert_true(JUDGE(
		SYS_futex, NAMELESS, NAMELESS, LIBC("pthread_cond_wait"), PROGRAM, THREAD_START));
	assert_true(JUDGE(SYS_futex, NAMELESS, PROGRAM, MAIN_START));
	/* Of a pipe, in sleep by way of clock_nanosleep. */
	assert_true(JUDGE(SYS_clock_nanosleep, LIBC("clock_nanosleep"), LIBC("nanosleep"),
		LIBC("sleep"), PROGRAM, MAIN_START));
}

static void streams_that_are_read_are_safe(void **state)
{
	(void)state;
	assert_true(JUDGE(SYS_read, LIBC("__read"), LIBC("_IO_file_underflow"),
		LIBC("_IO_default_uflow"), LIBC("_IO_getline_info"), LIBC("fgets"), PROGRAM,
		MAIN_START));
	assert_true(JUDGE(SYS_read, LIBC("__read"), LIBC("_IO_file_underflow"), NAMELESS,
		LIBC("fread"), PROGRAM, THREAD_START));
	assert_true(JUDGE(SYS_read, LIBC("__read"), NAMELESS, LIBC("fread"), PROGRAM, MAIN_START));
	/* glibc 2.41 makes its system calls by two functions without names. */
	assert_true(JUDGE(SYS_read, NAMELESS, NAMELESS, LIBC("read"), LIBC("_IO_file_underflow"),
		LIBC("getdelim"), PROGRAM, MAIN_START));
	/* By a function without a name, by two of them, by another one, or without a read. */
	assert_false(JUDGE(SYS_read, LIBC("__read"), LIBC("_IO_file_underflow"), NAMELESS, PROGRAM,
		THREAD_START));
	assert_false(JUDGE(
		SYS_read, LIBC("__read"), NAMELESS, NAMELESS, LIBC("fread"), PROGRAM, MAIN_START));
	assert_false(JUDGE(SYS_read, LIBC("__read"), LIBC("_IO_file_underflow"),
		LIBC("_IO_getline_info"), LIBC("fgets_unlocked"), NAMELESS, LIBC("getpwnam_r"),
		PROGRAM, MAIN_START));
	assert_false(JUDGE(
		SYS_read, LIBC("__read"), LIBC("fgets"), LIBC("getpwnam_r"), PROGRAM, MAIN_START));
	assert_false(JUDGE(SYS_write, LIBC("__write"), LIBC("fgets"), PROGRAM, MAIN_START));
	assert_false(JUDGE(NONE, LIBC("_IO_file_underflow"), LIBC("fgets"), PROGRAM, MAIN_START));
}

static void locks_of_python_are_not(void **state)
{
	(void)state;
	assert_false(JUDGE(NONE, FRAME(BP_IN_PYTHON_LOCK, NULL), PROGRAM, MAIN_START));
	assert_false(JUDGE(SYS_futex, NAMELESS, NAMELESS, LIBC("sem_wait"), PROGRAM,
		FRAME(BP_IN_PYTHON_LOCK, NULL), PROGRAM, MAIN_START));
	assert_true(JUDGE(
		SYS_futex, NAMELESS, NAMELESS, LIBC("sem_wait"), PROGRAM, PROGRAM, MAIN_START));
}

static void the_allocator_is_not(void **state)
{
	(void)state;
	assert_false(JUDGE(NONE, NAMELESS, LIBC("malloc"), PROGRAM, THREAD_START));
	assert_false(JUDGE(NONE, LIBC("malloc"), PROGRAM, THREAD_START));
	assert_false(JUDGE(NONE, LIBC("__libc_free"), PROGRAM, THREAD_START));
	/* It waits for an arena: named, and by an internal function. */
	assert_false(JUDGE(SYS_futex, NAMELESS, LIBC("malloc"), PROGRAM, THREAD_START));
	assert_false(JUDGE(SYS_futex, NAMELESS, NAMELESS, LIBC("free"), PROGRAM, THREAD_START));
	assert_false(JUDGE(SYS_futex, NAMELESS, NAMELESS, PROGRAM, THREAD_START));
	/* A system call of its own: brk, madvise. */
	assert_false(JUDGE(SYS_madvise, LIBC("madvise"), NAMELESS, PROGRAM, THREAD_START));
	assert_false(JUDGE(NONE, FRAME(BP_IN_ALLOCATOR, NULL), PROGRAM, THREAD_START));
}

static void callbacks_are_not(void **state)
{
	(void)state;
	/* Of qsort, exit, dl_iterate_phdr; a constructor, a signal handler. */
	assert_false(JUDGE(NONE, PROGRAM, LIBC("qsort_r"), PROGRAM, MAIN_START));
	assert_false(JUDGE(NONE, PROGRAM, LIBC("exit"), NAMELESS, MAIN_START));
	assert_false(JUDGE(NONE, PROGRAM, LIBC("dl_iterate_phdr"), PROGRAM, THREAD_START));
	assert_false(JUDGE(
		NONE, PROGRAM, FRAME(BP_IN_LOADER, NULL), LIBC("dlopen"), PROGRAM, MAIN_START));
	assert_false(JUDGE(NONE, PROGRAM, NAMELESS, LIBC("malloc"), PROGRAM, MAIN_START));
	assert_false(JUDGE(NONE, PROGRAM, FRAME(BP_IN_UNWINDER, NULL), PROGRAM, MAIN_START));
	assert_false(JUDGE(NONE, PROGRAM, FRAME(BP_IN_RECORDER, NULL), PROGRAM, MAIN_START));
	assert_false(JUDGE(NONE, PROGRAM, FRAME(BP_IN_NOTHING, NULL), PROGRAM, MAIN_START));
	/* Destructors of a thread: a third nameless frame at its start. */
	assert_false(JUDGE(NONE, PROGRAM, NAMELESS, THREAD_START));
}

/* A handler of a signal is as safe as what it interrupted. */
static void handlers_are_as_what_they_interrupted(void **state)
{
	(void)state;
	assert_true(JUDGE(SYS_epoll_wait, LIBC("epoll_wait"), PROGRAM, NAMELESS,
		INTERRUPTED(BP_IN_LIBC, "select"), PROGRAM, MAIN_START));
	assert_true(JUDGE(NONE, PROGRAM, LIBC("__restore_rt"), INTERRUPTED(BP_IN_PROGRAM, NULL),
		PROGRAM, THREAD_START));
	assert_true(
		JUDGE(SYS_poll, LIBC("__poll"), PROGRAM, NAMELESS, INTERRUPTED(BP_IN_LIBC, NULL),
			NAMELESS, LIBC("pthread_cond_wait"), PROGRAM, THREAD_START));
	/* malloc, a function without a name, and one that merely calls a wait. */
	assert_false(JUDGE(SYS_poll, LIBC("__poll"), PROGRAM, NAMELESS,
		INTERRUPTED(BP_IN_LIBC, "malloc"), PROGRAM, MAIN_START));
	assert_false(
		JUDGE(NONE, PROGRAM, NAMELESS, INTERRUPTED(BP_IN_LIBC, NULL), PROGRAM, MAIN_START));
	assert_false(JUDGE(NONE, PROGRAM, NAMELESS, INTERRUPTED(BP_IN_LIBC, "read"), LIBC("fread"),
		PROGRAM, MAIN_START));
	assert_false(JUDGE(
		NONE, PROGRAM, NAMELESS, INTERRUPTED(BP_IN_ALLOCATOR, NULL), PROGRAM, MAIN_START));
	/* Without a signal the C library's function is one that calls the program back. */
	assert_false(JUDGE(NONE, PROGRAM, NAMELESS, LIBC("select"), PROGRAM, MAIN_START));
}

static void a_stack_without_start_is_not(void **state)
{
	const struct bp_stack_frame frames[] = { PROGRAM, PROGRAM, THREAD_START };
	const char *reason = NULL;
	(void)state;
	assert_false(bp_judge(frames, BP_COUNT(frames), false, NONE, &reason));
	assert_non_null(reason);
	assert_false(JUDGE(NONE, PROGRAM, PROGRAM, PROGRAM));
	assert_false(JUDGE(NONE, PROGRAM));
	/* In the start itself. */
	assert_false(JUDGE(NONE, THREAD_START));
	assert_false(JUDGE(SYS_futex, THREAD_START));
	assert_false(JUDGE(NONE, MAIN_START));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_of_the_program_is_safe),
		cmocka_unit_test(waits_are_safe),
		cmocka_unit_test(streams_that_are_read_are_safe),
		cmocka_unit_test(locks_of_python_are_not),
		cmocka_unit_test(the_allocator_is_not),
		cmocka_unit_test(callbacks_are_not),
		cmocka_unit_test(handlers_are_as_what_they_interrupted),
		cmocka_unit_test(a_stack_without_start_is_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
