/* SPDX-License-Identifier: MIT */
/* What calls of one allocation function by another reach. Private to hooks/; real.c calls the functions
 * at start, in the order in which they stand here. */
#ifndef BP_HOOKS_ALIASES_H
#define BP_HOOKS_ALIASES_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/real.h"

/* What a call by name reaches in this program: our hooks, or functions of an object before us, be it the
 * program itself. The C library calls malloc and its family by these names, too. */
struct bp_first {
	void *(*malloc)(size_t size);
	void (*free)(void *object);
	void *(*realloc)(void *object, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
};
extern struct bp_first bp_first __attribute__((visibility("hidden")));

/* Fills bp_first, and finds the functions behind our aliases. */
void bp_aliases_resolve(void);

/* Are those functions, but for reallocarray, all of that object? */
bool bp_aliases_are_of(const void *object);

/* Decides which aliases are hooks and which pass every call on. `libc`: glibc's object. */
void bp_aliases_adapt(enum bp_real_form form, const void *libc);

/* Does the alias of that name pass every call on? A function that it passes calls on to may look for the one
 * behind itself, which must not be the alias again. */
bool bp_aliases_pass_on(const char *name);

/* Is `found` the function of that name that our alias is in the place of? */
bool bp_aliases_replace(const char *name, const void *found);

#endif
