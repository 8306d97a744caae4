/* SPDX-License-Identifier: MIT */
/*
 * Files of ours beside a trace: FILE.resident, FILE.jit. Each is text whose first line says what it
 * is, and is written as a whole under another name and then given its own, so that a reader never
 * finds a part of it. What somebody else put there is neither replaced nor removed. What root
 * writes beside a user's trace is that user's. Not thread-safe.
 */
#ifndef BP_TRACE_SIDE_FILE_H
#define BP_TRACE_SIDE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#define BP_SIDE_FILE_NEW_SUFFIX ".new" /* behind its name: while it is written */

/* Is the file at `path` one that begins with `magic`? A link is none. */
bool bp_side_file_is(const char *path, const char *magic);

/* Opens the file at `path` for reading. NULL: it is not there, or it is no regular file of at most
 * `bytes_max`, as ours are. */
FILE *bp_side_file_open(const char *path, uint64_t bytes_max);

/* Removes it, if it is one; and what a writer that was killed left. */
void bp_side_file_remove(const char *path, const char *magic);

/* Replaces the file at `path` by what `write` writes: the magic first. False, with errno, EEXIST if
 * there is something else: nothing was changed. */
bool bp_side_file_write(const char *path, const char *magic,
	bool (*write)(FILE *out, const void *content), const void *content);

/* "\tNAME=NUMBER" at `*at`, and on behind it; of a number up to 2^62. */
bool bp_side_file_number(const char **at, const char *name, uint64_t *ret_number);
/* "trace_id=HEX" at `*at`, and on behind it. */
bool bp_side_file_trace_id(const char **at, uint8_t ret_trace_id[16]);
void bp_side_file_put_trace_id(FILE *out, const uint8_t trace_id[16]);

#endif
