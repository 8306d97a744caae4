/* SPDX-License-Identifier: MIT */
/* Calls the functions of the malloc family that other allocators have, too, and looks at what it
 * gets. With an argument it also calls glibc's by their own names. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

void *__libc_malloc(size_t size);
void __libc_free(void *object);
void *__libc_calloc(size_t count, size_t size);

static void use(void *object, size_t size, size_t alignment)
{
	CHECK(object != NULL && (uintptr_t)object % alignment == 0);
	CHECK(malloc_usable_size(object) >= size);
	memset(object, 0xa5, size);
	free(object);
}

int main(int argc, char **argv)
{
	(void)argv;
	for (size_t i = 1; i <= 1500; i++) {
		void *object = malloc(i);
		object = realloc(object, 2 * i);
		object = reallocarray(object, i, 3);
		use(object, 3 * i, 8);
		char *zeros = calloc(i, 2);
		for (size_t j = 0; j < 2 * i; j++)
			CHECK(zeros[j] == 0);
		use(zeros, 2 * i, 8);
		CHECK(posix_memalign(&object, 64, i) == 0);
		use(object, i, 64);
		use(memalign(128, i), i, 128);
		use(aligned_alloc(64, 64 * i), 64 * i, 64);
		use(valloc(i), i, 4096);
		char *copy = strdup("a string");
		CHECK(strcmp(copy, "a string") == 0);
		free(copy);
		if (argc == 1)
			continue;
		object = __libc_malloc(i);
		memset(object, 1, i);
		__libc_free(object);
		object = __libc_calloc(i, 2);
		__libc_free(object);
	}
	printf("all as it should be\n");
	return 0;
}
