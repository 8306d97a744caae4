/* SPDX-License-Identifier: MIT */
/*
 * Heaps whose true size is known at every moment, and what the sampler sees of them as a profile:
 * for the tests of figures that follow a heap through time. All objects are of T/32, so small that
 * large ones do not help. The heap moves by events, one microsecond each: a birth or a death.
 *
 * The objects belong to four functions, row0 ... row3. Everything asserts success (cmocka).
 */
#ifndef BP_TEST_SIMULATED_HEAP_H
#define BP_TEST_SIMULATED_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "chance.h"
#include "model/profile.h"

#define HEAP_INTERVAL UINT64_C(65536)
#define HEAP_SIZE (HEAP_INTERVAL / 32 - 1) /* with its charge T/32 trials */
#define HEAP_ROWS 4
#define HEAP_EVENT_NS 1000u

enum heap_kind {
	HEAP_FLAT,    /* filled, then one object after the other, at random, is replaced */
	HEAP_ORDERED, /* the same, the oldest is replaced: all lifetimes are equal */
	HEAP_TEETH,   /* filled and emptied again, 20 times */
	HEAP_HUMP,    /* rises and falls smoothly, while objects are replaced at random */
	HEAP_SPIKE,   /* three tenths of it for long, all of it for a moment */
	HEAP_SHIFTING /* flat, while row0 shrinks and grows against row1 */
};

struct heap_plan {
	const char *name;
	enum heap_kind kind;
	double live_intervals; /* live bytes (trials) at the peak, in T */
	double turnovers;      /* how often all of it is replaced, where objects are replaced */
	bool emptied;	       /* everything is freed before the end */
};

struct heap {
	struct bp_profile profile;	    /* not yet finished importing */
	double peak_bytes, allocated_bytes; /* the truth */
	uint64_t events;
	uint32_t (*live_of_rows)[HEAP_ROWS]; /* objects live after event number i */
};

/* `history`: fill live_of_rows too. */
void heap_make(
	struct heap *heap, const struct heap_plan *plan, struct stream *stream, bool history);
void heap_finish(struct heap *heap);

/* True bytes of a row after the event at `time_ns` since the start. */
double heap_row_bytes(const struct heap *heap, unsigned row, uint64_t time_ns);

#endif
