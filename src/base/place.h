/* SPDX-License-Identifier: MIT */
/*
 * A file by the open folder that it lies in. The kernel looks a path up anew at every use. A user
 * who may rename one of its folders can therefore make the second use of a path meet another file
 * than the first. Code that looks at a file, and then creates, replaces or removes something beside
 * it, opens the folder once and uses its descriptor.
 */
#ifndef BP_BASE_PLACE_H
#define BP_BASE_PLACE_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

struct bp_place {
	int folder;	  /* a descriptor; AT_FDCWD: `path` is looked up whole */
	const char *path; /* for messages; in a folder, its last name is the file's */
};

/* The name by which `folder` knows the file. */
static inline const char *bp_place_name(const struct bp_place *place)
{
	return place->folder == AT_FDCWD ? place->path : bp_last_part(place->path);
}

/* As open(2), with close-on-exec; a link of that name is not followed, and nothing is waited for:
 * neither the writer of a FIFO nor the holder of a lease. */
static inline int bp_place_open(const struct bp_place *place, int flags)
{
	return openat(place->folder, bp_place_name(place),
		flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
}

/* Opens the folder that the last name of `path` lies in, for *at calls alone; -1: errno says
 * why. */
static inline int bp_place_open_folder(const char *path)
{
	char folder[PATH_MAX];
	const size_t bytes = (size_t)(bp_last_part(path) - path);
	if (bytes >= sizeof folder) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(folder, path, bytes);
	folder[bytes] = '\0';
	return open(bytes > 0 ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* Does it belong to the effective user, and can nobody else write to it? */
static inline bool bp_place_is_own(const struct stat *status)
{
	return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The same of an open folder. */
static inline bool bp_place_is_own_folder(int folder)
{
	struct stat status;
	return fstat(folder, &status) == 0 && bp_place_is_own(&status);
}

#endif
