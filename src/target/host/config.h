/* SPDX-License-Identifier: MIT */
/* The name of a host's trace, and what its header says of the process. No malloc; changes errno. */
#ifndef BP_HOST_CONFIG_H
#define BP_HOST_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "bytepoll/host.h"
#include "trace/writer/writer.h"

/* Writes the path of the trace to `path`, which has room for BP_PATH_BYTES; false: it is too long
 * (errno). */
bool bp_host_path_of(const char *given, uint32_t pid, char *path);

/* Switches on what BYTEPOLL_TRACEPOINTS says; returns the header's flag for a value that is not
 * understood, or 0. */
uint64_t bp_host_read_tracepoints(void);

/* Writes the four strings that follow the header to `to`, one behind the other, and their lengths
 * into the header. `to` has room for BP_HEADER_MAX_BYTES. */
void bp_host_strings(struct bp_trace_header *header, const char *name, char *to);

#endif
