/* SPDX-License-Identifier: MIT */
/*
 * Names of code made at run time (jit/), put into the stacks of a process, private to import/. An
 * address that lies in no module and has a name becomes a location of the module `[jit]` that is
 * resolved already: nobody looks for it in a file. Functions are told apart by what they say, not
 * by address: one function may have several pieces of code.
 */
#ifndef BP_IMPORT_TRACE_TRACE_JIT_H
#define BP_IMPORT_TRACE_TRACE_JIT_H

#include "jit/jit_names.h"
#include "model/profile.h"
#include "trace/reader.h"

struct bp_trace_jit {
	const struct bp_jit_names *names; /* NULL: there are none */
	/* The same, where samples have them as of their times: not beside exact sums, which have
	 * none. There the names of the end are meant throughout. */
	const struct bp_jit_names *timed;
	struct bp_process_id process;
	bool python;		    /* frames of Python are in the stacks: no trampolines then */
	struct bp_module_id module; /* [jit]; 0: not made yet */
};

/* Finds the names of a process in profile->jit, if that is set. */
void bp_trace_jit_begin(struct bp_trace_jit *jit, const struct bp_trace_reader *reader,
	struct bp_process_id process, const struct bp_profile *profile);

/* The stack with its names as of an epoch (jit_names.h); the stack itself if it has none. False: no
 * memory. */
bool bp_trace_jit_stack(struct bp_trace_jit *jit, struct bp_profile *profile,
	struct bp_stack_id stack, uint32_t epoch, struct bp_stack_id *ret_stack,
	struct bp_error *error);

#endif
