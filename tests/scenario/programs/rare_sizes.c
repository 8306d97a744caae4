/* SPDX-License-Identifier: MIT */
/*
 * Functions whose small objects are rare among the samples: many[0-7] keep 50 objects of 2000 bytes
 * each, `mixed` keeps 3 of 3000 and 60 of 16, `small`, before all others, frees 400 of 8 at once.
 * Nothing else is allocated.
 */
#include <stdlib.h>

#define KEEP(name)                                               \
	static __attribute__((noinline)) void name(void)         \
	{                                                        \
		for (int i = 0; i < 50; i++)                     \
			*(char *volatile *)&last = malloc(2000); \
	}

static char *last;
KEEP(many0)
KEEP(many1)
KEEP(many2)
KEEP(many3)
KEEP(many4)
KEEP(many5)
KEEP(many6)
KEEP(many7)

static __attribute__((noinline)) void mixed(void)
{
	for (int i = 0; i < 63; i++)
		*(char *volatile *)&last = malloc(i < 3 ? 3000 : 16);
}

static __attribute__((noinline)) void small(void)
{
	for (int i = 0; i < 400; i++) {
		*(char *volatile *)&last = malloc(8);
		free(last);
	}
}

int main(void)
{
	static void (*const functions[])(
		void) = { small, many0, many1, many2, many3, many4, many5, many6, many7, mixed };
	for (unsigned i = 0; i < sizeof functions / sizeof functions[0]; i++)
		functions[i]();
	return 0;
}
