/* SPDX-License-Identifier: MIT */
/* See open_files.h. */
#include "cli/run/open_files.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* The channel to the child, the locked folder of the output, and one file that is looked at. */
#define NEEDED 3

static bool can_open(int count)
{
	const int descriptor = open("/", O_PATH | O_CLOEXEC);
	if (descriptor < 0)
		return errno != EMFILE;
	const bool can = count == 1 || can_open(count - 1);
	close(descriptor);
	return can;
}

bool bp_open_files_make_room(struct bp_open_files *ret_files)
{
	struct bp_open_files files = { 0 };
	if (getrlimit(RLIMIT_NOFILE, &files.found) == 0 &&
		files.found.rlim_cur < files.found.rlim_max) {
		const struct rlimit most = { files.found.rlim_max, files.found.rlim_max };
		files.raised = setrlimit(RLIMIT_NOFILE, &most) == 0;
	}
	*ret_files = files;
	return can_open(NEEDED);
}

void bp_open_files_restore(const struct bp_open_files *files)
{
	const int saved = errno;
	if (files->raised)
		setrlimit(RLIMIT_NOFILE, &files->found);
	errno = saved;
}
