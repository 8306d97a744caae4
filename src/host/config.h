/* SPDX-License-Identifier: MIT */
/* What a host's trace is called and what its header says of the process. No malloc; errno is clobbered. */
#ifndef BP_HOST_CONFIG_H
#define BP_HOST_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "bytepoll/host.h"
#include "trace/writer.h"

/* The path of the trace into `path`, BP_PATH_BYTES of room; false: it is too long (errno). */
bool bp_host_path_of(const char *given, uint32_t pid, char *path);

/* Switches on what BYTEPOLL_TRACEPOINTS says; returns the header's flag for a value that is not understood,
 * or 0. */
uint64_t bp_host_read_tracepoints(void);

/* The four strings behind the header, one behind the other, and their lengths into the header. `to` has
 * BP_HEADER_MAX_BYTES of room. */
void bp_host_strings(struct bp_trace_header *header, const char *name, char *to);

#endif
