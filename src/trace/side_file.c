/* SPDX-License-Identifier: MIT */
/* See side_file.h. */
#include "trace/side_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC_BYTES_MAX 64u
#define NUMBER_MAX (UINT64_C(1) << 62)

bool bp_side_file_is(const char *path, const char *magic)
{
	char head[MAGIC_BYTES_MAX];
	const size_t bytes = strlen(magic);
	struct stat status;
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	const bool ours =
		descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
		read(descriptor, head, bytes) == (ssize_t)bytes && memcmp(head, magic, bytes) == 0;
	if (descriptor >= 0)
		close(descriptor);
	return ours;
}

FILE *bp_side_file_open(const char *path, uint64_t bytes_max)
{
	struct stat status;
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (descriptor < 0)
		return NULL;
	FILE *in = NULL;
	if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
		(uint64_t)status.st_size <= bytes_max)
		in = fdopen(descriptor, "r");
	if (in == NULL)
		close(descriptor);
	return in;
}

/* The name while it is written; false: it is too long. */
static bool new_name(const char *path, char ret_name[PATH_MAX])
{
	return snprintf(ret_name, PATH_MAX, "%s" BP_SIDE_FILE_NEW_SUFFIX, path) < PATH_MAX;
}

void bp_side_file_remove(const char *path, const char *magic)
{
	char new[PATH_MAX];
	if (bp_side_file_is(path, magic))
		unlink(path);
	if (new_name(path, new) && bp_side_file_is(new, magic))
		unlink(new);
}

/* Whose the trace is beside which `path` stands: the name without its suffix. */
static bool trace_owner(const char *path, struct stat *ret_status)
{
	char trace[PATH_MAX];
	const char *suffix = strrchr(path, '.');
	const size_t bytes = suffix != NULL ? (size_t)(suffix - path) : 0;
	if (bytes == 0 || bytes >= sizeof trace)
		return false;
	memcpy(trace, path, bytes);
	trace[bytes] = '\0';
	return lstat(trace, ret_status) == 0 && S_ISREG(ret_status->st_mode);
}

/* Gives the file, which is still ours alone, to the owner of the trace: root may look on at any
 * user's process. */
static void give_away(int descriptor, const char *path)
{
	struct stat owner;
	if (geteuid() != 0 || !trace_owner(path, &owner) || owner.st_uid == 0)
		return;
	/* (Where that is not possible it stays root's, who can read it.) */
	if (fchown(descriptor, owner.st_uid, owner.st_gid) != 0)
		return;
}

/* May the file be one that an earlier writer left? */
static bool may_be_left(const struct stat *status, const char *path)
{
	struct stat owner;
	return S_ISREG(status->st_mode) &&
	       (status->st_uid == geteuid() || (geteuid() == 0 && trace_owner(path, &owner) &&
						       status->st_uid == owner.st_uid));
}

/* A file that an earlier writer left there when it was killed is ours, or empty. */
static int open_new(const char *new, const char *path, const char *magic)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	struct stat status;
	const int descriptor = open(new, flags, 0600);
	if (descriptor >= 0 || errno != EEXIST || lstat(new, &status) != 0 ||
		!may_be_left(&status, path) ||
		(status.st_size != 0 && !bp_side_file_is(new, magic)) || unlink(new) != 0)
		return descriptor;
	return open(new, flags, 0600);
}

bool bp_side_file_write(const char *path, const char *magic,
	bool (*write)(FILE *out, const void *content), const void *content)
{
	char new[PATH_MAX];
	struct stat status;
	if (lstat(path, &status) == 0 && !bp_side_file_is(path, magic)) {
		errno = EEXIST;
		return false;
	}
	if (!new_name(path, new)) {
		errno = ENAMETOOLONG;
		return false;
	}
	const int descriptor = open_new(new, path, magic);
	FILE *out = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
	if (out == NULL) {
		if (descriptor >= 0)
			close(descriptor);
		return false;
	}
	fputs(magic, out);
	const bool good = write(out, content) && !ferror(out) && fflush(out) == 0;
	if (good)
		give_away(fileno(out), path);
	if (fclose(out) == 0 && good && rename(new, path) == 0)
		return true;
	const int reason = errno;
	unlink(new);
	errno = reason;
	return false;
}

bool bp_side_file_number(const char **at, const char *name, uint64_t *ret_number)
{
	const size_t length = strlen(name);
	char *end;
	if (**at != '\t' || strncmp(*at + 1, name, length) != 0 || (*at)[1 + length] != '=')
		return false;
	*at += length + 2;
	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*ret_number = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0 && *ret_number <= NUMBER_MAX;
}

bool bp_side_file_trace_id(const char **at, uint8_t ret_trace_id[16])
{
	static const char digits[] = "0123456789abcdef";
	if (strncmp(*at, "trace_id=", 9) != 0)
		return false;
	*at += 9;
	for (int i = 0; i < 32; i++) {
		const char *digit = **at != '\0' ? strchr(digits, **at) : NULL;
		if (digit == NULL)
			return false;
		const uint8_t value = (uint8_t)(digit - digits);
		ret_trace_id[i / 2] =
			(uint8_t)(i % 2 == 0 ? value << 4 : ret_trace_id[i / 2] | value);
		(*at)++;
	}
	return true;
}

void bp_side_file_put_trace_id(FILE *out, const uint8_t trace_id[16])
{
	fputs("trace_id=", out);
	for (int i = 0; i < 16; i++)
		fprintf(out, "%02x", trace_id[i]);
}
