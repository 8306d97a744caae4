/* SPDX-License-Identifier: MIT */
/*
 * Which pages hold a live sample: what `free` asks first where malloc is not glibc's and the words
 * before an object say nothing. One byte counts the live samples that begin in a page; pages whose
 * addresses agree in their low 32 bits share a byte. So "no" is certain and "yes" is a reason to look
 * the object up in the live set (live_set.h), which owns the counts. Includes nothing of the engine:
 * the hot hooks use it.
 *
 * The question costs three instructions because the counts lie below 2 GiB, where an instruction can
 * name their address (hooks/patch.c); elsewhere it costs a load more.
 */
#ifndef BP_RECORDER_FILTER_H
#define BP_RECORDER_FILTER_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes of a page, as a shift; 2^32 addresses have so many bytes of counts. */
#define BP_FILTER_PAGE_SHIFT 12
#define BP_FILTER_BYTES ((uint64_t)1 << (32 - BP_FILTER_PAGE_SHIFT))

/* NULL where the filter is not used: malloc is glibc's. */
extern uint8_t *bp_filter_counts __attribute__((visibility("hidden")));

/* May a live sample begin at `object`? Only after bp_filter_init. */
static inline bool bp_filter_hit(const void *object)
{
	return bp_filter_counts[(uint32_t)(uintptr_t)object >> BP_FILTER_PAGE_SHIFT] != 0;
}

/* Once, before anything else; false: no memory. */
bool bp_filter_init(void);

/* A live sample at `address` more or less. No effect without bp_filter_init. The caller sees to it
 * that one thread at a time does this. */
void bp_filter_add(uint64_t address);
void bp_filter_remove(uint64_t address);

#endif
