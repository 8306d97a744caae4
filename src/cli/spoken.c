/* SPDX-License-Identifier: MIT */
/* See spoken.h. */
#include "cli/spoken.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"

void bp_spoken_path(const char *path)
{
	char directory[PATH_MAX];
	size_t length;
	if (getcwd(directory, sizeof directory) != NULL) {
		length = strlen(directory);
		if (strncmp(path, directory, length) == 0 && path[length] == '/')
			path += length + 1;
	}
	if (path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			      "/._-+,:@%=")] == '\0') {
		fputs(path, stderr);
		return;
	}
	putc('\'', stderr);
	for (; *path != '\0'; path++) {
		if (*path == '\'')
			fputs("'\\'", stderr);
		putc((unsigned char)*path < 0x20 ? '?' : *path, stderr);
	}
	putc('\'', stderr);
}

struct bp_quantity_style bp_spoken_style(void)
{
	const char *names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	struct bp_quantity_style style = { 0 };
	for (size_t i = 0; i < BP_COUNT(names); i++) {
		const char *value = getenv(names[i]);
		if (value == NULL || *value == '\0')
			continue;
		style.utf8 =
			strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
		break;
	}
	return style;
}
