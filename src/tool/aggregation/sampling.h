/* SPDX-License-Identifier: MIT */
/*
 * What sampling did in the processes that are looked at: which intervals were in force, and when
 * and for how much of what was allocated it was off. Figures are of objects allocated while it was
 * on; what was allocated while it was off is counted, and stands here. Made by aggregate.c, read by
 * reports and results; belongs to the aggregation.
 */
#ifndef BP_AGGREGATION_SAMPLING_H
#define BP_AGGREGATION_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/profile.h"

struct bp_view;

/* A time in which sampling was off for some thread, since the start of the first process. */
struct bp_span {
	uint64_t from_ns, to_ns;
};

struct bp_sampling {
	bool automatic;	 /* some process could change T by itself, to hold its budget */
	bool fine_start; /* of some process T began finer than it was to become */
	bool paused;	 /* something was allocated while sampling was off */
	struct bp_known_total bytes_off, objects_off; /* so much */
	uint64_t changes;    /* that some thread followed, of all processes together */
	uint64_t *intervals; /* every T in force, bytes, growing; where there was none, that of the
				* start */
	/* what may be there unseen is bounded as at this T, see sampling.c */
	uint64_t interval_unseen;
	struct bp_span *spans; /* apart, growing */
	uint64_t off_ns;       /* their length together */
	/* Of these, when nothing was recorded of some process, because its trace could not grow. */
	struct bp_span *outages; /* apart, growing */
	uint32_t outage_count;
	bool outage_goes_on; /* the last one had no end */
	/* Of this: when none of the processes that ran was sampled. One that lies idle follows a
	 * change late or never, and is off then, but has nothing that could be sampled. */
	uint64_t all_off_ns;
	uint32_t interval_count, span_count;
	uint32_t processes, paused_processes;
};

/* Errors: memory. bp_sampling_finish is safe after a failure and on zeroed memory. */
bool bp_sampling_init(
	struct bp_sampling *sampling, const struct bp_view *view, struct bp_error *error);
void bp_sampling_finish(struct bp_sampling *sampling);

/* Was sampling off for some thread at that time since the start? Pure. */
bool bp_sampling_is_off(const struct bp_sampling *sampling, uint64_t time_ns);

/* Was it because nothing could be recorded? Pure. */
bool bp_sampling_has_outage(const struct bp_sampling *sampling, uint64_t time_ns);

#endif
