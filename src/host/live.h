/* SPDX-License-Identifier: MIT */
/*
 * The live samples of a host: address to sequence number, in one table, with a count of those that begin
 * in each page in front of it (bytepoll/host.h, bp_host_may_hold). Thread-safe, but for init and finish.
 *
 * A moving collection is told in two halves, because an object may move to where another was: moves take
 * samples out of the table, bp_host_live_moves_end puts them back at their new addresses.
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
	struct bp_host_live_block *blocks;	/* of all its arrays: readers may be in an old one */
	uint8_t *pages;			/* BP_HOST_FILTER_BYTES */
	struct bp_address_entry *moved; /* at their new addresses, to be put in */
	uint32_t moved_count;
	size_t moved_bytes;
	uint64_t bytes; /* mapped so far */
};

/* False: no memory. The value must be zeroed memory. */
bool bp_host_live_init(struct bp_host_live *live);
void bp_host_live_finish(struct bp_host_live *live);

/* False: full or no memory. The address must not be in it. */
bool bp_host_live_insert(struct bp_host_live *live, const void *object, uint64_t sequence);

/* Never wrong about an object that the caller owns. */
bool bp_host_live_contains(const struct bp_host_live *live, const void *object);

/* Takes `object` out and returns its sequence; 0 if it is not there. */
uint64_t bp_host_live_remove(struct bp_host_live *live, const void *object);

/* Takes `from` out, to be put in at `to`; 0 if it is not there, otherwise its sequence. `ret_lost`: there
 * is no memory to keep it, so that its life is over. */
uint64_t bp_host_live_move(
	struct bp_host_live *live, const void *from, const void *to, bool *ret_lost);
/* The next of those that were moved is put in; false: there is none left. `ret_lost`: its sequence, if it
 * could not be put in or another sample is at its address already; otherwise 0. */
bool bp_host_live_moved_next(struct bp_host_live *live, uint64_t *ret_lost);

/* A copy of all entries, in memory of its own that bp_system_unmap gives back; NULL: no memory, or none
 * is held. */
struct bp_address_entry *bp_host_live_copy(
	struct bp_host_live *live, uint32_t *ret_count, size_t *ret_bytes);

/* Takes `object` out if it is still that sample. */
bool bp_host_live_remove_if(struct bp_host_live *live, const struct bp_address_entry *entry);

#endif
