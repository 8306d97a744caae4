/* SPDX-License-Identifier: MIT */
/*
 * Compiler attributes and branch hints under one name each. The only header, beside
 * probes/test_points.h and the generated configuration, that may ask which compiler this is.
 * Leaf: includes nothing, used by every folder.
 */
#ifndef BP_BASE_ATTRIBUTES_H
#define BP_BASE_ATTRIBUTES_H

#define bp_likely(condition) __builtin_expect(!!(condition), 1)
#define bp_unlikely(condition) __builtin_expect(!!(condition), 0)

/* Kept out of line and away from hot code. */
#define BP_COLD __attribute__((cold, noinline))
/* Visible to other objects; everything else is built with hidden visibility. */
#define BP_EXPORT __attribute__((visibility("default")))
#define BP_PRINTF(format_index, first_index) \
	__attribute__((format(printf, format_index, first_index)))

/* Number of elements of a true array. */
#define BP_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
