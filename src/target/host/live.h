/* SPDX-License-Identifier: MIT */
/*
 * The live samples of a host: a table from addresses to sequence numbers, with a count of those
 * that begin in each page in front of it (bytepoll/host.h, bp_host_may_hold). Thread-safe, except
 * init and finish.
 *
 * A moving collection is recorded in two steps, because an object may move to the old place of
 * another: moves remove samples from the table, and bp_host_live_moved_next inserts them at their
 * new addresses.
 */
#ifndef BP_HOST_LIVE_H
#define BP_HOST_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/address_table.h"
#include "base/lock.h"

#define BP_HOST_PAGE_SHIFT 12
#define BP_HOST_FILTER_BYTES ((size_t)1 << (32 - BP_HOST_PAGE_SHIFT))

struct bp_host_live {
	struct bp_lock lock;
	struct bp_address_table table;
	/* of all its arrays: readers may be in an old one */
	struct bp_host_live_block *blocks;
	uint8_t *pages;			/* BP_HOST_FILTER_BYTES */
	struct bp_address_entry *moved; /* samples to insert, with their new addresses */
	uint32_t moved_count;
	size_t moved_bytes;
	uint64_t bytes; /* mapped so far */
};

/* False: no memory. The value must be zeroed memory. */
bool bp_host_live_init(struct bp_host_live *live);
void bp_host_live_finish(struct bp_host_live *live);

/* Inserts a sample. False: the table is full, or there is no memory. The address must not be in the
 * table. */
bool bp_host_live_insert(struct bp_host_live *live, const void *object, uint64_t sequence);

/* Is the object in the table? Certain for an object that the caller owns. */
bool bp_host_live_contains(const struct bp_host_live *live, const void *object);

/* Removes `object` and returns its sequence number; 0 if it is not there. */
uint64_t bp_host_live_remove(struct bp_host_live *live, const void *object);

/* Removes `from`, to be inserted at `to`, and returns its sequence number; 0 if it is not there.
 * `ret_lost`: there is no memory to keep it, so that the sample has ended. */
uint64_t bp_host_live_move(
	struct bp_host_live *live, const void *from, const void *to, bool *ret_lost);
/* Inserts the next moved sample; false: there is none left. `ret_lost`: its sequence number, if it
 * could not be inserted or there is another sample at its address; otherwise 0. */
bool bp_host_live_moved_next(struct bp_host_live *live, uint64_t *ret_lost);

/* Returns a copy of all entries, in memory of its own, which bp_system_unmap frees; NULL: there is
 * no memory, or no entry. */
struct bp_address_entry *bp_host_live_copy(
	struct bp_host_live *live, uint32_t *ret_count, size_t *ret_bytes);

/* Removes the sample of `entry`, if it is still in the table. */
bool bp_host_live_remove_if(struct bp_host_live *live, const struct bp_address_entry *entry);

#endif
