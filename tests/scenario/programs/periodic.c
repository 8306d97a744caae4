/* SPDX-License-Identifier: MIT */
/*
 * Allocation patterns that commensurate with the sampling interval, on which a sampler with a fixed
 * stride sees always the same object. The argument chooses the pattern, the second the rounds:
 *   pair   20 and 80 bytes alternating, for T = 100;
 *   cycle  sizes whose trials (size + 1) sum to 1024, for T = 4096.
 * Prints nothing; the driver knows the truth: rounds objects of each size, from a site each.
 */
#include <string.h>

#include "check.h"

#define SITE __attribute__((noinline))

SITE static void site_first(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	free(p);
}

SITE static void site_second(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	free(p);
}

SITE static void site_third(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	free(p);
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count == 3);
	long rounds = atol(arguments[2]);
	for (long i = 0; i < rounds; i++)
		if (!strcmp(arguments[1], "pair")) {
			site_first(20);
			site_second(80);
		} else {
			site_first(15);
			site_second(239);
			site_third(767);
		}
	return 0;
}
