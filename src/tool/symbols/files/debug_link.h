/* SPDX-License-Identifier: MIT */
/*
 * Where the separate debug file of a module may lie, and the checksum by which a debug link knows
 * it.
 */
#ifndef BP_SYMBOLS_FILES_DEBUG_LINK_H
#define BP_SYMBOLS_FILES_DEBUG_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BP_DEBUG_DIRECTORY "/usr/lib/debug"

/* ROOT/.build-id/xx/rest.debug; false where the build-id (hex) is none or the path is too long. */
bool bp_debug_path_by_build_id(
	const char *root, const char *build_id, char *ret_path, size_t path_bytes);

/* The `choice`th place (0, 1, 2) where a debug file called `name` of the module at `module_path` is
 * looked for: beside it, in .debug beside it, and below `root`. False: no such place, or the name
 * is not a plain file name. */
bool bp_debug_path_by_link(const char *root, const char *module_path, const char *name,
	uint32_t choice, char *ret_path, size_t path_bytes);

/* CRC-32 (IEEE 802.3, as .gnu_debuglink has it) of the whole file behind `fd`; its offset is not
 * moved. False where it cannot be read. */
bool bp_file_checksum(int fd, uint32_t *ret_checksum);

#endif
