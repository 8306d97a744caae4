/* SPDX-License-Identifier: MIT */
/*
 * Where sampled objects below 64 KiB live: slots in the recorder's own slabs, each with a fake
 * malloc header whose size word has the top bit set and carries the slot's number, so that `free`,
 * reading the word glibc's free reads next, finds them (docs/internals/recognition.md).
 * Thread-safe; not in signal handlers, except bp_slot_find and bp_slot_defer. Damage to the memory of slots is
 * noted where it is found (damage.h).
 */
#ifndef BP_RECORDER_SLOTS_H
#define BP_RECORDER_SLOTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BP_SLOT_BIT ((uint64_t)1 << 63)

/* The book entry of one slot. */
struct bp_slot {
	uint64_t
		sequence; /* of the live sample in it; 0: none (an object may outlive its sample) */
	uint32_t size;	  /* requested, bytes */
	uint32_t offset;  /* of the object in the slot's memory */
	uint32_t handle;  /* the slab's number << 16 | the index in it, and 1 */
	uint32_t link;	  /* handle of the next one in its list, 0: none; see slots.c */
};

/* Does a request live in a slot when sampled? Otherwise it stays where glibc puts it, with a header
 * that says 64 KiB or more. */
bool bp_slot_fits(size_t size);

/* What glibc's malloc_usable_size says for a request of `size` bytes. */
size_t bp_slot_usable(size_t size);

/* A slot for `size` bytes aligned to `alignment` (a power of two; 0 or up to 16: the usual). The
 * memory is not zeroed. NULL: no memory. */
void *bp_slot_take(size_t size, size_t alignment, struct bp_slot **ret_slot);

/* The slot whose object begins exactly at `object`; NULL if none is in use there. `object`'s header
 * word must have the slot bit. */
struct bp_slot *bp_slot_find(const void *object);

/* Was `object`, whose header word has the slot bit, one that was given back since? */
bool bp_slot_is_freed(const void *object);

/* Can the object in `slot` become one of `size` bytes where it is, without wasting the slot? */
bool bp_slot_holds(const struct bp_slot *slot, size_t size);

/* Makes it one of that size, for which it has room. */
void bp_slot_resize(struct bp_slot *slot, size_t size);

/* Gives a slot back. False: somebody else has done so since it was found (the program freed its object
 * twice), and nothing was changed. */
bool bp_slot_release(struct bp_slot *slot);

/* From a signal handler that interrupted the recorder: remembers a slot to be given back later. False as
 * above. bp_slot_next_deferred hands them out again, in use as before; NULL when there is none. */
bool bp_slot_defer(struct bp_slot *slot);
struct bp_slot *bp_slot_next_deferred(void **ret_object);

/* Bytes of slab memory mapped. */
uint64_t bp_slot_bytes(void);

/* Most slabs there can be, and how many there are. */
#define BP_SLOT_SLABS_MAX 65536u
uint32_t bp_slot_slabs(void);

/* Bytes of slabs that are in memory and in no object: what slots cost beyond what they hold (their
 * books are the arena's). Of one moment, more or less; walks all slabs. */
uint64_t bp_slot_spare_bytes(void);

/* Around fork; in the child, structures somebody was changing are abandoned, not trusted. */
void bp_slot_lock_all(void);
void bp_slot_unlock_all(void);
void bp_slot_after_fork(void);

#endif
