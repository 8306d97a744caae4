/* SPDX-License-Identifier: MIT */
/*
 * calloc gives zeros, also where it is handed memory that was used before: everything that is freed
 * here was filled with rubbish first. Small sizes meet the recorder's own slots, large ones glibc's
 * mapped chunks, which it does not clear.
 */
#include <string.h>

#include "check.h"

#define OBJECTS 500

static void check_zero(const unsigned char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		CHECK(p[i] == 0);
}

int main(void)
{
	static unsigned char *objects[OBJECTS];
	uint64_t seed = 123;
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < OBJECTS; i++) {
			size_t size = random_between(&seed, 0, i % 25 ? 400 : 300000);
			size_t count = random_between(&seed, 1, 3);
			objects[i] = calloc(count, size);
			CHECK(objects[i] != NULL);
			check_zero(objects[i], count * size);
			memset(objects[i], 0xa5, count * size);
		}
		for (int i = 0; i < OBJECTS; i++)
			free(objects[(i * 7) % OBJECTS]);
		for (int i = 0; i < OBJECTS; i++) {
			size_t size = random_between(&seed, 0, 400);
			objects[i] = malloc(size);
			CHECK(objects[i] != NULL);
			memset(objects[i], 0x5a, size);
		}
		for (int i = 0; i < OBJECTS; i++)
			free(objects[i]);
	}
	puts("done");
	return 0;
}
