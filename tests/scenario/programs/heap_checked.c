/* SPDX-License-Identifier: MIT */
/* A program that has its heap checked by mcheck, which works where libc_malloc_debug.so.0 is
 * preloaded. With an argument it writes behind an object, which is found when the object is
 * freed. */
#include <mcheck.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

int main(int argc, char **argv)
{
	(void)argv;
	printf("mcheck %d\n", mcheck(NULL));
	for (size_t i = 1; i <= 1500; i++) {
		char *object = malloc(i);
		memset(object, 1, i);
		object = realloc(object, 2 * i);
		char *zeros = calloc(i, 3);
		char *copy = strdup("a string");
		CHECK(object[i - 1] == 1 && zeros[3 * i - 1] == 0);
		free(zeros);
		free(object);
		free(copy);
	}
	printf("intact\n");
	fflush(stdout);
	if (argc > 1) {
		char *object = malloc(10);
		object[10] = 7;
		free(object);
		printf("not noticed\n");
	}
	return 0;
}
