/* SPDX-License-Identifier: MIT */
/*
 * The functions behind the hooks: those that the program would call without the recorder. This is
 * the one place where the recorder calls into hooks/: hooks/real.c defines the functions of this
 * header, and fills the table before all else. Until then each entry is a stub that fills the table
 * first. The entries are called with the exact arguments of the C library's functions.
 */
#ifndef BP_RECORDER_REAL_H
#define BP_RECORDER_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct bp_real {
	void *(*malloc)(size_t size);
	void (*free)(void *object);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *object, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	int (*posix_memalign)(void **ret_object, size_t alignment, size_t size);
	void *(*valloc)(size_t size);
	void *(*pvalloc)(size_t size);
	size_t (*malloc_usable_size)(void *object);
} __attribute__((aligned(64))); /* read by every call: nothing that is written is in its lines */

extern struct bp_real bp_real __attribute__((visibility("hidden")));

/* Which malloc the program uses, and how the hooks adapt to it. */
enum bp_real_form {
	BP_REAL_GLIBC, /* chunk headers can be trusted */
	/* another malloc behind the hooks; `free` asks the live set (hooks/foreign.c) */
	BP_REAL_FOREIGN,
	BP_REAL_NOT_OURS, /* the program never calls the hook of malloc, or there was no memory: the
			   * hooks that read chunk headers are plain jumps */
	BP_REAL_STUCK,	  /* foreign, and the hooks' text could not be changed */
	BP_REAL_SANITIZED, /* a sanitizer's, which must not be called before its own start */
	BP_REAL_OTHER_LIBC /* the program's C library is not glibc (musl): the recorder stays off */
};

/* Fills the table and adapts the hooks to what was found (idempotent). */
enum bp_real_form bp_real_resolve(void);

/* Makes glibc's heap ready, which it is from the first call of malloc on. glibc does so without a
 * lock: unprofiled, the program or pthread_create has called malloc before there is a second
 * thread. Where the first objects are all in slots nobody has, and threads would make the heap
 * ready at the same time. Called before an object is put into a slot; makes no object. Over glibc
 * only. */
void bp_real_make_heap_ready(void);

/* Is the program's C library glibc? */
bool bp_real_has_glibc(void);

/* Was the recorder opened by a program that runs already (dlopen)? Then the hooks are reached only
 * while they are bound (below). */
bool bp_real_is_late(void);

/* The same as bp_real_resolve for a recorder that was opened late: with the loader's lock held. */
enum bp_real_form bp_real_resolve_late(void);

/* Of the loaded objects, the recorder left out: how many there are, and of how many all calls of
 * the allocation functions by name are seen. */
struct bp_coverage {
	uint32_t objects, covered;
};

/* Points the calls of all loaded objects, and of those that are loaded later, at the hooks, and
 * back at the real functions (hooks/binding/late.c). For a recorder that was opened late; one
 * thread at a time calls these. They take the loader's lock. */
struct bp_coverage bp_real_bind(void);
void bp_real_unbind(void);

/* Do the C library's own symbols of the malloc family lead to our hooks
 * (hooks/binding/libc_symbols.c)? */
bool bp_real_is_redirected(void);

/* Is `function` in the object of the program's malloc, and is that malloc behind the hooks? */
bool bp_real_is_home(const void *function);

/* Returns what the real malloc_usable_size says; 0 if the program's malloc has none. */
size_t bp_real_usable_size(void *object);

/* Puts hooks before the C++ operators of a foreign malloc, and before its functions with names of
 * its own (hooks/extended.h). Calls each operator once, so it is for the start alone. */
void bp_real_adopt_entries(void);
/* The same in two parts, for who is late: the operators, with no lock held, since they are called;
 * and the functions with names of their own, while the loader's list is kept. */
void bp_real_adopt_operators(void);
void bp_real_adopt_extended(void);

/* Finds the CPython that the process began with, and stands between it and its allocator of small
 * objects. For the start alone. */
void bp_real_adopt_python(void);

/* The same for what was not to be known at the start: a libpython that was loaded later, and
 * allocators that CPython has chosen anew (PYTHONMALLOC). Called at the end of a visit while
 * bp_python.unsettled is set, with the thread busy. `allocates`: the visit makes an object. */
BP_COLD void bp_real_look_at_python(bool allocates);

/* In a process that was attached to (hooks/python_late.c). The first one: before a further trace
 * begins, small objects are to be recorded in it as soon as possible. The second one: the mode is
 * now ON, or OFF for good; replaces CPython's allocators, or gives them back, at once or later. For
 * the thread that attaches or detaches. */
void bp_real_await_python(void);
void bp_real_settle_python(void);

/* An address in the object of the program's malloc. */
uintptr_t bp_real_malloc_owner(void);

#endif
