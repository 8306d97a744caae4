/* SPDX-License-Identifier: MIT */
/* See frames.h. */
#include "python/frames.h"

#include <pthread.h>

#include "base/attributes.h"
#include "python/code_names.h"
#include "python/interpreter.h"
#include "trace/writer/writer.h"

/* Walks of a process that are careful in any case. */
#define CAREFUL_WALKS 64u

/* More links than frames of a walk, should a chain go round. */
#define LINKS_MAX (4 * BP_NAMED_STACK_MAX_DEPTH)

/* Where the walk stands. */
struct cursor {
	const struct bp_stack_capture *native;
	struct bp_python_memory memory;
	const void *frame;
	const void *cframe; /* forms CFRAMES and ENTRIES: of the loop that runs the frame */
	uint32_t position;  /* of that loop, in the native stack */
	bool placed;	    /* `position` is known */
};

static bool is_in_loop(uint64_t pc)
{
	return pc - (uint64_t)bp_python.functions.evaluate <= bp_python.functions.evaluate_bytes;
}

/* Form LOOPS: the next native frame that is an evaluation loop, from `from` on. */
static uint32_t next_loop(const struct bp_stack_capture *native, uint32_t from)
{
	while (from < native->depth && !is_in_loop(native->pcs[from] - 1))
		from++;
	return from;
}

/* The PyThreadState of the calling thread; NULL: it has none. */
static const void *thread_state(struct bp_python_memory *memory, bool holds_gil)
{
	const struct bp_python_functions *functions = &bp_python.functions;
	const struct bp_python_layout *layout = bp_python.layout;
	const void *current =
		functions->current_thread == NULL ? NULL : functions->current_thread();
	if (current != NULL && (holds_gil || layout->version >= 0x30c))
		return current;
	const void *own = functions->own_thread();
	if (current == NULL || current == own)
		return own;
	/* Before 3.12: somebody holds the GIL. It may be this thread, in a sub-interpreter, of
	 * which the function above knows nothing. If it is another one, its state may be freed
	 * now. */
	struct bp_python_memory wary = { .careful = true };
	const uint64_t holder = bp_python_u64(&wary, current, layout->thread_id);
	(void)memory;
	return !wary.failed && holder == (uint64_t)pthread_self() ? current : own;
}

/* Sets the cursor to the newest frame. */
static void begin(struct cursor *cursor, const void *thread)
{
	const struct bp_python_layout *layout = bp_python.layout;
	struct bp_python_memory *memory = &cursor->memory;
	if (layout->thread_cframe != 0)
		cursor->cframe = bp_python_pointer(memory, thread, layout->thread_cframe);
	if (layout->thread_frame != 0)
		cursor->frame = bp_python_pointer(memory, thread, layout->thread_frame);
	else if (cursor->cframe != NULL)
		cursor->frame = bp_python_pointer(memory, cursor->cframe, layout->cframe_frame);
}

/* The address on the C stack by which the loop is found that runs the frame of the cursor: of its
 * CFrame, or of the shim that ends it. NULL: it is not known. */
static const void *address_in_loop(struct cursor *cursor)
{
	const struct bp_python_layout *layout = bp_python.layout;
	const void *frame = cursor->frame;
	if (layout->form != BP_PYTHON_SHIMS)
		return cursor->cframe;
	for (uint32_t links = 0; frame != NULL && links < LINKS_MAX; links++) {
		if (bp_python_u8(&cursor->memory, frame, layout->frame_owner) >= layout->shim_owner)
			return frame;
		frame = bp_python_pointer(&cursor->memory, frame, layout->frame_previous);
	}
	return NULL;
}

static uint32_t position_of(struct cursor *cursor)
{
	if (cursor->placed)
		return cursor->position;
	cursor->placed = true;
	if (bp_python.layout->form == BP_PYTHON_LOOPS) {
		cursor->position = next_loop(cursor->native, cursor->position);
	} else {
		const void *address = address_in_loop(cursor);
		cursor->position = address == NULL ? cursor->native->depth
						   : bp_stack_frame_at(cursor->native, address);
	}
	return cursor->position;
}

/* The frame is the last one of its loop: the next one is in another. */
static void leave_loop(struct cursor *cursor)
{
	const struct bp_python_layout *layout = bp_python.layout;
	cursor->placed = false;
	if (layout->form == BP_PYTHON_LOOPS && cursor->position < cursor->native->depth)
		cursor->position++;
	if (cursor->cframe != NULL && layout->form != BP_PYTHON_SHIMS)
		cursor->cframe =
			bp_python_pointer(&cursor->memory, cursor->cframe, layout->cframe_previous);
}

static void step(struct cursor *cursor, bool shim)
{
	const struct bp_python_layout *layout = bp_python.layout;
	const bool last = layout->form == BP_PYTHON_SHIMS
				  ? shim
				  : layout->form != BP_PYTHON_ENTRIES ||
					    bp_python_u8(&cursor->memory, cursor->frame,
						    layout->frame_is_entry) != 0;
	if (last)
		leave_loop(cursor);
	cursor->frame = bp_python_pointer(&cursor->memory, cursor->frame, layout->frame_previous);
}

