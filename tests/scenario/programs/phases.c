/* SPDX-License-Identifier: MIT */
/*
 * Two phases that compete for the peak, of different kinds: 3200 small objects, freed, and then one
 * block of so many thousandths of their bytes (the argument), freed. The peak is 409,600 bytes, if
 * the argument is not above 1000. Nothing else is allocated, and nothing printed.
 */
#include <stdlib.h>

#include "check.h"

#define SITE __attribute__((noinline))

enum { OBJECTS = 3200, SIZE = 128 };

static void *objects[OBJECTS];

SITE static void *site_small(void)
{
	void *pointer = malloc(SIZE);
	KEEP(pointer);
	return pointer;
}

SITE static void *site_block(size_t size)
{
	void *pointer = malloc(size);
	KEEP(pointer);
	return pointer;
}

int main(int argc, char **argv)
{
	CHECK(argc == 2);
	for (int i = 0; i < OBJECTS; i++)
		CHECK((objects[i] = site_small()) != NULL);
	for (int i = 0; i < OBJECTS; i++)
		free(objects[i]);
	void *block = site_block((size_t)OBJECTS * SIZE / 1000 * (size_t)atoi(argv[1]));
	CHECK(block != NULL);
	free(block);
	return 0;
}
