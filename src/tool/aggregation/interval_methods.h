/* SPDX-License-Identifier: MIT */
/*
 * The interval methods of query/words.h: each computes the interval of bytes (as values) from the
 * samples of a tally. Called by figures.c alone. Pure.
 */
#ifndef BP_AGGREGATION_INTERVAL_METHODS_H
#define BP_AGGREGATION_INTERVAL_METHODS_H

#include "aggregation/aggregation_state.h"

/* `ratio`: the largest value of one trial; `alpha`: the chance to miss, of both sides together. */
typedef struct bp_interval bp_values_method(const struct bp_aggregation *aggregation,
	const struct bp_tally *tally, double ratio, double alpha);

#define BP_METHOD_DECLARED(name, word, hits, values) bp_values_method values;
BP_METHODS(BP_METHOD_DECLARED)
#undef BP_METHOD_DECLARED

#endif
