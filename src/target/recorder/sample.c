/* SPDX-License-Identifier: MIT */
/*
 * The cold path, top to bottom: a charge borrowed, or free met a header of 64 KiB or more, or
 * a page with a live sample in it.
 *
 *   allocation   visit begins -> the sampler decides -> not sampled: the real function
 *                             -> sampled: a slot (below 64 KiB) or glibc's own block (above),
 *                                sequence number, stack, record
 *   free         whose header? slot: sequence number, record, slot back
 *                              large and in the live set: the same, then the real free
 *                              large, unknown: the real free, without a visit
 *   realloc      a free and a new allocation of the whole new size, in place too
 *
 * Over a malloc that is not glibc's every sampled object stays where the program's own allocator
 * puts it, whatever its size, and is in the live set; what is said above of 64 KiB and more holds
 * for all. No object of ours then ever reaches a function we do not know.
 *
 * An event's number is taken before memory can be used again by somebody else: the order of numbers
 * is one in which the events could have happened.
 *
 * Failures. What the real function refuses is not counted (the charge is undone) and changes
 * nothing. What the recorder cannot hold (no slot, full table, full disk) is an ordinary, unsampled
 * object to the program, and a counted loss to the report.
 */
#include <string.h> /* objects are copied by calls: inlined into cold code, it is done byte by byte */

#include "probes/test_points.h"
#include "recognition/damage.h"
#include "recognition/live_set.h"
#include "recognition/slots.h"
#include "recorder/budget.h"
#include "recorder/call.h"
#include "recorder/control.h"
#include "recorder/event.h"
#include "recorder/real.h"
#include "recorder/recorder.h"
#include "recorder/seal.h"

/* More than there is address space: requests that must fail, as they do. */
#define ALIGNMENT_MAX ((size_t)1 << 47)
/* The same of one block's bytes, by far. */
#define BLOCK_BYTES_MAX ((uint64_t)1 << 40)

/* An object of `size` bytes was charged but is to count as never made. Outside a visit. */
void bp_cold_uncharge(size_t size)
{
	bp_hot.counters.objects -= 1;
	bp_hot.counters.trials_left += (uint64_t)size + BP_SAMPLER_CHARGE;
}

/* The same within a visit, after the sampler accounted for it. */
static void undo(struct bp_visit *visit, size_t size)
{
	visit->hot->counters.objects -= 1;
	visit->objects -= 1;
	visit->thread->sampler.trials -= (uint64_t)size + BP_SAMPLER_CHARGE;
}

/* A charge borrowed, but there can be no visit: the countdown is set right, the object stays
 * counted and is not offered. */
void bp_cold_pass(size_t size)
{
	struct bp_hot *hot = &bp_hot;
	if (bp_unlikely(bp_recorder.seal == BP_SEAL_ALL) && !hot->busy) {
		bp_seal_charge(size);
		return;
	}
	if (bp_recorder.mode == BP_MODE_OFF && !hot->busy) {
		hot->counters.trials_left = BP_VISIT_LEFT;
		return;
	}
	__atomic_fetch_add(
		&hot->counters.trials_left, (uint64_t)size + BP_SAMPLER_CHARGE, __ATOMIC_RELAXED);
	bp_hot_add_unoffered(hot, (uint64_t)size + BP_SAMPLER_CHARGE, 1);
	if (bp_recorder.mode != BP_MODE_ON || *bp_recorder.fork_mark == 0)
		return;
	if (!hot->busy && hot->thread == NULL) { /* no memory for it: counted once */
		if (hot->unoffered_objects == 1)
			bp_writer_lost(&bp_recorder.writer, BP_LOSS_THREAD_SLOT);
	} else {
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_INTERRUPTED);
		bp_thread_pass();
	}
}

/* Does a sampled object of that size live in a slot? */
static bool lives_in_slot(size_t size)
{
	return bp_recorder.recognition == BP_RECOGNITION_HEADER && bp_slot_fits(size);
}

