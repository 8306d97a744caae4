/* SPDX-License-Identifier: MIT */
/*
 * The names by which programs report objects to heaptrack that malloc does not see. A program looks
 * for a function of that name in its process, and finds the recorder's if heaptrack is not there.
 * Called by the program; thread-safe.
 */
#ifndef BP_HOOKS_HEAPTRACK_CALLS_H
#define BP_HOOKS_HEAPTRACK_CALLS_H

#include <stddef.h>

/* An object was allocated; it became one of `size` bytes at `to`; it is about to be freed. */
void heaptrack_malloc(void *object, size_t size);
void heaptrack_realloc(void *from, size_t size, void *to);
void heaptrack_free(void *object);

#endif
