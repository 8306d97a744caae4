/* SPDX-License-Identifier: MIT */
/*
 * Marks in the memory of slots, by which damage is noticed as glibc notices it: one word at the
 * beginning of a freed object, and one word behind the usable end of an object. The marks are not
 * secret: they find mistakes, and a program can restore them if it wants to.
 *
 * A freed object has one marked word and not more, because glibc keeps its list of free blocks in
 * that word alone (tcache, since 2.26). A program that writes further into a freed object runs on
 * unprofiled, and so it must run on here.
 */
#ifndef BP_RECOGNITION_SLOT_MARKS_H
#define BP_RECOGNITION_SLOT_MARKS_H

#include <stdbool.h>
#include <stdint.h>

/* Every byte is unusual, so that no short text, small number or zero is one of them by chance. */
#define BP_MARK_FREED 0xd96eb1a810caaf5fu
#define BP_MARK_BEHIND 0xc862c2b36dbe3d87u

static inline uint64_t bp_mark_of(const uint64_t *at, uint64_t mark)
{
	return mark ^ (uint64_t)(uintptr_t)at;
}

static inline void bp_mark_freed(uint64_t *object)
{
	*object = bp_mark_of(object, BP_MARK_FREED);
}

static inline bool bp_mark_is_freed(const uint64_t *object)
{
	return *object == bp_mark_of(object, BP_MARK_FREED);
}

#endif
