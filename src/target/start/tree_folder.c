/* SPDX-License-Identifier: MIT */
/*
 * See tree_folder.h. FILE may lie where others can write, /tmp say, and FILE.d has a name that they
 * can guess. Whoever makes it first, as a folder or as a link, would choose where this process
 * creates files, and what it takes for the settings of its predecessor. So the folder is opened
 * without following a link, its owner and mode are looked at, and everything below is done by that
 * descriptor.
 */
#include "start/tree_folder.h"

#include "base/system_call.h"
#include "trace/writer/writer.h"

static bool is_own(int folder)
{
	struct stat status;
	return syscall(SYS_fstat, folder, &status) == 0 &&
	       status.st_uid == (uid_t)syscall(SYS_geteuid) &&
	       (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

int bp_tree_folder_open(const char *base, bool make)
{
	char path[BP_PATH_BYTES];
	const size_t length = __builtin_strlen(base); /* leaves room: bp_config_trace_name */
	__builtin_memcpy(path, base, length);
	__builtin_memcpy(path + length, ".d", 3);
	/* Most children find it: they ask for it first. */
	int folder = bp_system_open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	if (folder < 0 && errno == ENOENT && make) {
		(void)syscall(SYS_mkdirat, AT_FDCWD, path, 0700);
		folder = bp_system_open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	}
	if (folder < 0 || is_own(folder))
		return folder;
	bp_system_close(folder);
	errno = EPERM;
	return -1;
}
