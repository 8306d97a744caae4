/* SPDX-License-Identifier: MIT */
/* Which functions are reached when one allocation function calls another by name. Private to
 * hooks/; real.c calls these functions at start, in the order in which they stand here. */
#ifndef BP_HOOKS_ALIASES_H
#define BP_HOOKS_ALIASES_H

#include <stdbool.h>
#include <stddef.h>

#include "recorder/real.h"

/* The functions that a call by name reaches in this program: the hooks, or functions of an object
 * that comes before the recorder, such as the program itself. The C library calls malloc and its
 * family by these names, too. */
struct bp_first {
	void *(*malloc)(size_t size);
	void (*free)(void *object);
	void *(*realloc)(void *object, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
};
extern struct bp_first bp_first __attribute__((visibility("hidden")));

/* Fills bp_first, and finds the functions behind the recorder's aliases. */
void bp_aliases_resolve(void);

/* Are all of those functions, except reallocarray, in that object? */
bool bp_aliases_are_of(const void *object);

/* Decides which aliases are hooks and which pass every call on. `libc`: glibc's object. */
void bp_aliases_adapt(enum bp_real_form form, const void *libc);

/* Does the alias of that name pass every call on? The function that gets the call may look for the
 * one behind itself, and must not find the alias again. */
bool bp_aliases_pass_on(const char *name);

/* Is `found` the function of that name that the recorder's alias replaces? */
bool bp_aliases_replace(const char *name, const void *found);

#endif
