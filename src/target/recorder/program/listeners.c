/* SPDX-License-Identifier: MIT */
/*
 * A place for each of eight listeners. One word says which listener is in it (`number`, 0: none;
 * numbers are not used again), one counts the threads that are in it. A caller counts itself in and
 * then looks whether the number is still there; whoever removes takes the number out and then looks
 * whether anybody is in. Both order their store before their load (sequentially consistent), so one
 * of the two sees the other: after a removal that found nobody, nobody comes. A place is given to
 * another only when nobody is in it.
 */
#include "recorder/program/listeners.h"

#include "base/attributes.h"
#include "recorder/visit.h"

struct place {
	uint32_t number; /* of the listener; 0: free, or being filled */
	uint32_t taken;	 /* by a number that is given, or still in use */
	uint32_t inside; /* threads in it */
	bp_listener *listener;
	void *context;
};

static struct place places[BP_LISTENERS_MAX];
static uint32_t last_number;
static uint64_t untold;

uint32_t bp_listeners_count __attribute__((visibility("hidden")));

uint32_t bp_listeners_add(bp_listener *listener, void *context)
{
	for (uint32_t i = 0; listener != NULL && i < BP_LISTENERS_MAX; i++) {
		struct place *place = &places[i];
		uint32_t free = 0;
		if (!__atomic_compare_exchange_n(
			    &place->taken, &free, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
			continue;
		if (__atomic_load_n(&place->inside, __ATOMIC_SEQ_CST) != 0) {
			__atomic_store_n(&place->taken, 0, __ATOMIC_SEQ_CST);
			continue;
		}
		/* Its place in the low bits: a number tells where it is. */
		const uint32_t number =
			__atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED) * BP_LISTENERS_MAX +
			i;
		place->listener = listener;
		place->context = context;
		__atomic_store_n(&place->number, number, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&bp_listeners_count, 1, __ATOMIC_RELAXED);
		return number;
	}
	return 0;
}

bool bp_listeners_remove(uint32_t number)
{
	struct place *place = &places[number % BP_LISTENERS_MAX];
	uint32_t expected = number;
	if (number == 0)
		return true;
	if (__atomic_compare_exchange_n(
		    &place->number, &expected, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		__atomic_sub_fetch(&bp_listeners_count, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&place->taken, 0, __ATOMIC_SEQ_CST);
	}
	/* Should the place be somebody else's by now, nobody was in it when it was given. */
	return __atomic_load_n(&place->number, __ATOMIC_SEQ_CST) != 0 ||
	       __atomic_load_n(&place->inside, __ATOMIC_SEQ_CST) == 0;
}

static void call(struct place *place, const struct bp_event *event)
{
	if (__atomic_load_n(&place->number, __ATOMIC_RELAXED) == 0)
		return;
	__atomic_add_fetch(&place->inside, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&place->number, __ATOMIC_SEQ_CST) != 0) {
		bp_hot.telling = (uint32_t)(place - places) + 1;
		place->listener(event, place->context);
	}
	__atomic_sub_fetch(&place->inside, 1, __ATOMIC_SEQ_CST);
}

BP_COLD void bp_listeners_end_visit(struct bp_visit *visit, uint64_t trials_left)
{
	const struct bp_thread *thread = visit->thread;
	const uint32_t count = visit->event_count;
	/* Copies: what a listener allocates is a visit of its own, and the thread may end with this
	 * one. */
	struct bp_event events[BP_THREAD_EVENTS];
	uintptr_t frames[BP_STACK_MAX_DEPTH];
	for (uint32_t i = 0; i < thread->capture.depth; i++)
		frames[i] = thread->capture.pcs[i];
	__builtin_memcpy(events, thread->events, count * sizeof *events);
	bp_visit_leave(visit, trials_left);
	const int saved_errno = errno;
	for (uint32_t i = 0; i < count; i++) {
		events[i].frames = frames;
		for (uint32_t k = 0; k < BP_LISTENERS_MAX; k++)
			call(&places[k], &events[i]);
	}
	bp_hot.telling = 0;
	errno = saved_errno;
}

void bp_listeners_untold(void)
{
	__atomic_add_fetch(&untold, 1, __ATOMIC_RELAXED);
}

uint64_t bp_listeners_untold_count(void)
{
	return __atomic_load_n(&untold, __ATOMIC_RELAXED);
}

void bp_listeners_after_fork(void)
{
	for (uint32_t i = 0; i < BP_LISTENERS_MAX; i++)
		places[i].inside = bp_hot.telling == i + 1;
}
