/* SPDX-License-Identifier: MIT */
/*
 * What is known of the CPython in this process: its version and layout, the functions of its that a
 * walk calls, and what is recorded of it and why not. hooks/python.c finds it and fills this in;
 * docs/python.md says what users see of it. There is one interpreter in a process: the first that
 * is found.
 */
#ifndef BP_PYTHON_INTERPRETER_H
#define BP_PYTHON_INTERPRETER_H

#include <stdbool.h>
#include <stdint.h>

#include "python/layout.h"
#include "trace/format.h"

struct bp_writer;

/* What the settings ask for. */
enum bp_python_wanted { BP_PYTHON_ALL, BP_PYTHON_FRAMES, BP_PYTHON_OFF };

/* Functions of CPython. None of them allocates, takes the GIL or runs code of the program. */
struct bp_python_functions {
	void *(*current_thread)(void); /* PyThreadState of whoever holds the GIL; from 3.12 on of
					 * the calling thread */
	void *(*own_thread)(void);     /* PyGILState_GetThisThreadState */
	int (*line_of)(void *code, int instruction); /* PyCode_Addr2Line */
	int (*is_initialized)(void);		     /* Py_IsInitialized */
	const char *(*version)(void);		     /* Py_GetVersion */
	const void *evaluate;			     /* _PyEval_EvalFrameDefault */
	uint64_t evaluate_bytes;		     /* its size */
	const void *runtime;			     /* _PyRuntime; NULL: not found */
};

struct bp_python {
	/* Walks are made: `functions` and `layout` hold. Cleared for good when a walk finds
	 * something that cannot be. */
	bool frames;
	/* Something is left to be found out at the end of a visit (bp_real_look_at_python). */
	bool unsettled;
	/* So many visits are still made for that alone, one at each allocation. */
	uint32_t looks_left;
	bool known; /* an interpreter was found; the fields below hold */
	uint32_t version;
	uint32_t frames_state, objects_state; /* enum bp_python_state */
	uint32_t wanted;		      /* enum bp_python_wanted */
	uint64_t
		small_max; /* the largest request that Python's own allocator serves; 0: it has none */
	const struct bp_python_layout *layout;
	struct bp_python_functions functions;
	uint32_t walks;	       /* so far, no more than are careful */
	const void *code_type; /* the type of code objects, from the first walk on */
	const void *text_type;
};

extern struct bp_python bp_python __attribute__((visibility("hidden")));

/* The largest request that pymalloc serves itself, and the largest that Python makes at all
 * (PY_SSIZE_T_MAX), which its mimalloc serves. */
#define BP_PYTHON_SMALL_MAX 512u
#define BP_PYTHON_SIZE_MAX ((uint64_t)INT64_MAX)

/* Is the next allocation to be a visit, whatever its size? */
static inline bool bp_python_wants_look(void)
{
	return bp_python.unsettled && bp_python.looks_left != 0;
}

/* Takes note of an interpreter with these functions, and decides whether its frames are recorded.
 * Called outside of any walk, once for each time that an interpreter is loaded. */
void bp_python_found(const struct bp_python_functions *functions);

/* Writes what is recorded of the interpreter, if there is one, to the trace (INTERPRETER). */
void bp_python_describe(struct bp_writer *writer);

/* Frames cannot be read: says so in the trace, and makes no walk from now on. */
void bp_python_give_up(struct bp_writer *writer);

/* After a dlclose: makes no walk if the interpreter is gone. */
void bp_python_check_gone(void);

#endif
