/* SPDX-License-Identifier: MIT */
/*
 * The live sampled objects that stay in the program's own heap: a table from their addresses to the
 * sequence numbers of their samples. Over glibc it holds those of 64 KiB and more; smaller ones are
 * in slots, whose book has the number (slots.h). Over any other malloc it holds all, and the pages
 * that they begin in are counted (filter.h). Thread-safe. bp_live_contains takes no lock and may be
 * called by a signal handler.
 */
#ifndef BP_RECOGNITION_LIVE_SET_H
#define BP_RECOGNITION_LIVE_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address_table.h"

/* The most objects held. Beyond this number objects are not sampled, which is counted. */
#define BP_LIVE_MAX BP_ADDRESS_TABLE_MAX

/* Inserts a live sample. False: the set is full, or there is no memory. */
bool bp_live_insert(const void *object, uint64_t sequence);

/* Is `object` a live sample? Never wrong about an object of the calling thread's own. */
bool bp_live_contains(const void *object);

/* Removes `object` and returns the number of its sample; 0 if it is not there. */
uint64_t bp_live_remove(const void *object);

/* As bp_live_remove, for a signal handler: returns 0 where it would have to wait. */
uint64_t bp_live_try_remove(const void *object);

/* The number of objects held at this moment. */
uint32_t bp_live_count(void);

/* Called around fork. */
void bp_live_lock(void);
void bp_live_unlock(void);
void bp_live_after_fork(void);

/* Empties the set: nothing of it is recorded any more. */
void bp_live_forget(void);

#endif
