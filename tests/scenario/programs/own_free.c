/* SPDX-License-Identifier: MIT */
/* A program with a free of its own, in front of every other, which looks the real one up at each
 * call. An error text that somebody left for dlerror would be freed by dlsym: by this free, which
 * calls dlsym. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

static unsigned long calls;

void free(void *object)
{
	void (*real)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	calls++;
	real(object);
}

int main(void)
{
	for (size_t i = 1; i <= 1000; i++) {
		char *object = malloc(i);
		CHECK(object != NULL);
		object[i - 1] = 1;
		free(object);
	}
	CHECK(calls == 1000);
	printf("freed 1000\n");
	return 0;
}