static int32_t instruction_of(struct cursor *cursor, const void *code)
{
	const struct bp_python_layout *layout = bp_python.layout;
	if (layout->instruction_bytes != 0)
		return (int32_t)bp_python_u32(
			       &cursor->memory, cursor->frame, layout->frame_instruction) *
		       layout->instruction_bytes;
	const char *at =
		bp_python_pointer(&cursor->memory, cursor->frame, layout->frame_instruction);
	return (int32_t)(at - ((const char *)code + layout->code_bytes));
}

static bool is_shim(struct cursor *cursor)
{
	const struct bp_python_layout *layout = bp_python.layout;
	return layout->form == BP_PYTHON_SHIMS &&
	       bp_python_u8(&cursor->memory, cursor->frame, layout->frame_owner) >=
		       layout->shim_owner;
}

/* From 3.14 on the reference has marks in its low bits. */
static const void *code_of(struct cursor *cursor)
{
	const void *reference =
		bp_python_pointer(&cursor->memory, cursor->frame, bp_python.layout->frame_code);
	return (const void *)((uintptr_t)reference & ~(uintptr_t)7);
}

/* Has the function's body not begun yet? Python shows no such frame: what is made meanwhile, such
 * as the object of a coroutine or the cells of variables, is of the line that calls it. */
static bool is_beginning(struct cursor *cursor, const void *code, int32_t instruction)
{
	const struct bp_python_layout *layout = bp_python.layout;
	struct bp_python_memory *memory = &cursor->memory;
	if (layout->code_first_traced == 0)
		return false;
	const int32_t first = (int32_t)bp_python_u32(memory, code, layout->code_first_traced);
	return instruction < first * BP_PYTHON_INSTRUCTION_BYTES &&
	       bp_python_u8(memory, cursor->frame, layout->frame_owner) !=
		       BP_PYTHON_OWNER_GENERATOR;
}

/* Adds the frame of the cursor, and moves `position`, which is that of the frame before, to its
 * loop. False: its memory could not be read. */
static bool add_frame(struct bp_python_walk *walk, struct cursor *cursor, uint32_t *position)
{
	const void *code = code_of(cursor);
	const int32_t instruction = instruction_of(cursor, code);
	if (is_beginning(cursor, code, instruction))
		return true;
	const uint32_t place = bp_python_place_of(walk, &cursor->memory, code, instruction);
	const uint32_t seen = position_of(cursor);
	if (cursor->memory.failed)
		return false;
	/* Outer frames are in outer loops, also where one was not seen. */
	if (*position < seen)
		*position = seen;
	walk->places[walk->depth] = place;
	walk->positions[walk->depth++] = *position;
	return true;
}

static void walk_frames(struct bp_python_walk *walk, struct cursor *cursor)
{
	struct bp_python_memory *memory = &cursor->memory;
	uint32_t position = 0;
	for (uint32_t links = 0; cursor->frame != NULL && links < LINKS_MAX; links++) {
		const bool shim = is_shim(cursor);
		if (!shim && walk->depth == BP_NAMED_STACK_MAX_DEPTH) {
			walk->cut = true;
			return;
		}
		if (!shim && !add_frame(walk, cursor, &position))
			return;
		step(cursor, shim);
		if (memory->failed)
			return;
	}
}

/* Does the stack show a frame that a signal interrupted? */
static bool is_interrupted(const struct bp_stack_capture *native)
{
	uint8_t any = 0;
	for (uint32_t i = 0; i < (native->depth + 7) / 8; i++)
		any |= native->exact_mask[i];
	return any != 0;
}

void bp_python_walk(struct bp_python_walk *walk, const struct bp_stack_capture *native,
	bool holds_gil, struct bp_writer *writer)
{
	const bool interrupted = is_interrupted(native);
	const bool early = __atomic_load_n(&bp_python.walks, __ATOMIC_RELAXED) < CAREFUL_WALKS;
	/* The interpreter starts, or ends, at which it may leave a thread state that it has
	 * freed. */
	const bool passing = bp_python.functions.is_initialized() == 0;
	struct cursor cursor = { .native = native,
		.memory = { .careful = early || interrupted || passing } };
	walk->depth = 0;
	walk->cut = false;
	const void *thread = thread_state(&cursor.memory, holds_gil);
	if (thread == NULL)
		return;
	begin(&cursor, thread);
	walk_frames(walk, &cursor);
	if (bp_unlikely(cursor.memory.failed)) {
		walk->depth = 0;
		if (!interrupted && !passing)
			bp_python_give_up(writer);
	} else if (early && walk->depth != 0) {
		__atomic_fetch_add(&bp_python.walks, 1, __ATOMIC_RELAXED);
	}
}
