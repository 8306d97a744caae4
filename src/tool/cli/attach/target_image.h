/* SPDX-License-Identifier: MIT */
/*
 * What is mapped in a process: its files' symbols and unwind tables, read before anything of it is
 * stopped, and the stack of a thread that the caller has stopped (ptrace). By libdw, which reads
 * files and the process's memory. Not thread-safe.
 */
#ifndef BP_CLI_ATTACH_TARGET_IMAGE_H
#define BP_CLI_ATTACH_TARGET_IMAGE_H

#include <elfutils/libdwfl.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/attach/judge.h"

#define BP_TARGET_PIECES_MAX 64u

/* Code of the process: addresses, the end not included. */
struct bp_target_piece {
	uint64_t start, end;
};

struct bp_target_image {
	pid_t pid;
	uint64_t entry; /* where the program's code begins; 0: not known */
	uint64_t start; /* a sum of what the kernel gave it at its exec */
	Dwfl *dwfl;
	Dwfl_Module *libc, *recorder; /* recorder NULL: it is not loaded */
	/* where threads are BP_IN_PYTHON_LOCK */
	struct bp_target_piece python_locks[BP_TARGET_PIECES_MAX];
	uint32_t python_lock_count;
};

/* Reads what is mapped now. False: the process has gone, or may not be looked at; or it has no
 * libc.so.6. */
bool bp_target_image_open(pid_t pid, struct bp_target_image *ret_image, struct bp_error *error);
void bp_target_image_close(struct bp_target_image *image); /* safe on zeroed memory */

/* Is that still the program that was read? Not after an exec. */
bool bp_target_image_is_current(const struct bp_target_image *image);

/* The address of a symbol of that module in the process; 0: it has none. */
uint64_t bp_target_symbol(Dwfl_Module *module, const char *name);

/* The address in the C library's code of these bytes; 0: they are not there. */
uint64_t bp_target_find_code(
	const struct bp_target_image *image, const uint8_t *bytes, size_t count);

struct bp_target_stack {
	struct bp_stack_frame frames[BP_JUDGED_FRAMES_MAX];
	uint32_t count;
	bool whole;
};

/* The stack of the stopped thread `tid`. */
void bp_target_stack_read(
	const struct bp_target_image *image, pid_t tid, struct bp_target_stack *ret_stack);

#endif
