/* SPDX-License-Identifier: MIT */
/* A program with a malloc of its own linked in. It has no reallocarray: the C library's calls the
 * program's realloc. No other allocator knows what to do with its objects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static _Alignas(16) char memory[8 << 20];
static size_t used;

static size_t *size_of(void *object)
{
	return (size_t *)object - 2;
}

void *malloc(size_t size)
{
	const size_t bytes = (size + 31) & ~(size_t)15;
	if (size > sizeof memory || bytes > sizeof memory - used)
		return NULL;
	void *object = memory + used + 16;
	used += bytes;
	*size_of(object) = size;
	return object;
}

void free(void *object)
{
	CHECK(object == NULL || ((char *)object >= memory && (char *)object < memory + used));
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size); /* never used twice, so zeros */
}

void *realloc(void *object, size_t size)
{
	void *copy = malloc(size);
	if (object != NULL && copy != NULL)
		memcpy(copy, object, *size_of(object) < size ? *size_of(object) : size);
	free(object);
	return copy;
}

int main(void)
{
	char *object = malloc(3);
	memcpy(object, "abc", 3);
	for (size_t i = 1; i <= 300; i++) {
		object = reallocarray(object, i, 16);
		CHECK(object >= memory && object < memory + sizeof memory &&
			memcmp(object, "abc", 3) == 0);
	}
	char *line = strdup("a line");
	CHECK(line >= memory && line < memory + sizeof memory);
	free(line);
	free(object);
	printf("resized 300 times\n");
	return 0;
}
