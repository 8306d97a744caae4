/* SPDX-License-Identifier: MIT */
/*
 * The path of the file that holds the program. It is the target of /proc/self/exe, unless the
 * program was started by its loader ("/lib64/ld-linux-x86-64.so.2 ./program", as Nix, AppImage and
 * patched programs do): then /proc/self/exe is the loader. The kernel loaded no interpreter beside
 * it in that case, so that AT_BASE is 0, and the loader wrote the address of the program's own
 * headers into AT_PHDR. The kernel says in /proc/self/maps which file is mapped at that address. No
 * memory is allocated; async-signal-safe.
 */
#ifndef BP_BASE_EXECUTABLE_H
#define BP_BASE_EXECUTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "base/system_call.h"

/* A program that has mapped more than this before it is looked for keeps the loader's name. */
#define BP_EXECUTABLE_MAPS_BYTES_MAX (16u << 20)

/* A line of /proc/self/maps, "BEGIN-END MODE OFFSET DEVICE INODE     PATH", as far as it was
 * read. */
struct bp_executable_line {
	uint64_t number, begin; /* the number that is being read, and the first one */
	unsigned spaces;	/* how many fields have ended */
	bool field_has_begun, is_wanted;
	size_t path_bytes;
};

/* Takes the next character of the file; true when the line of `address` has ended and its path is
 * in `to`. */
static inline bool bp_executable_take(
	struct bp_executable_line *line, char c, uintptr_t address, char *to, size_t bytes)
{
	if (c == '\n') {
		const bool found = line->is_wanted;
		if (!found)
			*line = (struct bp_executable_line){ 0 };
		return found;
	}
	if (line->spaces == 0) {
		const unsigned digit = c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
		if (c == '-')
			line->begin = line->number;
		line->is_wanted = c == ' ' && line->begin <= address && address < line->number;
		line->number = c == '-' ? 0 : c == ' ' ? line->number : line->number * 16 + digit;
	}
	if (c == ' ' && line->path_bytes == 0) {
		line->spaces += line->field_has_begun;
		line->field_has_begun = false;
		return false;
	}
	line->field_has_begun = true;
	if (line->spaces == 5 && line->is_wanted && line->path_bytes + 1 < bytes)
		to[line->path_bytes++] = c;
	return false;
}

/* The path of the file that is mapped at `address`; its length, 0 if there is none. */
static inline size_t bp_executable_mapped_at(uintptr_t address, char *to, size_t bytes)
{
	struct bp_executable_line line = { 0 };
	char part[512];
	size_t all = 0;
	const int descriptor = bp_system_open("/proc/self/maps", O_RDONLY, 0);
	bool found = false;
	while (descriptor >= 0 && !found && all < BP_EXECUTABLE_MAPS_BYTES_MAX) {
		const long got = bp_system_read(descriptor, part, sizeof part);
		if (got <= 0)
			break;
		for (long i = 0; i < got && !found; i++)
			found = bp_executable_take(&line, part[i], address, to, bytes);
		all += (size_t)got;
	}
	if (descriptor >= 0)
		bp_system_close(descriptor);
	return found && line.path_bytes > 0 && to[0] == '/' ? line.path_bytes : 0;
}

/* The path into `to`, which is not terminated; its length, 0 if it cannot be had. */
static inline size_t bp_executable_path(char *to, size_t bytes)
{
	const uintptr_t headers = getauxval(AT_PHDR);
	size_t length = 0;
	if (getauxval(AT_BASE) == 0 && headers != 0)
		length = bp_executable_mapped_at(headers, to, bytes);
	if (length > 0)
		return length;
	const long linked = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", to, bytes);
	return linked < 0 ? 0 : (size_t)linked;
}

#endif
