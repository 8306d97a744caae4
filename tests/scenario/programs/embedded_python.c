/* SPDX-License-Identifier: MIT */
/* Opens the libpython that is named, runs some Python, ends it and closes the library, twice. With
 * a number behind it, it runs and ends Python so many times before it closes the library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void run_in(void *library)
{
	void (*initialize)(int) = (void (*)(int))dlsym(library, "Py_InitializeEx");
	int (*finalize)(void) = (int (*)(void))dlsym(library, "Py_FinalizeEx");
	int (*run)(const char *) = (int (*)(const char *))dlsym(library, "PyRun_SimpleString");
	initialize(0);
	run("def embedded_function():\n"
	    "  return [{} for _ in range(30000)]\n"
	    "kept = [embedded_function() for _ in range(20)]\n"
	    "print(len(kept), flush=True)");
	finalize();
}

int main(int argc, char **argv)
{
	for (int round = 0; round < 2; round++) {
		void *library = argc >= 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
		if (library == NULL) {
			fprintf(stderr, "%s\n", argc >= 2 ? dlerror() : "usage: LIBPYTHON [TIMES]");
			return 1;
		}
		for (int i = 0; i < (argc == 3 ? atoi(argv[2]) : 1); i++)
			run_in(library);
		free(malloc(100000));
		dlclose(library);
		for (int i = 0; i < 1000; i++)
			free(malloc(10000));
	}
	return 0;
}
