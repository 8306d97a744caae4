/* SPDX-License-Identifier: MIT */
/* Paths as text. Pure; for the outside half. */
#ifndef BP_BASE_PATH_H
#define BP_BASE_PATH_H

#include <string.h>

/* What stands behind the last slash; all of it where nothing does. */
static inline const char *bp_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

#endif