/* The word before an object means something over glibc only; elsewhere it may be unreadable. */
static bool is_in_slot(const void *object)
{
	return bp_recorder.recognition == BP_RECOGNITION_HEADER &&
	       (bp_header_word(object) & BP_SLOT_BIT) != 0;
}

/* Does the real function refuse the request because of its alignment? What the C library does about
 * one that is no power of two differs between its versions (before 2.38 aligned_alloc rounds it up,
 * from then on it fails with EINVAL), so it is asked, for more than there can be: it fails in
 * either case, and errno says whether the alignment or the size is refused. */
static bool is_refused(const struct bp_call *call)
{
	const bool odd = call->alignment == 0 || (call->alignment & (call->alignment - 1)) != 0;
	if (bp_likely(!odd || (call->function != BP_CALL_ALIGNED_ALLOC &&
				      call->function != BP_CALL_MEMALIGN)))
		return false;
	struct bp_call too_large = *call;
	too_large.size = PTRDIFF_MAX;
	return bp_call_real(&too_large) == NULL && errno == EINVAL;
}

/* A slot for a sampled object; NULL if there is none. calloc's is cleared. */
static void *take_slot(const struct bp_call *call, struct bp_slot **ret_slot)
{
	size_t alignment = call->alignment;
	if ((alignment & (alignment - 1)) != 0) /* not refused, so it was rounded up */
		alignment = alignment > (size_t)1 << 62
				    ? 0
				    : (size_t)1 << (64 - __builtin_clzll(alignment));
	bp_real_make_heap_ready();
	void *object = bp_slot_take(call->room, alignment, ret_slot);
	if (object == NULL)
		return NULL;
	if (call->function == BP_CALL_CALLOC)
		memset(object, 0, bp_slot_usable(call->size));
	else if (bp_unlikely(bp_recorder.perturb != 0))
		memset(object, bp_recorder.perturb ^ 0xff, call->room);
	bp_probe_slot(call->size);
	return object;
}

/* Ends the sample that the live set still has at this address: its object was freed by a function
 * without a hook, which is noticed only now. */
static void end_unseen_sample(struct bp_visit *visit, const void *object)
{
	uint64_t sample = bp_live_contains(object) ? bp_live_remove(object) : 0;
	if (bp_likely(sample == 0))
		return;
	bp_event_freed(visit, object, bp_recorder_next_sequence(), sample, BP_TRACEPOINT_UNSEEN, 0);
	bp_writer_lost(&bp_recorder.writer, BP_LOSS_FREE);
}

/* (malloc does not know a small object of Python, which is in an arena.) */
static size_t usable_of(const struct bp_call *call, void *object)
{
	return call->kind == BP_KIND_PYTHON ? 0 : bp_real_usable_size(object);
}

/* Makes an object at its final address a live sample: takes a sequence number, enters the object
 * into the slot's book or the live set, and writes the record. */
static void record_sample(struct bp_visit *visit, const struct bp_call *call, void *object,
	struct bp_slot *slot, const struct bp_decision *decision)
{
	if (bp_unlikely(slot == NULL && bp_recorder.writer.stopped)) {
		/* Nothing is measured and no stack walked for a record that cannot be written. */
		end_unseen_sample(visit, object);
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_TRACE_FULL);
		return;
	}
	const uint64_t began_ns = bp_budget_begin(visit->thread);
	if (slot == NULL)
		end_unseen_sample(visit, object);
	uint64_t sequence = bp_recorder_next_sequence();
	if (slot == NULL && !bp_live_insert(object, sequence)) {
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_LARGE_TABLE);
		return;
	}
	const struct bp_event_sample sample = { .call = call,
		.decision = decision,
		.object = object,
		.sequence = sequence,
		.usable = slot != NULL ? bp_slot_usable(call->room) : usable_of(call, object) };
	bp_stack_capture(&visit->thread->capture);
	bool recorded = bp_event_sampled(visit, &sample);
	if (slot != NULL)
		slot->sequence = recorded ? sequence : 0;
	else if (!recorded)
		(void)bp_live_remove(object);
	bp_budget_look_at_fill();
	bp_budget_end(visit->thread, began_ns);
}

