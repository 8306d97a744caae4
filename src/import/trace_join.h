/* SPDX-License-Identifier: MIT */
/*
 * From SAMPLE and FREE records to samples of the profile, private to import/: a free is joined to its
 * sample by sequence number (sample_index.h); one that finds no sample yet waits for the end of the file.
 * A sample whose sequence another has already is left out and counted.
 *
 * Life: bp_trace_join_init; records by bp_trace_join_take; bp_trace_join_finish after the last one;
 * bp_trace_join_tell_stacks when stacks are known; bp_trace_join_release (safe on zeroed memory).
 */
#ifndef BP_IMPORT_TRACE_JOIN_H
#define BP_IMPORT_TRACE_JOIN_H

#include "base/packed.h"
#include "import/sample_index.h"
#include "import/trace.h"

/* Samples and frees are taken so many at a time: where each will look in memory is told to the processor
 * before the first of them is taken, so that the waiting is done once for all. */
#define BP_TRACE_TAKEN_AT_ONCE 48u

/* What is known of an entry until its free has come: the object counter of its thread, which tells
 * temporary objects, and where a folded part tells its birth otherwise, the time as recorded. */
enum bp_beside_column { BP_BESIDE_OBJECTS, BP_BESIDE_TIME, BP_BESIDE_COLUMNS };

struct bp_trace_join {
	struct bp_profile *profile;
	const struct bp_trace_reader *reader;
	struct bp_process_id process;
	uint32_t first_sample;	 /* entries from here on are this process's ... */
	struct bp_packed beside; /* ... and this runs beside them */
	uint64_t repeated_samples;
	/* Private. */
	struct bp_sample_index by_sequence;
	struct bp_waiting_free *waiting;
	uint32_t waiting_count, waiting_capacity;
	struct bp_stack_number *stack_numbers;
	uint32_t stack_number_count, stack_number_capacity;
	struct bp_index by_stack;
	struct bp_trace_record taken[BP_TRACE_TAKEN_AT_ONCE];
	uint32_t taken_count;
};

void bp_trace_join_init(struct bp_trace_join *join, const struct bp_trace_reader *reader,
	struct bp_process_id process, struct bp_profile *profile);

/* Each returns false without memory. A record taken may wait for others until the next flush. */
bool bp_trace_join_take(
	struct bp_trace_join *join, const struct bp_trace_record *record, struct bp_error *error);
bool bp_trace_join_flush(struct bp_trace_join *join, struct bp_error *error);
bool bp_trace_join_finish(struct bp_trace_join *join, struct bp_error *error);

/* The number under which samples have a recorded stack. */
bool bp_trace_join_stack(
	struct bp_trace_join *join, uint32_t id, uint32_t *ret_number, struct bp_error *error);
/* After bp_trace_stacks_resolve: what those numbers mean. */
void bp_trace_join_tell_stacks(
	const struct bp_trace_join *join, const struct bp_trace_stacks *stacks);

void bp_trace_join_release(struct bp_trace_join *join);

#endif
