/* SPDX-License-Identifier: MIT */
/*
 * Both sources are text, one object a line, read with a limit on their number: a hostile process
 * can map as many files as it likes.
 */
#include "cli/process/libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/attributes.h"

#define LIBRARIES_MAX 4096

extern char **environ;

static const char *const known_loaders[] = {
	"/lib64/ld-linux-x86-64.so.2",
	"/lib/ld-linux-aarch64.so.1",
};

static bool append(char ***list, size_t *count, const char *text, size_t length)
{
	char **grown;
	for (size_t i = 0; i < *count; i++)
		if (strncmp((*list)[i], text, length) == 0 && (*list)[i][length] == '\0')
			return true;
	if (*count >= LIBRARIES_MAX)
		return true;
	grown = realloc(*list, (*count + 1) * sizeof *grown);
	if (grown == NULL)
		return false;
	*list = grown;
	grown[*count] = strndup(text, length);
	if (grown[*count] == NULL)
		return false;
	(*count)++;
	return true;
}

/* A line of `--list`: "NAME => PATH (0x...)", "NAME => not found" or "PATH (0x...)". */
static bool add_listed(struct bp_libraries *list, char *line)
{
	char *name = line + strspn(line, " \t"), *arrow = strstr(line, " => ");
	char *path = arrow != NULL ? arrow + 4 : name;
	char *end = strstr(path, " (0x");
	if (arrow != NULL && strncmp(path, "not found", 9) == 0)
		return append(&list->missing, &list->missing_count, name, (size_t)(arrow - name));
	if (end == NULL || *path != '/')
		return true; /* [vdso] and the like */
	return append(&list->paths, &list->count, path, (size_t)(end - path));
}

/* Starts `loader --list image` with its output in a pipe. */
static pid_t start_loader(const char *loader, const char *image, int *ret_descriptor)
{
	char *words[] = { (char *)(uintptr_t)loader, (char *)(uintptr_t) "--list",
		(char *)(uintptr_t)image, NULL };
	posix_spawn_file_actions_t actions;
	int ends[2];
	pid_t child = -1;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	errno = posix_spawn(&child, loader, &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (errno != 0) {
		close(ends[0]);
		return -1;
	}
	*ret_descriptor = ends[0];
	return child;
}

bool bp_libraries_of_program(const char *image, const char *loader, struct bp_libraries *ret_list,
	bool *ret_asked, struct bp_error *error)
{
	struct bp_libraries list = { 0 };
	bool known = false, good = true;
	char *line = NULL;
	size_t capacity = 0;
	int descriptor;
	pid_t child;
	FILE *lines;
	for (size_t i = 0; i < BP_COUNT(known_loaders); i++)
		known |= strcmp(loader, known_loaders[i]) == 0;
	*ret_asked = known;
	*ret_list = list;
	if (!known)
		return true;
	child = start_loader(loader, image, &descriptor);
	if (child < 0)
		return bp_error_set(error, "%s cannot be started: %s", loader, strerror(errno));
	lines = fdopen(descriptor, "r");
	while (good && lines != NULL && getline(&line, &capacity, lines) > 0)
		good = add_listed(&list, line);
	free(line);
	if (lines != NULL)
		fclose(lines);
	else
		close(descriptor);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (!good) {
		bp_libraries_finish(&list);
		return bp_error_set(error, "out of memory");
	}
	*ret_list = list;
	return true;
}

bool bp_libraries_of_process(pid_t pid, struct bp_libraries *ret_list, struct bp_error *error)
{
	struct bp_libraries list = { 0 };
	bool good = true;
	char name[64], *line = NULL;
	size_t capacity = 0;
	FILE *maps;
	snprintf(name, sizeof name, "/proc/%ld/maps", (long)pid);
	maps = fopen(name, "re");
	if (maps == NULL)
		return bp_error_set(error,
			"process %ld cannot be looked at: %s: be its owner or root", (long)pid,
			strerror(errno));
	while (good && getline(&line, &capacity, maps) > 0) {
		char permissions[5] = "";
		char *path = strchr(line, '/');
		if (path == NULL || sscanf(line, "%*s %4s", permissions) != 1 ||
			strchr(permissions, 'x') == NULL)
			continue;
		good = append(&list.paths, &list.count, path, strcspn(path, "\n"));
	}
	free(line);
	fclose(maps);
	if (!good) {
		bp_libraries_finish(&list);
		return bp_error_set(error, "out of memory");
	}
	*ret_list = list;
	return true;
}

void bp_libraries_finish(struct bp_libraries *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->paths[i]);
	for (size_t i = 0; i < list->missing_count; i++)
		free(list->missing[i]);
	free(list->paths);
	free(list->missing);
	*list = (struct bp_libraries){ 0 };
}
