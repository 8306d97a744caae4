/* SPDX-License-Identifier: MIT */
/*
 * The arena under thousands of threads that need a new block at the same moment: while one is
 * inside mmap all others have claimed theirs. Here a call of mmap makes the next request before it
 * is served, so that the requests are all under way at once, on one thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "tables/arena.h"

#define REQUESTS 3000u

static uint32_t under_way, wanted;
static void *pieces[REQUESTS];

static void request(void)
{
	const uint32_t number = under_way++;
	pieces[number] = bp_arena_allocate(1000);
}

/* In place of libc's: the arena makes its calls by this. */
long syscall(long number, ...)
{
	unsigned long a[6];
	va_list arguments;
	va_start(arguments, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(arguments, unsigned long);
	va_end(arguments);
	if (number == SYS_mmap) {
		if (under_way < wanted)
			request();
		return (long)mmap((void *)a[0], a[1], (int)a[2], (int)a[3], (int)a[4], (off_t)a[5]);
	}
	if (number == SYS_munmap)
		return munmap((void *)a[0], a[1]);
	return number == SYS_madvise ? madvise((void *)a[0], a[1], (int)a[2]) : -1;
}

static void coincide(void)
{
	under_way = 0;
	wanted = REQUESTS;
	while (under_way < REQUESTS)
		request();
	wanted = 0;
	for (uint32_t i = 0; i < REQUESTS; i++) {
		assert_non_null(pieces[i]);
		memset(pieces[i], 1, 1000);
	}
}

/* At the start, and when blocks have grown to the largest. */
static void requests_that_coincide(void **state)
{
	(void)state;
	coincide();
	for (uint32_t i = 0; i < 2000; i++)
		assert_non_null(bp_arena_allocate(60000));
	coincide();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_that_coincide),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
