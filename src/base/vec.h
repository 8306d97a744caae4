/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays of the outside half: a pointer, a capacity and this one function. The caller keeps
 * its own typed pointer and count, so elements are reached without a macro:
 *
 *	if (!bp_vec_reserve(&list->items, &list->capacity, list->count + 1u, sizeof *list->items))
 *		return bp_error_set(error, "out of memory");
 *	list->items[list->count++] = item;
 *
 * Thread-safety: the array belongs to its caller. Not for the inside of a target (it allocates).
 */
#ifndef BP_BASE_VEC_H
#define BP_BASE_VEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `needed` items of `item_bytes` bytes in all, growing by half at least.
 * `pointer_to_items` is the address of the typed pointer. False (nothing changed): no memory, or
 * more items than 32 bits count. */
static inline bool bp_vec_reserve(
	void *pointer_to_items, uint32_t *capacity, uint64_t needed, size_t item_bytes)
{
	void *items;
	uint64_t grown = (uint64_t)*capacity + *capacity / 2 + 8;
	if (needed <= *capacity)
		return true;
	if (needed > UINT32_MAX)
		return false;
	if (grown < needed)
		grown = needed;
	if (grown > UINT32_MAX)
		grown = UINT32_MAX;
	if (grown > SIZE_MAX / item_bytes)
		return false;
	memcpy(&items, pointer_to_items, sizeof items);
	items = realloc(items, (size_t)grown * item_bytes);
	if (items == NULL)
		return false;
	memcpy(pointer_to_items, &items, sizeof items);
	*capacity = (uint32_t)grown;
	return true;
}

#endif
