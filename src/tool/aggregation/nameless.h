/* SPDX-License-Identifier: MIT */
/*
 * How much of what is shown lies in functions without a name. A row "libfoo.so.1+0x1234" says where
 * memory goes to a machine; its reader wants to know why there is no name, and what to do. Called
 * by whoever reads a profile for people, after the names were resolved.
 */
#ifndef BP_AGGREGATION_NAMELESS_H
#define BP_AGGREGATION_NAMELESS_H

#include "aggregation/aggregate.h"

/* Below this share of the metric's bytes nothing is said. */
#define BP_NAMELESS_SHARE 0.1

/* The share in [0, 1], by estimate, of the bytes of the aggregation's rows whose innermost function
 * that is no allocation function has no name; 0 for keys that show no functions. Pure. */
double bp_nameless_share(const struct bp_aggregation *aggregation);

/* Adds a sentence to the warnings that says so, with the files it is in, and what helps, where the
 * share is BP_NAMELESS_SHARE or more. `replaced`: files were replaced since the recording, and for
 * these debug symbols do not help. False: no memory. */
bool bp_aggregation_warn_of_nameless(struct bp_aggregation *aggregation, bool replaced);

#endif
