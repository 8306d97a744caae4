/* SPDX-License-Identifier: MIT */
/*
 * The files of a process that has file systems of its own (a container, a chroot), and the copy of
 * the recorder that `attach --copy-recorder DIR` makes there. Paths are absolute and as the process
 * has them. No symbolic link in them is followed, since a link would be followed from our own root.
 * Not thread-safe.
 */
#ifndef BP_CLI_ATTACH_INSIDE_H
#define BP_CLI_ATTACH_INSIDE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Has the process another root directory or mount namespace than we have? */
bool bp_inside_is_elsewhere(pid_t pid);

/* Opens the root directory of the process (O_PATH); -1 with errno. */
int bp_inside_root(pid_t pid);

/* Opens the folder in which `path` lies (O_PATH); -1 with errno: ELOOP for a symbolic link on the
 * way, EINVAL for a path that is not absolute or has "..". */
int bp_inside_folder_of(int root, const char *path);

/* Opens a regular file for reading; -1 with errno. */
int bp_inside_file(int root, const char *path);

/* What the caller fills: `pid`, `user` and `group` (the effective ids of the process), and `folder`
 * (DIR). */
struct bp_inside {
	pid_t pid;
	uid_t user;
	gid_t group;
	const char *folder;
	int directory;		 /* afterwards: DIR; -1: not open */
	bool made;		 /* the copy is ours, and was not there before */
	char recorder[PATH_MAX]; /* the copy, as the process has it */
	char settings[PATH_MAX]; /* the file with the settings; "": there is none */
};

/* Puts the recorder's file into DIR, under a name with its build-id, or finds it there: a file of
 * the same bytes which belongs to root or the process's user and which nobody else may write. No
 * file is ever written over. DIR and every folder on the way to it must belong to root or the
 * process's user, and must not be writable by others unless it is sticky; in a sticky DIR the name
 * has a random part, and no earlier copy is used. Errors name what is in the way. */
bool bp_inside_copy(struct bp_inside *inside, struct bp_error *error);

/* Creates a file of a random name in DIR for the process's user and nobody else, and returns its
 * descriptor; -1: an error. Its path is in `settings`. */
int bp_inside_make_settings(struct bp_inside *inside, struct bp_error *error);

/* Removes the settings, and the copy too if it was made and `loaded` is false. Safe on a struct of
 * which only `directory` is -1. */
void bp_inside_finish(struct bp_inside *inside, bool loaded);

#endif
