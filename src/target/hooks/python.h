/* SPDX-License-Identifier: MIT */
/*
 * Standing in front of CPython's allocators of small objects: python.c has the functions that do
 * and puts them in place at the start, python_late.c later, in a process that was attached to. The
 * ordinary recorder does it (python_plain.c); the one that verifies does not (python_verify.c),
 * because its exact sums are those of malloc alone.
 */
#ifndef BP_HOOKS_PYTHON_H
#define BP_HOOKS_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

struct link_map;

/* PyMemAllocatorEx, and PyMemAllocatorDomain, the same in all versions. */
struct bp_python_allocator {
	void *context;
	void *(*malloc)(void *context, size_t size);
	void *(*calloc)(void *context, size_t count, size_t size);
	void *(*realloc)(void *context, void *object, size_t size);
	void (*free)(void *context, void *object);
};
enum bp_python_domain { BP_PYTHON_RAW, BP_PYTHON_MEM, BP_PYTHON_OBJECT, BP_PYTHON_DOMAINS };

bool bp_python_hooks_objects(void);

/* ---- python.c, for python_late.c. Each of them is called with the GIL held. ---- */

/* The allocators that are in place. */
void bp_python_read_allocators(struct bp_python_allocator ret_now[BP_PYTHON_DOMAINS]);

/* Are both domains' allocators ours? */
bool bp_python_stands_before(const struct bp_python_allocator now[BP_PYTHON_DOMAINS]);

/* Stands in front of them, or goes on to: small objects are charged from now on. They must be
 * pymalloc's own, or ours in front of those. */
void bp_python_begin_late(const struct bp_python_allocator now[BP_PYTHON_DOMAINS]);

/* Puts back what ours stand in front of, where nothing stands in front of ours. False: something
 * does, and ours pass its calls on. */
bool bp_python_give_back(const struct bp_python_allocator now[BP_PYTHON_DOMAINS]);

/* Small objects are not charged any more. Needs no GIL. */
void bp_python_stop_late(void);

/* ---- python_find.c: an interpreter that is loaded after the start ---- */

#define BP_PYTHON_DEFINES "PyMem_SetAllocator" /* of whose definer it is said that it is CPython */
/* Visits for the allocators alone, of which `python3` needs some forty. */
#define BP_PYTHON_LOOKS 4096u

/* Takes note of interpreters that are met in stacks. For the start. */
void bp_python_watch_modules(void);

/* Looks for an interpreter among the objects that were loaded since the last look. Called in dlsym,
 * before a program finds a function that starts one; it looks if the handle was not met yet, or the
 * name is one of Python's. Thread-safe. */
void bp_python_look_at_loaded(const void *handle, const char *name);

/* A library was closed: another one may get its handle. Thread-safe. */
void bp_python_forget_handles(void);

/* Hands the interpreter that this thread has found to `adopt`. False: no thread has found one. */
bool bp_python_adopt_found(void (*adopt)(const struct link_map *map));

/* ---- python_end.c: an interpreter that ends, and may be started again ---- */

/* Finds what it needs of an interpreter that was just found. */
void bp_python_find_end(const struct link_map *map);

/* Asks the interpreter to say when it ends; once. It must have a thread, which is the caller. */
void bp_python_await_end(void);

/* An object of the domains mem and object is about to be made by ours, so the allocators have been
 * chosen. Called by the thread that makes it, while it holds the GIL or starts the interpreter. */
void bp_python_meet_object(void);

/* May this thread call the interpreter, to look at its allocators? Between its end and its next
 * start only while it `allocates`, and only if it has ended it and no library is being closed. */
bool bp_python_may_look(bool allocates);

/* Its allocators have been looked at, and it may have ended before. Returns whether it had. */
bool bp_python_started_again(void);

/* Around a dlclose (life.c), after which it may be gone. Thread-safe. */
void bp_python_before_dlclose(void);
void bp_python_after_dlclose(void);

/* ---- python_late.c, for python.c ---- */

/* Finds what it needs of an interpreter, in the object that has it. */
void bp_python_find_late(const struct link_map *map);

/* At the end of a visit, while small objects wait to be recorded. */
void bp_python_look_late(void);

#endif
