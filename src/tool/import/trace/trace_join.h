/* SPDX-License-Identifier: MIT */
/*
 * From SAMPLE and FREE records to samples of the profile, private to import/: a free is joined to
 * its sample by sequence number (sample_index.h); one that finds no sample yet waits for the end of
 * the file. A sample whose sequence another has already is left out and counted.
 *
 * It takes two steps, so that two threads can share the work: in the first, which runs ahead,
 * records get the number of the entry that they are about; in the second they are put into the
 * profile.
 *
 * Life: bp_trace_join_init; records by bp_trace_join_number, then by bp_trace_join_take;
 * bp_trace_join_finish after the last one; bp_trace_join_tell_stacks when stacks are known;
 * bp_trace_join_release (safe on zeroed memory).
 */
#ifndef BP_IMPORT_TRACE_TRACE_JOIN_H
#define BP_IMPORT_TRACE_TRACE_JOIN_H

#include "base/packed.h"
#include "import/trace/sample_index.h"
#include "import/trace/trace.h"

/* What is known of an entry until its free has come: the object counter of its thread, which tells
 * temporary objects; where a folded part tells its birth otherwise, the time as recorded; and where
 * it was recorded the processor, as in struct bp_trace_sample. */
enum bp_beside_column { BP_BESIDE_OBJECTS, BP_BESIDE_TIME, BP_BESIDE_PROCESSOR, BP_BESIDE_COLUMNS };

/* The profile's number for a recorded stack: its id, and above that the epoch (jit/jit_names.h) as
 * of which its code made at run time has names. */
struct bp_stack_number {
	uint64_t id;
	uint32_t number;
};
#define BP_STACKS_FOUND 4096u

struct bp_trace_join {
	struct bp_profile *profile;
	const struct bp_trace_reader *reader;
	struct bp_process_id process;
	const struct bp_jit_names *jit; /* of code made at run time; NULL: there are none */
	uint32_t first_sample;		/* entries from here on are this process's ... */
	/* ... and this runs beside them: its first column, or with one of the two below all. */
	struct bp_packed beside;
	bool is_told;		/* a folded part may tell times otherwise */
	bool has_processors;	/* processors may be known */
	bool objects_uncounted; /* counters of objects say nothing */
	/* Private; these of the first step, apart from what the other thread writes. */
	_Alignas(64) uint64_t repeated_samples;
	struct bp_sample_index by_sequence;
	uint32_t next_entry;
	/* And these of the second. */
	_Alignas(64) struct bp_waiting_free *waiting;
	uint32_t waiting_count, waiting_capacity;
	struct bp_stack_number *stack_numbers;
	uint32_t stack_number_count, stack_number_capacity;
	struct bp_index by_stack;
	struct bp_stack_number stacks_found[BP_STACKS_FOUND]; /* lately, by id */
};

void bp_trace_join_init(struct bp_trace_join *join, const struct bp_trace_reader *reader,
	struct bp_process_id process, struct bp_profile *profile);

/* What a record is about, when it is not an entry. */
#define BP_JOIN_NOTHING UINT32_MAX     /* nothing: it is left out */
#define BP_JOIN_WAITS (UINT32_MAX - 1) /* an entry that has not come yet */
#define BP_JOIN_NO_MEMORY (UINT32_MAX - 2)

/* What each of some records is about, and which of them are samples, which frees, and which
 * neither, in their order. (They alternate at random: a processor that had to guess would be wrong
 * half the time.) */
#define BP_JOIN_RECORDS 128u
struct bp_join_numbered {
	uint32_t entries[BP_JOIN_RECORDS]; /* of samples and frees */
	uint8_t samples[BP_JOIN_RECORDS], frees[BP_JOIN_RECORDS], others[BP_JOIN_RECORDS];
	uint32_t sample_count, free_count, other_count;
};

/* The first step. The records stand in the order of the file, at most BP_JOIN_RECORDS; the samples
 * among them are looked at first, and those that are neither samples nor frees not at all. Where
 * anything else has added samples since, bp_trace_join_resume comes first. */
void bp_trace_join_number(struct bp_trace_join *join, const struct bp_trace_record *records,
	uint32_t count, struct bp_join_numbered *ret_numbered);
void bp_trace_join_resume(struct bp_trace_join *join);

/* The second, with the same records, of which the others are the caller's. Each returns false
 * without memory. */
bool bp_trace_join_take(struct bp_trace_join *join, const struct bp_trace_record *records,
	const struct bp_join_numbered *numbered, struct bp_error *error);
bool bp_trace_join_finish(struct bp_trace_join *join, struct bp_error *error);

/* The number under which samples have a recorded stack, at a time. */
bool bp_trace_join_stack(struct bp_trace_join *join, uint32_t id, uint64_t time_ns,
	uint32_t *ret_number, struct bp_error *error);
/* After bp_trace_stacks_resolve: what those numbers mean. False: no memory. */
bool bp_trace_join_tell_stacks(const struct bp_trace_join *join,
	const struct bp_trace_stacks *stacks, struct bp_trace_jit *jit, struct bp_error *error);

void bp_trace_join_release(struct bp_trace_join *join);

#endif
