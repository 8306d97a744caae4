/* SPDX-License-Identifier: MIT */
/*
 * See written_file.h. Without --force a name is taken by link(2), which replaces nothing, even if
 * somebody made the file meanwhile; with it by rename(2), which replaces what is there then and
 * follows no link. A file without a name is linked by its descriptor's place in /proc; where that
 * is not mounted, and where the file system has no such files, the temporary one is made.
 */
#include "cli/files/written_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "cli/files/replacing.h"

#define SUFFIX_BYTES 7 /* ".XXXXXX" */
#define TRIES 100

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

/* What a signal removes. Set while there is something, and then whole. */
static struct {
	char path[PATH_MAX];
	struct sigaction before[BP_COUNT(signals)];
	volatile sig_atomic_t armed;
} doomed;

static bool is_standard_output(const struct bp_written_file *file)
{
	return strcmp(file->path, "-") == 0;
}

static void remove_and_die(int number)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	if (doomed.armed)
		unlink(doomed.path);
	sigaction(number, &plain, NULL);
	raise(number);
}

/* A signal that was ignored stays so. */
static void arm(const char *path)
{
	struct sigaction action = { .sa_handler = remove_and_die, .sa_flags = SA_RESTART };
	strcpy(doomed.path, path);
	doomed.armed = 1;
	for (size_t i = 0; i < BP_COUNT(signals); i++)
		if (sigaction(signals[i], NULL, &doomed.before[i]) == 0 &&
			doomed.before[i].sa_handler == SIG_DFL)
			sigaction(signals[i], &action, NULL);
}

static void disarm(void)
{
	if (!doomed.armed)
		return;
	for (size_t i = 0; i < BP_COUNT(signals); i++)
		sigaction(signals[i], &doomed.before[i], NULL);
	doomed.armed = 0;
}

/* A name beside the path that nobody can foresee; false: the path is too long. */
static bool name_beside(const struct bp_written_file *file, char *ret_name)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
	unsigned char drawn[SUFFIX_BYTES - 1] = { 0 };
	if (strlen(file->path) + SUFFIX_BYTES >= PATH_MAX)
		return false;
	if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn)
		memcpy(drawn, &(pid_t){ getpid() }, sizeof(pid_t)); /* O_EXCL does without */
	char *end = stpcpy(ret_name, file->path);
	*end++ = '.';
	for (size_t i = 0; i < sizeof drawn; i++)
		*end++ = letters[drawn[i] % (sizeof letters - 1)];
	*end = '\0';
	return true;
}

static bool cannot_create(const struct bp_written_file *file, int failure, struct bp_error *error)
{
	return bp_error_set(error, "%.800s cannot be created: %s: choose another %s", file->path,
		strerror(failure), file->option);
}

/* What stands under the name now. */
static bool check_name(const struct bp_written_file *file, struct bp_error *error)
{
	struct stat status;
	if (*file->path == '\0')
		return bp_error_set(error, "%s needs the name of a file", file->option);
	if (strlen(file->path) + SUFFIX_BYTES >= PATH_MAX)
		return bp_error_set(error, "%.64s...: path too long", file->path);
	if (!bp_spares_inputs(file->path, file->option, file->inputs, file->input_count, error))
		return false;
	if (lstat(file->path, &status) != 0)
		return true;
	if (!S_ISREG(status.st_mode))
		return bp_error_set(error, "%s is no regular file%s: choose another %s", file->path,
			S_ISLNK(status.st_mode) ? " but a symbolic link" : "", file->option);
	const enum bp_recording_kind kind = bp_recording_kind_of(file->path);
	if (kind == BP_RECORDING_TRACE || kind == BP_RECORDING_NETTRACE)
		return bp_error_set(error,
			"%s exists and is a recording, so nothing replaces it: choose another %s, "
			"or remove it",
			file->path, file->option);
	return file->force ||
	       bp_error_set(error, "%s exists: choose another %s, or replace it by --force",
		       file->path, file->option);
}

