/* SPDX-License-Identifier: MIT */
/*
 * A library opened with RTLD_DEEPBIND frees, resizes and measures objects of the program's and of
 * the C library's, and the program frees its: one heap, legal without a recorder. The argument is
 * the path of libdeep_plugin.so. Also by dlvsym and by a handle of the C library; and a library in
 * a namespace of its own (dlmopen), which has a heap of its own and keeps to it.
 */
#include <dlfcn.h>
#include <string.h>

#include "check.h"

static const size_t sizes[] = { 0, 1, 24, 100, 1000, 5000, 60000, 70000, 200000 };
#define SIZES (sizeof(sizes) / sizeof(*sizes))

struct plugin {
	void *handle;
	void (*free)(void *);
	void *(*realloc)(void *, size_t);
	size_t (*usable_size)(void *);
	void *(*allocate)(size_t);
};

static struct plugin symbols_of(void *handle)
{
	struct plugin plugin = { .handle = handle };
	CHECK(handle != NULL);
	plugin.free = (void (*)(void *))dlsym(handle, "plugin_free");
	plugin.realloc = (void *(*)(void *, size_t))dlsym(handle, "plugin_realloc");
	plugin.usable_size = (size_t(*)(void *))dlsym(handle, "plugin_usable_size");
	plugin.allocate = (void *(*)(size_t))dlsym(handle, "plugin_allocate");
	CHECK(plugin.free && plugin.realloc && plugin.usable_size && plugin.allocate);
	return plugin;
}

static void exchange(const struct plugin *plugin)
{
	for (size_t i = 0; i < SIZES; i++) {
		char *mine = malloc(sizes[i]);
		CHECK(mine != NULL && plugin->usable_size(mine) >= sizes[i]);
		memset(mine, 1, sizes[i]);
		plugin->free(mine);
		mine = malloc(sizes[i] + 1);
		mine[0] = 'x';
		mine = plugin->realloc(mine, sizes[(i + 3) % SIZES] + 1);
		CHECK(mine != NULL && mine[0] == 'x');
		free(mine);
		free(plugin->allocate(sizes[i]));
		plugin->free(strdup("text"));
	}
}

static void by_version(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	void *found = dlvsym(libc, "free", "GLIBC_2.2.5");
	if (found == NULL)
		found = dlvsym(libc, "free", "GLIBC_2.17");
	CHECK(libc != NULL && found != NULL);
	for (size_t i = 0; i < SIZES; i++)
		((void (*)(void *))found)(malloc(sizes[i]));
}

/* Nothing crosses: the objects of a namespace are its own. */
static void own_namespace(const char *path)
{
	struct plugin plugin = symbols_of(dlmopen(LM_ID_NEWLM, path, RTLD_NOW));
	for (size_t i = 0; i < 300; i++) {
		void *theirs = plugin.allocate(i * 7);
		theirs = plugin.realloc(theirs, i * 11 + 1);
		CHECK(theirs != NULL && plugin.usable_size(theirs) >= i * 11 + 1);
		plugin.free(theirs);
		free(malloc(i * 7));
	}
	CHECK(dlclose(plugin.handle) == 0);
}

int main(int argument_count, char **arguments)
{
	CHECK(argument_count == 2);
	for (int round = 0; round < 20; round++) {
		struct plugin plugin = symbols_of(dlopen(arguments[1],
			(round % 2 ? RTLD_NOW : RTLD_LAZY) | RTLD_DEEPBIND | RTLD_LOCAL));
		for (int i = 0; i < 10; i++)
			exchange(&plugin);
		by_version();
		CHECK(dlclose(plugin.handle) == 0);
	}
	for (int round = 0; round < 3; round++)
		own_namespace(arguments[1]);
	puts("done");
	return 0;
}
