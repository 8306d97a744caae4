/* SPDX-License-Identifier: MIT */
/*
 * How much of what is shown lies in functions without a name. A row "libfoo.so.1+0x1234" says where
 * memory goes to a machine; its reader wants to know why there is no name, and what to do. Called
 * by whoever reads a profile for people, after the names were resolved.
 */
#ifndef BP_AGGREGATION_VIEWS_NAMELESS_H
#define BP_AGGREGATION_VIEWS_NAMELESS_H

#include "aggregation/aggregate.h"

/* Below this share of the metric's bytes nothing is said. */
#define BP_NAMELESS_SHARE 0.1

/* Writes the name of the package with the debug symbols of the file at `path`; false: it knows
 * none. */
typedef bool (*bp_package_of)(const char *path, char *buffer, size_t bytes);

/* Adds a warning where functions without a name hold a share of BP_NAMELESS_SHARE or more of the
 * aggregation's bytes, by estimate: of the rows whose innermost function that is no allocation
 * function has no name. The warning names the files and what helps. `replaced`: files were replaced
 * since the recording, and for these debug symbols do not help. The packages that
 * `package_of` (NULL: none) knows are named. Keys that show no functions are never warned of.
 * Returns false without memory. */
bool bp_aggregation_warn_of_nameless(
	struct bp_aggregation *aggregation, bool replaced, bp_package_of package_of);

/* Is row `i` < row_count, of a query by function, one of a function without a name? */
bool bp_aggregation_row_is_nameless(const struct bp_aggregation *aggregation, uint32_t i);

#endif