/* A file without a name, in the folder of the path; -1: not here. */
static int open_nameless(const struct bp_written_file *file)
{
	char folder[PATH_MAX], place[64];
	const char *slash = strrchr(file->path, '/');
	const int length = slash == NULL ? 0 : slash == file->path ? 1 : (int)(slash - file->path);
	snprintf(folder, sizeof folder, "%.*s", length, file->path);
	const int descriptor =
		open(length > 0 ? folder : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, file->mode);
	snprintf(place, sizeof place, "/proc/self/fd/%d", descriptor);
	if (descriptor < 0 || access(place, F_OK) == 0)
		return descriptor;
	close(descriptor);
	return -1;
}

static int open_beside(struct bp_written_file *file)
{
	for (int i = 0; i < TRIES && name_beside(file, file->temporary); i++) {
		arm(file->temporary);
		const int descriptor = open(file->temporary,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, file->mode);
		const int failure = errno;
		if (descriptor >= 0)
			return descriptor;
		disarm();
		errno = failure;
		if (failure != EEXIST)
			break;
	}
	file->temporary[0] = '\0';
	return -1;
}

bool bp_written_file_begin(struct bp_written_file *file, struct bp_error *error)
{
	file->temporary[0] = '\0';
	file->out = stdout;
	if (is_standard_output(file))
		return true;
	if (!check_name(file, error))
		return false;
	int descriptor = open_nameless(file);
	if (descriptor < 0)
		descriptor = open_beside(file);
	if (descriptor < 0)
		return cannot_create(file, errno, error);
	file->out = fdopen(descriptor, "w");
	if (file->out != NULL)
		return true;
	close(descriptor);
	if (file->temporary[0] != '\0')
		unlink(file->temporary);
	disarm();
	return bp_error_set(error, "out of memory");
}

bool bp_written_file_check(const struct bp_written_file *file, struct bp_error *error)
{
	struct bp_written_file trial = *file;
	if (!bp_written_file_begin(&trial, error))
		return false;
	bp_written_file_end(&trial, false, NULL);
	return true;
}

/* Gives a file without a name one beside its path, from where it can be renamed. */
static bool name_nameless(struct bp_written_file *file, const char *place)
{
	for (int i = 0; i < TRIES; i++) {
		name_beside(file, file->temporary);
		arm(file->temporary);
		if (linkat(AT_FDCWD, place, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0)
			return true;
		const int failure = errno;
		disarm();
		errno = failure;
		file->temporary[0] = '\0';
		if (failure != EEXIST)
			return false;
	}
	return false;
}

/* Puts what is written under its name. */
static bool place(struct bp_written_file *file)
{
	char descriptor[64];
	snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", fileno(file->out));
	if (file->temporary[0] == '\0' && !file->force)
		return linkat(AT_FDCWD, descriptor, AT_FDCWD, file->path, AT_SYMLINK_FOLLOW) == 0;
	if (file->temporary[0] == '\0' && !name_nameless(file, descriptor))
		return false;
	if (!file->force && link(file->temporary, file->path) == 0)
		return true; /* the other name goes below */
	/* With --force, or where there are no links; then a name that was taken meanwhile stays. */
	return (file->force || (errno != EEXIST && access(file->path, F_OK) != 0)) &&
	       rename(file->temporary, file->path) == 0;
}

bool bp_written_file_end(struct bp_written_file *file, bool good, struct bp_error *error)
{
	if (is_standard_output(file))
		return good;
	errno = 0;
	const bool written = fflush(file->out) == 0 && !ferror(file->out);
	if (good && !written)
		good = bp_error_set(error, "%.800s cannot be written: %s", file->path,
			errno != 0 ? strerror(errno) : "input/output error");
	/* With --force the name may have become another thing. */
	good = good && (!file->force || check_name(file, error));
	if (good && !place(file))
		good = cannot_create(file, errno, error);
	if (file->temporary[0] != '\0')
		unlink(file->temporary);
	disarm();
	if (fclose(file->out) != 0 && good)
		good = bp_error_set(
			error, "%.800s cannot be written: %s", file->path, strerror(errno));
	file->out = NULL;
	return good;
}
