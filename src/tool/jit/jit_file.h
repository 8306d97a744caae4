/* SPDX-License-Identifier: MIT */
/*
 * FILE.jit: names of the code that the processes of a run made (docs/trace-format.md, section 8).
 * `run` writes it when the run is over, since what it is made of may be gone later, and the
 * importer of traces reads it. Not thread-safe.
 */
#ifndef BP_JIT_JIT_FILE_H
#define BP_JIT_JIT_FILE_H

#include "base/error.h"
#include "jit/jit_names.h"

#define BP_JIT_SUFFIX ".jit"
/* The module of code made at run time, in profiles. */
#define BP_JIT_MODULE "[jit]"

struct bp_jit_process {
	uint8_t trace_id[16];
	uint32_t pid;
	struct bp_jit_names names;
};

/* Zeroed memory is an empty one. */
struct bp_jit_file {
	struct bp_jit_process *processes;
	uint32_t count, capacity;
};

/* Adds a process without names; NULL: no memory. Valid until the next one is added. */
struct bp_jit_process *bp_jit_file_add(
	struct bp_jit_file *file, const uint8_t trace_id[16], uint32_t pid);

/* Replaces the file at `path`, but never one of something else. */
bool bp_jit_file_write(const char *path, const struct bp_jit_file *file, struct bp_error *error);

/* What lies beside the trace at `trace`: nothing is no error. False, with what to warn of: it is
 * torn or damaged, and what is returned is empty. */
bool bp_jit_file_read(const char *trace, struct bp_jit_file *ret_file, struct bp_error *error);

/* After names were added, before any is looked up. False: no memory. */
bool bp_jit_file_finish(struct bp_jit_file *file, struct bp_error *error);

/* The names of a process, those that were added last; NULL: there are none. */
const struct bp_jit_names *bp_jit_file_find(
	const struct bp_jit_file *file, const uint8_t trace_id[16]);

/* Is the file at `path` one of ours? And removes it if it is. */
bool bp_jit_file_is_ours(const char *path);
void bp_jit_file_remove(const char *path);

void bp_jit_file_free(struct bp_jit_file *file);

#endif
