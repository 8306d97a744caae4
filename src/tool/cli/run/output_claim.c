/* SPDX-License-Identifier: MIT */
/* See output_claim.h. */
#include "cli/run/output_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "cli/files/tree.h"
#include "cli/run/running.h"

#define WAIT_STEPS 100
#define WAIT_STEP_NS 10000000

static int lock_folder(const char *path)
{
	char folder[PATH_MAX];
	const char *slash = strrchr(path, '/');
	snprintf(folder, sizeof folder, "%.*s", slash == NULL ? 1 : (int)(slash - path) + 1,
		slash == NULL ? "." : path);
	const int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int step = 0; lock >= 0 && step < WAIT_STEPS; step++) {
		if (flock(lock, LOCK_EX | LOCK_NB) == 0)
			return lock;
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		nanosleep(&(struct timespec){ 0, WAIT_STEP_NS }, NULL);
	}
	if (lock >= 0)
		close(lock);
	return -1;
}

static bool maps_part(const char *path, const struct bp_tree_file *file)
{
	char part[PATH_MAX + NAME_MAX], resolved[PATH_MAX];
	if (file->first)
		snprintf(part, sizeof part, "%s", path);
	else
		snprintf(part, sizeof part, "%s.d/%s", path, file->path);
	return realpath(part, resolved) != NULL &&
	       bp_running_maps((pid_t)file->header.pid, resolved);
}

/* A process that writes to FILE or beside it; 0: none. */
static pid_t writer_of(const char *path)
{
	struct bp_tree tree;
	pid_t writer = bp_running_carrier(path);
	if (writer != 0 || !bp_tree_read(path, &tree, NULL))
		return writer;
	/* A snapshot, and a trace of before the machine was started again, name a pid that may be
	 * running. Who writes to the file has mapped it. */
	for (size_t i = 0; i < tree.count; i++)
		if (tree.files[i].running && maps_part(path, &tree.files[i]))
			writer = (pid_t)tree.files[i].header.pid;
	bp_tree_finish(&tree);
	return writer;
}

bool bp_output_claim(const char *path, int *ret_lock, struct bp_error *error)
{
	const int lock = lock_folder(path);
	const pid_t writer = writer_of(path);
	if (writer == 0) {
		*ret_lock = lock;
		return true;
	}
	bp_output_release(lock);
	return bp_error_set(error,
		"process %ld of another run writes to %s: choose another -o, or wait until it has "
		"ended",
		(long)writer, path);
}

void bp_output_release(int lock)
{
	if (lock >= 0)
		close(lock);
}
