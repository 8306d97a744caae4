/* SPDX-License-Identifier: MIT */
/*
 * Libraries that insist on static thread-local storage, opened one after the other until the loader
 * has none left: how many there is room for must not depend on who was preloaded. The argument is a
 * directory with copies 0.so, 1.so ... of libtls_plugin.so; prints how many could be opened.
 */
#include <dlfcn.h>

#include "check.h"

int main(int argument_count, char **arguments)
{
	char path[4096];
	int count = 0;
	CHECK(argument_count == 2);
	for (;; count++) {
		snprintf(path, sizeof path, "%s/%d.so", arguments[1], count);
		void *library = dlopen(path, RTLD_NOW);
		if (library == NULL)
			break;
		char *(*words)(void) = (char *(*)(void))dlsym(library, "tls_plugin_words");
		CHECK(words != NULL);
		words()[0] = 1;
		free(malloc((size_t)count * 100));
	}
	printf("%d\n", count);
	return 0;
}
