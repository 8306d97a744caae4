/* SPDX-License-Identifier: MIT */
/* See written_folder.h. Only files in a folder of ours are ever removed, one by one, by their
 * suffix: a folder that holds anything else stays as it is. */
#include "cli/files/written_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fleet/compact.h"

#define DRAWN ".XXXXXX"
#define DRAWN_BYTES 7u
#define LEFT_AFTER_S 60

/* Of that suffix, or one of the lists that a sum of older runs has beside its tables. */
static bool has_suffix(const char *name, const char *suffix)
{
	if (strcmp(name, BP_SUM_RUNS) == 0 || strcmp(name, BP_SUM_REPLACES) == 0)
		return true;
	const size_t bytes = strlen(name), of_suffix = strlen(suffix);
	return bytes > of_suffix && strcmp(name + bytes - of_suffix, suffix) == 0;
}

/* The path without slashes at its end; false: nothing is left, or too much. */
static bool plain_path(const char *path, char ret_path[PATH_MAX])
{
	size_t bytes = strlen(path);
	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	if (bytes == 0 || bytes + sizeof DRAWN + 1 > PATH_MAX)
		return false;
	memcpy(ret_path, path, bytes);
	ret_path[bytes] = '\0';
	return true;
}

/* Does a folder hold files of that suffix alone? */
static bool holds_only(const char *path, const char *suffix)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	bool good = folder != NULL;
	while (good && (entry = readdir(folder)) != NULL)
		good = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
		       has_suffix(entry->d_name, suffix);
	if (folder != NULL)
		closedir(folder);
	return good;
}

static void remove_folder(const char *path, const char *suffix)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder != NULL && (entry = readdir(folder)) != NULL)
		if (has_suffix(entry->d_name, suffix))
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder != NULL)
		closedir(folder);
	rmdir(path);
}

static bool check_name(
	const struct bp_written_folder *folder, const char *path, struct bp_error *error)
{
	struct stat status;
	if (lstat(path, &status) != 0)
		return true;
	if (!S_ISDIR(status.st_mode))
		return bp_error_set(error, "%.800s exists and is no folder: choose another %s",
			path, folder->option);
	if (!holds_only(path, folder->suffix))
		return bp_error_set(error,
			"%.800s exists and holds other things than files %s: choose another %s",
			path, folder->suffix, folder->option);
	return folder->force ||
	       bp_error_set(error, "%.800s exists: choose another %s, or replace it by --force",
		       path, folder->option);
}

/* PATH/NAME becomes PATH/.NAME.XXXXXX: what looks for folders passes names with a dot by. */
static void name_beside(char path[PATH_MAX])
{
	char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
	memmove(name + 1, name, strlen(name) + 1);
	*name = '.';
	strcat(path, DRAWN);
}

bool bp_written_folder_begin(struct bp_written_folder *folder, struct bp_error *error)
{
	folder->descriptor = -1;
	if (!plain_path(folder->path, folder->temporary))
		return bp_error_set(error, "%s needs the name of a folder", folder->option);
	if (!check_name(folder, folder->temporary, error))
		return false;
	name_beside(folder->temporary);
	if (mkdtemp(folder->temporary) == NULL)
		return bp_error_set(error, "%.800s cannot be created: %s: choose another %s",
			folder->path, strerror(errno), folder->option);
	folder->descriptor =
		open(folder->temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder->descriptor >= 0) {
		flock(folder->descriptor, LOCK_EX | LOCK_NB); /* for bp_written_folder_sweep */
		return true;
	}
	rmdir(folder->temporary);
	return bp_error_set(
		error, "%.800s cannot be opened: %s", folder->temporary, strerror(errno));
}

bool bp_written_folder_check(const struct bp_written_folder *folder, struct bp_error *error)
{
	struct bp_written_folder trial = *folder;
	return bp_written_folder_begin(&trial, error) &&
	       (bp_written_folder_end(&trial, false, NULL), true);
}

/* Puts what is written under its name; what was there goes. */
static bool place(const struct bp_written_folder *folder, const char *path)
{
	if (renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
		return true;
	if (errno == EINVAL) /* the file system cannot: an empty folder of that name would go */
		return access(path, F_OK) != 0 && rename(folder->temporary, path) == 0;
	if (errno != EEXIST || !folder->force)
		return false;
	if (renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, path, RENAME_EXCHANGE) != 0)
		return false;
	remove_folder(folder->temporary, folder->suffix);
	return true;
}

bool bp_written_folder_is_plain(const char *path, const char *suffix)
{
	struct stat status;
	return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && holds_only(path, suffix);
}

bool bp_written_folder_remove(const char *path, const char *suffix, struct bp_error *error)
{
	char temporary[PATH_MAX];
	struct stat status;
	if (lstat(path, &status) != 0 && errno == ENOENT)
		return true;
	if (!plain_path(path, temporary) || !bp_written_folder_is_plain(path, suffix))
		return bp_error_set(error,
			"%.800s is not removed: it holds other things than files %s", path, suffix);
	name_beside(temporary);
	if (mkdtemp(temporary) == NULL || rename(path, temporary) != 0) {
		bp_error_set(error, "%.800s cannot be removed: %s", path, strerror(errno));
		rmdir(temporary);
		return false;
	}
	remove_folder(temporary, suffix);
	return true;
}

bool bp_written_folder_end(struct bp_written_folder *folder, bool good, struct bp_error *error)
{
	char path[PATH_MAX];
	plain_path(folder->path, path);
	if (good && fsync(folder->descriptor) != 0)
		good = bp_error_set(error, "%.800s cannot be written: %s", path, strerror(errno));
	good = good && (!folder->force || check_name(folder, path, error));
	if (good && !place(folder, path))
		good = bp_error_set(error, "%.800s cannot be created: %s: choose another %s", path,
			strerror(errno), folder->option);
	close(folder->descriptor);
	folder->descriptor = -1;
	if (!good)
		remove_folder(folder->temporary, folder->suffix);
	return good;
}

/* Is it a folder of such a name, old enough, and does nobody hold it? */
static bool is_left(int parent, const char *name)
{
	struct stat status;
	const size_t bytes = strlen(name);
	if (name[0] != '.' || bytes < DRAWN_BYTES + 2 || name[bytes - DRAWN_BYTES] != '.' ||
		fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0 ||
		!S_ISDIR(status.st_mode) || time(NULL) - status.st_mtime < LEFT_AFTER_S)
		return false;
	const int descriptor =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	const bool left = descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0;
	if (descriptor >= 0)
		close(descriptor);
	return left;
}

void bp_written_folder_sweep(const char *path, const char *suffix)
{
	char name[PATH_MAX];
	struct dirent *entry;
	DIR *folder = opendir(path);
	while (folder != NULL && (entry = readdir(folder)) != NULL)
		if (is_left(dirfd(folder), entry->d_name) &&
			(size_t)snprintf(name, sizeof name, "%s/%s", path, entry->d_name) <
				sizeof name &&
			holds_only(name, suffix))
			remove_folder(name, suffix);
	if (folder != NULL)
		closedir(folder);
}
