/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a pprof file: plain, or packed by gzip as most writers do. Called by pprof.c.
 * Thread-safety: pure but for the file.
 */
#ifndef BP_IMPORT_PPROF_PPROF_FILE_H
#define BP_IMPORT_PPROF_PPROF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* A profile of a large program has some MiB; what unpacks to more than this is refused. */
#define BP_PPROF_FILE_MAX_BYTES (128u << 20)

/* Does a file that begins with these bytes look like a pprof file, or like one of the text forms
 * before it, which bp_pprof_load refuses with a reason? */
bool bp_pprof_sniff(const uint8_t *head, size_t bytes);

/* Reads and unpacks a whole file; the caller frees `*ret_data`. Errors name the path. */
bool bp_pprof_load(const char *path, uint8_t **ret_data, size_t *ret_bytes, struct bp_error *error);

#endif
