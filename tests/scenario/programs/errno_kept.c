/* SPDX-License-Identifier: MIT */
/*
 * errno and the results of bad requests. What succeeds leaves errno alone, free always does, what
 * fails sets it as libc does. The outcome of the odd requests is printed rather than asserted: the
 * driver compares it with the unprofiled run's, so whatever this libc does is right.
 */
#include <errno.h>
#include <malloc.h>
#include <string.h>

#include "check.h"

static void successes(void)
{
	for (size_t i = 0; i < 3000; i++) {
		errno = 4711;
		void *p = malloc(i);
		CHECK(errno == 4711 && p);
		p = realloc(p, i * 2 + 1);
		CHECK(errno == 4711 && p);
		void *q = calloc(i, 3), *r = aligned_alloc(64, i);
		void *s = NULL;
		CHECK(posix_memalign(&s, 32, i) == 0);
		CHECK(errno == 4711 && q && r && s);
		free(p);
		free(q);
		free(r);
		free(s);
		free(NULL);
		CHECK(errno == 4711);
		p = malloc(100000 + i * 100);
		CHECK(errno == 4711 && p);
		free(p);
		CHECK(errno == 4711);
	}
}

static void show(const char *what, int is_null)
{
	printf("%s: %s, errno %d\n", what, is_null ? "NULL" : "memory", errno);
	errno = 0;
}

static char *kept;

/* The compiler takes every realloc for one that succeeds. */
static char *kept_here(void)
{
	char *pointer = kept;
	__asm__ volatile("" : "+r"(pointer));
	return pointer;
}

static void odd_requests(void)
{
	volatile size_t huge = PTRDIFF_MAX, all = SIZE_MAX, half = SIZE_MAX / 2 + 2;
	volatile size_t zero = 0, three = 3, hundred = 100;
	kept = malloc(10);
	memcpy(kept, "unchanged", 10);
	errno = 0;
	show("malloc huge", malloc(huge) == NULL);
	show("malloc all", malloc(all) == NULL);
	show("malloc terabytes", malloc((size_t)1 << 52) == NULL);
	show("calloc huge", calloc(1, huge) == NULL);
	show("calloc overflow", calloc(half, 2) == NULL);
	show("calloc zero", calloc(0, huge) == NULL);
	show("realloc huge", realloc(kept_here(), huge) == NULL);
	show("realloc all", realloc(kept_here(), all) == NULL);
	show("realloc null huge", realloc(NULL, huge) == NULL);
	show("reallocarray overflow", reallocarray(kept_here(), half, 2) == NULL);
	show("aligned_alloc huge", aligned_alloc(64, huge) == NULL);
	show("aligned_alloc odd", aligned_alloc(three, 100) == NULL);
	show("aligned_alloc odd size", aligned_alloc(64, 100) == NULL);
	show("memalign zero", memalign(zero, 100) == NULL);
	show("memalign odd", memalign(hundred, 100) == NULL);
	show("memalign huge alignment", memalign(half - 1, 100) == NULL);
	show("valloc huge", valloc(huge) == NULL);
	show("pvalloc all", pvalloc(all) == NULL);
	void *p = (void *)16;
	printf("posix_memalign odd: %d\n", posix_memalign(&p, 24, 100));
	show("errno after", p == (void *)16);
	printf("posix_memalign small: %d\n", posix_memalign(&p, 4, 100));
	show("errno after", p == (void *)16);
	printf("posix_memalign huge: %d\n", posix_memalign(&p, 64, huge));
	show("errno after", p == (void *)16);
	CHECK(memcmp(kept_here(), "unchanged", 10) == 0);
	errno = 0;
	show("realloc zero", realloc(kept_here(), 0) == NULL);
	show("realloc null zero", realloc(NULL, 0) == NULL);
	show("malloc zero", malloc(0) == NULL);
}

int main(void)
{
	successes();
	for (int i = 0; i < 3; i++)
		odd_requests();
	return 0;
}
