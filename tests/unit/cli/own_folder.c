/* SPDX-License-Identifier: MIT */
/* See own_folder.h. */
#include "own_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATHS 4

static char folder[64];

int own_folder_enter(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/bytepoll-test-XXXXXX");
	return mkdtemp(folder) == NULL;
}

int own_folder_leave(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	return system(command);
}

const char *own_folder(void)
{
	return folder;
}

const char *own_path(const char *name)
{
	static char paths[PATHS][512];
	static unsigned next;
	char *path = paths[next++ % PATHS];
	snprintf(path, sizeof paths[0], "%s/%s", folder, name);
	return path;
}
