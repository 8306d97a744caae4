/* SPDX-License-Identifier: MIT */
/*
 * CPython's allocators of small objects in a process that was attached to. Its threads run, so the
 * allocators are replaced by a thread that holds the GIL, in one of three places:
 *
 *   in bytepoll_attach itself, if the thread that was made to call it holds the GIL;
 *   at the end of a visit, that is, in a call of malloc, by the first thread that holds it then;
 *   in a pending call, which the interpreter makes in its main thread between two instructions of
 *   Python, if the thread in bytepoll_attach does not hold the GIL.
 *
 * The first that comes does it; the others find it done. They give the allocators back in the same
 * way when the recorder was detached; where that is never reached, ours stay and pass calls on.
 *
 * Why nothing waits for ever. PyMem_SetAllocator takes a lock from 3.12 on, and Py_AddPendingCall
 * another. The command does not choose a thread that stands in one of the functions that hold them
 * (cli/attach/target_image.c). The interpreter allocates nothing while it holds the first, so no
 * visit is within it; and the second is wanted by a thread without the GIL alone, which holds it
 * in Py_AddPendingCall only. Other threads hold either for some instructions.
 *
 * Why nothing breaks. Setting an allocator touches nothing that pymalloc or the interrupted code
 * works with: whoever was about to call an allocator finds the old function or the new one, and the
 * same context. Objects from before lie in arenas that are not known. They need not be: an object
 * that is due is made by malloc (python.c), whose free knows it, and `free` of the domains stays
 * CPython's own.
 *
 * Only pymalloc itself is replaced. Other allocators that stand before it (tracemalloc, debugging
 * ones) may give memory of their own, and several interpreters may have a GIL each from 3.12 on.
 *
 * Before 3.9 no pending call is asked for. While it ends, 3.8 answers one by printing an error, for
 * which it does not look whether there is a thread state.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/system_call.h"
#include "hooks/binding/symbol_table.h"
#include "hooks/python.h"
#include "python/gil.h"
#include "python/interpreter.h"
#include "recognition/hot.h"
#include "recorder/real.h"
#include "recorder/recorder.h"
#include "unwind/frame_rules.h"

#define VERSION_WITH_SAFE_PENDING_CALLS 0x03090000u
#define VERSION_WITH_SEVERAL_GILS 0x030c0000u

static struct {
	int (*add_pending_call)(int (*function)(void *context), void *context);
	const void *(*newest_interpreter)(void), *(*main_interpreter)(void);
	uint32_t
		asked_by; /* the process that has asked for a pending call, which is not made yet */
	bool in_place;	  /* ours stand before pymalloc, or behind what stands there */
} late;

void bp_python_find_late(const struct link_map *map)
{
	uint64_t bytes;
	const struct {
		const char *name;
		void *ret_function;
	} wanted[] = {
		{ "Py_AddPendingCall", &late.add_pending_call },
		{ "PyInterpreterState_Head", &late.newest_interpreter },
		{ "PyInterpreterState_Main", &late.main_interpreter },
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		const void *found = bp_symbol_table_place(map, wanted[i].name, &bytes);
		__builtin_memcpy(wanted[i].ret_function, &found, sizeof found);
	}
	/* What an interpreter was asked for that has been unloaded, and was given, went with it. */
	__atomic_store_n(&late.asked_by, 0, __ATOMIC_RELAXED);
	late.in_place = false;
}

/* Is it one of the interpreter's own functions, as pymalloc's and those that call malloc are? */
static bool is_interpreters(const struct bp_python_allocator *allocator)
{
	struct bp_module_range range;
	return allocator->context == NULL &&
	       bp_module_range_find((uintptr_t)allocator->malloc, &range) &&
	       (uintptr_t)bp_python.functions.version - range.start < range.end - range.start;
}

/* pymalloc serves both domains by the same functions and without a context. Allocators that stand
 * before it have one. */
static bool is_pymalloc(const struct bp_python_allocator now[BP_PYTHON_DOMAINS])
{
	for (int domain = BP_PYTHON_RAW; domain < BP_PYTHON_DOMAINS; domain++)
		if (!is_interpreters(&now[domain]))
			return false;
	return now[BP_PYTHON_MEM].malloc == now[BP_PYTHON_OBJECT].malloc;
}

/* (New interpreters come first, and the main one is the last to go.) */
static bool is_alone(void)
{
	return bp_python.version < VERSION_WITH_SEVERAL_GILS ||
	       (late.newest_interpreter != NULL && late.main_interpreter != NULL &&
		       late.newest_interpreter() == late.main_interpreter());
}

