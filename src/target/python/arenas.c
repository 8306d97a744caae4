/* SPDX-License-Identifier: MIT */
/*
 * A bit for each page of the address space, in leaves of 1 GiB each that are made when an arena
 * lies there. Arenas begin and end at pages. Several interpreters with a GIL each may change one
 * leaf at a time, so bits are changed atomically.
 */
#include "python/arenas.h"

#include <stdint.h>

#include "tables/arena.h"

#define PAGE_SHIFT 12u
#define LEAF_SHIFT 30u
#define ADDRESS_BITS 47u /* of programs */
#define LEAVES ((size_t)1 << (ADDRESS_BITS - LEAF_SHIFT))
#define LEAF_BYTES ((size_t)1 << (LEAF_SHIFT - PAGE_SHIFT - 3))

static uint8_t **leaves; /* NULL: there is no arena yet */

static uint8_t *leaf_of(uintptr_t address)
{
	uint8_t **table = __atomic_load_n(&leaves, __ATOMIC_ACQUIRE);
	if (table == NULL || address >> ADDRESS_BITS != 0)
		return NULL;
	return __atomic_load_n(&table[address >> LEAF_SHIFT], __ATOMIC_ACQUIRE);
}

/* Puts memory where there is none; of two threads that do so at a time one wins. */
static void *make(void **place, size_t bytes)
{
	void *have = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	if (have != NULL)
		return have;
	void *memory = bp_arena_allocate(bytes);
	if (memory == NULL)
		return NULL;
	return __atomic_compare_exchange_n(
		       place, &have, memory, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
		       ? memory
		       : have;
}

static void set(uintptr_t address, bool present)
{
	uint8_t *leaf = leaf_of(address);
	if (leaf == NULL)
		return;
	const uintptr_t page = (address & (((uintptr_t)1 << LEAF_SHIFT) - 1)) >> PAGE_SHIFT;
	const uint8_t bit = (uint8_t)(1u << page % 8);
	if (present)
		__atomic_fetch_or(&leaf[page / 8], bit, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&leaf[page / 8], (uint8_t)~bit, __ATOMIC_RELAXED);
}

bool bp_python_arena_add(const void *arena, size_t bytes)
{
	const uintptr_t from = (uintptr_t)arena, to = from + bytes;
	if (to < from || to >> ADDRESS_BITS != 0 ||
		make((void **)&leaves, LEAVES * sizeof *leaves) == NULL)
		return false;
	for (uintptr_t leaf = from >> LEAF_SHIFT; leaf <= (to - 1) >> LEAF_SHIFT; leaf++)
		if (make((void **)&leaves[leaf], LEAF_BYTES) == NULL)
			return false;
	for (uintptr_t page = from; page < to; page += (uintptr_t)1 << PAGE_SHIFT)
		set(page, true);
	return true;
}

void bp_python_arena_remove(const void *arena, size_t bytes)
{
	const uintptr_t from = (uintptr_t)arena;
	for (uintptr_t page = from; page < from + bytes; page += (uintptr_t)1 << PAGE_SHIFT)
		set(page, false);
}

bool bp_python_arena_has(const void *address)
{
	const uint8_t *leaf = leaf_of((uintptr_t)address);
	if (leaf == NULL)
		return false;
	const uintptr_t page =
		((uintptr_t)address & (((uintptr_t)1 << LEAF_SHIFT) - 1)) >> PAGE_SHIFT;
	return (__atomic_load_n(&leaf[page / 8], __ATOMIC_RELAXED) >> page % 8 & 1) != 0;
}
