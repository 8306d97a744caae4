/* SPDX-License-Identifier: MIT */
/*
 * libdebuginfod reads its servers and its patience from the environment. A server that sends
 * nothing, or next to nothing, is given up after TIMEOUT_SECONDS for each 100 KB, any download
 * after MAXTIME_SECONDS, unless the user set other values. While it waits the library calls back
 * several times a second, which is passed on, so that this process is not taken for a dead one.
 */
#include "symbols/files/debuginfod.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_SECONDS "15"
#define MAXTIME_SECONDS "900"

struct debuginfod_client;
typedef struct debuginfod_client *begin_function(void);
typedef void end_function(struct debuginfod_client *client);
typedef int progress_function(struct debuginfod_client *client, long done, long all);
typedef void set_progress_function(struct debuginfod_client *client, progress_function *progress);
typedef int find_function(
	struct debuginfod_client *client, const unsigned char *build_id, int bytes, char **path);

struct library {
	begin_function *begin;
	end_function *end;
	set_progress_function *set_progress;
	find_function *find;
};

/* Of the one download at a time; the library's user data came only with version 0.180. */
static const struct bp_module_request *current;

static bool find_symbol(void *library, const char *name, void *pointer_to_function)
{
	void *symbol = dlsym(library, name);
	memcpy(pointer_to_function, &symbol, sizeof symbol);
	return symbol != NULL;
}

static bool load(struct library *functions)
{
	void *library = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	return library != NULL && find_symbol(library, "debuginfod_begin", &functions->begin) &&
	       find_symbol(library, "debuginfod_end", &functions->end) &&
	       find_symbol(library, "debuginfod_set_progressfn", &functions->set_progress) &&
	       find_symbol(library, "debuginfod_find_debuginfo", &functions->find);
}

static int on_progress(struct debuginfod_client *client, long done, long all)
{
	(void)client;
	return current->alive != NULL &&
	       !current->alive(current->alive_context, done > 0 ? (uint64_t)done : 0,
		       all > 0 ? (uint64_t)all : 0);
}

bool bp_debuginfod_fetch(const struct bp_module_request *request, const char *build_id,
	char *ret_path, size_t path_bytes)
{
	struct library library;
	struct debuginfod_client *client = NULL;
	char *path = NULL;
	bool found = false;
	int fd = -1;
	if (request->debuginfod_urls == NULL || build_id[0] == '\0' ||
		build_id[strspn(build_id, "0123456789abcdef")] != '\0')
		return false;
	setenv("DEBUGINFOD_URLS", request->debuginfod_urls, 1);
	setenv("DEBUGINFOD_TIMEOUT", TIMEOUT_SECONDS, 0);
	setenv("DEBUGINFOD_MAXTIME", MAXTIME_SECONDS, 0);
	unsetenv("DEBUGINFOD_PROGRESS");
	if (!load(&library) || (client = library.begin()) == NULL)
		return false;
	current = request;
	library.set_progress(client, on_progress);
	fd = library.find(client, (const unsigned char *)build_id, 0, &path);
	if (fd >= 0) {
		found = path != NULL && strlen(path) < path_bytes;
		if (found)
			memcpy(ret_path, path, strlen(path) + 1);
		close(fd);
	}
	free(path);
	library.end(client);
	return found;
}
