/* SPDX-License-Identifier: MIT */
/*
 * realloc: a free and a new allocation of the whole new size, in place, too. Where neither the old
 * object nor the new one is in a slot it is the real function's; otherwise the object is copied.
 */
#include <string.h> /* objects are copied by calls: inlined into cold code, it is done byte by byte */

#include "probes/test_points.h"
#include "recognition/damage.h"
#include "recognition/live_set.h"
#include "recognition/slots.h"
#include "recorder/event.h"
#include "recorder/objects.h"
#include "recorder/real.h"
#include "recorder/recorder.h"
#include "recorder/steering/control.h"

/* More than one block's bytes, by far. */
#define BLOCK_BYTES_MAX ((uint64_t)1 << 40)

/* The old object of a realloc. */
struct old {
	void *object;
	struct bp_slot *slot; /* NULL: in glibc's heap */
	uint64_t sample;      /* its live sample; 0 none */
};

static struct old look_at(void *object)
{
	struct old old = { .object = object };
	if (object == NULL)
		return old;
	if (bp_object_is_in_slot(object))
		old.slot = bp_slot_find(object);
	if (old.slot != NULL)
		old.sample = old.slot->sequence;
	else if (bp_live_contains(object))
		old.sample = bp_live_remove(object);
	return old;
}

/* Can this be a block of glibc's heap, by its size and the next one's, as far as glibc's realloc
 * looks? What cannot is left to that function, which ends the process with its own words. */
static bool is_block(const void *object)
{
	const uint64_t word = bp_header_word(object), size = word & ~(uint64_t)7;
	if ((uintptr_t)object % 16 != 0 || size < 32 || size > BLOCK_BYTES_MAX)
		return false;
	if ((word & 2) != 0) /* a mapping of its own */
		return true;
	/* With its flags, as glibc compares it: the end of a heap is marked by a block of 16 bytes
	 * in use. */
	const uint64_t next = bp_header_word((const char *)object + size);
	return next > 16 && next <= BLOCK_BYTES_MAX;
}

static void give_up(const struct old *old)
{
	if (old->slot != NULL)
		(void)bp_object_release_slot(old->slot, old->object);
	else
		bp_real.free(old->object);
}

/* The new object, not in glibc's heap or not from it: a slot, the old slot kept, or a copy out of
 * it. NULL: no memory; the old object is untouched. `ret_slot`: where it lives, NULL in glibc's
 * heap. */
static void *move(
	const struct old *old, const struct bp_call *call, bool sampled, struct bp_slot **ret_slot)
{
	*ret_slot = NULL;
	if (old->slot != NULL && bp_slot_holds(old->slot, call->room)) {
		*ret_slot = old->slot;
		bp_slot_resize(old->slot, call->room);
		bp_probe_slot(call->size);
		return old->object;
	}
	const size_t usable = old->slot != NULL ? bp_slot_usable(old->slot->size)
						: bp_real_usable_size(old->object);
	const bool wanted = sampled && bp_slot_fits(call->size);
	void *object = wanted ? bp_object_take_slot(call, ret_slot) : NULL;
	const bool in_slot = object != NULL;
	if (!in_slot)
		object = bp_real.malloc(call->size);
	if (object != NULL && !in_slot && wanted)
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_SLOT_MEMORY);
	if (object != NULL)
		memcpy(object, old->object, usable < call->size ? usable : call->size);
	return object;
}

