/* SPDX-License-Identifier: MIT */
/* See cache_folder.h. */
#include "cli/files/cache_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder_of(const char *name)
{
	const char *value = getenv(name);
	return value != NULL && *value == '/' ? value : NULL;
}

/* Under sudo, HOME may be the user's, and a ~/.cache of root's would shut the user out. */
static const char *own_home(void)
{
	const char *home = folder_of("HOME");
	struct stat status;
	return home != NULL && stat(home, &status) == 0 && status.st_uid == geteuid() ? home : NULL;
}

static bool name_folder(const char *name, char path[PATH_MAX])
{
	const char *given = folder_of("CACHE_DIRECTORY"), *cache = folder_of("XDG_CACHE_HOME"),
		   *home = own_home();
	int bytes;
	if (given != NULL)
		bytes = snprintf(path, PATH_MAX, "%s/%s", given, name);
	else if (cache != NULL)
		bytes = snprintf(path, PATH_MAX, "%s/bytepoll/%s", cache, name);
	else if (home != NULL)
		bytes = snprintf(path, PATH_MAX, "%s/.cache/bytepoll/%s", home, name);
	else
		bytes = snprintf(
			path, PATH_MAX, "/var/tmp/bytepoll-%u/%s", (unsigned)geteuid(), name);
	return bytes < PATH_MAX;
}

bool bp_cache_folder(const char *name, char ret_path[PATH_MAX], struct bp_error *error)
{
	char path[PATH_MAX];
	struct stat status;
	if (!name_folder(name, path))
		return bp_error_set(error, "the folder for temporary files: path too long");
	for (char *slash = path + 1; slash != NULL;) {
		slash = strchr(slash, '/');
		if (slash != NULL)
			*slash = '\0';
		if (mkdir(path, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return bp_error_set(
				error, "%.800s cannot be created: %s", path, strerror(errno));
		/* In /var/tmp, somebody else may have been here first. */
		if (slash == NULL || strncmp(path, "/var/tmp/bytepoll-", 18) == 0)
			if (lstat(path, &status) != 0 || !S_ISDIR(status.st_mode) ||
				status.st_uid != geteuid() || (status.st_mode & 022) != 0)
				return bp_error_set(error,
					"%.800s is not a folder that only this user can write: set "
					"XDG_CACHE_HOME to another one",
					path);
		if (slash != NULL)
			*slash++ = '/';
	}
	memcpy(ret_path, path, sizeof path);
	return true;
}
