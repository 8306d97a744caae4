/* SPDX-License-Identifier: MIT */
/*
 * The peak of the heap over time, from the curve of live bytes as estimated from the samples. The
 * largest value of a noisy curve lies where the noise went up, so the samples are also split into
 * two independent halves: the moment of each half's own maximum is where the other half is read
 * (cross-fit, docs/statistics.md "Peak"). And the largest of the upper limits may belong to another
 * moment than the largest estimate. Called by aggregate.c. (The curve with its confidence band,
 * for reports, is band.c.)
 */
#ifndef BP_TIME_TIMELINE_H
#define BP_TIME_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/sample_weight.h"
#include "query/selection.h"
#include "query/view.h"

struct bp_peak {
	bool found;		    /* false: no sample was ever live */
	struct bp_moment moment;    /* where the estimated curve is largest */
	struct bp_moment halves[2]; /* where the curve of each half is largest */
	bool half_found[2];
	/* where the upper limit is largest, as found by bp_upper_limit_about */
	struct bp_moment reach;
	/* the most that was sampled and live at one moment, in what is summed */
	double certain;
	uint64_t allocations; /* samples that took part in the curve */
};

/* What upper limits are searched with: bp_upper_limit_about. */
struct bp_reach {
	double unit, depth;
};

/* Finds the peak of the selected samples, among the moments of the view's window. View and
 * selection are those of the query. */
bool bp_timeline_peak(const struct bp_view *view, const struct bp_selection *selection,
	const struct bp_query *query, struct bp_weight_cache *weights, struct bp_reach reach,
	struct bp_peak *ret_peak, struct bp_error *error);

#endif
