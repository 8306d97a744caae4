/* SPDX-License-Identifier: MIT */
/*
 * malloc_usable_size: never below the request, the same when asked twice, and every byte of it may
 * be written without harm to a neighbour, through realloc and free afterwards.
 */
#include <malloc.h>
#include <string.h>

#include "check.h"

#define OBJECTS 3000
static unsigned char *objects[OBJECTS];
static size_t usable[OBJECTS];

static void fill(int i, size_t size)
{
	usable[i] = malloc_usable_size(objects[i]);
	CHECK(usable[i] >= size && malloc_usable_size(objects[i]) == usable[i]);
	memset(objects[i], i, usable[i]);
}

static void check(int i)
{
	for (size_t j = 0; j < usable[i]; j++)
		CHECK(objects[i][j] == (unsigned char)i);
}

int main(void)
{
	uint64_t seed = 77;
	CHECK(malloc_usable_size(NULL) == 0);
	for (int i = 0; i < OBJECTS; i++) {
		size_t size = i % 50 ? random_between(&seed, 0, 600) : (size_t)i * 90;
		objects[i] = i % 3 ? malloc(size) : calloc(1, size);
		CHECK(objects[i] != NULL);
		fill(i, size);
	}
	for (int i = 0; i < OBJECTS; i++)
		check(i);
	for (int i = 0; i < OBJECTS; i++) {
		size_t size = random_between(&seed, usable[i] + 1, usable[i] + 300);
		size_t old_usable = usable[i];
		objects[i] = realloc(objects[i], size);
		CHECK(objects[i] != NULL);
		usable[i] = old_usable;
		check(i);
		fill(i, size);
	}
	for (int i = 0; i < OBJECTS; i++)
		check(i);
	for (int i = 0; i < OBJECTS; i++)
		free(objects[i]);
	puts("done");
	return 0;
}
