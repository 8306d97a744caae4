/* SPDX-License-Identifier: MIT */
/*
 * Folders of a store that are sums of others (compact.h). Such a folder appears by one rename with
 * the list of those that it stands for, and from then on they are passed by, whether they are
 * removed already or not: at no moment is a run counted twice, or not at all.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "fleet/store.h"

static bool list_of(const char *folder, const char *list, char ret_path[PATH_MAX])
{
	struct stat status;
	return (size_t)snprintf(ret_path, PATH_MAX, "%s/%s", folder, list) < PATH_MAX &&
	       lstat(ret_path, &status) == 0 && S_ISREG(status.st_mode);
}

bool bp_store_is_sum(const char *folder)
{
	char path[PATH_MAX];
	return list_of(folder, BP_SUM_RUNS, path);
}

bool bp_store_sums(const struct bp_store *store, struct bp_store *ret_sums, struct bp_error *error)
{
	struct bp_store sums = { .count = 0 };
	for (uint32_t i = 0; i < store->count; i++) {
		if (!bp_store_is_sum(store->folders[i]))
			continue;
		if (!bp_vec_reserve(
			    &sums.folders, &sums.capacity, sums.count + 1u, sizeof *sums.folders)) {
			free(sums.folders);
			return bp_error_set(error, "out of memory");
		}
		sums.folders[sums.count++] = store->folders[i];
	}
	*ret_sums = sums;
	return true;
}

/* Names in a list are those of folders below the one that holds the sum: they lead nowhere else. */
static bool is_below(const char *name)
{
	return *name != '\0' && *name != '/' && strstr(name, "..") == NULL;
}

bool bp_store_replaced(const char *sum,
	bool (*take)(void *context, const char *folder, struct bp_error *error), void *context,
	struct bp_error *error)
{
	char path[PATH_MAX], parent[PATH_MAX], *line = NULL;
	const char *slash = strrchr(sum, '/');
	/* (A copy: `take` may free the name of a sum that a hostile list names itself in.) */
	snprintf(parent, sizeof parent, "%.*s", slash == NULL ? 0 : (int)(slash + 1 - sum), sum);
	size_t capacity = 0;
	ssize_t bytes;
	bool good = true;
	if (!list_of(sum, BP_SUM_REPLACES, path))
		return true;
	FILE *list = fopen(path, "re");
	if (list == NULL)
		return bp_error_set(error, "%.800s cannot be read: %s", path, strerror(errno));
	while (good && (bytes = getline(&line, &capacity, list)) > 0) {
		line[bytes - (line[bytes - 1] == '\n')] = '\0';
		const size_t length = (size_t)snprintf(path, sizeof path, "%s%s", parent, line);
		if (is_below(line) && length < sizeof path)
			good = take(context, path, error);
	}
	free(line);
	fclose(list);
	return good;
}

static bool leave(void *context, const char *folder, struct bp_error *error)
{
	struct bp_store *store = context;
	(void)error;
	for (uint32_t i = 0; i < store->count; i++)
		if (store->folders[i] != NULL && strcmp(store->folders[i], folder) == 0) {
			free(store->folders[i]);
			store->folders[i] = NULL;
		}
	return true;
}

/* Versions of runs that go on, by the ids of these. */
struct version {
	char run[BP_STORE_RUN_BYTES];
	uint32_t folder;
};

static int compare_versions(const void *a, const void *b)
{
	return strcmp(((const struct version *)a)->run, ((const struct version *)b)->run);
}

/* Takes out the versions of the runs that a sum lists. */
static void leave_listed(
	struct bp_store *store, const char *sum, const struct version *versions, size_t count)
{
	struct version wanted;
	char path[PATH_MAX], line[64];
	FILE *list = list_of(sum, BP_SUM_RUNS, path) ? fopen(path, "re") : NULL;
	while (list != NULL && fgets(line, sizeof line, list) != NULL) {
		snprintf(wanted.run, sizeof wanted.run, "%.*s", (int)strcspn(line, "\n"), line);
		const struct version *found =
			bsearch(&wanted, versions, count, sizeof *versions, compare_versions);
		if (found == NULL)
			continue;
		free(store->folders[found->folder]);
		store->folders[found->folder] = NULL;
	}
	if (list != NULL)
		fclose(list);
}

/* A version of a run that ended since, and is in a sum, is void. (Of each run one version is left,
 * and each list is read once.) */
static bool leave_summed(struct bp_store *store, struct bp_error *error)
{
	struct version *versions = calloc(store->count + 1u, sizeof *versions);
	uint64_t unix_s;
	size_t count = 0;
	if (versions == NULL)
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 0; i < store->count; i++)
		if (store->folders[i] != NULL &&
			bp_store_is_version(store->folders[i], versions[count].run, &unix_s))
			versions[count++].folder = i;
	if (count > 0)
		qsort(versions, count, sizeof *versions, compare_versions);
	for (uint32_t i = 0; count > 0 && i < store->count; i++)
		if (store->folders[i] != NULL)
			leave_listed(store, store->folders[i], versions, count);
	free(versions);
	return true;
}

bool bp_store_leave_replaced(struct bp_store *store, struct bp_error *error)
{
	bool good = true;
	uint32_t kept = 0;
	for (uint32_t i = 0; good && i < store->count; i++)
		good = store->folders[i] == NULL ||
		       bp_store_replaced(store->folders[i], leave, store, error);
	good = good && leave_summed(store, error);
	for (uint32_t i = 0; i < store->count; i++)
		if (store->folders[i] != NULL)
			store->folders[kept++] = store->folders[i];
	store->count = kept;
	return good;
}

static bool list_has(const char *folder, const char *run)
{
	char path[PATH_MAX], line[64];
	const size_t bytes = strlen(run);
	bool found = false;
	FILE *list = list_of(folder, BP_SUM_RUNS, path) ? fopen(path, "re") : NULL;
	while (list != NULL && !found && fgets(line, sizeof line, list) != NULL)
		found = strncmp(line, run, bytes) == 0 && line[bytes] == '\n';
	if (list != NULL)
		fclose(list);
	return found;
}

bool bp_store_sum_has_run(const char *path, const char *run)
{
	char folder[PATH_MAX];
	struct dirent *entry;
	bool found = false;
	DIR *store = opendir(path);
	while (store != NULL && !found && (entry = readdir(store)) != NULL)
		found = strncmp(entry->d_name, "sum-", 4) == 0 &&
			(size_t)snprintf(folder, sizeof folder, "%s/%s", path, entry->d_name) <
				sizeof folder &&
			list_has(folder, run);
	if (store != NULL)
		closedir(store);
	return found;
}
