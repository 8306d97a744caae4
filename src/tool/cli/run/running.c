/* SPDX-License-Identifier: MIT */
/* See running.h. A process may end or become another program between any two looks at it. */
#include "cli/run/running.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/system_call.h"
#include "cli/files/output_file.h"
#include "cli/process/processes.h"
#include "cli/run/preload.h"

#define RECORDER_NAME "/libbytepoll-recorder" /* of each of the recorders */
#define YOUNG_NS 3000000000u
#define NESTED_MAX 32 /* process namespaces within each other; Linux's own limit */

static FILE *open_of(pid_t pid, const char *what)
{
	char name[64];
	snprintf(name, sizeof name, "/proc/%ld/%s", (long)pid, what);
	return fopen(name, "re");
}

/* Does the process's first environment hold the variable, and none that keeps children out? */
static bool carries(pid_t pid, const char *wanted)
{
	FILE *file = open_of(pid, "environ");
	char *entry = NULL;
	size_t capacity = 0;
	bool found = false, kept_out = false;
	if (file == NULL)
		return false;
	while (getdelim(&entry, &capacity, '\0', file) > 0) {
		found = found || strcmp(entry, wanted) == 0;
		kept_out = kept_out ||
			   strncmp(entry, BP_ENV_FOLLOW_PID "=", sizeof BP_ENV_FOLLOW_PID) == 0;
	}
	free(entry);
	fclose(file);
	return found && !kept_out;
}

/* Did the process begin with that output and a recorder to preload? With --no-follow-fork only the
 * process that the variable names writes. */
static bool is_started_for(pid_t pid, const char *wanted)
{
	FILE *file = open_of(pid, "environ");
	char *entry = NULL;
	size_t capacity = 0;
	bool found = false, preloads = false, kept_out = false;
	const size_t follow = sizeof BP_ENV_FOLLOW_PID; /* "=" in place of the zero */
	if (file == NULL)
		return false;
	while (getdelim(&entry, &capacity, '\0', file) > 0) {
		found = found || strcmp(entry, wanted) == 0;
		preloads = preloads || (strncmp(entry, "LD_PRELOAD=", 11) == 0 &&
					       bp_preload_has_recorder(entry + 11));
		kept_out = kept_out || (strncmp(entry, BP_ENV_FOLLOW_PID "=", follow) == 0 &&
					       strtol(entry + follow, NULL, 10) != pid);
	}
	free(entry);
	fclose(file);
	return found && preloads && !kept_out;
}

bool bp_running_maps(pid_t pid, const char *path)
{
	FILE *file = open_of(pid, "maps");
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;
	if (file == NULL)
		return false;
	while (!found && getline(&line, &capacity, file) > 0)
		found = strstr(line, path) != NULL;
	free(line);
	fclose(file);
	return found;
}

/* Has it been there for so short a time that its loader may not have mapped the recorder yet? */
static bool is_young(pid_t pid)
{
	struct bp_process_stat stat;
	if (!bp_process_stat_read(pid, &stat) || stat.state == 'Z' || stat.state == 'X')
		return false;
	const uint64_t start_ns = stat.start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	return start_ns + YOUNG_NS > bp_system_time_ns(CLOCK_BOOTTIME);
}

/* Has it a file that it may still write, by its number in its own process namespace? */
static bool is_told(const struct bp_tree *tree, pid_t pid)
{
	uint64_t numbers[NESTED_MAX];
	struct stat namespace;
	char name[64];
	const unsigned count = bp_process_status_of(pid, "NSpid", numbers, NESTED_MAX);
	const uint64_t own = count > 0 ? numbers[count - 1] : (uint64_t)pid;
	snprintf(name, sizeof name, "/proc/%ld/ns/pid", (long)pid);
	const bool known = stat(name, &namespace) == 0;
	for (size_t i = 0; i < tree->count; i++) {
		const struct bp_tree_file *file = &tree->files[i];
		if (file->running && file->header.pid == own &&
			(!known || file->header.pid_namespace == 0 ||
				file->header.pid_namespace == namespace.st_ino))
			return true;
	}
	return false;
}

pid_t bp_running_carrier(const char *path)
{
	char *wanted = bp_output_variable(path);
	DIR *processes = wanted != NULL ? opendir("/proc") : NULL;
	struct dirent *entry;
	pid_t found = 0;
	while (processes != NULL && found == 0 && (entry = readdir(processes)) != NULL) {
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (isdigit((unsigned char)entry->d_name[0]) && is_started_for(pid, wanted) &&
			(bp_running_maps(pid, RECORDER_NAME) || is_young(pid)))
			found = pid;
	}
	if (processes != NULL)
		closedir(processes);
	free(wanted);
	return found;
}

size_t bp_running_unrecorded(const struct bp_tree *tree, const char *recorder, pid_t *ret_example)
{
	char *wanted = bp_output_variable(tree->file);
	DIR *processes = wanted != NULL ? opendir("/proc") : NULL;
	struct dirent *entry;
	size_t count = 0;
	while (processes != NULL && (entry = readdir(processes)) != NULL) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (!carries(pid, wanted) || !bp_running_maps(pid, recorder) || is_told(tree, pid))
			continue;
		if (count++ == 0)
			*ret_example = pid;
	}
	if (processes != NULL)
		closedir(processes);
	free(wanted);
	return count;
}
