/* SPDX-License-Identifier: MIT */
/* See recorder_file.h. */
#include "cli/process/recorder_file.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "trace/format.h"

bool bp_recorder_file_find(
	const char *file, char *ret_path, size_t capacity, struct bp_error *error)
{
	static const char *const places[] = { "", "../lib/bytepoll/" };
	char self[PATH_MAX], resolved[PATH_MAX];
	char *slash;
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	if (length < 0)
		return bp_error_set(error, "/proc/self/exe cannot be read: %s: is /proc mounted?",
			strerror(errno));
	self[length] = '\0';
	slash = strrchr(self, '/');
	if (slash != NULL)
		slash[1] = '\0';
	for (size_t i = 0; i < BP_COUNT(places); i++) {
		int written = snprintf(ret_path, capacity, "%s%s%s", self, places[i], file);
		if (written < 0 || (size_t)written >= capacity || access(ret_path, R_OK) != 0 ||
			realpath(ret_path, resolved) == NULL)
			continue;
		snprintf(ret_path, capacity, "%s", resolved);
		if (strpbrk(ret_path, ": ") != NULL)
			return bp_error_set(error,
				"%s: LD_PRELOAD cannot carry a path with a space or colon: install "
				"bytepoll elsewhere",
				ret_path);
		return true;
	}
	return bp_error_set(error,
		"%s is neither in %s nor in %s../lib/bytepoll: build or install it", file, self,
		self);
}

bool bp_recorder_file_is(const char *name)
{
	const size_t length = strlen(BP_RECORDER_FILE), before_id = strlen(BP_RECORDER_COPY);
	return strncmp(name, BP_RECORDER_FILE, length) == 0 ||
	       (strncmp(name, BP_RECORDER_COPY, before_id) == 0 &&
		       isxdigit((unsigned char)name[before_id]) != 0);
}
