/* SPDX-License-Identifier: MIT */
/*
 * A view of a profile: which processes are looked at, where each one's clock begins, when each one
 * ends, and at which moment "live" is taken. Answers, for one sample, whether it is looked at and
 * whether it was live at a moment. Called by aggregate.c and timeline.c.
 *
 * An object lives until it is freed or its process ends. A process that was killed, or still runs,
 * is taken to have ended at the last thing known of it. The first process of a tree is followed
 * through its execs: the tree's exit is the end of its last image.
 */
#ifndef BP_QUERY_VIEW_H
#define BP_QUERY_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "model/profile.h"
#include "model/sample_order.h"
#include "query/query.h"

struct bp_process_view {
	bool included;
	uint32_t root;	       /* first process of its tree */
	uint64_t base_ns;      /* when that one started */
	uint64_t end_ns;       /* when this process ended, or was last heard of */
	struct bp_moment live; /* the moment of metric live */
	struct bp_moment gone; /* a later one, at which it must not live any more */
};

struct bp_view {
	const struct bp_profile *profile;
	struct bp_process_view *processes; /* by process id */
	uint32_t subject;		   /* last image of the first process looked at; 0: none */
	uint64_t duration_ns;		   /* of the first process looked at, execs included */
	uint64_t at_ns;			   /* moment of metric live since its start */
	uint64_t from_ns, to_ns;	   /* window since the start; 0 and BP_TIME_NEVER: all */
	bool has_gone;			   /* `gone` of the processes holds */
};

bool bp_view_init(struct bp_view *view, const struct bp_profile *profile,
	const struct bp_query *query, struct bp_error *error);
void bp_view_finish(struct bp_view *view);

/* Does a window that begins `from_ns` after the start begin before the end of all that was
 * recorded? True also where the profile has no times. Errors: it does not. */
bool bp_view_check_from(const struct bp_profile *profile, uint64_t from_ns, struct bp_error *error);

/* When the sample's object stopped living. */
static inline struct bp_moment bp_view_death(
	const struct bp_view *view, const struct bp_sample *sample)
{
	uint64_t end_ns = view->processes[sample->process.i].end_ns;
	if (sample->free_time_ns != BP_TIME_NEVER && sample->free_time_ns <= end_ns)
		return (struct bp_moment){ sample->free_time_ns, sample->free_sequence,
			sample->process.i };
	return (struct bp_moment){ end_ns, UINT64_MAX, UINT32_MAX };
}

static inline struct bp_moment bp_view_birth(const struct bp_sample *sample)
{
	return (struct bp_moment){ sample->time_ns, sample->sequence, sample->process.i };
}

static inline bool bp_view_is_live(
	const struct bp_view *view, const struct bp_sample *sample, const struct bp_moment *moment)
{
	struct bp_moment birth = bp_view_birth(sample), death = bp_view_death(view, sample);
	return !bp_moment_before(moment, &birth) && bp_moment_before(moment, &death);
}

/* Does it no longer live at the later moment, if there is one? */
static inline bool bp_view_is_gone(const struct bp_view *view, const struct bp_sample *sample)
{
	return !view->has_gone ||
	       !bp_view_is_live(view, sample, &view->processes[sample->process.i].gone);
}

/* Was it allocated in the window? */
static inline bool bp_view_in_window(const struct bp_view *view, const struct bp_sample *sample)
{
	uint64_t base_ns = view->processes[sample->process.i].base_ns;
	uint64_t time_ns = sample->time_ns > base_ns ? sample->time_ns - base_ns : 0;
	return time_ns >= view->from_ns && time_ns < view->to_ns;
}

#endif