static enum bp_python_state judge(const struct bp_python_allocator now[BP_PYTHON_DOMAINS])
{
	if (now[BP_PYTHON_OBJECT].malloc == now[BP_PYTHON_RAW].malloc)
		return BP_PYTHON_ALL_IN_MALLOC;
	if (!is_alone())
		return BP_PYTHON_INTERPRETERS;
	return bp_python_stands_before(now) || is_pymalloc(now) ? BP_PYTHON_RECORDED
								: BP_PYTHON_OTHER_ALLOCATORS;
}

static void begin(const struct bp_python_allocator now[BP_PYTHON_DOMAINS])
{
	bp_python.objects_state = judge(now);
	bp_python.unsettled = false;
	if (bp_python.objects_state != BP_PYTHON_RECORDED) {
		bp_python_describe(&bp_recorder.writer);
		return;
	}
	bp_python_begin_late(now);
	bp_python_await_end();
	late.in_place = true;
	bp_writer_state(&bp_recorder.writer)->small_objects_time_ns =
		bp_system_time_ns(CLOCK_MONOTONIC);
}

/* Makes the allocators what they are to be now. The GIL is held, so that this is done by one thread
 * at a time; and while a trace is written the caller is counted as inside (attach.c). */
static void settle(void)
{
	struct bp_python_allocator now[BP_PYTHON_DOMAINS];
	const bool is_on = __atomic_load_n(&bp_recorder.mode, __ATOMIC_ACQUIRE) == BP_MODE_ON;
	if (!bp_python.known || bp_python.functions.is_initialized() == 0)
		return;
	if (is_on && bp_python.objects_state == BP_PYTHON_WAITING) {
		bp_python_read_allocators(now);
		begin(now);
	} else if (!is_on && late.in_place) {
		bp_python_read_allocators(now);
		late.in_place = !bp_python_give_back(now);
	}
}

/* The interpreter calls it in its main thread, with the GIL. */
static int on_pending_call(void *context)
{
	const int saved_errno = errno;
	(void)context;
	__atomic_store_n(&late.asked_by, 0, __ATOMIC_RELAXED);
	if (bp_hot.busy || bp_recorder.seal == BP_SEAL_ALL)
		return 0;
	bp_hot.busy = 1;
	bp_recorder_enter();
	if (*bp_recorder.fork_mark != 0)
		settle();
	bp_recorder_leave();
	bp_hot.busy = 0;
	errno = saved_errno;
	return 0;
}

/* Asks once: a main thread that never comes back to Python shall not have a queue of them. */
static void ask_for_pending_call(void)
{
	const uint32_t self = bp_system_pid();
	if (late.add_pending_call == NULL || bp_python.version < VERSION_WITH_SAFE_PENDING_CALLS ||
		bp_python.functions.is_initialized() == 0 ||
		__atomic_exchange_n(&late.asked_by, self, __ATOMIC_RELAXED) == self)
		return;
	if (late.add_pending_call(on_pending_call, NULL) != 0)
		__atomic_store_n(&late.asked_by, 0, __ATOMIC_RELAXED);
}

void bp_python_look_late(void)
{
	if (bp_python_gil() == BP_GIL_HELD)
		settle();
}

void bp_real_await_python(void)
{
	if (!bp_python.known || bp_python.wanted != BP_PYTHON_ALL)
		return;
	/* What stood in the way then may be gone. */
	switch (bp_python.objects_state) {
	case BP_PYTHON_RECORDED:
	case BP_PYTHON_ALL_IN_MALLOC:
	case BP_PYTHON_INTERPRETERS:
	case BP_PYTHON_OTHER_ALLOCATORS:
		bp_python.objects_state = BP_PYTHON_WAITING;
	}
	bp_python.unsettled = true;
}

void bp_real_settle_python(void)
{
	const bool is_on = bp_recorder.mode == BP_MODE_ON;
	if (!bp_python.known)
		return;
	if (!is_on && late.in_place)
		bp_python_stop_late();
	if (is_on ? bp_python.objects_state != BP_PYTHON_WAITING : !late.in_place)
		return;
	const enum bp_python_gil gil = bp_python_gil();
	if (gil == BP_GIL_HELD)
		settle();
	else if (gil == BP_GIL_NOT_HELD)
		ask_for_pending_call();
}