static void *place_sample(
	struct bp_visit *visit, const struct bp_call *call, const struct bp_decision *decision)
{
	struct bp_slot *slot = NULL;
	void *object;
	if (lives_in_slot(call->room)) {
		if (is_refused(call))
			return NULL;
		object = bp_recorder.writer.stopped ? NULL : take_slot(call, &slot);
		if (object == NULL) {
			/* What the program does not get either is no loss. */
			object = bp_call_real(call);
			if (object != NULL)
				bp_writer_lost(&bp_recorder.writer, bp_recorder.writer.stopped
									    ? BP_LOSS_TRACE_FULL
									    : BP_LOSS_SLOT_MEMORY);
			return object;
		}
	} else {
		object = bp_call_real(call);
		if (object == NULL)
			return NULL;
	}
	record_sample(visit, call, object, slot, decision);
	return object;
}

/* Gives a slot back, filled as the C library fills freed memory. False as bp_slot_release. */
static bool release(struct bp_slot *slot, void *object)
{
	if (bp_unlikely(bp_recorder.perturb != 0))
		memset(object, bp_recorder.perturb, bp_slot_usable(slot->size));
	return bp_slot_release(slot);
}

/* Frees of signal handlers that could not be done then. */
static void free_deferred(struct bp_visit *visit)
{
	struct bp_slot *slot;
	void *object;
	/* Where somebody listens the visit has room for a few; the others stay for the next one. */
	while (visit->event_count < BP_THREAD_EVENTS &&
		(slot = bp_slot_next_deferred(&object)) != NULL) {
		if (slot->sequence != 0)
			bp_event_freed(visit, object, bp_recorder_next_sequence(), slot->sequence,
				BP_TRACEPOINT_FREED, 0);
		(void)release(slot, object);
	}
}

/* Ends a visit in which slots were used, and the process if their memory was damaged. */
static void end_visit(struct bp_visit *visit)
{
	bp_visit_end(visit, visit->left);
	const enum bp_damage damage = bp_damage_noted();
	if (bp_unlikely(damage != BP_DAMAGE_NONE))
		bp_damage_end(damage);
}

static void *allocate(const struct bp_call *call)
{
	struct bp_visit visit;
	struct bp_decision decision;
	if (call->size > PTRDIFF_MAX || call->alignment > ALIGNMENT_MAX) {
		bp_cold_uncharge(call->size);
		return bp_call_real(call); /* fails */
	}
	if (!bp_visit_begin(&visit, (uint64_t)call->size + BP_SAMPLER_CHARGE)) {
		bp_cold_pass(call->size);
		return bp_call_real(call);
	}
	const bool changed = bp_event_offer(&visit, call->size, &decision);
	void *object =
		decision.sampled ? place_sample(&visit, call, &decision) : bp_call_real(call);
	if (object == NULL) {
		visit.saved_errno = errno;
		undo(&visit, call->size);
	}
	if (bp_unlikely(changed))
		bp_control_note(&visit);
	free_deferred(&visit);
	end_visit(&visit);
	return object;
}

void *bp_cold_malloc(size_t size)
{
	return allocate(&(struct bp_call){
		.function = BP_CALL_MALLOC, .kind = BP_KIND_MALLOC, .size = size, .room = size });
}

void *bp_cold_calloc(size_t count, size_t size)
{
	return allocate(&(struct bp_call){ .function = BP_CALL_CALLOC,
		.kind = BP_KIND_CALLOC,
		.size = count * size,
		.room = count * size });
}

