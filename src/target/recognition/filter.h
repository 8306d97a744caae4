/* SPDX-License-Identifier: MIT */
/*
 * Which pages hold a live sample. `free` looks here first where malloc is not glibc's, because the
 * words before an object say nothing there. One byte counts the live samples that begin in a page;
 * pages whose addresses agree in their low 32 bits share a byte. So a zero is certain, and another
 * value is a reason to look the object up in the live set (live_set.h), which owns the counts. This
 * header includes nothing of the engine, because the hot hooks use it.
 *
 * The look-up costs three instructions, because the counts lie below 2 GiB, where an instruction
 * can name their address (hooks/binding/patch.c). Elsewhere it costs one load more.
 */
#ifndef BP_RECOGNITION_FILTER_H
#define BP_RECOGNITION_FILTER_H

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

/* Called before all others, by whoever needs the filter; it is made once, because the address of
 * the counts stands in rewritten code. False: no memory. */
bool bp_filter_init(void);

/* Counts one live sample at `address` more, or one less. Without bp_filter_init there is no effect.
 * The caller makes sure that only one thread at a time calls these. */
void bp_filter_add(uint64_t address);
void bp_filter_remove(uint64_t address);

#endif
