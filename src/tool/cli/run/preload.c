/* SPDX-License-Identifier: MIT */
/* See preload.h. A recorder is known by the last part of its path. */
#include "cli/run/preload.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "trace/format.h"

#define SEPARATORS ": "

static bool is_recorder(const char *file, size_t length)
{
	static const char *const names[] = { BP_RECORDER_FILE, BP_RECORDER_VERIFY_FILE };
	const char *slash = memrchr(file, '/', length);
	const char *last = slash != NULL ? slash + 1 : file;
	length -= (size_t)(last - file);
	for (size_t i = 0; i < BP_COUNT(names); i++)
		if (length == strlen(names[i]) && memcmp(last, names[i], length) == 0)
			return true;
	return false;
}

char *bp_preload_with(const char *recorder, const char *before)
{
	if (before == NULL)
		before = "";
	char *list = malloc(strlen(recorder) + strlen(before) + 2);
	if (list == NULL)
		return NULL;
	char *end = stpcpy(list, recorder);
	while (*before != '\0') {
		const size_t length = strcspn(before, SEPARATORS);
		if (length > 0 && !is_recorder(before, length)) {
			*end++ = ':';
			end = mempcpy(end, before, length);
			*end = '\0';
		}
		before += length + (before[length] != '\0');
	}
	return list;
}

bool bp_preload_has_recorder(const char *list)
{
	while (*list != '\0') {
		const size_t length = strcspn(list, SEPARATORS);
		if (is_recorder(list, length))
			return true;
		list += length + (list[length] != '\0');
	}
	return false;
}
