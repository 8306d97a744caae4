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
 *   realloc      realloc.c
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
#include "recorder/steering/budget.h"
#include "recorder/call.h"
#include "recorder/steering/control.h"
#include "recorder/event.h"
#include "recorder/objects.h"
#include "recorder/real.h"
#include "recorder/recorder.h"
#include "recorder/steering/seal.h"

/* More than there is address space: requests that must fail, as they do. */
#define ALIGNMENT_MAX ((size_t)1 << 47)

/* An object of `size` bytes was charged but is to count as never made. Outside a visit. */
void bp_cold_uncharge(size_t size)
{
	bp_hot.counters.objects -= 1;
	bp_hot.counters.trials_left += (uint64_t)size + BP_SAMPLER_CHARGE;
}

/* The same within a visit, after the sampler accounted for it. */
void bp_object_undo(struct bp_visit *visit, size_t size)
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
	/* While the recorder is being detached (attach.c) the totals are still to be read. */
	const bool is_closing = hot->thread != NULL && bp_recorder.is_late &&
				hot->thread->attachment == bp_recorder.attachment;
	if (bp_recorder.mode == BP_MODE_OFF && !hot->busy && !is_closing) {
		hot->counters.trials_left =
			bp_recorder.is_late ? BP_SAMPLER_LOOK_MAX : BP_VISIT_LEFT;
		return;
	}
	__atomic_fetch_add(
		&hot->counters.trials_left, (uint64_t)size + BP_SAMPLER_CHARGE, __ATOMIC_RELAXED);
	bp_hot_add_unoffered(hot, (uint64_t)size + BP_SAMPLER_CHARGE, 1);
	/* (Late, the mode may have become ON since the visit was refused.) */
	if (bp_recorder.mode != BP_MODE_ON || *bp_recorder.fork_mark == 0 ||
		(bp_recorder.is_late && !hot->busy))
		return;
	if (!hot->busy && hot->thread == NULL) { /* no memory for it: counted once */
		if (hot->unoffered_objects == 1)
			bp_writer_lost(&bp_recorder.writer, BP_LOSS_THREAD_SLOT);
	} else {
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_INTERRUPTED);
		bp_thread_pass();
	}
}

/* Lets the sampler decide about a charged object. True: bp_control_note has to be called after the
 * decision was carried out. */
bool bp_object_offer(struct bp_visit *visit, size_t size, struct bp_decision *ret_decision)
{
	const bool changed = bp_control_look(visit);
	visit->left = bp_sampler_decide(&visit->thread->sampler, visit->left, size, ret_decision);
	if (bp_unlikely(ret_decision->interrupted))
		bp_writer_lost(&bp_recorder.writer, BP_LOSS_INTERRUPTED);
	return changed;
}

/* Does a sampled object of that size live in a slot? */
bool bp_object_fits_slot(size_t size)
{
	return bp_recorder.recognition == BP_RECOGNITION_HEADER && bp_slot_fits(size);
}

/* The word before an object means something over glibc only; elsewhere it may be unreadable. */
bool bp_object_is_in_slot(const void *object)
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
void *bp_object_take_slot(const struct bp_call *call, struct bp_slot **ret_slot)
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
		memset(object, 0, bp_slot_usable(call->room));
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
	bp_event_freed_earlier(
		visit, object, bp_recorder_next_sequence(), sample, BP_TRACEPOINT_UNSEEN);
	bp_writer_lost(&bp_recorder.writer, BP_LOSS_FREE);
}

/* (What a small object of Python takes in an arena is not known.) */
static size_t usable_of(const struct bp_call *call, void *object, const struct bp_slot *slot)
{
	if (call->kind == BP_KIND_PYTHON)
		return 0;
	return slot != NULL ? bp_slot_usable(call->room) : bp_real_usable_size(object);
}

/* Makes an object at its final address a live sample: takes a sequence number, enters the object
 * into the slot's book or the live set, and writes the record. */
void bp_object_record(struct bp_visit *visit, const struct bp_call *call, void *object,
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
		.usable = usable_of(call, object, slot) };
	bp_stack_capture(&visit->thread->capture);
	bool recorded = bp_event_sampled(visit, &sample);
	if (slot != NULL)
		slot->sequence = recorded ? sequence : 0;
	else if (!recorded)
		(void)bp_live_remove(object);
	bp_budget_look_at_fill();
	bp_budget_end(visit->thread, began_ns);
}

