/* SPDX-License-Identifier: MIT */
/*
 * Walking a table of births or deaths in the order of its moments, which is a merge of the
 * ascending runs that were noted while it was filled. Runs wait in the order in which they begin,
 * and only those that have begun compete: of a trace, whose writers take turns, a handful at a time
 * however many there are. What is first stays so for some dozens of rows as a rule, until the next
 * of the others begins, and that far it is walked without asking. Equal moments come in the order
 * of their rows. Called by samples.c and timeline.c.
 */
#ifndef BP_MODEL_SAMPLE_RUNS_H
#define BP_MODEL_SAMPLE_RUNS_H

#include "model/sample_order.h"
#include "model/samples.h"

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
	bool deaths;
	uint32_t *waiting; /* runs in the order of their beginnings */
	uint32_t next_waiting;
	struct bp_run_head upcoming; /* of the next of them, if there is one */
	uint32_t rows;		     /* of the table */
	uint64_t alone_until_ns;     /* rows of heap[0] before this time come before all others */
};
_Static_assert((int)BP_BIRTH_TIME == (int)BP_DEATH_TIME, "of births and deaths alike");

/* At the first birth, the first death. False: no memory. */
bool bp_sample_runs_births(struct bp_sample_runs *merge, const struct bp_samples *samples);
bool bp_sample_runs_deaths(struct bp_sample_runs *merge, const struct bp_samples *samples);

/* The whole moment of a row: times alone nearly always tell. */
struct bp_moment bp_sample_runs_moment(const struct bp_sample_runs *merge, uint32_t row);

static inline uint64_t bp_sample_runs_time(const struct bp_sample_runs *merge, uint32_t row)
{
	return bp_packed_get(merge->table, row, BP_BIRTH_TIME);
}

/* Goes on to the next one; bp_sample_runs_change does so where another run may have it. */
void bp_sample_runs_change(struct bp_sample_runs *merge);
static inline void bp_sample_runs_next(struct bp_sample_runs *merge)
{
	struct bp_run_head *head = &merge->heap[0];
	const uint32_t row = head->row + 1;
	const uint64_t time_ns =
		row < head->end ? bp_sample_runs_time(merge, row) : merge->alone_until_ns;
	if (time_ns < merge->alone_until_ns) {
		head->row = row;
		head->time_ns = time_ns;
		return;
	}
	bp_sample_runs_change(merge);
}

void bp_sample_runs_finish(struct bp_sample_runs *merge);

#endif
