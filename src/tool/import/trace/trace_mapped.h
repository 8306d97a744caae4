/* SPDX-License-Identifier: MIT */
/*
 * MAPPING records (docs/trace-format.md 3.11) to samples of the profile: memory that the program
 * mapped itself, where the profile is to hold that in the place of what was sampled
 * (profile->contents). Private to import/.
 *
 * Each sample is taken exactly: a range of accessible bytes that one call mapped and that ended as
 * a whole, at one moment or never. So live bytes are exact at any time; the number of samples is
 * that of ranges, of which one call may have several.
 *
 * Life: bp_trace_mapped_add for each record; after the last one bp_trace_mapped_finish, which adds
 * the samples; bp_trace_mapped_tell_totals when threads are known; bp_trace_mapped_release (safe on
 * zeroed memory).
 */
#ifndef BP_IMPORT_TRACE_TRACE_MAPPED_H
#define BP_IMPORT_TRACE_TRACE_MAPPED_H

#include "import/trace/trace_join.h"

struct bp_trace_mapped {
	struct bp_trace_mapping *records;
	uint32_t count, capacity;
};

bool bp_trace_mapped_add(struct bp_trace_mapped *mapped, const struct bp_trace_mapping *record,
	struct bp_error *error);

/* Adds the samples, with the ordinals of threads in the place of threads, as the join does. */
bool bp_trace_mapped_finish(
	struct bp_trace_mapped *mapped, struct bp_trace_join *join, struct bp_error *error);

/* The totals of the process and of its threads, from `first_alike` on: what was mapped in all. */
void bp_trace_mapped_tell_totals(const struct bp_trace_reader *reader, struct bp_process_id process,
	uint32_t first_alike, struct bp_profile *profile);

void bp_trace_mapped_release(struct bp_trace_mapped *mapped);

#endif
