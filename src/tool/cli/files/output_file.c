/* SPDX-License-Identifier: MIT */
/*
 * The recorder creates the file itself, exclusively, so nothing is left behind here: the trial file
 * is removed again. A limit on file sizes is no reason to refuse: the recorder counts what it
 * loses.
 */
#include "cli/files/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/format.h"

#define TRIAL_BYTES (2 * BP_CHUNK_BYTES) /* less is not worth starting for */

char *bp_output_variable(const char *path)
{
	char *variable = malloc(sizeof BP_ENV_OUTPUT "=" + 2 * strlen(path));
	if (variable == NULL)
		return NULL;
	char *to = stpcpy(variable, BP_ENV_OUTPUT "=");
	for (; *path != '\0'; path++) {
		if (*path == '%')
			*to++ = '%';
		*to++ = *path;
	}
	*to = '\0';
	return variable;
}

/* `%p` is the pid and `%%` a percent sign, as the recorder reads BYTEPOLL_OUTPUT. False: too
 * long. */
static bool expand(const char *given, pid_t pid, char *to, size_t capacity)
{
	size_t length = 0;
	for (; *given != '\0' && length < capacity; given++) {
		if (given[0] == '%' && given[1] == 'p')
			length +=
				(size_t)snprintf(to + length, capacity - length, "%ld", (long)pid);
		else
			to[length++] = *given;
		given += given[0] == '%' && (given[1] == 'p' || given[1] == '%');
	}
	if (length >= capacity)
		return false;
	to[length] = '\0';
	return true;
}

bool bp_output_may_be_named(const char *given, struct bp_error *error)
{
	if (strcmp(given, "-") == 0)
		return bp_error_set(error,
			"-o -: a trace is a file that is read while it is written; name one, "
			"or ./- for a file of this name");
	return true;
}

bool bp_output_path(const char *given, const char *program, pid_t pid, const char *extension,
	char *ret_path, size_t capacity, struct bp_error *error)
{
	char directory[PATH_MAX] = "", name[PATH_MAX];
	const char *slash = strrchr(program, '/');
	int written;
	if (given == NULL) {
		snprintf(name, sizeof name, "bytepoll.%.200s.%ld.%s",
			slash != NULL ? slash + 1 : program, (long)pid, extension);
		given = name;
	} else if (expand(given, pid, name, sizeof name)) {
		given = name;
	} else {
		return bp_error_set(error, "%s: path too long", given);
	}
	if (*given == '\0')
		return bp_error_set(error, "-o needs the name of a file");
	if (*given != '/' && getcwd(directory, sizeof directory) == NULL)
		return bp_error_set(error,
			"the current directory is gone: %s: give -o an absolute path",
			strerror(errno));
	written = snprintf(
		ret_path, capacity, "%s%s%s", directory, directory[0] != '\0' ? "/" : "", given);
	if (written < 0 || (size_t)written >= capacity)
		return bp_error_set(error, "%s: path too long", given);
	return true;
}

bool bp_output_is_free(const char *path, bool force, struct bp_error *error)
{
	struct stat status;
	char directory[PATH_MAX];
	if (!bp_spares_strangers(path, BP_RECORDING_TRACE, error))
		return false;
	if (!force && lstat(path, &status) == 0)
		return bp_error_set(
			error, "%s exists: choose another -o, or replace it by --force", path);
	snprintf(directory, sizeof directory, "%.*s.d", PATH_MAX - 3, path);
	if (!force && lstat(directory, &status) == 0)
		return bp_error_set(
			error, "%s exists: choose another -o, or replace it by --force", directory);
	snprintf(directory, sizeof directory, "%.*s" BP_FOLDED_SUFFIX,
		(int)(sizeof directory - sizeof BP_FOLDED_SUFFIX), path);
	if (!force && lstat(directory, &status) == 0)
		return bp_error_set(
			error, "%s exists: choose another -o, or replace it by --force", directory);
	return true;
}

static bool try_writing(const char *path, struct bp_error *error)
{
	struct rlimit limit;
	int descriptor, failure = 0;
	descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (descriptor < 0)
		return bp_error_set(error, "%s cannot be created: %s: choose another -o", path,
			strerror(errno));
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur >= TRIAL_BYTES)
		failure = posix_fallocate(descriptor, 0, TRIAL_BYTES);
	close(descriptor);
	unlink(path);
	if (failure == ENOSPC || failure == EDQUOT)
		return bp_error_set(error, "%s cannot be written: %s: choose another -o", path,
			strerror(failure));
	return true;
}

bool bp_output_prepare(
	const char *path, bool force, struct bp_set_aside *ret_earlier, struct bp_error *error)
{
	struct bp_set_aside earlier = { 0 };
	if (!bp_output_is_free(path, force, error) ||
		(force && !bp_set_aside(path, BP_RECORDING_TRACE, &earlier, error)))
		return false;
	if (!try_writing(path, error)) {
		bp_set_aside_restore(&earlier);
		return false;
	}
	*ret_earlier = earlier;
	return true;
}
