/* SPDX-License-Identifier: MIT */
/*
 * Allocation functions: those of which it tells nothing that they allocated, because that is all
 * they do (malloc, operator new, std::allocator, xmalloc, zmalloc, g_malloc, palloc ...). A report
 * by function charges their callers. Which they are is known by name: a list that is built in
 * (allocators.c), and what the user adds (--allocators).
 *
 * Not among them are functions that allocate an object of some kind (strdup, fopen, PyList_New,
 * g_string_new): that is where memory goes.
 *
 * Called by attribution.c and verify.c; the expression by export/export_pprof.c; filled by cli.
 * Asking is safe from several threads.
 */
#ifndef BP_MODEL_NAMES_ALLOCATORS_H
#define BP_MODEL_NAMES_ALLOCATORS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

#define BP_ALLOCATOR_PATTERNS_MAX 32

/* Zeroed: the built-in ones alone. */
struct bp_allocators {
	bool none; /* no function is one: the innermost frame is charged, whatever it is */
	uint32_t count;
	const char *texts[BP_ALLOCATOR_PATTERNS_MAX]; /* the caller's */
	regex_t patterns[BP_ALLOCATOR_PATTERNS_MAX];
};

/* Adds functions by an extended regular expression (POSIX) that whole names match. `text` must
 * stay. */
bool bp_allocators_add(struct bp_allocators *allocators, const char *text, struct bp_error *error);
void bp_allocators_finish(struct bp_allocators *allocators);

/* Is a function of this (demangled) name one? NULL: by the built-in names. */
bool bp_allocators_hold(const struct bp_allocators *allocators, const char *function);

/* Writes the same as one regular expression for whole names as pprof simplifies them: without
 * parameters, template arguments in part. Nothing for none. */
void bp_allocators_write_expression(const struct bp_allocators *allocators, FILE *out);

/* Is it one of these members of a container of libstdc++'s (std::_Vector_base<...>::_M_allocate)?
 * `members` are parts of demangled names. Pure. */
bool bp_is_of_container(const char *function, const char *const *members, size_t count);

#endif
