/* SPDX-License-Identifier: MIT */
/*
 * A program for comparing runs: 200 call sites that each hold the same bytes in objects of their
 * own sizes, live at the end.
 *
 *	diff_sites [BYTES [SITE PERCENT]]
 *
 * BYTES a site (100000 by default); SITE (0 to 199) allocates PERCENT more than the others, or with
 * -100 nothing. The sites are called in turn, so that none is a phase of its own.
 */
#include "check.h"

#define SITES 200

typedef void *site_function(size_t size);

#define SITE(number)                                                      \
	__attribute__((noinline)) static void *site_##number(size_t size) \
	{                                                                 \
		void *pointer = malloc(size);                             \
		KEEP(pointer);                                            \
		return pointer;                                           \
	}
#define NAME(number) site_##number,

#define TEN(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7) X(n##8) X(n##9)
#define HUNDRED(X, n) \
	TEN(X, n##0)  \
	TEN(X, n##1)  \
	TEN(X, n##2)  \
	TEN(X, n##3) TEN(X, n##4) TEN(X, n##5) TEN(X, n##6) TEN(X, n##7) TEN(X, n##8) TEN(X, n##9)

HUNDRED(SITE, 0)
HUNDRED(SITE, 1)

static site_function *const sites[SITES] = { HUNDRED(NAME, 0) HUNDRED(NAME, 1) };

int main(int argc, char **argv)
{
	long bytes = argc > 1 ? atol(argv[1]) : 100000;
	long grown = argc > 3 ? atol(argv[2]) : -1, percent = argc > 3 ? atol(argv[3]) : 0;
	long left[SITES];
	int busy = SITES;
	for (long i = 0; i < SITES; i++)
		left[i] = bytes + (i == grown ? bytes * percent / 100 : 0);
	while (busy > 0) {
		busy = 0;
		for (long i = 0; i < SITES; i++) {
			/* 24 to 1223 bytes, different from site to site. */
			long size = 24 + i * i * 37 % 1200;
			if (left[i] < size)
				continue;
			sites[i]((size_t)size);
			left[i] -= size;
			busy++;
		}
	}
	return 0;
}
