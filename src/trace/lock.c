/* SPDX-License-Identifier: MIT */
/*
 * See lock.h. The kernel lists the holders of all locks in /proc/locks, a line each:
 *
 *	1: FLOCK  ADVISORY  WRITE 4711 08:01:131090 0 EOF
 *
 * with the process that took the lock, and the file as major:minor:inode. Those of other process
 * namespaces have the number 0 there, and some file systems number their devices otherwise than
 * stat does.
 */
#include "trace/lock.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#define STEP_NS 5000000u
#define FILE_STEPS_MAX 1000u	/* 5 s: most foldings and most readings take less */
#define PROCESS_STEPS_MAX 3000u /* a tree has many files, all of which may be held */

/* Steps that were waited by this process. */
static uint32_t steps_waited;

static bool may_wait(uint32_t steps)
{
	return steps < FILE_STEPS_MAX &&
	       __atomic_fetch_add(&steps_waited, 1, __ATOMIC_RELAXED) < PROCESS_STEPS_MAX;
}

bool bp_trace_lock(int fd, int operation)
{
	for (uint32_t steps = 0; flock(fd, operation | LOCK_NB) != 0;) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return false;
		if (!may_wait(steps++)) {
			errno = EWOULDBLOCK;
			return false;
		}
		nanosleep(&(struct timespec){ 0, STEP_NS }, NULL);
	}
	return true;
}

/* The process that holds a lock on the file; 0: not known. */
static long find_holder(const struct stat *file)
{
	char line[256];
	long pid = 0, found;
	unsigned long long inode;
	unsigned device_major, device_minor;
	FILE *locks = fopen("/proc/locks", "re");
	while (locks != NULL && pid == 0 && fgets(line, sizeof line, locks) != NULL)
		if (sscanf(line, "%*d: FLOCK %*s %*s %ld %x:%x:%llu", &found, &device_major,
			    &device_minor, &inode) == 4 &&
			inode == file->st_ino && device_major == major(file->st_dev) &&
			device_minor == minor(file->st_dev))
			pid = found;
	if (locks != NULL)
		fclose(locks);
	return pid;
}

/* The name that a process has given itself: what a terminal would not print is left out. */
static void read_name(long pid, char name[32])
{
	char path[40];
	size_t length = 0;
	int letter;
	snprintf(path, sizeof path, "/proc/%ld/comm", pid);
	FILE *file = fopen(path, "re");
	while (file != NULL && length < 31 && (letter = fgetc(file)) != EOF)
		if (isascii(letter) && isprint(letter))
			name[length++] = (char)letter;
	if (file != NULL)
		fclose(file);
	name[length] = '\0';
}

void bp_trace_lock_holder(int fd, char ret_text[BP_TRACE_HOLDER_BYTES])
{
	struct stat status;
	char name[32];
	const long pid = fstat(fd, &status) == 0 ? find_holder(&status) : 0;
	if (pid <= 0) {
		snprintf(ret_text, BP_TRACE_HOLDER_BYTES, "another process");
		return;
	}
	read_name(pid, name);
	snprintf(ret_text, BP_TRACE_HOLDER_BYTES, "process %ld%s%s%s", pid,
		name[0] != '\0' ? " (" : "", name, name[0] != '\0' ? ")" : "");
}
