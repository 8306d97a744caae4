/* SPDX-License-Identifier: MIT */
/* See push_versions.h. */
#include "cli/push/push_versions.h"

#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/vec.h"
#include "cli/files/written_folder.h"
#include "fleet/content_id.h"

#define PLACES 4096u
#define SUFFIX ".parquet"
#define VOID_FOR_S 60

uint64_t bp_push_version_now(void)
{
	const time_t now = time(NULL);
	return now > 0 ? (uint64_t)now : 0;
}

bool bp_push_version_due(struct bp_push_versions *versions, const char *run, bool *ret_known,
	uint64_t *ret_unix_s, struct bp_error *error)
{
	if (versions->due == NULL &&
		(versions->due = calloc(PLACES, sizeof *versions->due)) == NULL)
		return bp_error_set(error, "out of memory");
	const uint32_t place = bp_process_id_place(run, PLACES);
	*ret_known = strcmp(versions->due[place].run, run) == 0;
	*ret_unix_s = versions->due[place].unix_s;
	return true;
}

void bp_push_version_set(struct bp_push_versions *versions, const char *run, uint64_t unix_s)
{
	const uint32_t place = bp_process_id_place(run, PLACES);
	snprintf(versions->due[place].run, sizeof versions->due[place].run, "%s", run);
	versions->due[place].unix_s = unix_s == 0 ? 0 : unix_s + versions->every_s;
}

void bp_push_versions_finish(struct bp_push_versions *versions)
{
	free(versions->due);
	versions->due = NULL;
}

uint64_t bp_push_version_newest(const char *store, const char *run)
{
	char of[BP_STORE_RUN_BYTES];
	uint64_t newest_s = 0, unix_s;
	struct dirent *entry;
	DIR *folder = opendir(store);
	while (folder != NULL && (entry = readdir(folder)) != NULL)
		if (bp_store_is_version(entry->d_name, of, &unix_s) && strcmp(of, run) == 0 &&
			unix_s > newest_s)
			newest_s = unix_s;
	if (folder != NULL)
		closedir(folder);
	return newest_s;
}

/* Has `store/name` been there for a minute? */
static bool has_settled(const char *store, const char *name)
{
	char path[PATH_MAX];
	struct stat status;
	return (size_t)snprintf(path, sizeof path, "%s/%s", store, name) < sizeof path &&
	       lstat(path, &status) == 0 && time(NULL) - status.st_mtime >= VOID_FOR_S;
}

struct names {
	char (*data)[BP_STORE_VERSION_BYTES];
	uint32_t count, capacity;
};

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The names of all versions in the store, sorted. What memory does not suffice for is left out. */
static void list_names(const char *store, struct names *names)
{
	char run[BP_STORE_RUN_BYTES];
	uint64_t unix_s;
	struct dirent *entry;
	DIR *folder = opendir(store);
	while (folder != NULL && (entry = readdir(folder)) != NULL)
		if (bp_store_is_version(entry->d_name, run, &unix_s) &&
			bp_vec_reserve(&names->data, &names->capacity, names->count + 1u,
				sizeof *names->data))
			bp_store_version_name(run, unix_s, names->data[names->count++]);
	if (folder != NULL)
		closedir(folder);
	if (names->count > 0)
		qsort(names->data, names->count, sizeof *names->data, compare_names);
}

void bp_push_versions_sweep(const char *store)
{
	struct names names = { .count = 0 };
	list_names(store, &names);
	for (uint32_t i = 0; i < names.count; i++) {
		const char *name = names.data[i];
		char run[BP_STORE_RUN_BYTES], path[PATH_MAX];
		struct bp_error ignored;
		snprintf(run, sizeof run, "%.32s", name);
		const bool later =
			i + 1 < names.count && strncmp(names.data[i + 1], run, sizeof run - 1) == 0;
		if ((has_settled(store, run) || (later && has_settled(store, names.data[i + 1]))) &&
			(size_t)snprintf(path, sizeof path, "%s/%s", store, name) < sizeof path)
			bp_written_folder_remove(path, SUFFIX, &ignored);
	}
	free(names.data);
}
