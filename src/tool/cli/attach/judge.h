/* SPDX-License-Identifier: MIT */
/*
 * May a thread, standing where it does, be made to call a function as if by a signal handler? The
 * function is dlopen, which allocates and takes the loader's lock, so the thread must hold no lock
 * that these want. What is safe is listed; everything else is not. Pure.
 */
#ifndef BP_CLI_ATTACH_JUDGE_H
#define BP_CLI_ATTACH_JUDGE_H

#include <stdbool.h>
#include <stdint.h>

enum bp_place_kind {
	BP_IN_PROGRAM, /* the program, or one of its libraries */
	BP_IN_LIBC,
	BP_IN_LOADER,
	BP_IN_ALLOCATOR, /* a library that defines malloc */
	BP_IN_UNWINDER,	 /* libgcc_s: it walks the list of loaded objects */
	BP_IN_RECORDER,
	BP_IN_PYTHON_LOCK, /* a function of CPython in which it holds a lock that the recorder wants */
	BP_IN_NOTHING	   /* no file is mapped there */
};

struct bp_stack_frame {
	enum bp_place_kind kind;
	const char *name; /* of the function; NULL: no symbol covers it */
	bool interrupted; /* a signal handler runs above it; or it is the innermost */
};

#define BP_JUDGED_FRAMES_MAX 512u
#define BP_JUDGED_START "_start" /* the name of the code at the program's entry */

/* `frames`: innermost first. `whole`: the unwinding came to the stack's end. `system_call`: its
 * number; negative: the thread is in none. Where it is not safe `*ret_reason` is a clause that says
 * where the thread stands. */
bool bp_judge(const struct bp_stack_frame *frames, uint32_t count, bool whole, long system_call,
	const char **ret_reason);

/* Is it a wait that would begin anew with its full time, so that such threads should come last? */
bool bp_judge_is_timed(long system_call);
/* Does this system call fail with EINTR where its thread is only stopped for a moment, and has to
 * be made anew? */
bool bp_judge_must_restart(long system_call);

#endif
