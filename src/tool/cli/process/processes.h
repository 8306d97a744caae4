/* SPDX-License-Identifier: MIT */
/*
 * The processes of this machine as /proc lists them: who is whose child, and when each began. All
 * of it is of a moment that is over when one reads it. Not thread-safe.
 */
#ifndef BP_CLI_PROCESS_PROCESSES_H
#define BP_CLI_PROCESS_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* Fields of /proc/PID/stat. */
struct bp_process_stat {
	char state; /* Z and X: it has ended */
	pid_t parent;
	unsigned long long
		start_ticks; /* since the machine began, asleep or not; _SC_CLK_TCK a second */
};
/* False: there is no such process. */
bool bp_process_stat_read(pid_t pid, struct bp_process_stat *ret_stat);

/* What /proc/PID/status says. Its descriptor goes on telling of the same process after an exec; -1:
 * there is no such process. */
int bp_process_status_open(pid_t pid);
/* Its text of now, terminated; the groups of the user are in it, before memory: some 8,000. False:
 * the process has ended. */
#define BP_PROCESS_STATUS_BYTES 65536
bool bp_process_status_read(int descriptor, char text[BP_PROCESS_STATUS_BYTES]);
/* The numbers of the line "NAME:" of such a text, `capacity` of them at most; returns how many
 * there are. (Sizes are in units of 1024 bytes.) */
unsigned bp_process_status_numbers(
	const char *text, const char *name, uint64_t *ret_numbers, unsigned capacity);
/* The same of a process at once. */
unsigned bp_process_status_of(
	pid_t pid, const char *name, uint64_t *ret_numbers, unsigned capacity);

/* Does that link of the process in /proc (`ns/mnt`, `root` ...) lead elsewhere than ours? False if
 * it cannot be read. */
bool bp_process_is_elsewhere(pid_t pid, const char *link);

/* A path of /proc/PID/maps (or of another link of the process's), which begins at the root of its
 * mount namespace, as one that begins at the process's own root directory: a part of `path`. NULL:
 * it does not lie in there, or nothing can be read. */
const char *bp_process_path_in_root(pid_t pid, const char *path);

struct bp_listed_process {
	pid_t pid, parent; /* parent -1: it has gone meanwhile */
};

struct bp_processes {
	struct bp_listed_process *items;
	uint32_t count, capacity;
};

bool bp_processes_read(struct bp_processes *ret_processes, struct bp_error *error);
/* Leaves the descendants of `pid`, itself left out. */
void bp_processes_keep_descendants(struct bp_processes *processes, pid_t pid);
void bp_processes_finish(struct bp_processes *processes);

#endif
