/* SPDX-License-Identifier: MIT */
/*
 * Duktape itself, and one function more. Duktape is meant to be compiled into its host, from one
 * file.
 *
 * Why from inside. The public way to the call stack, duk_inspect_callstack_entry, makes an object
 * for each frame. An allocation function may not do that, because Duktape calls it in the middle of
 * its own changes: while the value stack is moved, while an object's properties are copied, before
 * the heap is complete. What stands here reads fields alone. They are whole at every allocation,
 * because a collection may follow each of them, and walks the same fields.
 */
#include <duktape.c>

#include "inside.h"

/* A property of the function's own that is a string; "" if there is none. */
static const char *string_of(duk_heap *heap, duk_hobject *function, duk_small_uint_t name)
{
	const duk_tval *value = duk_hobject_find_entry_tval_ptr_stridx(heap, function, name);
	if (value == NULL || !DUK_TVAL_IS_STRING(value))
		return "";
	return (const char *)DUK_HSTRING_GET_DATA(DUK_TVAL_GET_STRING(value));
}

/* The line of the instruction before `next`, which is the one that is being executed. */
static uint32_t line_of(duk_hthread *thread, duk_hcompfunc *function, const duk_instr_t *next)
{
	const duk_instr_t *code = DUK_HCOMPFUNC_GET_CODE_BASE(thread->heap, function);
	const duk_instr_t *end = DUK_HCOMPFUNC_GET_CODE_END(thread->heap, function);
	const duk_tval *lines = duk_hobject_find_entry_tval_ptr_stridx(
		thread->heap, (duk_hobject *)function, DUK_STRIDX_INT_PC2LINE);
	if (lines == NULL || !DUK_TVAL_IS_BUFFER(lines))
		return 0;
	/* A function that has not begun yet is at its first instruction. */
	const duk_uint_fast32_t at =
		next > code && next <= end ? (duk_uint_fast32_t)(next - code) - 1 : 0;
	return (uint32_t)duk__hobject_pc2line_query_raw(
		thread, (duk_hbuffer_fixed *)DUK_TVAL_GET_BUFFER(lines), at);
}

static struct duktape_frame frame_of(duk_hthread *thread, const duk_activation *call)
{
	duk_hobject *function = call->func;
	/* Of the innermost call the executor holds the place in a variable of its own. */
	const bool is_executed = call == thread->callstack_curr && thread->ptr_curr_pc != NULL;
	struct duktape_frame frame = { "", "", 0 };
	if (function == NULL)
		return frame; /* a function in C that is no object */
	frame.function = string_of(thread->heap, function, DUK_STRIDX_NAME);
	if (DUK_HOBJECT_IS_COMPFUNC(function)) {
		frame.file = string_of(thread->heap, function, DUK_STRIDX_FILE_NAME);
		frame.line = line_of(thread, (duk_hcompfunc *)function,
			is_executed ? *thread->ptr_curr_pc : call->curr_pc);
	}
	return frame;
}

void duktape_frames(duk_context *of, duktape_frame_visit *visit, void *context)
{
	for (duk_hthread *thread = of->heap->curr_thread; thread != NULL; thread = thread->resumer)
		for (const duk_activation *call = thread->callstack_curr; call != NULL;
			call = call->parent) {
			const struct duktape_frame frame = frame_of(thread, call);
			if (!visit(&frame, context))
				return;
		}
}
