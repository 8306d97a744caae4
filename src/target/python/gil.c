/* SPDX-License-Identifier: MIT */
/*
 * From 3.12 on a thread keeps its PyThreadState in thread-local memory for exactly as long as it
 * holds its interpreter's GIL: it is stored after the GIL was taken and cleared before it is given
 * up. Earlier versions have one word for the process in the same way: the PyThreadState of the
 * thread that holds the GIL. Whose it is says the thread's id in it, which is read warily, because
 * another thread's PyThreadState may be freed meanwhile.
 */
#include "python/gil.h"

#include <pthread.h>

#include "python/interpreter.h"
#include "python/memory.h"

enum bp_python_gil bp_python_gil(void)
{
	const struct bp_python_functions *functions = &bp_python.functions;
	const struct bp_python_layout *layout = bp_python.layout;
	if (functions->current_thread == NULL || functions->own_thread == NULL || layout == NULL)
		return BP_GIL_UNKNOWN;
	const void *current = functions->current_thread();
	if (current == NULL)
		return BP_GIL_NOT_HELD;
	if (layout->version >= 0x30c)
		return BP_GIL_HELD;
	struct bp_python_memory wary = { .careful = true };
	const uint64_t holder = bp_python_u64(&wary, current, layout->thread_id);
	if (!wary.failed && holder == (uint64_t)pthread_self())
		return BP_GIL_HELD;
	/* A state that one thread made and another one uses. */
	return wary.failed || current == functions->own_thread() ? BP_GIL_UNKNOWN : BP_GIL_NOT_HELD;
}
