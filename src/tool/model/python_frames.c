/* SPDX-License-Identifier: MIT */
/* See python_frames.h. */
#include "model/python_frames.h"

#include <ctype.h>
#include <string.h>

#include "base/path.h"

#define FROZEN "<frozen "

/* What follows the last ".../NAME/" of a path; NULL: there is no such folder in it. */
static const char *behind(const char *file, const char *folder)
{
	const char *found = NULL;
	const size_t bytes = strlen(folder);
	for (const char *at = strstr(file, folder); at != NULL; at = strstr(at + 1, folder))
		found = at + bytes;
	return found;
}

/* What follows the folder of Python's own library, /lib/python3.11/. */
static const char *behind_library(const char *file)
{
	const char *at = behind(file, "/lib/python");
	while (at != NULL && (isdigit((unsigned char)*at) || *at == '.' || *at == 't'))
		at++;
	return at != NULL && *at == '/' ? at + 1 : NULL;
}

/* The part of a path that names the module. */
static const char *module_part(const char *file)
{
	const char *part = behind(file, "/site-packages/");
	if (part == NULL)
		part = behind(file, "/dist-packages/");
	if (part == NULL)
		part = behind_library(file);
	return part != NULL ? part : bp_last_part(file);
}

static size_t without_end(const char *text, size_t length, const char *end)
{
	const size_t bytes = strlen(end);
	return length > bytes && memcmp(text + length - bytes, end, bytes) == 0 ? length - bytes
										: length;
}

void bp_python_module_name(const char *file, char *to, size_t bytes)
{
	const char *part = file;
	size_t length = strlen(file);
	if (strncmp(file, FROZEN, strlen(FROZEN)) == 0 && file[length - 1] == '>') {
		part += strlen(FROZEN);
		length -= strlen(FROZEN) + 1;
	} else if (file[0] != '<') {
		part = module_part(file);
		length = without_end(part, strlen(part), ".py");
		length = without_end(part, length, "/__init__");
	}
	length = length < bytes ? length : bytes - 1;
	for (size_t i = 0; i < length; i++)
		to[i] = part[i] == '/' ? '.' : part[i];
	to[length] = '\0';
}

bool bp_python_is_import(const char *file)
{
	char name[64];
	static const char *const names[] = { "importlib", "importlib._bootstrap",
		"importlib._bootstrap_external", "runpy", "zipimport", "pkgutil" };
	bp_python_module_name(file, name, sizeof name);
	/* Of plain files only those of Python's own library. */
	if (file[0] != '<' && behind_library(file) == NULL)
		return false;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}
