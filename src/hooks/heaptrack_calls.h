/* SPDX-License-Identifier: MIT */
/*
 * The names by which programs tell heaptrack of objects that malloc does not see: each looks for a
 * function of that name in its process, and finds ours where heaptrack is not there. Called by the
 * program; thread-safe.
 */
#ifndef BP_HOOKS_HEAPTRACK_CALLS_H
#define BP_HOOKS_HEAPTRACK_CALLS_H

#include <stddef.h>

/* An object is there; it became one of `size` bytes at `to`; it goes. */
void heaptrack_malloc(void *object, size_t size);
void heaptrack_realloc(void *from, size_t size, void *to);
void heaptrack_free(void *object);

#endif
