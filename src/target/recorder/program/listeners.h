/* SPDX-License-Identifier: MIT */
/*
 * Listeners: functions of the program that are called for every sample and every free of one
 * (bytepoll/bytepoll.h). A visit collects the events that it has recorded. The end of the visit,
 * when the recorder's work is done, calls the listeners. What a listener allocates is recorded like
 * any other allocation, but no listener is called for it.
 *
 * Thread-safe. No lock is taken here, and none is held while a listener runs.
 */
#ifndef BP_RECORDER_PROGRAM_LISTENERS_H
#define BP_RECORDER_PROGRAM_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>

#include "bytepoll/bytepoll.h"

/* The number of listeners; read in every sample and every free of one. */
extern uint32_t bp_listeners_count __attribute__((visibility("hidden")));
static inline bool bp_listeners_any(void)
{
	return __atomic_load_n(&bp_listeners_count, __ATOMIC_RELAXED) != 0;
}

/* As bp_listen and bp_unlisten. */
uint32_t bp_listeners_add(bp_listener *listener, void *context);
bool bp_listeners_remove(uint32_t number);

/* Counts an event for which no listener is called; returns the number of these events. */
void bp_listeners_untold(void);
uint64_t bp_listeners_untold_count(void);

/* In a child of fork: no other thread is in a listener. */
void bp_listeners_after_fork(void);

#endif
