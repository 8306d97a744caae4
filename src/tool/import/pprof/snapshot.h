/* SPDX-License-Identifier: MIT */
/*
 * A heap profile that is a snapshot becomes one process and its samples, whichever form its file
 * has: without times, without counters, every byte of an object a trial of its own (Bernoulli,
 * without a charge), and exact at T = 1. Called by pprof.c and go_text.c, in the order of the
 * functions. Thread-safety: as of the profile.
 */
#ifndef BP_IMPORT_PPROF_SNAPSHOT_H
#define BP_IMPORT_PPROF_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "model/profile.h"

/* Set by the caller. */
struct bp_snapshot {
	const char *path;
	struct bp_profile *profile;
	struct bp_error *error;
	uint64_t interval; /* T with which samples were drawn, >= 1 */
	bool live_only;	   /* nothing is told of what was freed */

	struct bp_process_id process;
	uint64_t sequence; /* of the last event */
	uint64_t invalid;  /* buckets of which the number of samples is not known */
};

/* Chooses T: `scaled_by` as the file says, or what the user assumes instead. */
void bp_snapshot_choose_interval(struct bp_snapshot *snapshot, uint64_t scaled_by);

/* Adds the process of a file that holds these bytes. Refuses a file that was read already. */
bool bp_snapshot_add_process(struct bp_snapshot *snapshot, struct bp_string_id program,
	uint64_t start_real_ns, uint64_t duration_ns, const void *data, size_t bytes);

struct bp_process *bp_snapshot_process(const struct bp_snapshot *snapshot);

/* Adds a bucket of `allocated` samples of one stack and size >= 1, of which `live` <= `allocated`
 * were not freed. */
bool bp_snapshot_add_bucket(struct bp_snapshot *snapshot, struct bp_stack_id stack, uint64_t size,
	uint64_t allocated, uint64_t live);

/* The last call: counts what was lost. */
void bp_snapshot_end(const struct bp_snapshot *snapshot);

#endif
