/* SPDX-License-Identifier: MIT */
/*
 * Pages that were read and never written: the kernel maps one page of zeros in their places, says
 * in /proc/PID/pagemap that they are present, and does not count them as resident. Since Linux 6.7
 * it tells them apart (PAGEMAP_SCAN), huge ones since a fix of 2025; on older kernels they look
 * like any other page. Thread-safe.
 */
#ifndef BP_CLI_MAPPINGS_ZERO_PAGES_H
#define BP_CLI_MAPPINGS_ZERO_PAGES_H

#include <stdint.h>

/* Bits of an entry of pagemap (Documentation/admin-guide/mm/pagemap.rst of Linux). */
#define BP_PAGE_PRESENT (UINT64_C(1) << 63)
#define BP_PAGE_SWAPPED (UINT64_C(1) << 62)
#define BP_PAGE_EXCLUSIVE (UINT64_C(1) << 56) /* no other mapping has it; never set of zeros */

/* Takes BP_PAGE_PRESENT off the entries of pages of zeros. `entries` are those of `count` pages
 * from `address` on, a multiple of `page_bytes`, as read from the open file `pagemap`. What the
 * kernel does not tell is left as it is. */
void bp_zero_pages_clear(
	int pagemap, uint64_t address, uint64_t page_bytes, uint64_t *entries, uint64_t count);

#endif
