/* SPDX-License-Identifier: MIT */
/*
 * The list of functions that other allocators have beside malloc's ("entries"). Where the program's
 * allocator exports them, the recorder counts their objects and ends their samples. The recorder
 * does not export these names, because programs look for them to find out which allocator they run
 * on. Instead the callers are bound to the recorder's functions (bind.c), and dlsym returns these
 * (symbols.c). Private to hooks/.
 *
 * BP_ENTRY(name, shape): which arguments hold the size and the object, extended.c.
 */
#ifndef BP_HOOKS_EXTENDED_H
#define BP_HOOKS_EXTENDED_H

#include <stdbool.h>
#include <stdint.h>

/* All arguments are integers or pointers, four at most. */
typedef uintptr_t bp_entry(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);

/* jemalloc; google's TCMalloc has some of them. */
#define BP_ENTRIES_JEMALLOC(BP_ENTRY)    \
	BP_ENTRY(mallocx, size_a)        \
	BP_ENTRY(rallocx, resize_ab)     \
	BP_ENTRY(xallocx, in_place_size) \
	BP_ENTRY(dallocx, free_a)        \
	BP_ENTRY(sdallocx, free_a)

#define BP_ENTRIES_TCMALLOC(BP_ENTRY)                 \
	BP_ENTRY(tc_malloc, size_a)                   \
	BP_ENTRY(tc_malloc_skip_new_handler, size_a)  \
	BP_ENTRY(tc_calloc, product_ab)               \
	BP_ENTRY(tc_realloc, resize_ab)               \
	BP_ENTRY(tc_memalign, size_b)                 \
	BP_ENTRY(tc_posix_memalign, posix)            \
	BP_ENTRY(tc_valloc, size_a)                   \
	BP_ENTRY(tc_pvalloc, size_a)                  \
	BP_ENTRY(tc_new, size_a)                      \
	BP_ENTRY(tc_newarray, size_a)                 \
	BP_ENTRY(tc_new_nothrow, size_a)              \
	BP_ENTRY(tc_newarray_nothrow, size_a)         \
	BP_ENTRY(tc_new_aligned, size_a)              \
	BP_ENTRY(tc_newarray_aligned, size_a)         \
	BP_ENTRY(tc_new_aligned_nothrow, size_a)      \
	BP_ENTRY(tc_newarray_aligned_nothrow, size_a) \
	BP_ENTRY(tc_free, free_a)                     \
	BP_ENTRY(tc_free_sized, free_a)               \
	BP_ENTRY(tc_cfree, free_a)                    \
	BP_ENTRY(tc_delete, free_a)                   \
	BP_ENTRY(tc_deletearray, free_a)              \
	BP_ENTRY(tc_delete_nothrow, free_a)           \
	BP_ENTRY(tc_deletearray_nothrow, free_a)      \
	BP_ENTRY(tc_delete_sized, free_a)             \
	BP_ENTRY(tc_deletearray_sized, free_a)        \
	BP_ENTRY(tc_delete_aligned, free_a)           \
	BP_ENTRY(tc_deletearray_aligned, free_a)      \
	BP_ENTRY(tc_delete_sized_aligned, free_a)     \
	BP_ENTRY(tc_deletearray_sized_aligned, free_a)

#define BP_ENTRIES_MIMALLOC(BP_ENTRY)                \
	BP_ENTRY(mi_malloc, size_a)                  \
	BP_ENTRY(mi_malloc_small, size_a)            \
	BP_ENTRY(mi_zalloc, size_a)                  \
	BP_ENTRY(mi_zalloc_small, size_a)            \
	BP_ENTRY(mi_calloc, product_ab)              \
	BP_ENTRY(mi_mallocn, product_ab)             \
	BP_ENTRY(mi_malloc_aligned, size_a)          \
	BP_ENTRY(mi_malloc_aligned_at, size_a)       \
	BP_ENTRY(mi_zalloc_aligned, size_a)          \
	BP_ENTRY(mi_zalloc_aligned_at, size_a)       \
	BP_ENTRY(mi_calloc_aligned, product_ab)      \
	BP_ENTRY(mi_calloc_aligned_at, product_ab)   \
	BP_ENTRY(mi_memalign, size_b)                \
	BP_ENTRY(mi_aligned_alloc, size_b)           \
	BP_ENTRY(mi_posix_memalign, posix)           \
	BP_ENTRY(mi_valloc, size_a)                  \
	BP_ENTRY(mi_pvalloc, size_a)                 \
	BP_ENTRY(mi_new, size_a)                     \
	BP_ENTRY(mi_new_n, product_ab)               \
	BP_ENTRY(mi_new_nothrow, size_a)             \
	BP_ENTRY(mi_new_aligned, size_a)             \
	BP_ENTRY(mi_new_aligned_nothrow, size_a)     \
	BP_ENTRY(mi_realloc, resize_ab)              \
	BP_ENTRY(mi_reallocf, resize_ab)             \
	BP_ENTRY(mi_rezalloc, resize_ab)             \
	BP_ENTRY(mi_new_realloc, resize_ab)          \
	BP_ENTRY(mi_realloc_aligned, resize_ab)      \
	BP_ENTRY(mi_rezalloc_aligned, resize_ab)     \
	BP_ENTRY(mi_reallocn, resize_product_bc)     \
	BP_ENTRY(mi_reallocarray, resize_product_bc) \
	BP_ENTRY(mi_recalloc, resize_product_bc)     \
	BP_ENTRY(mi_new_reallocn, resize_product_bc) \
	BP_ENTRY(mi_expand, in_place)                \
	BP_ENTRY(mi_strdup, string)                  \
	BP_ENTRY(mi_strndup, string)                 \
	BP_ENTRY(mi_heap_malloc, size_b)             \
	BP_ENTRY(mi_heap_malloc_small, size_b)       \
	BP_ENTRY(mi_heap_zalloc, size_b)             \
	BP_ENTRY(mi_heap_malloc_aligned, size_b)     \
	BP_ENTRY(mi_heap_zalloc_aligned, size_b)     \
	BP_ENTRY(mi_heap_calloc, product_bc)         \
	BP_ENTRY(mi_heap_mallocn, product_bc)        \
	BP_ENTRY(mi_heap_realloc, resize_bc)         \
	BP_ENTRY(mi_heap_realloc_aligned, resize_bc) \
	BP_ENTRY(mi_heap_strdup, string)             \
	BP_ENTRY(mi_heap_strndup, string)            \
	BP_ENTRY(mi_free, free_a)                    \
	BP_ENTRY(mi_cfree, free_a)                   \
	BP_ENTRY(mi_free_size, free_a)               \
	BP_ENTRY(mi_free_aligned, free_a)            \
	BP_ENTRY(mi_free_size_aligned, free_a)

#define BP_ENTRIES(BP_ENTRY)          \
	BP_ENTRIES_JEMALLOC(BP_ENTRY) \
	BP_ENTRIES_TCMALLOC(BP_ENTRY) \
	BP_ENTRIES_MIMALLOC(BP_ENTRY)

/* One entry: its name, the recorder's function, and the allocator's (NULL: this allocator has
 * none). */
struct bp_extended {
	const char *name;
	bp_entry *hook;
	bp_entry **real;
};

/* Returns the entry of that name; NULL if there is none. */
const struct bp_extended *bp_extended_find(const char *name);

/* Finds the allocator's entries; false if it has none. Called at start. */
bool bp_extended_resolve(void);

/* Binds the callers of those entries in all loaded objects, except the allocator itself, to the
 * hooks. Called at start. */
void bp_extended_bind(void);

#endif
