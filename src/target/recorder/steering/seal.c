/* SPDX-License-Identifier: MIT */
/*
 * See seal.h. In a sealed process no visit begins any more, so that every road that leads to a
 * system call is closed at one place; the calls of the hooks then take the roads made for signal
 * handlers: objects come from the real functions, and a slot that is freed is put aside. What such
 * a handler may still do to the live set it may not here, since letting a lock go can be a system
 * call.
 *
 * Counting goes on: the sampler decides, without a visit, so that a sample lost is counted as one,
 * and the thread's totals are stored where a reader finds them. There is no end to such a trace: it
 * reads as that of a killed process, with totals up to what the last cold path of each thread
 * stored.
 */
#include "recorder/steering/seal.h"

#include "recorder/visit.h"

enum bp_seal bp_recorder_seal(enum bp_seal seal)
{
	const enum bp_seal before = bp_recorder.seal;
	struct bp_visit visit;
	/* A vfork child runs in its parent's memory: what it gives up is not the parent's. */
	if (bp_recorder.mode != BP_MODE_ON || seal <= before || *bp_recorder.fork_mark == 0 ||
		bp_system_pid() != bp_recorder.pid)
		return before;
	/* A visit, so that the thread is known and its totals are stored. */
	if (bp_visit_begin(&visit, 0))
		bp_visit_end(&visit, visit.left);
	bp_recorder.writer.files_forbidden = seal >= BP_SEAL_FILES;
	__atomic_store_n(&bp_recorder.seal, (uint32_t)seal, __ATOMIC_RELEASE);
	return before;
}

void bp_recorder_unseal(enum bp_seal before)
{
	bp_recorder.writer.files_forbidden = before >= BP_SEAL_FILES;
	bp_recorder.seal = before;
}

void bp_seal_charge(size_t size)
{
	struct bp_hot *hot = &bp_hot;
	struct bp_thread *thread = hot->thread;
	struct bp_decision decision;
	/* A child of fork has no trace to count in, a thread born since then no place in it. */
	if (*bp_recorder.fork_mark == 0 || thread == NULL) {
		hot->counters.trials_left = BP_VISIT_LEFT;
		bp_writer_lost(&bp_recorder.writer,
			thread == NULL ? BP_LOSS_THREAD_SLOT : BP_LOSS_CHILD_TRACE);
		return;
	}
	hot->busy = 1;
	const uint64_t left =
		bp_sampler_decide(&thread->sampler, hot->counters.trials_left, size, &decision);
	if (decision.sampled)
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_TRACE_FULL);
	/* Published before the countdown runs, as at the end of a visit. */
	bp_thread_publish(thread, left);
	__atomic_store_n(&hot->counters.trials_left, left, __ATOMIC_RELEASE);
	hot->busy = 0;
}

void bp_seal_thread_end(void)
{
	struct bp_thread *thread = bp_hot.thread;
	if (thread == NULL || *bp_recorder.fork_mark == 0)
		return;
	bp_thread_publish(thread, bp_hot.counters.trials_left);
}
