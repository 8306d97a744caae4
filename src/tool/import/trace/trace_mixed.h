/* SPDX-License-Identifier: MIT */
/*
 * From a native stack and the frames of Python in it to one stack (docs/trace-format.md 3.10).
 * Private to import/trace.
 */
#ifndef BP_IMPORT_TRACE_TRACE_MIXED_H
#define BP_IMPORT_TRACE_TRACE_MIXED_H

#include "import/trace/trace.h"

/* Frames of Python, innermost first: the id of the FRAME, and in the upper half the position. */
struct bp_trace_mixed {
	const uint64_t *frames;
	uint32_t depth;
	uint8_t flags; /* enum bp_stack_flag */
	struct bp_stack_id native;
	struct bp_module_id interpreter; /* the module of the interpreter; 0: not known */
};

/* Adds the joined stack, as profile->frames says what it consists of. False: no memory. */
bool bp_trace_mixed_add(const struct bp_trace_mixed *mixed, struct bp_trace_names *names,
	struct bp_profile *profile, struct bp_stack_id *ret_stack, struct bp_error *error);

#endif
