/* SPDX-License-Identifier: MIT */
/*
 * Removing a recording (--force): FILE, what lies beside it, and what FILE.d holds of ours, by the
 * descriptor of that folder. See tree.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/files/tree.h"
#include "cli/files/tree_packed.h"
#include "jit/jit_file.h"
#include "resident/mappings_file.h"
#include "resident/pages/pages_file.h"
#include "resident/resident_file.h"

/* FILE.fold and what a folding that was cut short left, FILE.resident, FILE.mappings, FILE.pages
 * and FILE.jit. */
static void remove_folded(const char *file)
{
	char path[PATH_MAX + sizeof BP_FOLDED_SUFFIX + sizeof BP_MAPPINGS_SUFFIX];
	snprintf(path, sizeof path, "%s" BP_FOLDED_SUFFIX, file);
	unlink(path);
	snprintf(path, sizeof path, "%s" BP_FOLDED_SUFFIX ".new", file);
	unlink(path);
	snprintf(path, sizeof path, "%s" BP_RESIDENT_SUFFIX, file);
	bp_resident_remove(path);
	snprintf(path, sizeof path, "%s" BP_MAPPINGS_SUFFIX, file);
	bp_mappings_remove(path);
	snprintf(path, sizeof path, "%s" BP_PAGES_SUFFIX, file);
	bp_pages_remove(path);
	snprintf(path, sizeof path, "%s" BP_JIT_SUFFIX, file);
	bp_jit_file_remove(path);
}

static bool ends_with(const char *text, const char *end)
{
	const size_t length = strlen(text), end_length = strlen(end);
	return length > end_length && strcmp(text + length - end_length, end) == 0;
}

bool bp_tree_keeps(const char *name)
{
	return bp_tree_is_trace(name) || ends_with(name, BP_FOLDED_SUFFIX) ||
	       ends_with(name, BP_FOLDED_SUFFIX ".new") || strcmp(name, BP_PACK_NAME) == 0 ||
	       strcmp(name, BP_TREE_INDEX) == 0 || strcmp(name, BP_TREE_INDEX_TEMPORARY) == 0;
}

/* What FILE.d holds of ours, by its descriptor. */
static void remove_contents(DIR *folder)
{
	struct dirent *entry;
	while ((entry = readdir(folder)) != NULL) {
		if (!bp_tree_keeps(entry->d_name))
			continue;
		unlinkat(dirfd(folder), entry->d_name, 0);
	}
}

/* Opens FILE.d if it is there (else `*ret_folder` is NULL) and if what it holds is ours to
 * remove. */
static bool open_to_remove(const char *directory, DIR **ret_folder, struct bp_error *error)
{
	struct stat status;
	*ret_folder = bp_tree_open_folder(directory);
	if (*ret_folder != NULL && bp_place_is_own_folder(dirfd(*ret_folder)))
		return true;
	if (*ret_folder == NULL && lstat(directory, &status) != 0 && errno == ENOENT)
		return true;
	if (*ret_folder != NULL)
		closedir(*ret_folder);
	return bp_error_set(error,
		"%s is not a folder of this user's that nobody else can write to: nothing in it "
		"was removed: look at it and remove it, or choose another -o",
		directory);
}

bool bp_tree_remove(const char *file, struct bp_error *error)
{
	char directory[PATH_MAX];
	DIR *folder;
	snprintf(directory, sizeof directory, "%.*s.d", PATH_MAX - 3, file);
	if (!open_to_remove(directory, &folder, error))
		return false;
	bool good = unlink(file) == 0 || errno == ENOENT;
	if (!good)
		bp_error_set(error, "%s cannot be removed: %s", file, strerror(errno));
	if (good)
		remove_folded(file);
	if (folder == NULL)
		return good;
	if (good) {
		remove_contents(folder);
		good = rmdir(directory) == 0 ||
		       bp_error_set(error, "%s cannot be removed: %s: choose another -o", directory,
			       strerror(errno));
	}
	closedir(folder);
	return good;
}
