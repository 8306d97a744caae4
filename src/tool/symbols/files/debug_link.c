/* SPDX-License-Identifier: MIT */
/*
 * The conventions of gdb and of the distributions: a debug file is found by build-id, or by the
 * name in the section .gnu_debuglink in three directories. Names and build-ids come from files that
 * may be hostile: a build-id has hex digits only, a name no slash.
 */
#include "symbols/files/debug_link.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BUILD_ID_DIGITS_MIN 4u
#define BUILD_ID_DIGITS_MAX 128u
#define CRC_POLYNOMIAL 0xEDB88320u /* reflected 0x04C11DB7 */

static bool fits(int written, size_t path_bytes)
{
	return written > 0 && (size_t)written < path_bytes;
}

bool bp_debug_path_by_build_id(
	const char *root, const char *build_id, char *ret_path, size_t path_bytes)
{
	size_t digits = strnlen(build_id, BUILD_ID_DIGITS_MAX + 1);
	if (digits < BUILD_ID_DIGITS_MIN || digits > BUILD_ID_DIGITS_MAX)
		return false;
	if (strspn(build_id, "0123456789abcdef") != digits)
		return false;
	return fits(snprintf(ret_path, path_bytes, "%s/.build-id/%.2s/%s.debug", root, build_id,
			    build_id + 2),
		path_bytes);
}

bool bp_debug_path_by_link(const char *root, const char *module_path, const char *name,
	uint32_t choice, char *ret_path, size_t path_bytes)
{
	const char *slash = strrchr(module_path, '/');
	int directory = slash != NULL ? (int)(slash - module_path) : 1;
	if (slash == NULL)
		module_path = "."; /* a bare name: the working directory */
	else if ((size_t)(slash - module_path) >= path_bytes)
		return false;
	if (name[0] == '\0' || strchr(name, '/') != NULL || strcmp(name, "..") == 0)
		return false;
	switch (choice) {
	case 0:
		return fits(snprintf(ret_path, path_bytes, "%.*s/%s", directory, module_path, name),
			path_bytes);
	case 1:
		return fits(snprintf(ret_path, path_bytes, "%.*s/.debug/%s", directory, module_path,
				    name),
			path_bytes);
	case 2:
		return fits(snprintf(ret_path, path_bytes, "%s%.*s/%s", root, directory,
				    module_path, name),
			path_bytes);
	default:
		return false;
	}
}

static void fill_crc_table(uint32_t table[256])
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t value = i;
		for (int bit = 0; bit < 8; bit++)
			value = value >> 1 ^ ((value & 1) != 0 ? CRC_POLYNOMIAL : 0);
		table[i] = value;
	}
}

bool bp_file_checksum(int fd, uint32_t *ret_checksum)
{
	uint32_t table[256], checksum = UINT32_MAX;
	unsigned char buffer[65536];
	off_t offset = 0;
	fill_crc_table(table);
	for (;;) {
		ssize_t bytes = pread(fd, buffer, sizeof buffer, offset);
		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes < 0)
			return false;
		if (bytes == 0)
			break;
		for (ssize_t i = 0; i < bytes; i++)
			checksum = checksum >> 8 ^ table[(checksum ^ buffer[i]) & 0xFF];
		offset += bytes;
	}
	*ret_checksum = ~checksum;
	return true;
}
