/* SPDX-License-Identifier: MIT */
/*
 * The Python frames of the calling thread, at the moment of a sample. They are read from CPython's
 * own structures: the GIL is not taken, no code of the program runs, and nothing is allocated.
 *
 * What is read is the calling thread's own, which changes only while that thread runs Python, so
 * that it stands still during a walk. There are two exceptions: a signal handler may have
 * interrupted the interpreter while it changed a frame, and an interpreter that ends frees what it
 * has. Where the stack shows a signal, while the interpreter is not initialised, and in the first
 * walks of a process, each piece of memory is looked at before it is read, and each object's type
 * is compared.
 */
#ifndef BP_PYTHON_FRAMES_H
#define BP_PYTHON_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"
#include "unwind/stack.h"

struct bp_writer;

/* A place that was looked up before: what its code object looked like then. */
struct bp_python_known_place {
	const void *code;
	uint64_t texts; /* hash of name, file and lines */
	int32_t instruction, first_line;
	uint32_t id;
};
#define BP_PYTHON_KNOWN_PLACES 512u

/* What a thread keeps for its walks; zeroed memory is valid. */
struct bp_python_walk {
	uint32_t depth;
	bool cut; /* there were more frames */
	/* Innermost first: numbers of places (frame_names.h), and the number of the native frame
	 * whose evaluation loop runs the frame, or the native depth if it was not seen. */
	uint32_t places[BP_NAMED_STACK_MAX_DEPTH];
	uint32_t positions[BP_NAMED_STACK_MAX_DEPTH];
	struct bp_python_known_place known[BP_PYTHON_KNOWN_PLACES];
	char function[BP_NAME_MAX_BYTES], file[BP_NAME_MAX_BYTES]; /* texts being converted */
};

/* Fills depth, cut, places and positions. `native`: the stack captured just now. `holds_gil`: the
 * calling thread is known to. A depth of 0: the thread runs no Python. Called within a visit, while
 * bp_python.frames is set. */
void bp_python_walk(struct bp_python_walk *walk, const struct bp_stack_capture *native,
	bool holds_gil, struct bp_writer *writer);

#endif
