/* SPDX-License-Identifier: MIT */
/*
 * dlopen and dlclose in a loop while another thread allocates: modules come and go under the stack
 * walker, often at the same address, and the loader holds its lock while constructors allocate. The
 * argument is the path of plugin.so; a copy of it by another name alternates with it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "check.h"

static volatile int stop;
static void *kept[200];

static void *busy(void *argument)
{
	uint64_t seed = 9;
	while (!stop) {
		void *p = malloc(random_between(&seed, 0, 5000));
		KEEP(p);
		free(p);
	}
	return argument;
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count == 2);
	pthread_t thread;
	CHECK(pthread_create(&thread, NULL, busy, NULL) == 0);
	for (int i = 0; i < 200; i++) {
		void *module = dlopen(arguments[1], i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
		CHECK(module != NULL);
		void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(module, "plugin_allocate");
		CHECK(allocate != NULL);
		for (size_t j = 0; j < 20; j++)
			free(allocate(j * 100));
		kept[i] = allocate(100 + (size_t)i);
		CHECK(dlsym(module, "no_such_function") == NULL && dlerror() != NULL);
		CHECK(dlclose(module) == 0);
	}
	stop = 1;
	CHECK(pthread_join(thread, NULL) == 0);
	for (int i = 0; i < 200; i++)
		free(kept[i]);
	puts("done");
	return 0;
}
