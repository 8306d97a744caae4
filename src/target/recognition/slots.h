/* SPDX-License-Identifier: MIT */
/*
 * Where sampled objects below 64 KiB live: slots in the recorder's own slabs, each with a fake
 * malloc header whose size word has the top bit set and carries the slot's number, so that `free`,
 * reading the word glibc's free reads next, finds them (docs/internals/recognition.md).
 * Thread-safe; not in signal handlers, except bp_slot_find and bp_slot_defer. Where damage to the
 * memory of slots is found, bp_damage_note is called (damage.h).
 */
#ifndef BP_RECOGNITION_SLOTS_H
#define BP_RECOGNITION_SLOTS_H

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

/* Returns what glibc's malloc_usable_size says for a request of `size` bytes. */
size_t bp_slot_usable(size_t size);

/* Returns the memory of a new slot for `size` bytes aligned to `alignment` (a power of two; 0 to 16
 * mean the usual alignment). The memory is not zeroed. NULL: no memory. */
void *bp_slot_take(size_t size, size_t alignment, struct bp_slot **ret_slot);

/* Returns the slot whose object begins exactly at `object`; NULL if no slot in use does. The header
 * word of `object` must have the slot bit. */
struct bp_slot *bp_slot_find(const void *object);

/* Was `object`, whose header word has the slot bit, given back since? */
bool bp_slot_is_freed(const void *object);

/* Can the object in `slot` become one of `size` bytes where it is, without wasting the slot? */
bool bp_slot_holds(const struct bp_slot *slot, size_t size);

/* Changes the size of its object, for which the slot has room. */
void bp_slot_resize(struct bp_slot *slot, size_t size);

/* Gives a slot back. False: another thread has given it back since it was found (the program freed
 * its object twice), and nothing was changed. */
bool bp_slot_release(struct bp_slot *slot);

/* For a signal handler that interrupted the recorder: remembers a slot that has to be given back
 * later. False as above. bp_slot_next_deferred returns these slots one by one, in use as before;
 * NULL when there is none. */
bool bp_slot_defer(struct bp_slot *slot);
struct bp_slot *bp_slot_next_deferred(void **ret_object);

/* Bytes of slab memory mapped. */
uint64_t bp_slot_bytes(void);

/* The most slabs that there can be, and how many there are. */
#define BP_SLOT_SLABS_MAX 65536u
uint32_t bp_slot_slabs(void);

/* Bytes of slabs that are in memory and in no object: what slots cost beyond their objects, without
 * their books, which are in the arena. The figure is approximate, because other threads go on.
 * Walks all slabs. */
uint64_t bp_slot_spare_bytes(void);

/* Called around fork. In the child, structures that another thread was changing are given up. */
void bp_slot_lock_all(void);
void bp_slot_unlock_all(void);
void bp_slot_after_fork(void);

#endif
