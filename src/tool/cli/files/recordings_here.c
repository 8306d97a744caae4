/* SPDX-License-Identifier: MIT */
/*
 * A folder is listed once: names that end in .bpt and are traces by their first bytes, the newest
 * first. At most LISTED of a huge folder are looked at, so that a wrong word costs no minutes. See
 * recordings_here.h.
 */
#include "cli/files/recordings_here.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/files/replacing.h"
#include "cli/files/tree.h"
#include "cli/options/options.h"

#define LISTED 10000	/* recordings that are looked at */
#define SHOWN 5		/* newest ones that are named */
#define SHOWN_BYTES 300 /* of their names together: the line has other words */
#define PATH_SHOWN 400	/* bytes of the path that was given */

struct recording {
	char name[NAME_MAX + 1];
	struct timespec written;
};

struct recordings {
	struct recording *data;
	size_t count, capacity;
};

static int compare(const void *left, const void *right)
{
	const struct recording *a = left, *b = right;
	if (a->written.tv_sec != b->written.tv_sec)
		return a->written.tv_sec > b->written.tv_sec ? -1 : 1;
	if (a->written.tv_nsec != b->written.tv_nsec)
		return a->written.tv_nsec > b->written.tv_nsec ? -1 : 1;
	return strcmp(a->name, b->name);
}

static bool add(struct recordings *recordings, const char *name, struct timespec written)
{
	if (recordings->count == recordings->capacity) {
		const size_t capacity = recordings->capacity * 2 + 64;
		struct recording *data =
			reallocarray(recordings->data, capacity, sizeof *recordings->data);
		if (data == NULL)
			return false;
		recordings->data = data;
		recordings->capacity = capacity;
	}
	struct recording *added = &recordings->data[recordings->count++];
	snprintf(added->name, sizeof added->name, "%s", name);
	added->written = written;
	return true;
}

/* The caller frees `data`. A folder that cannot be read has none. */
static void list(const char *folder, struct recordings *ret_recordings)
{
	struct recordings recordings = { 0 };
	struct dirent *entry;
	DIR *open = opendir(folder);
	while (open != NULL && recordings.count < LISTED && (entry = readdir(open)) != NULL) {
		char path[PATH_MAX];
		struct stat status;
		if (!bp_tree_is_trace(entry->d_name) ||
			snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >=
				(int)sizeof path ||
			lstat(path, &status) != 0 ||
			bp_recording_kind_of(path) != BP_RECORDING_TRACE)
			continue;
		if (!add(&recordings, entry->d_name, status.st_mtim))
			break;
	}
	if (open != NULL)
		closedir(open);
	if (recordings.count > 1)
		qsort(recordings.data, recordings.count, sizeof *recordings.data, compare);
	*ret_recordings = recordings;
}

bool bp_recording_newest(const char *folder, char ret_name[NAME_MAX + 1])
{
	struct recordings recordings;
	list(folder, &recordings);
	const bool any = recordings.count > 0;
	snprintf(ret_name, NAME_MAX + 1, "%s", any ? recordings.data[0].name : "");
	free(recordings.data);
	return any;
}

/* A name without its ".bpt", which makes all names alike. */
static void stem_of(const char *name, char stem[NAME_MAX + 1])
{
	const size_t length = strlen(name);
	snprintf(stem, NAME_MAX + 1, "%.*s", (int)(bp_tree_is_trace(name) ? length - 4 : length),
		name);
}

/* The recording whose name is nearest, or NULL. */
static const char *near_name(const struct recordings *recordings, const char *name)
{
	const char **stems = calloc(recordings->count + 1, sizeof *stems);
	char(*texts)[NAME_MAX + 1] = calloc(recordings->count + 1, sizeof *texts);
	const char *found = NULL;
	char wanted[NAME_MAX + 1];
	stem_of(name, wanted);
	for (size_t i = 0; stems != NULL && texts != NULL && i < recordings->count; i++) {
		stem_of(recordings->data[i].name, texts[i]);
		stems[i] = texts[i];
	}
	const char *near = stems != NULL && texts != NULL ? bp_near_miss(wanted, stems) : NULL;
	for (size_t i = 0; near != NULL && i < recordings->count && found == NULL; i++)
		if (near == texts[i])
			found = recordings->data[i].name;
	free(stems);
	free(texts);
	return found;
}

/* "b.bpt, a.bpt and 3 more" */
static void newest_text(const struct recordings *recordings, char *to, size_t bytes)
{
	size_t used = 0, named = 0;
	while (named < SHOWN && named < recordings->count) {
		const char *name = recordings->data[named].name;
		if (named > 0 && used + strlen(name) > SHOWN_BYTES)
			break;
		used += (size_t)snprintf(
			to + used, bytes - used, "%s%s", named > 0 ? ", " : "", name);
		named++;
	}
	if (named < recordings->count)
		snprintf(to + used, bytes - used, " and %zu more", recordings->count - named);
}

static bool say_missing(
	const char *path, const char *folder, const char *name, struct bp_error *error)
{
	const bool pattern = name[strcspn(name, "*?[")] != '\0';
	const char *missing = pattern ? "no file has a name like that" : "there is no such file";
	const int prefix = (int)(name - path); /* the folder as it was given, with its slash */
	struct recordings recordings;
	struct stat status;
	char newest[SHOWN_BYTES + NAME_MAX + 64];
	if (stat(folder, &status) != 0)
		return bp_error_set(error, "%.*s: there is no such file, and no folder %.*s",
			PATH_SHOWN, path, PATH_SHOWN, folder);
	list(folder, &recordings);
	const char *near = pattern ? NULL : near_name(&recordings, name);
	if (near != NULL) {
		bp_error_set(error, "%.*s: %s: did you mean %.*s%s?", PATH_SHOWN, path, missing,
			prefix < PATH_SHOWN ? prefix : 0, path, near);
	} else if (recordings.count > 0) {
		newest_text(&recordings, newest, sizeof newest);
		const bool several = recordings.count > 1;
		bp_error_set(error, "%.*s: %s: the newest recording%s %s %s %s", PATH_SHOWN, path,
			missing, several ? "s" : "", prefix > 0 ? "there" : "here",
			several ? "are" : "is", newest);
	} else {
		bp_error_set(error, "%.*s: %s: record one with `bytepoll run -o %.*s -- PROGRAM`",
			PATH_SHOWN, path, missing, PATH_SHOWN, pattern ? "app.bpt" : path);
	}
	free(recordings.data);
	return false;
}

bool bp_recording_is_there(const char *path, struct bp_error *error)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX] = ".";
	struct stat status;
	if (stat(path, &status) == 0 || errno != ENOENT || strlen(path) >= sizeof folder)
		return true;
	if (slash != NULL)
		snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path),
			path);
	return say_missing(path, folder, slash != NULL ? slash + 1 : path, error);
}
