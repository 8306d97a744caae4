/* SPDX-License-Identifier: MIT */
/*
 * Unpacking zstd. Two bodies: zstd_library.c over libzstd, and zstd_absent.c where that was not
 * there when bytepoll was built; the build chooses.
 */
#ifndef BP_SYMBOLS_FILES_ZSTD_UNPACK_H
#define BP_SYMBOLS_FILES_ZSTD_UNPACK_H

#include <stdbool.h>
#include <stddef.h>

/* Can anything be unpacked at all? */
bool bp_zstd_available(void);

/* Unpacks into exactly `unpacked_bytes` bytes; false at damage or another size. */
bool bp_zstd_unpack(void *unpacked, size_t unpacked_bytes, const void *packed, size_t packed_bytes);

#endif
