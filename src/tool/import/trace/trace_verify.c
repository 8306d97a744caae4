/* SPDX-License-Identifier: MIT */
/*
 * The exact sums of a trace (docs/trace-format.md 1.7) into the profile. Whatever a hostile file
 * claims is brought into order here: nothing was freed that was not allocated, nothing temporary
 * that was not freed.
 */
#include "import/trace/trace.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void import_totals(const struct bp_trace_reader *reader, struct bp_process *process)
{
	const struct bp_trace_verify_totals *from = &reader->state.verify_sums;
	process->verify_sums = (struct bp_process_verify_sums){
		.taken = true,
		.allocated_bytes = from->allocated_bytes,
		.allocated_objects = from->allocated_objects,
		.freed_bytes = smaller(from->freed_bytes, from->allocated_bytes),
		.freed_objects = smaller(from->freed_objects, from->allocated_objects),
		.peak_bytes = from->peak_bytes,
		.peak_objects = from->peak_objects,
		.peak_time_ns = from->peak_time_ns,
		.has_smallest = from->smallest_size != 0,
		.smallest_size = from->smallest_size == 0 ? 0 : from->smallest_size - 1,
		.nested_bytes = from->nested_bytes,
		.nested_objects = from->nested_objects,
		.uncounted_bytes = from->uncounted_bytes,
		.uncounted_objects = from->uncounted_objects,
		.unknown_frees = from->unknown_frees,
		.missed_frees = from->missed_frees,
		.failed_bytes = from->failed_bytes,
		.failed_objects = from->failed_objects,
	};
}

bool bp_import_trace_verify_sums(const struct bp_trace_reader *reader,
	const struct bp_trace_stacks *stacks, struct bp_trace_jit *jit,
	struct bp_process_id process, struct bp_profile *profile, struct bp_error *error)
{
	if ((reader->header.flags_skippable & BP_HEADER_VERIFY) == 0)
		return true;
	import_totals(reader, &profile->processes.data[process.i]);
	for (uint32_t i = 0; i < reader->verify_sums_count; i++) {
		const struct bp_trace_verify_sums *from = &reader->verify_sums[i];
		const uint64_t freed_bytes = smaller(from->freed_bytes, from->allocated_bytes);
		const uint64_t freed_objects =
			smaller(from->freed_objects, from->allocated_objects);
		struct bp_stack_id stack;
		if (!bp_trace_jit_stack(jit, profile, bp_trace_stacks_find(stacks, from->stack),
			    UINT32_MAX, &stack, error))
			return false;
		const struct bp_verify_sums sums = {
			.process = process,
			.stack = stack,
			.allocated_bytes = from->allocated_bytes,
			.allocated_objects = from->allocated_objects,
			.freed_bytes = freed_bytes,
			.freed_objects = freed_objects,
			.temporary_bytes = smaller(from->temporary_bytes, freed_bytes),
			.temporary_objects = smaller(from->temporary_objects, freed_objects),
		};
		if (!bp_profile_add_verify_sums(profile, &sums, error))
			return false;
	}
	return true;
}
