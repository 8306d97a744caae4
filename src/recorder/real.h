/* SPDX-License-Identifier: MIT */
/*
 * The functions behind the hooks: what the program would have called without us. Filled by
 * hooks/real.c before anything else happens; until then each entry is a stub that fills the table
 * first. Called with the exact arguments of the C library's functions.
 */
#ifndef BP_RECORDER_REAL_H
#define BP_RECORDER_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Whose the program's malloc is, and what was done about it. */
enum bp_real_form {
	BP_REAL_GLIBC,	  /* chunk headers can be trusted */
	BP_REAL_FOREIGN,  /* behind us; `free` and its like ask the live set (hooks/foreign.c) */
	BP_REAL_NOT_OURS, /* the program never calls our malloc, or there was no memory: the hooks
			   * that read chunk headers are plain jumps */
	BP_REAL_STUCK,	  /* foreign, and the hooks' text could not be changed */
	BP_REAL_SANITIZED, /* a sanitizer's, which is not to be met before its own start */
	BP_REAL_OTHER_LIBC /* the program's C library is not glibc (musl): the recorder stays off */
};

/* Fills the table and adapts the hooks to what was found (idempotent). */
enum bp_real_form bp_real_resolve(void);

/* Does a sanitizer own the process? Its runtime stands before most functions of the C library and starts
 * itself at the first call of one, also when that call is ours; and it asks dlsym for its own. */
bool bp_real_is_sanitized(void);

/* Is the program's C library glibc? */
bool bp_real_has_glibc(void);

/* Do the C library's own symbols of the malloc family lead to our hooks (hooks/libc_symbols.c)? */
bool bp_real_is_redirected(void);

/* Is `function` one of the object that the program's malloc is of, and that malloc behind ours? */
bool bp_real_is_home(const void *function);

/* What malloc_usable_size says; 0 if the program's malloc has none of its own. */
size_t bp_real_usable_size(void *object);

/* Puts counting and watching hooks before the C++ operators and the entries beside malloc's that a
 * foreign malloc brings. Calls each operator: only at start. */
void bp_real_adopt_entries(void);

/* An address in whatever the program's malloc is: glibc's behind ours, or somebody else's. */
uintptr_t bp_real_malloc_owner(void);

#endif
