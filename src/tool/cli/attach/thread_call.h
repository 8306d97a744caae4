/* SPDX-License-Identifier: MIT */
/*
 * A function called by one thread of another process, as a signal handler would be: no other thread
 * stops, no code or memory is put into the process, and at no moment does it need us to go on.
 * Not thread-safe.
 */
#ifndef BP_CLI_ATTACH_THREAD_CALL_H
#define BP_CLI_ATTACH_THREAD_CALL_H

#include "cli/attach/target_image.h"

struct bp_thread_call {
	uint64_t function; /* its address in the process */
	const char *text;  /* its first argument: a copy, on the thread's stack */
	uint64_t second;   /* its second argument */
};

struct bp_thread_call_result {
	uint32_t unsafe;     /* threads that were stopped and stood in the wrong place */
	uint64_t stood_ns;   /* for how long the one that made the call was stopped */
	uint64_t longest_ns; /* the same of any thread that was stopped */
};

/* Finds a thread that stands where it may make the call, until `until_ns` (CLOCK_MONOTONIC), and
 * lets it go on into the function. It goes on as before when the function returns; a system call
 * that it was in is made anew. False: no thread did, and the error says where they stood; nothing
 * was changed. */
bool bp_thread_call(const struct bp_target_image *image, const struct bp_thread_call *call,
	uint64_t until_ns, struct bp_thread_call_result *ret_result, struct bp_error *error);

#endif
