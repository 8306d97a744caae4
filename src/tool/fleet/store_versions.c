/* SPDX-License-Identifier: MIT */
/*
 * Runs that go on, as a store has them (store.h). Which folder counts follows from names alone, so
 * that at every moment each run counts once, whatever a pusher had time to remove.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/store.h"

#define DIGITS 10u

static bool is_made_of(const char *text, size_t bytes, const char *digits)
{
	return strspn(text, digits) >= bytes;
}

static const char *name_of(const char *folder)
{
	const char *slash = strrchr(folder, '/');
	return slash == NULL ? folder : slash + 1;
}

bool bp_store_is_version(const char *folder, char ret_run[BP_STORE_RUN_BYTES], uint64_t *ret_unix_s)
{
	const size_t run_bytes = BP_STORE_RUN_BYTES - 1;
	const char *name = name_of(folder);
	if (strlen(name) != run_bytes + 1 + DIGITS || name[run_bytes] != '.' ||
		!is_made_of(name, run_bytes, "0123456789abcdef") ||
		!is_made_of(name + run_bytes + 1, DIGITS, "0123456789"))
		return false;
	memcpy(ret_run, name, run_bytes);
	ret_run[run_bytes] = '\0';
	*ret_unix_s = strtoull(name + run_bytes + 1, NULL, 10);
	return true;
}

void bp_store_version_name(const char *run, uint64_t unix_s, char ret_name[BP_STORE_VERSION_BYTES])
{
	if (unix_s == 0)
		snprintf(ret_name, BP_STORE_VERSION_BYTES, "%.32s", run);
	else
		snprintf(ret_name, BP_STORE_VERSION_BYTES, "%.32s.%010llu", run,
			(unsigned long long)unix_s);
}

/* Is folder `i` void: is there a later version, or the run when it had ended? */
static bool is_void(const struct bp_store *store, uint32_t i)
{
	char run[BP_STORE_RUN_BYTES], other[BP_STORE_RUN_BYTES], path[PATH_MAX];
	const char *folder = store->folders[i], *name = name_of(folder);
	const int before = (int)(name - folder);
	uint64_t unix_s;
	if (!bp_store_is_version(folder, run, &unix_s))
		return false;
	/* (Sorted: versions of a run stand side by side.) */
	if (i + 1 < store->count) {
		const char *next = store->folders[i + 1];
		if (name_of(next) - next == before && strncmp(next, folder, (size_t)before) == 0 &&
			bp_store_is_version(next, other, &unix_s) && strcmp(run, other) == 0)
			return true;
	}
	return (size_t)snprintf(path, sizeof path, "%.*s%s", before, folder, run) < sizeof path &&
	       bp_store_has(store, path);
}

bool bp_store_leave_void(struct bp_store *store, struct bp_error *error)
{
	bool *voids = calloc(store->count + 1u, sizeof *voids);
	uint32_t kept = 0;
	if (voids == NULL)
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 0; i < store->count; i++)
		voids[i] = is_void(store, i);
	for (uint32_t i = 0; i < store->count; i++)
		if (voids[i])
			free(store->folders[i]);
		else
			store->folders[kept++] = store->folders[i];
	store->count = kept;
	free(voids);
	return true;
}