/* Calls the real function within a visit. What the program's allocator maps meanwhile is recorded
 * (mapping.c). */
static void *call_allocator(const struct bp_call *call)
{
	bp_hot.in_allocator = 1;
	void *object = bp_call_real(call);
	bp_hot.in_allocator = 0;
	return object;
}

static void *place_sample(
	struct bp_visit *visit, const struct bp_call *call, const struct bp_decision *decision)
{
	struct bp_slot *slot = NULL;
	void *object;
	if (bp_object_fits_slot(call->room)) {
		if (is_refused(call))
			return NULL;
		object = bp_recorder.writer.stopped ? NULL : bp_object_take_slot(call, &slot);
		if (object == NULL) {
			/* What the program does not get either is no loss. */
			object = call_allocator(call);
			if (object != NULL)
				bp_writer_lost(&bp_recorder.writer, bp_recorder.writer.stopped
									    ? BP_LOSS_TRACE_FULL
									    : BP_LOSS_SLOT_MEMORY);
			return object;
		}
	} else {
		object = call_allocator(call);
		if (object == NULL)
			return NULL;
	}
	bp_object_record(visit, call, object, slot, decision);
	return object;
}

/* Gives a slot back, filled as the C library fills freed memory. False as bp_slot_release. */
bool bp_object_release_slot(struct bp_slot *slot, void *object)
{
	if (bp_unlikely(bp_recorder.perturb != 0))
		memset(object, bp_recorder.perturb, bp_slot_usable(slot->size));
	return bp_slot_release(slot);
}

/* Frees of signal handlers that could not be done then. */
void bp_object_free_deferred(struct bp_visit *visit)
{
	struct bp_slot *slot;
	void *object;
	/* Where somebody listens the visit has room for a few; the others stay for the next one. */
	while (visit->event_count < BP_THREAD_EVENTS &&
		(slot = bp_slot_next_deferred(&object)) != NULL) {
		if (slot->sequence != 0)
			bp_event_freed_earlier(visit, object, bp_recorder_next_sequence(),
				slot->sequence, BP_TRACEPOINT_FREED);
		(void)bp_object_release_slot(slot, object);
	}
}

/* Ends a visit in which slots were used, and the process if their memory was damaged. */
void bp_object_end_visit(struct bp_visit *visit)
{
	bp_visit_end(visit, visit->left);
	const enum bp_damage damage = bp_damage_noted();
	if (bp_unlikely(damage != BP_DAMAGE_NONE))
		bp_damage_end(damage);
}

void *bp_object_allocate(const struct bp_call *call)
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
	const bool changed = bp_object_offer(&visit, call->size, &decision);
	void *object =
		decision.sampled ? place_sample(&visit, call, &decision) : call_allocator(call);
	if (object == NULL) {
		visit.saved_errno = errno;
		bp_object_undo(&visit, call->size);
	}
	if (bp_unlikely(changed))
		bp_control_note(&visit);
	bp_object_free_deferred(&visit);
	bp_object_end_visit(&visit);
	return object;
}

/* ---- objects set aside ---- */

#define ASIDE_BYTE 0xA5

/* Does whoever stands between the allocator and malloc write to the memory? A debugging layer may
 * fill all that it asked for. The first object tells, whose memory is as large as that; those after
 * it have the memory that they need, if nobody does. */
static enum { FILLS_UNKNOWN, FILLS_NOTHING, FILLS_ALL } aside_filling;

static bool is_untouched(const uint8_t *object)
{
	for (size_t i = 0; i < BP_ASIDE_BYTES; i++)
		if (object[i] != ASIDE_BYTE)
			return false;
	return true;
}

size_t bp_aside_room(size_t size)
{
	return aside_filling == FILLS_NOTHING ? size : BP_ASIDE_BYTES;
}

void bp_aside_begin(size_t size)
{
	bp_cold_uncharge(size);
	/* No more is left than that, so that a request of BP_ASIDE_BYTES borrows. */
	bp_hot.aside = (uint16_t)size;
	bp_hot.aside_probes = 0;
}

void bp_aside_end(const void *object, size_t size)
{
	if (bp_likely(bp_hot.aside == 0)) {
		if (bp_unlikely(bp_hot.aside_probes != 0) && object != NULL)
			aside_filling = is_untouched(object) ? FILLS_NOTHING : FILLS_ALL;
		return;
	}
	bp_hot.aside = 0;
	if (object == NULL)
		return;
	/* No hook was asked for it: the object is counted, and not offered. (Or a signal handler
	 * allocated just before, so that the request did not borrow. Then it counts as well.) */
	if (bp_sampler_crosses(&bp_hot.counters, size))
		bp_cold_pass(size);
}