static void *allocate_aligned(enum bp_function function, size_t alignment, size_t size)
{
	return allocate(&(struct bp_call){ .function = function,
		.kind = BP_KIND_ALIGNED,
		.size = size,
		.room = function == BP_CALL_PVALLOC ? bp_system_whole_pages(size) : size,
		.alignment = alignment });
}

void *bp_cold_memalign(size_t alignment, size_t size)
{
	return allocate_aligned(BP_CALL_MEMALIGN, alignment, size);
}

void *bp_cold_aligned_alloc(size_t alignment, size_t size)
{
	return allocate_aligned(BP_CALL_ALIGNED_ALLOC, alignment, size);
}

void *bp_cold_valloc(size_t size)
{
	return allocate_aligned(BP_CALL_VALLOC, bp_system_page_bytes(), size);
}

void *bp_cold_pvalloc(size_t size)
{
	return allocate_aligned(BP_CALL_PVALLOC, bp_system_page_bytes(), size);
}

int bp_cold_posix_memalign(void **ret_object, size_t alignment, size_t size)
{
	if (alignment % sizeof(void *) != 0 || (alignment & (alignment - 1)) != 0 ||
		alignment == 0) {
		bp_cold_uncharge(size);
		return bp_real.posix_memalign(ret_object, alignment, size);
	}
	void *object = allocate_aligned(BP_CALL_POSIX_MEMALIGN, alignment, size);
	if (object == NULL)
		return ENOMEM;
	*ret_object = object;
	return 0;
}

void bp_cold_object(void *object, size_t size, size_t alignment, enum bp_kind kind)
{
	struct bp_visit visit;
	struct bp_decision decision;
	const struct bp_call call = {
		.kind = (uint8_t)kind, .size = size, .room = size, .alignment = alignment
	};
	if (!bp_visit_begin(&visit, (uint64_t)size + BP_SAMPLER_CHARGE)) {
		bp_cold_pass(size);
		return;
	}
	const bool changed = bp_event_offer(&visit, size, &decision);
	if (decision.sampled)
		record_sample(&visit, &call, object, NULL, &decision);
	if (bp_unlikely(changed))
		bp_control_note(&visit);
	bp_visit_end(&visit, visit.left);
}

/* ---- free ---- */

/* The sample of an object in the program's own heap ends; no visit is possible. */
static void forget_nested(void *object)
{
	if (bp_recorder.mode != BP_MODE_ON || !bp_live_contains(object))
		return;
	/* Should the table be in use it keeps the address, until it is sampled again. */
	if (bp_recorder.seal != BP_SEAL_ALL)
		(void)bp_live_try_remove(object);
	bp_writer_lost(&bp_recorder.writer, BP_LOSS_FREE);
}

static void free_nested(void *object)
{
	if (!is_in_slot(object)) {
		forget_nested(object);
	} else {
		struct bp_slot *slot = bp_slot_find(object);
		if (slot != NULL && bp_slot_defer(slot))
			return;
		if (bp_slot_is_freed(object))
			bp_damage_end(BP_DAMAGE_FREED_TWICE);
	}
	bp_real.free(object);
}

void bp_known_end(void *object)
{
	struct bp_visit visit;
	if (!bp_live_contains(object))
		return;
	if (!bp_visit_begin(&visit, 0)) {
		forget_nested(object);
		return;
	}
	uint64_t sample = bp_live_remove(object);
	if (sample != 0)
		bp_event_freed(&visit, object, bp_recorder_next_sequence(), sample,
			BP_TRACEPOINT_FREED, 0);
	free_deferred(&visit);
	end_visit(&visit);
}

void bp_known_free(void *object)
{
	struct bp_visit visit;
	if (!is_in_slot(object)) {
		bp_known_end(object);
		bp_real.free(object);
		return;
	}
	if (!bp_visit_begin(&visit, 0)) {
		free_nested(object);
		return;
	}
	struct bp_slot *slot = bp_slot_find(object);
	if (slot != NULL && slot->sequence != 0)
		bp_event_freed(&visit, object, bp_recorder_next_sequence(), slot->sequence,
			BP_TRACEPOINT_FREED, 0);
	free_deferred(&visit);
	const bool released = slot != NULL && release(slot, object);
	end_visit(&visit);
	if (released)
		return;
	if (bp_slot_is_freed(object))
		bp_damage_end(BP_DAMAGE_FREED_TWICE);
	bp_real.free(object); /* never ours, and glibc says so as it would have */
}

