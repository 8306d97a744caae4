/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a pprof file: plain, or packed by gzip as most writers do. Called by pprof.c and
 * go_text.c. Thread-safety: pure but for the file.
 */
#ifndef BP_IMPORT_PPROF_PPROF_FILE_H
#define BP_IMPORT_PPROF_PPROF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A profile of a large program has some MiB; what unpacks to more than this is refused. */
#define BP_PPROF_FILE_MAX_BYTES (128u << 20)

/* So many bytes of a file, unpacked, tell what it is. */
#define BP_PPROF_HEAD_BYTES 2048u

/* Unpacks the first bytes of a file, or copies those of one that is not packed. Returns how many
 * there are; 0: they cannot be unpacked. */
size_t bp_pprof_unpack_head(
	const uint8_t *head, size_t bytes, uint8_t unpacked[BP_PPROF_HEAD_BYTES]);

/* Does a file that begins with these bytes look like a pprof file? */
bool bp_pprof_sniff(const uint8_t *head, size_t bytes);

/* Reads and unpacks a whole file; the caller frees `*ret_data`. Errors name the path. */
bool bp_pprof_load(const char *path, uint8_t **ret_data, size_t *ret_bytes, struct bp_error *error);

#endif
