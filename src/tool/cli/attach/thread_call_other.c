/* SPDX-License-Identifier: MIT */
/* See thread_call.h: on other machines than x86-64 the signal frame is another one. */
#include "cli/attach/thread_call.h"

bool bp_thread_call(const struct bp_target_image *image, const struct bp_thread_call *call,
	uint64_t until_ns, struct bp_thread_call_result *ret_result, struct bp_error *error)
{
	(void)call, (void)until_ns, (void)ret_result;
	return bp_error_set(error,
		"process %ld cannot be attached to: that is known on x86-64 only; start it with "
		"bytepoll run",
		(long)image->pid);
}