size_t bp_known_usable_size(void *object)
{
	if (!is_in_slot(object))
		return bp_real.malloc_usable_size(object);
	const struct bp_slot *slot = bp_slot_find(object);
	return slot == NULL ? 0 : bp_slot_usable(slot->size);
}

/* ---- realloc ---- */

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
	if (is_in_slot(object))
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
		(void)release(old->slot, old->object);
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
	if (old->slot != NULL && bp_slot_holds(old->slot, call->size)) {
		*ret_slot = old->slot;
		bp_slot_resize(old->slot, call->size);
		bp_probe_slot(call->size);
		return old->object;
	}
	const size_t usable = old->slot != NULL ? bp_slot_usable(old->slot->size)
						: bp_real_usable_size(old->object);
	const bool wanted = sampled && bp_slot_fits(call->size);
	void *object = wanted ? take_slot(call, ret_slot) : NULL;
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
	const bool to_slot = decision->sampled && lives_in_slot(call->size);
	const bool by_copy = old->slot != NULL ||
			     (to_slot && !bp_recorder.writer.stopped && is_block(old->object));
	void *object = by_copy ? move(old, call, decision->sampled, &slot)
			       : bp_real.realloc(old->object, call->size);
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
		record_sample(visit, call, object, slot, decision);
	if (by_copy && object != old->object)
		give_up(old);
	return object;
}

/* No visit possible: a signal handler inside the recorder, or the recorder is off. */
static void *realloc_nested(void *object, size_t size)
{
	if (!is_in_slot(object)) {
		forget_nested(object);
		return bp_real.realloc(object, size);
	}
	void *copy = bp_real.malloc(size);
	if (copy == NULL)
		return NULL;
	size_t usable = bp_known_usable_size(object);
	memcpy(copy, object, usable < size ? usable : size);
	free_nested(object);
	return copy;
}

static void *reallocate(void *object, size_t size, bool crossed)
{
	struct bp_visit visit;
	struct bp_decision decision = { 0 };
	const struct bp_call call = {
		.function = BP_CALL_MALLOC, .kind = BP_KIND_REALLOC, .size = size, .room = size
	};
	if (size > PTRDIFF_MAX) {
		bp_cold_uncharge(size);
		errno = ENOMEM;
		return NULL;
	}
	if (object == NULL)
		return allocate(&call);
	if (is_in_slot(object) && bp_slot_find(object) == NULL) {
		if (bp_slot_is_freed(object))
			bp_damage_end(BP_DAMAGE_REALLOC);
		return bp_real.realloc(object, size); /* never ours, and glibc says so */
	}
	if (!bp_visit_begin(&visit, crossed ? (uint64_t)size + BP_SAMPLER_CHARGE : 0)) {
		if (crossed)
			bp_cold_pass(size);
		return realloc_nested(object, size);
	}
	const bool changed = crossed && bp_event_offer(&visit, size, &decision);
	struct old old = look_at(object);
	void *result = replace(&visit, &old, &call, &decision);
	if (result == NULL) {
		visit.saved_errno = errno;
		undo(&visit, size);
	}
	if (bp_unlikely(changed))
		bp_control_note(&visit);
	free_deferred(&visit);
	end_visit(&visit);
	return result;
}

void *bp_cold_realloc(void *object, size_t size)
{
	return reallocate(object, size, true);
}

void *bp_known_realloc(void *object, size_t size)
{
	if (!is_in_slot(object) && !bp_live_contains(object))
		return bp_real.realloc(object, size);
	return reallocate(object, size, false);
}
