/* SPDX-License-Identifier: MIT */
/*
 * The arenas of pymalloc, CPython's allocator of small objects: pieces of memory of 256 KiB (1 MiB
 * from 3.10 on), which it maps. An object is pymalloc's if it is in an arena, and otherwise
 * malloc's. Adding and removing are done with the GIL held, or by one thread at a time; looking up
 * takes no lock.
 */
#ifndef BP_PYTHON_ARENAS_H
#define BP_PYTHON_ARENAS_H

#include <stdbool.h>
#include <stddef.h>

/* Takes note of an arena; false: there is no memory for that, or the address is out of range. */
bool bp_python_arena_add(const void *arena, size_t bytes);

/* Forgets an arena, which is about to be unmapped. */
void bp_python_arena_remove(const void *arena, size_t bytes);

/* Is the address in an arena? */
bool bp_python_arena_has(const void *address);

#endif
