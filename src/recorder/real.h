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
};

extern struct bp_real bp_real __attribute__((visibility("hidden")));

/* Fills the table (idempotent). True if the program's malloc is glibc's own; then chunk headers can
 * be trusted. */
bool bp_real_resolve(void);

/* Is the program's malloc glibc's own, and `function` one of glibc's? */
bool bp_real_is_glibc(const void *function);

/* An address in whatever the program's malloc is: glibc's behind ours, or somebody else's. */
uintptr_t bp_real_malloc_owner(void);

/* Makes the exported `free`, `realloc` and `malloc_usable_size` plain jumps to the real ones, which
 * do not read chunk headers: for a malloc that is not glibc's. False if that could not be done. */
bool bp_real_bypass(void);

#endif
