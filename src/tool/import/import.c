/* SPDX-License-Identifier: MIT */
/*
 * The array of importers and the choice among them by the first bytes of a file. What can be said
 * of any file (missing, a directory, empty) is said here; what is wrong with a file of a format is
 * said by its importer.
 */
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"

/* Enough for every magic number there is. */
#define HEAD_BYTES 512

#define ENTRY(name) &bp_import_##name,

static const struct bp_importer *const importers[] = { BP_IMPORTERS(ENTRY) NULL };

static bool cannot_open(const char *path, int why, struct bp_error *error)
{
	if (why == ENOENT)
		return bp_error_set(error,
			"%s: there is no such file: record one with `bytepoll run -o %s -- "
			"PROGRAM`",
			path, path);
	if (why == EACCES || why == EPERM)
		return bp_error_set(error,
			"%s: may not be read: traces are readable by their owner only", path);
	return bp_error_set(error, "%s: cannot be read: %s", path, strerror(why));
}

/* Reads the first bytes of a regular file. */
static bool read_head(const char *path, uint8_t *head, size_t *ret_bytes, struct bp_error *error)
{
	struct stat status;
	ssize_t got;
	/* Non-blocking: a FIFO without a writer must not hold us. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return cannot_open(path, errno, error);
	if (fstat(fd, &status) != 0) {
		cannot_open(path, errno, error);
		close(fd);
		return false;
	}
	if (!S_ISREG(status.st_mode)) {
		close(fd);
		return bp_error_set(error, "%s: is %s: name a trace file", path,
			S_ISDIR(status.st_mode) ? "a directory" : "not a regular file");
	}
	do
		got = pread(fd, head, HEAD_BYTES, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		cannot_open(path, errno, error);
	close(fd);
	if (got == 0)
		return bp_error_set(error,
			"%s: is empty: the program was stopped before anything was recorded; "
			"record again",
			path);
	*ret_bytes = got < 0 ? 0 : (size_t)got;
	return got > 0;
}

/* Names what can be read. */
static bool unknown_format(const char *path, struct bp_error *error)
{
	char names[256] = "";
	size_t used = 0;
	for (size_t i = 0; importers[i] != NULL && used < sizeof names; i++)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
			i == 0			   ? ""
			: importers[i + 1] == NULL ? " or a "
						   : ", a ",
			importers[i]->name);
	return bp_error_set(error,
		"%s: is of no format known here: name a %s (`bytepoll run -- PROGRAM` records one)",
		path, names);
}

bool bp_import_file(const char *path, struct bp_profile *profile, struct bp_error *error)
{
	uint8_t head[HEAD_BYTES];
	size_t bytes = 0;
	if (!read_head(path, head, &bytes, error))
		return false;
	for (const struct bp_importer *const *importer = importers; *importer != NULL; importer++)
		if ((*importer)->sniff(head, bytes))
			return (*importer)->import(path, profile, error);
	return unknown_format(path, error);
}
