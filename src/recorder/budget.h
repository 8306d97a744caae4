/* SPDX-License-Identifier: MIT */
/*
 * What sampling may cost, and what happens when it costs more: T is doubled, by the control word
 * (control.h), for all threads. Two reasons, apart from each other:
 *
 *   automatic interval   (bit 41 of the word) time: what samples and recorded frees take is measured
 *                        and held against the CPU time of the process; memory: the recorder's own
 *                        bytes against 4 MiB + 1 % of what the process has resident
 *   fill                 (always) the live set, the directory of slots and the arena are bounded;
 *                        near a bound T doubles, and again with each further step towards it
 *
 * Nothing that was sampled is thrown away or thinned, and nobody waits: what lives goes on living,
 * at the T it was sampled with. Thread-safe, within a visit.
 */
#ifndef BP_RECORDER_BUDGET_H
#define BP_RECORDER_BUDGET_H

#include "recorder/thread.h"

/* The next `begin` of a thread is measured for so many of its successors, too; its first ones one
 * by one, since a short program has few. */
#define BP_BUDGET_EACH_UNTIL 64u
#define BP_BUDGET_ONE_IN 4u

/* Around what a sample, or the free of one, costs: the time now, or 0 if this one is not measured.
 * */
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

/* After a sample was enlisted: is a table nearly full? Then T is doubled. */
void bp_budget_look_at_fill(void);

/* In a child of fork: it has spent nothing yet. */
void bp_budget_after_fork(void);

#endif
