/* SPDX-License-Identifier: MIT */
/*
 * What sampling may cost. When it costs more, T is doubled for all threads, by the control word
 * (control.h). There are two independent reasons:
 *
 *   automatic interval   (bit 41 of the word) time: the time that samples and recorded frees take
 *                        is measured and compared with the CPU time of the process; memory: the
 *                        recorder's own bytes are compared with 4 MiB + 1 % of the resident memory
 *   fill                 (always) the live set, the directory of slots and the arena are bounded;
 *                        near a bound T doubles, and again with each further step towards it
 *
 * No sample is discarded, and no thread waits: live samples stay, with the T they were sampled
 * with. Thread-safe, within a visit.
 */
#ifndef BP_RECORDER_STEERING_BUDGET_H
#define BP_RECORDER_STEERING_BUDGET_H

#include "recorder/thread.h"

/* Of a thread's samples and frees, the first BP_BUDGET_EACH_UNTIL are measured one by one, because
 * a short program has few. After these one in BP_BUDGET_ONE_IN is measured, and stands for the
 * others. */
#define BP_BUDGET_EACH_UNTIL 64u
#define BP_BUDGET_ONE_IN 4u

/* Called before and after a sample, or the free of one, is recorded. bp_budget_begin returns the
 * time now, or 0 if this one is not measured; bp_budget_end takes it. */
static inline uint64_t bp_budget_begin(struct bp_thread *thread)
{
	if ((thread->control & BP_CONTROL_AUTO) == 0)
		return 0;
	const uint32_t before = thread->measured++;
	if (before >= BP_BUDGET_EACH_UNTIL && before % BP_BUDGET_ONE_IN != 0)
		return 0;
	return bp_system_time_ns(CLOCK_MONOTONIC);
}

void bp_budget_spent(const struct bp_thread *thread, uint64_t began_ns);

static inline void bp_budget_end(const struct bp_thread *thread, uint64_t began_ns)
{
	if (began_ns != 0)
		bp_budget_spent(thread, began_ns);
}

/* Called after a sample was inserted into the live set. Doubles T if a table is nearly full. */
void bp_budget_look_at_fill(void);

/* Called in a child of fork: the child has spent nothing yet. */
void bp_budget_after_fork(void);

#endif
