/* SPDX-License-Identifier: MIT */
/*
 * The recorder's own lock: one word, a futex when contended. Never held across the program's code;
 * a thread holds at most one lock, except in the fork handlers, which take all in a fixed order, at the end of
 * the process (recorder/lifecycle.c), which takes that of the threads after its own, and
 * where the list of threads is gone through (recorder/window.c), which takes the writer's after it.
 * Zero is unlocked. A signal handler never waits on one: the per-thread busy flag (recorder/hot.h) keeps it
 * out of the code that takes locks.
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
