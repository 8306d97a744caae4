/* SPDX-License-Identifier: MIT */
/*
 * See mapping.h. Each call is recorded, none is sampled, up to BP_MAPPING_RECORDS_MAX in a process:
 * a program that maps memory in a loop must not fill the disk. (So many records take some 12 MiB.)
 *
 * A thread that is inside the recorder records nothing, since it may hold locks: it was interrupted
 * by a signal handler that maps memory. There is one exception. Within a visit the recorder calls
 * the program's allocator, which may map memory (jemalloc's arenas). The thread holds no lock of
 * the recorder then, and what it keeps for captures is not in use, so that the call is recorded
 * with the visit's own thread. `in_allocator` says so. It is 0 while such a call is recorded, for
 * the signal handlers that interrupt that. The same holds when the recorder calls the allocator
 * while it starts.
 */
#include "recorder/mapping.h"

#include "base/system_call.h"
#include "python/interpreter.h"
#include "python/mixed_stack.h"
#include "recorder/visit.h"
#include "unwind/stack_table.h"

uint64_t bp_mapping_begin(bool wanted)
{
	bp_recorder.records_mappings = wanted && !bp_recorder.is_late;
	return bp_recorder.records_mappings ? BP_HEADER_MAPPED : 0;
}

static bool write_record(struct bp_thread *thread, const struct bp_mapping_call *call)
{
	struct bp_writer *writer = &bp_recorder.writer;
	if (__atomic_load_n(&bp_recorder.mappings, __ATOMIC_RELAXED) >= BP_MAPPING_RECORDS_MAX)
		return false;
	__atomic_add_fetch(&bp_recorder.mappings, 1, __ATOMIC_RELAXED);
	/* What was mapped was not seen by another thread before the call returned. */
	const uint64_t sequence = bp_recorder_next_sequence();
	const uint64_t time_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	bp_stack_capture(&thread->capture);
	const uint32_t stack = bp_python.frames ? bp_mixed_stack_id(writer, &thread->capture,
							  &thread->python, false)
						: bp_stack_table_id(writer, &thread->capture);
	const uint64_t values[] = { thread->ordinal, time_ns,
		call->before == 0 ? sequence : call->before, sequence, call->what, call->address,
		call->bytes, call->old_address, call->old_bytes, (uint32_t)call->protection,
		(uint32_t)call->flags, stack };
	return bp_writer_plain(writer, BP_TAG_MAPPING, values, BP_COUNT(values), NULL);
}

void bp_mapping_record(const struct bp_mapping_call *call)
{
	struct bp_hot *hot = &bp_hot;
	struct bp_visit visit;
	bool recorded = false;
	if (hot->busy && hot->in_allocator) {
		const int saved_errno = errno;
		hot->in_allocator = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		recorded = hot->thread != NULL && write_record(hot->thread, call);
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		hot->in_allocator = 1;
		errno = saved_errno;
	} else if (bp_visit_begin(&visit, 0)) {
		recorded = write_record(visit.thread, call);
		bp_visit_end(&visit, visit.left);
	}
	if (bp_unlikely(!recorded) && bp_mapping_is_wanted() && *bp_recorder.fork_mark != 0)
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_MAPPING);
}

void bp_mapping_adopt_entries(void)
{
	bp_hot.in_allocator = bp_recorder.records_mappings;
	if (bp_hot.in_allocator)
		(void)bp_thread_self(); /* without it the calls count as lost */
	bp_real_adopt_entries();
	bp_hot.in_allocator = 0;
}
