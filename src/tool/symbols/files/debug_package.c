/* SPDX-License-Identifier: MIT */
/*
 * PACKAGE.list, or PACKAGE:ARCHITECTURE.list, has a line for each file of a package. The lists of a
 * whole system are some 10 MB, and are read until one has the path. Debian has merged /bin, /lib
 * and /sbin into /usr, and some lists still name files without it.
 */
#include "symbols/files/debug_package.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_BYTES_MAX (UINT64_C(64) << 20) /* more is no list of a package */

/* Is there a line that reads `path`? */
static bool has_line(const char *text, size_t bytes, const char *path)
{
	const size_t length = strlen(path);
	const char *end = text + bytes, *at = text;
	while ((at = memmem(at, (size_t)(end - at), path, length)) != NULL) {
		const bool begins = at == text || at[-1] == '\n';
		if (begins && (at + length == end || at[length] == '\n'))
			return true;
		at += length;
	}
	return false;
}

static bool list_has(int folder, const char *name, const char *path)
{
	bool found = false;
	struct stat status;
	const int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (file < 0)
		return false;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
		(uint64_t)status.st_size < LIST_BYTES_MAX) {
		const size_t bytes = (size_t)status.st_size;
		char *text = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
		if (text != MAP_FAILED) {
			found = has_line(text, bytes, path) ||
				(strncmp(path, "/usr/", 5) == 0 &&
					has_line(text, bytes, path + strlen("/usr")));
			munmap(text, bytes);
		}
	}
	close(file);
	return found;
}

/* "libsqlite3-0:amd64.list" to "libsqlite3-0-dbgsym". Those of glibc and of Python have debug
 * symbols in one package for all their parts, of another name. */
static bool package_name(const char *list, char *buffer, size_t bytes)
{
	static const char *const of_parts[] = { "python3.", "libpython3." };
	const char *suffix = "-dbgsym";
	size_t length = strcspn(list, ":");
	if (list[length] == '\0')
		length -= strlen(".list"); /* of all architectures */
	if (length == strlen("libc6") && strncmp(list, "libc6", length) == 0)
		suffix = "-dbg";
	for (size_t i = 0; i < sizeof of_parts / sizeof of_parts[0]; i++) {
		if (strncmp(list, of_parts[i], strlen(of_parts[i])) != 0)
			continue;
		suffix = "-dbg";
		length = strcspn(list, "-:");
		list += i == 1 ? strlen("lib") : 0;
		length -= i == 1 ? strlen("lib") : 0;
	}
	const int used = snprintf(buffer, bytes, "%.*s%s", (int)length, list, suffix);
	return used > 0 && (size_t)used < bytes;
}

bool bp_debug_package(const char *lists, const char *path, char *buffer, size_t bytes)
{
	DIR *folder = opendir(lists);
	bool found = false;
	if (folder == NULL)
		return false;
	for (struct dirent *entry; *path == '/' && !found && (entry = readdir(folder)) != NULL;) {
		const size_t length = strlen(entry->d_name);
		if (length > 5 && strcmp(entry->d_name + length - 5, ".list") == 0 &&
			list_has(dirfd(folder), entry->d_name, path))
			found = package_name(entry->d_name, buffer, bytes);
	}
	closedir(folder);
	return found;
}
