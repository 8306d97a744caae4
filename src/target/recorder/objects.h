/* SPDX-License-Identifier: MIT */
/*
 * What allocation, free and realloc share: sample.c defines it, realloc.c and pools.c use it.
 * Private to the recorder. All but the first group are called within a visit.
 */
#ifndef BP_RECORDER_OBJECTS_H
#define BP_RECORDER_OBJECTS_H

#include "recognition/slots.h"
#include "recorder/call.h"
#include "recorder/visit.h"

/* A charged call that allocates, from its begin to its end. NULL: it failed, as the real function
 * did, and the charge is undone. */
void *bp_object_allocate(const struct bp_call *call);

/* Is the object in a slot, by the word before it? That means something over glibc only; elsewhere
 * it may be unreadable, and the answer is no. */
bool bp_object_is_in_slot(const void *object);

/* Where no visit is possible: the sample of an object in the program's own heap ends; and an object
 * is freed, or will be by the next visit. */
void bp_object_forget_nested(void *object);
void bp_object_free_nested(void *object);

/* Lets the sampler decide about a charged object. True: bp_control_note has to be called after the
 * decision was carried out. */
bool bp_object_offer(struct bp_visit *visit, size_t size, struct bp_decision *ret_decision);

/* A charged object is to count as never made, after the sampler accounted for it. */
void bp_object_undo(struct bp_visit *visit, size_t size);

/* Does a sampled object of that size live in a slot? */
bool bp_object_fits_slot(size_t size);

/* Takes a slot for a sampled object; NULL if there is none. calloc's is cleared. */
void *bp_object_take_slot(const struct bp_call *call, struct bp_slot **ret_slot);

/* Gives a slot back, filled as the C library fills freed memory. False as bp_slot_release. */
bool bp_object_release_slot(struct bp_slot *slot, void *object);

/* Makes an object at its final address a live sample: takes a sequence number, enters the object
 * into the slot's book or the live set, and writes the record. `slot`: NULL if it is in none. */
void bp_object_record(struct bp_visit *visit, const struct bp_call *call, void *object,
	struct bp_slot *slot, const struct bp_decision *decision);

/* Frees what signal handlers could not free. */
void bp_object_free_deferred(struct bp_visit *visit);

/* Ends a visit in which slots were used, and the process if their memory was damaged. */
void bp_object_end_visit(struct bp_visit *visit);

#endif
