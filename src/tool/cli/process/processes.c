/* SPDX-License-Identifier: MIT */
/*
 * /proc/PID/stat of every process: the field after the state is the parent. Descendants are
 * gathered at the front of the list: the children of the process, then those of each one gathered.
 */
#include "cli/process/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

bool bp_process_stat_read(pid_t pid, struct bp_process_stat *ret_stat)
{
	char path[64], line[1024];
	struct bp_process_stat stat;
	int parent;
	snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return false;
	line[fread(line, 1, sizeof line - 1, file)] = '\0';
	fclose(file);
	/* The name in parentheses may hold anything: fields count from the last ')'. */
	const char *after = strrchr(line, ')');
	if (after == NULL ||
		sscanf(after,
			") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
			"%*d %llu",
			&stat.state, &parent, &stat.start_ticks) != 3)
		return false;
	stat.parent = parent;
	*ret_stat = stat;
	return true;
}

int bp_process_status_open(pid_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

bool bp_process_status_read(int descriptor, char text[BP_PROCESS_STATUS_BYTES])
{
	const ssize_t got = pread(descriptor, text, BP_PROCESS_STATUS_BYTES - 1, 0);
	text[got > 0 ? got : 0] = '\0';
	return got > 0;
}

/* (The name of the program, which may be anything, is in the first line: newlines in it are
 * escaped.) */
unsigned bp_process_status_numbers(
	const char *text, const char *name, uint64_t *ret_numbers, unsigned capacity)
{
	char wanted[32];
	unsigned count = 0;
	snprintf(wanted, sizeof wanted, "\n%s:", name);
	const char *at = strstr(text, wanted);
	if (at == NULL)
		return 0;
	for (at += strlen(wanted); count < capacity; count++) {
		at += strspn(at, " \t");
		if (*at < '0' || *at > '9')
			break;
		char *end;
		ret_numbers[count] = strtoull(at, &end, 10);
		at = end;
	}
	return count;
}

unsigned bp_process_status_of(pid_t pid, const char *name, uint64_t *ret_numbers, unsigned capacity)
{
	char text[BP_PROCESS_STATUS_BYTES];
	const int descriptor = bp_process_status_open(pid);
	if (descriptor < 0)
		return 0;
	const bool good = bp_process_status_read(descriptor, text);
	close(descriptor);
	return good ? bp_process_status_numbers(text, name, ret_numbers, capacity) : 0;
}

static pid_t parent_of(pid_t pid)
{
	struct bp_process_stat stat;
	return bp_process_stat_read(pid, &stat) ? stat.parent : -1;
}

bool bp_processes_read(struct bp_processes *ret_processes, struct bp_error *error)
{
	struct bp_processes processes = { 0 };
	struct dirent *entry;
	DIR *directory = opendir("/proc");
	if (directory == NULL)
		return bp_error_set(
			error, "/proc cannot be read: %s: is it mounted?", strerror(errno));
	while ((entry = readdir(directory)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid <= 0)
			continue;
		if (!bp_vec_reserve(&processes.items, &processes.capacity, processes.count + 1u,
			    sizeof *processes.items)) {
			closedir(directory);
			bp_processes_finish(&processes);
			return bp_error_set(error, "out of memory");
		}
		processes.items[processes.count++] =
			(struct bp_listed_process){ pid, parent_of(pid) };
	}
	closedir(directory);
	*ret_processes = processes;
	return true;
}

/* Moves what descends from `pid` to the front of the list; returns how many that are. */
static uint32_t gather(struct bp_processes *processes, pid_t pid)
{
	uint32_t found = 0;
	/* Those found so far are [0, found): the children of each are looked for in turn. */
	for (uint32_t at = 0; at <= found; at++) {
		const pid_t parent = at == 0 ? pid : processes->items[at - 1].pid;
		for (uint32_t i = found; i < processes->count; i++) {
			struct bp_listed_process child = processes->items[i];
			if (child.parent != parent || child.pid == pid)
				continue;
			processes->items[i] = processes->items[found];
			processes->items[found++] = child;
		}
	}
	return found;
}

void bp_processes_keep_descendants(struct bp_processes *processes, pid_t pid)
{
	processes->count = gather(processes, pid);
}

void bp_processes_finish(struct bp_processes *processes)
{
	free(processes->items);
	*processes = (struct bp_processes){ 0 };
}

bool bp_process_is_elsewhere(pid_t pid, const char *link)
{
	char path[64], theirs[128] = "", ours[128] = "";
	snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, link);
	const ssize_t their_length = readlink(path, theirs, sizeof theirs - 1);
	snprintf(path, sizeof path, "/proc/self/%s", link);
	const ssize_t our_length = readlink(path, ours, sizeof ours - 1);
	return their_length > 0 && our_length > 0 && strcmp(theirs, ours) != 0;
}

const char *bp_process_path_in_root(pid_t pid, const char *path)
{
	char link[64], root[PATH_MAX];
	snprintf(link, sizeof link, "/proc/%ld/root", (long)pid);
	const ssize_t read = readlink(link, root, sizeof root);
	if (read <= 0 || read == (ssize_t)sizeof root)
		return NULL;
	const size_t length = read == 1 ? 0 : (size_t)read; /* "/" */
	return strncmp(path, root, length) == 0 && path[length] == '/' ? path + length : NULL;
}
