/* SPDX-License-Identifier: MIT */
/* Bytes of a trace, for commands that look at files without importing them. */
#ifndef BP_CLI_FILES_TRACE_BYTES_H
#define BP_CLI_FILES_TRACE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* Reads what is there; missing bytes read as zeros (docs/trace-format.md section 1). False: an
 * error, in errno. */
static inline bool bp_trace_bytes_read(int descriptor, void *data, size_t bytes, uint64_t offset)
{
	const ssize_t got = pread(descriptor, data, bytes, (off_t)offset);
	if (got < 0)
		return false;
	memset((char *)data + got, 0, bytes - (size_t)got);
	return true;
}

#endif