/* Old and new, the sampler having decided. NULL: failed, the old object as before. */
static void *replace(struct bp_visit *visit, struct old *old, const struct bp_call *call,
	const struct bp_decision *decision)
{
	struct bp_slot *slot = NULL;
	const uint64_t sample = old->sample;
	const uint64_t freed = sample == 0 ? 0 : bp_recorder_next_sequence();
	const bool to_slot = decision->sampled && bp_object_fits_slot(call->size);
	const bool by_copy = old->slot != NULL ||
			     (to_slot && !bp_recorder.writer.stopped && is_block(old->object));
	visit->hot->in_allocator = !by_copy;
	void *object = by_copy ? move(old, call, decision->sampled, &slot)
			       : bp_real.realloc(old->object, call->size);
	visit->hot->in_allocator = 0;
	if (object == NULL) {
		const int error = errno;
		if (sample != 0 && old->slot == NULL && !bp_live_insert(old->object, sample))
			bp_writer_lost(&bp_recorder.writer, BP_LOSS_FREE);
		errno = error;
		return NULL;
	}
	if (sample != 0)
		bp_event_freed(visit, old->object, freed, sample, BP_TRACEPOINT_REALLOCATED,
			(uint64_t)call->size + BP_SAMPLER_CHARGE);
	if (slot != NULL)
		slot->sequence = 0;
	/* A sampled small object that found no slot stays in glibc's heap, unsampled. */
	if (to_slot && !by_copy)
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_TRACE_FULL);
	if (decision->sampled && (slot != NULL || !to_slot))
		bp_object_record(visit, call, object, slot, decision);
	if (by_copy && object != old->object)
		give_up(old);
	return object;
}

/* No visit possible: a signal handler inside the recorder, or the recorder is off. */
static void *realloc_nested(void *object, size_t size)
{
	if (!bp_object_is_in_slot(object)) {
		bp_object_forget_nested(object);
		return bp_real.realloc(object, size);
	}
	void *copy = bp_real.malloc(size);
	if (copy == NULL)
		return NULL;
	size_t usable = bp_known_usable_size(object);
	memcpy(copy, object, usable < size ? usable : size);
	bp_object_free_nested(object);
	return copy;
}

/* Is it a small object of Python, set aside before, that stays one? (Or one of malloc's that Python
 * made as small.) */
static bool stays_aside(const void *object, size_t size)
{
	if (bp_likely(bp_hot.aside != size) || object == NULL || !bp_object_is_in_slot(object))
		return false;
	const struct bp_slot *slot = bp_slot_find(object);
	return slot != NULL && slot->size <= BP_ASIDE_BYTES;
}

static void *reallocate(void *object, size_t size, bool crossed)
{
	struct bp_visit visit;
	struct bp_decision decision = { 0 };
	const bool aside = stays_aside(object, size);
	const struct bp_call call = { .function = BP_CALL_MALLOC,
		.kind = aside ? BP_KIND_PYTHON : BP_KIND_REALLOC,
		.size = size,
		.room = aside ? bp_aside_room(size) : size };
	if (size > PTRDIFF_MAX) {
		bp_cold_uncharge(size);
		errno = ENOMEM;
		return NULL;
	}
	if (object == NULL)
		return bp_object_allocate(&call);
	if (bp_object_is_in_slot(object) && bp_slot_find(object) == NULL) {
		if (bp_slot_is_freed(object))
			bp_damage_end(BP_DAMAGE_REALLOC);
		return bp_real.realloc(object, size); /* never ours, and glibc says so */
	}
	if (!bp_visit_begin(&visit, crossed ? (uint64_t)size + BP_SAMPLER_CHARGE : 0)) {
		if (crossed)
			bp_cold_pass(size);
		return realloc_nested(object, size);
	}
	const bool changed = crossed && bp_object_offer(&visit, size, &decision);
	struct old old = look_at(object);
	void *result = replace(&visit, &old, &call, &decision);
	if (result == NULL) {
		visit.saved_errno = errno;
		bp_object_undo(&visit, size);
	}
	if (bp_unlikely(changed))
		bp_control_note(&visit);
	bp_object_free_deferred(&visit);
	bp_object_end_visit(&visit);
	return result;
}

void *bp_cold_realloc(void *object, size_t size)
{
	return reallocate(object, size, true);
}

void *bp_known_realloc(void *object, size_t size)
{
	if (!bp_object_is_in_slot(object) && !bp_live_contains(object))
		return bp_real.realloc(object, size);
	return reallocate(object, size, false);
}
