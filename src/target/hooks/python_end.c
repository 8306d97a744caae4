/* SPDX-License-Identifier: MIT */
/*
 * The end of an interpreter that may be started again (Py_Finalize, Py_Initialize).
 *
 * From 3.12 on an interpreter that starts again has the allocators that it is compiled with, as if
 * nobody had replaced them (_PyRuntimeState_Init copies its initial state); before, where
 * PYTHONMALLOC names some. Nobody tells us, and its small objects would be in no total from then
 * on. So its end is awaited, by Py_AtExit, which takes one of CPython's 32 exit functions. From its
 * end on each allocation of the thread that ended it is a visit, as at the program's start, until
 * ours are back (look_at_allocators in python.c): the interpreter asks malloc for memory before it
 * makes an object of the domains mem and object.
 *
 * To look takes CPython's lock of the allocators (3.12), which is freed and made by whoever ends
 * and starts it. So no other thread looks meanwhile, nor does this one when it frees something,
 * which may be that lock; nor does any thread within dlclose, which may unmap the interpreter's
 * code.
 *
 * Objects are missed in two cases. Should another thread start the interpreter, ours are back at
 * the next visit of the thread that ended it. And should that thread allocate more often in between
 * than LOOKS_AFTER_END says, they are back at its first visit after the start.
 */
#include "hooks/binding/symbol_table.h"
#include "hooks/python.h"
#include "python/interpreter.h"
#include "recognition/hot.h"
#include "recorder/visit.h"

/* Visits that are made for the allocators between the end of an interpreter and the next start;
 * each takes about as long as a sample. */
#define LOOKS_AFTER_END 65536u

static int (*at_exit)(void (*function)(void)); /* Py_AtExit; NULL: it is not known */
static bool awaited;			       /* the interpreter will call on_end */
static const struct bp_hot *ended_by;	       /* the thread; NULL: the interpreter has not ended */
static uint32_t closing;		       /* calls of dlclose that are under way */

void bp_python_find_end(const struct link_map *map)
{
	uint64_t bytes;
	const void *found = bp_symbol_table_place(map, "Py_AtExit", &bytes);
	__builtin_memcpy(&at_exit, &found, sizeof found);
	awaited = false;
	ended_by = NULL;
}

/* CPython calls it last of all. The thread's next allocation becomes a visit. */
static void on_end(void)
{
	struct bp_visit visit;
	awaited = false;
	if (!bp_visit_begin(&visit, 0))
		return;
	ended_by = &bp_hot;
	bp_python.looks_left = LOOKS_AFTER_END;
	bp_python.unsettled = true;
	bp_visit_end(&visit, visit.left);
}

void bp_python_await_end(void)
{
	if (!awaited && at_exit != NULL)
		awaited = at_exit(on_end) == 0;
}

/* While there is no thread of the interpreter, Py_AtExit may have no lock yet (3.12). */
void bp_python_meet_object(void)
{
	void *(*const current_thread)(void) = bp_python.functions.current_thread;
	if (ended_by != NULL || (current_thread != NULL && current_thread() == NULL))
		return;
	bp_python.unsettled = false;
	if (current_thread != NULL)
		bp_python_await_end();
}

bool bp_python_may_look(bool allocates)
{
	return ended_by == NULL || (allocates && ended_by == &bp_hot &&
					   __atomic_load_n(&closing, __ATOMIC_SEQ_CST) == 0);
}

bool bp_python_started_again(void)
{
	const bool had_ended = ended_by != NULL;
	ended_by = NULL;
	return had_ended;
}

void bp_python_before_dlclose(void)
{
	__atomic_fetch_add(&closing, 1, __ATOMIC_SEQ_CST);
}

void bp_python_after_dlclose(void)
{
	__atomic_fetch_sub(&closing, 1, __ATOMIC_SEQ_CST);
	bp_python_forget_handles();
}
