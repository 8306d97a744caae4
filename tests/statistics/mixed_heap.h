/* SPDX-License-Identifier: MIT */
/*
 * Heaps whose moments differ in kind, of known size at every moment: many small objects at one
 * time, one block at another, under another T at a third. For the tests of figures whose moment is
 * chosen by looking: there the noise of one kind meets the certainty of another.
 *
 * A heap is a list of phases. Each makes its objects, replaces some of them at random, and frees
 * them all, but for a `kept` phase, whose objects live until the end. An event, one microsecond
 * each, is a birth or a death. The objects of a phase belong to one of four functions, row0 ...
 * row3. Everything asserts success (cmocka).
 */
#ifndef BP_TEST_MIXED_HEAP_H
#define BP_TEST_MIXED_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "chance.h"
#include "model/profile.h"

#define MIXED_INTERVAL UINT64_C(4096)
#define MIXED_ROWS 4
#define MIXED_PHASES 24
#define MIXED_EVENT_NS 1000u

struct mixed_phase {
	double trials;	  /* of one object, in T of the plan; at least one byte */
	double live;	  /* of all, in T */
	double turnovers; /* how often all of it is replaced */
	double interval;  /* T in force, in T of the plan; 0: 1 */
	unsigned row;
	bool kept;
};

struct mixed_plan {
	const char *name;
	unsigned phase_count;
	struct mixed_phase phases[MIXED_PHASES];
};

struct mixed_heap {
	struct bp_profile profile; /* not yet finished importing */
	double peak_bytes;	   /* the truth */
	const struct mixed_plan *plan;
	uint64_t first_events[MIXED_PHASES];
};

/* What a phase holds when all of it is there: its number of objects, and bytes of one. */
uint64_t mixed_objects(const struct mixed_phase *phase);
uint64_t mixed_size(const struct mixed_phase *phase);

void mixed_make(struct mixed_heap *heap, const struct mixed_plan *plan, struct stream *stream);
void mixed_finish(struct mixed_heap *heap);

/* True bytes, or objects, of a row after the event at `time_ns` since the start. */
double mixed_row(const struct mixed_heap *heap, unsigned row, bool objects, uint64_t time_ns);

#endif
