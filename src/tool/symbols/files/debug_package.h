/* SPDX-License-Identifier: MIT */
/*
 * The Debian package with the debug symbols of a file, by dpkg's lists of files. Called where a
 * report says that names are missing. Thread-safe.
 */
#ifndef BP_SYMBOLS_FILES_DEBUG_PACKAGE_H
#define BP_SYMBOLS_FILES_DEBUG_PACKAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Where dpkg keeps PACKAGE.list. */
#define BP_DPKG_LISTS "/var/lib/dpkg/info"

/* Writes the name of the package that has the debug symbols of the file at `path`:
 * "libsqlite3-0-dbgsym". `lists`: BP_DPKG_LISTS. False: no package has the file, there is no dpkg
 * here, or the name does not fit. Only the lists are read, and nothing is run. */
bool bp_debug_package(const char *lists, const char *path, char *buffer, size_t bytes);

#endif
