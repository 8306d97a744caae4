/* SPDX-License-Identifier: MIT */
/*
 * Walking a table of births or deaths in the order of its moments, which is a merge of the ascending runs
 * that were noted while it was filled. Runs wait in the order in which they begin, and only those that
 * have begun compete: of a trace, whose writers take turns, a handful at a time however many there are.
 * Equal moments come in the order of their rows. Called by samples.c and timeline.c.
 */
#ifndef BP_PROFILE_SAMPLE_RUNS_H
#define BP_PROFILE_SAMPLE_RUNS_H

#include "profile/sample_order.h"
#include "profile/samples.h"

struct bp_run_head {
	uint64_t time_ns;
	uint32_t row, end; /* the row of that time; the first one behind the run */
};

struct bp_sample_runs {
	struct bp_run_head *heap; /* heap[0] is the next, while active > 0 */
	uint32_t active, capacity;
	/* Private. */
	const struct bp_samples *samples;
	const struct bp_runs *runs;
	const struct bp_packed *table; /* births, or deaths */
	unsigned time_column;
	bool deaths;
	uint32_t *waiting; /* runs in the order of their beginnings */
	uint32_t next_waiting;
	struct bp_run_head upcoming; /* of the next of them, if there is one */
	uint32_t rows;		     /* of the table */
};

/* At the first birth, the first death. False: no memory. */
bool bp_sample_runs_births(struct bp_sample_runs *merge, const struct bp_samples *samples);
bool bp_sample_runs_deaths(struct bp_sample_runs *merge, const struct bp_samples *samples);

/* The whole moment of a row: times alone nearly always tell. */
struct bp_moment bp_sample_runs_moment(const struct bp_sample_runs *merge, uint32_t row);

/* Goes on to the next one. */
void bp_sample_runs_next(struct bp_sample_runs *merge);

void bp_sample_runs_finish(struct bp_sample_runs *merge);

#endif
