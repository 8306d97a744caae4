/* SPDX-License-Identifier: MIT */
/*
 * Functions of the program's own that are told of every sample and every free of one (bytepoll/bytepoll.h).
 * A visit collects what it wrote, and its end, when the thread is the program's again, tells. Who tells
 * nothing else meanwhile: what a listener allocates is recorded like anything else, and told to nobody.
 *
 * Thread-safe. No lock is taken, here or while a listener runs.
 */
#ifndef BP_RECORDER_LISTENERS_H
#define BP_RECORDER_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>

#include "bytepoll/bytepoll.h"

struct bp_visit;

/* How many there are; read in every sample and every free of one. */
extern uint32_t bp_listeners_count __attribute__((visibility("hidden")));
static inline bool bp_listeners_any(void)
{
	return __atomic_load_n(&bp_listeners_count, __ATOMIC_RELAXED) != 0;
}

/* As bp_listen and bp_unlisten. */
uint32_t bp_listeners_add(bp_listener *listener, void *context);
bool bp_listeners_remove(uint32_t number);

/* Ends a visit that has events, and calls the listeners. */
void bp_listeners_end_visit(struct bp_visit *visit, uint64_t trials_left);

/* Counts an event that they are not told of; how many there were. */
void bp_listeners_untold(void);
uint64_t bp_listeners_untold_count(void);

/* In a child of fork: no other thread is in a listener. */
void bp_listeners_after_fork(void);

#endif
