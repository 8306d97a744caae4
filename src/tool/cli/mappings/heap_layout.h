/* SPDX-License-Identifier: MIT */
/*
 * Where things are in glibc's malloc on x86-64: offsets in bytes, the same from glibc 2.26 on (the
 * caches of threads as they are from 2.30 on). Each is checked by whoever uses it.
 *
 *	chunk            0  size of the chunk before, if that is free
 *	                 8  size | 4 not of the main arena | 2 mapped alone | 1 the one before is used
 *	                16  the object; of a free one the next in its list
 *	malloc_state    16  ten lists of fastbins
 *	                96  top
 *	             0x870  the next arena, in a ring
 *	             0x888  system_mem: bytes of all its heaps
 *	heap_info        0  its arena;  8  the heap before;  16  size;  24  size that is accessible
 *	tcache           0  64 counts of 16 bits;  128  64 lists
 */
#ifndef BP_CLI_MAPPINGS_HEAP_LAYOUT_H
#define BP_CLI_MAPPINGS_HEAP_LAYOUT_H

#include <stdint.h>

#define BP_CHUNK_SIZE_AT 8u
#define BP_CHUNK_OBJECT_AT 16u
#define BP_CHUNK_LINKS_END 48u /* of a free chunk: the links of its lists */
#define BP_CHUNK_LEAST 32u
#define BP_CHUNK_FLAGS UINT64_C(7)
#define BP_CHUNK_BEFORE_IN_USE UINT64_C(1)
#define BP_CHUNK_ALONE UINT64_C(2)
#define BP_CHUNK_OF_ARENA UINT64_C(4)

#define BP_ARENA_FASTBINS_AT 16u
#define BP_ARENA_FASTBINS 10u
#define BP_ARENA_TOP_AT 96u
#define BP_ARENA_SYSTEM_MEM_AT 0x888u
#define BP_ARENA_BYTES 0x898u

#define BP_HEAP_ALIGNMENT (UINT64_C(64) << 20) /* HEAP_MAX_SIZE */
#define BP_MAIN_HEAP_MOST (UINT64_C(1) << 46)
#define BP_HEAP_SIZE_AT 16u
#define BP_HEAP_ACCESSIBLE_AT 24u
/* of heap_info: 32 before glibc 2.35, 48 since */
#define BP_HEAP_INFO_LEAST 32u
#define BP_HEAP_INFO_MOST 48u

#define BP_TCACHE_BINS 64u
#define BP_TCACHE_LISTS_AT 128u
#define BP_TCACHE_CHUNK_BYTES 0x290u
#define BP_TCACHE_COUNT_MOST 127u /* the tunable's limit before 2.37; 7 by default */

#endif
