/* SPDX-License-Identifier: MIT */
/*
 * The lock of the inside half (recorder, hosts, the trace's writer): one word, and a futex when two
 * threads meet. Zero is unlocked. No lock is held while the program's code runs. A signal handler
 * never waits for one: the per-thread busy flag (recognition/hot.h) keeps it out of the code that
 * takes locks.
 *
 * A thread that holds a lock takes only locks that come later in this order; of several of one
 * kind, only those with a higher index. The order is that of the fork handlers, which take all but
 * those in brackets:
 *
 *	[attaching]		recorder/attach.c	attaching and detaching; the fork handlers take it first
 *	[end_lock]		recorder/lifecycle.c	the totals at the end of the process
 *	spare.lock		recorder/verify.c	the stack of a thread without a block
 *	stacks.lock		recorder/verify.c	sums by stack
 *	stripes[i].lock		tables/verify_table.c	counted objects by address
 *	threads.lock		recorder/thread.c	the list of threads
 *	table.lock		recorder/program/labels.c	label texts
 *	names.lock		recorder/program/pools.c	names of pools
 *	set.lock		tables/pool_set.c	live samples of pools
 *	places.lock		python/frame_names.c	places in Python programs
 *	table.lock		unwind/modules.c	modules
 *	parts[i].lock		recognition/live_set.c	live samples by address
 *	classes[i].lock		recognition/slots.c	slabs of one class
 *	pool.lock		recognition/slots.c	numbers of slabs, slabs of one slot
 *	[outage.lock]		trace/writer/writer_outage.c	of whoever tries to end an outage; never waited for
 *	lanes[i].lock		trace/writer/writer.c		an open chunk
 *	grow_lock		trace/writer/writer_file.c	the file's size and windows, thread slots
 *
 * Where the loader has no _dl_find_object (glibc before 2.35), bp_module_range_find takes the
 * loader's own lock for a moment (unwind/loaded_objects.h): with no lock of ours held, but for
 * `spare`.
 *
 * Outside of the fork handlers these are held together, and no others:
 *
 *	end_lock > threads
 *	spare > modules > lane > grow_lock
 *	stacks > grow_lock
 *	threads > lane > grow_lock	(recorder/program/program_calls.c), and threads > grow_lock (recorder/thread.c)
 *	modules > lane > grow_lock
 *	class > pool
 *	outage > all lanes > grow_lock, and outage > lane > grow_lock
 *	lane > grow_lock
 *
 * Three more are held with no other lock, and a child of fork resets them: `wanting`
 * (recorder/program/program_calls.c), `bp_control.lock` and `budget.lock`. The last one is never
 * waited for.
 *
 * A host (src/target/host) has locks of its own, in this order: the list of threads, or one thread,
 * or the names of one kind; then the host's memory; then the writer's. The locks of its live
 * samples and of its listeners are held with no other. It has no fork handlers: in a child a host
 * does nothing.
 */
#ifndef BP_BASE_LOCK_H
#define BP_BASE_LOCK_H

#include "base/system_call.h"

struct bp_lock {
	uint32_t word; /* 0 free, 1 held, 2 held and waited for */
};

static inline bool bp_lock_try(struct bp_lock *lock)
{
	uint32_t expected = 0;
	return __atomic_compare_exchange_n(
		&lock->word, &expected, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void bp_lock_take(struct bp_lock *lock)
{
	for (int spin = 0; spin < 64; spin++)
		if (bp_lock_try(lock))
			return;
	while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
		(void)syscall(SYS_futex, &lock->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

static inline void bp_lock_release(struct bp_lock *lock)
{
	if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
		(void)syscall(SYS_futex, &lock->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* In a child of fork: nobody else can hold it. True if somebody did at the fork, so that what it
 * guards may be half changed. */
static inline bool bp_lock_reset(struct bp_lock *lock)
{
	bool was_held = lock->word != 0;
	lock->word = 0;
	return was_held;
}

#endif
