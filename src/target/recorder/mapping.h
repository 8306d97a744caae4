/* SPDX-License-Identifier: MIT */
/*
 * Records the calls by which the program maps memory itself (docs/trace-format.md 3.11). Called by
 * hooks/mapping.c, before and after the real function: no lock is held and no visit is under way
 * while the real function runs. A call that cannot be recorded is counted (BP_LOSS_MAPPING).
 * Thread-safe, and safe in signal handlers. errno stays as it is.
 */
#ifndef BP_RECORDER_MAPPING_H
#define BP_RECORDER_MAPPING_H

#include <stdint.h>

#include "recorder/recorder.h"

/* One call that succeeded: the fields of the record that the hook knows. */
struct bp_mapping_call {
	enum bp_mapping_what what;
	uint64_t before; /* from bp_mapping_before */
	uint64_t address, bytes, old_address, old_bytes;
	int protection, flags; /* as the call got them */
};

/* Is a call of the program to be recorded now? Within a visit and while the recorder starts
 * those of its allocator are. */
static inline bool bp_mapping_is_wanted(void)
{
	return bp_recorder.records_mappings &&
	       (__atomic_load_n(&bp_recorder.mode, __ATOMIC_ACQUIRE) == BP_MODE_ON ||
		       bp_hot.in_allocator);
}

/* The number of a call that gives memory back, taken before it: as soon as the call has done its
 * work another thread may get the memory, and that has a larger number. */
static inline uint64_t bp_mapping_before(void)
{
	return bp_mapping_is_wanted() ? bp_recorder_next_sequence() : 0;
}

/* Records the call with the stack of the caller. Called after the real function has succeeded, if
 * bp_mapping_is_wanted. */
void bp_mapping_record(const struct bp_mapping_call *call);

/* Does bp_real_adopt_entries, once, while the recorder starts. That calls the program's allocator,
 * which maps its first pieces of memory when it is first called: they are recorded as the calling
 * thread's. */
void bp_mapping_adopt_entries(void);

#endif