static void *allocate_aside(enum bp_function function)
{
	const struct bp_call call = { .function = function,
		.kind = BP_KIND_PYTHON,
		.size = bp_hot.aside,
		.room = bp_aside_room(bp_hot.aside) };
	void *object;
	bp_hot.aside = 0;
	bp_cold_uncharge(BP_ASIDE_BYTES);
	if (!bp_sampler_crosses(&bp_hot.counters, call.size))
		object = bp_call_real(&call);
	else
		object = bp_object_allocate(&call);
	if (bp_unlikely(aside_filling == FILLS_UNKNOWN) && function == BP_CALL_MALLOC &&
		object != NULL) {
		memset(object, ASIDE_BYTE, BP_ASIDE_BYTES);
		bp_hot.aside_probes = 1;
	}
	return object;
}

static inline bool is_aside(size_t size)
{
	return bp_unlikely(bp_hot.aside != 0) && size == BP_ASIDE_BYTES;
}

void *bp_cold_malloc(size_t size)
{
	if (is_aside(size))
		return allocate_aside(BP_CALL_MALLOC);
	return bp_object_allocate(&(struct bp_call){
		.function = BP_CALL_MALLOC, .kind = BP_KIND_MALLOC, .size = size, .room = size });
}

void *bp_cold_calloc(size_t count, size_t size)
{
	if (is_aside(count * size))
		return allocate_aside(BP_CALL_CALLOC);
	return bp_object_allocate(&(struct bp_call){ .function = BP_CALL_CALLOC,
		.kind = BP_KIND_CALLOC,
		.size = count * size,
		.room = count * size });
}

static void *allocate_aligned(enum bp_function function, size_t alignment, size_t size)
{
	return bp_object_allocate(&(struct bp_call){ .function = function,
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
	const bool changed = bp_object_offer(&visit, size, &decision);
	if (decision.sampled)
		bp_object_record(&visit, &call, object, NULL, &decision);
	if (bp_unlikely(changed))
		bp_control_note(&visit);
	bp_visit_end(&visit, visit.left);
}

/* ---- free ---- */

/* The sample of an object in the program's own heap ends; no visit is possible. */
void bp_object_forget_nested(void *object)
{
	if (bp_recorder.mode != BP_MODE_ON || !bp_live_contains(object))
		return;
	/* Should the table be in use it keeps the address, until it is sampled again. */
	if (bp_recorder.seal != BP_SEAL_ALL)
		(void)bp_live_try_remove(object);
	bp_writer_lost(&bp_recorder.writer, BP_LOSS_FREE);
}

void bp_object_free_nested(void *object)
{
	if (!bp_object_is_in_slot(object)) {
		bp_object_forget_nested(object);
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
		bp_object_forget_nested(object);
		return;
	}
	uint64_t sample = bp_live_remove(object);
	if (sample != 0)
		bp_event_freed(&visit, object, bp_recorder_next_sequence(), sample,
			BP_TRACEPOINT_FREED, 0);
	bp_object_free_deferred(&visit);
	bp_object_end_visit(&visit);
}

void bp_known_free(void *object)
{
	struct bp_visit visit;
	if (!bp_object_is_in_slot(object)) {
		bp_known_end(object);
		bp_real.free(object);
		return;
	}
	if (!bp_visit_begin(&visit, 0)) {
		bp_object_free_nested(object);
		return;
	}
	struct bp_slot *slot = bp_slot_find(object);
	if (slot != NULL && slot->sequence != 0)
		bp_event_freed(&visit, object, bp_recorder_next_sequence(), slot->sequence,
			BP_TRACEPOINT_FREED, 0);
	bp_object_free_deferred(&visit);
	const bool released = slot != NULL && bp_object_release_slot(slot, object);
	bp_object_end_visit(&visit);
	if (released)
		return;
	if (bp_slot_is_freed(object))
		bp_damage_end(BP_DAMAGE_FREED_TWICE);
	bp_real.free(object); /* never ours, and glibc says so as it would have */
}

size_t bp_known_usable_size(void *object)
{
	if (!bp_object_is_in_slot(object))
		return bp_real.malloc_usable_size(object);
	const struct bp_slot *slot = bp_slot_find(object);
	return slot == NULL ? 0 : bp_slot_usable(slot->size);
}
