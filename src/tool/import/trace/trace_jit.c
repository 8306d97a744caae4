/* SPDX-License-Identifier: MIT */
/* See trace_jit.h. */
#include "import/trace/trace_jit.h"

#include <stdlib.h>
#include <string.h>

#include "jit/jit_file.h"
#include "jit/jit_symbol.h"

void bp_trace_jit_begin(struct bp_trace_jit *jit, const struct bp_trace_reader *reader,
	struct bp_process_id process, const struct bp_profile *profile)
{
	*jit = (struct bp_trace_jit){ .process = process };
	if (profile->jit != NULL)
		jit->names = bp_jit_file_find(profile->jit, reader->header.trace_id);
	if ((reader->header.flags_skippable & BP_HEADER_VERIFY) == 0)
		jit->timed = jit->names;
}

static bool make_module(
	struct bp_trace_jit *jit, struct bp_profile *profile, struct bp_error *error)
{
	struct bp_module module = { .process = jit->process };
	return jit->module.i != 0 ||
	       (bp_profile_string(
			profile, BP_JIT_MODULE, sizeof BP_JIT_MODULE - 1, &module.path, error) &&
		       bp_profile_add_module(profile, &module, &jit->module, error));
}

/* The location of a name; the numbers of its two strings are its address. */
static bool make_location(struct bp_trace_jit *jit, struct bp_profile *profile,
	const struct bp_jit_symbol *symbol, struct bp_location_id *ret_location,
	struct bp_error *error)
{
	struct bp_frame frame = { .named = true };
	if (!make_module(jit, profile, error) ||
		!bp_profile_string(profile, symbol->function, symbol->function_bytes,
			&frame.function, error) ||
		!bp_profile_string(
			profile, symbol->file, symbol->file_bytes, &frame.source_file, error))
		return false;
	frame.module = jit->module;
	frame.system_name = frame.function;
	const uint64_t address = (uint64_t)frame.source_file.i << 32 | frame.function.i;
	if (!bp_profile_add_location(profile, jit->module, address, true, ret_location, error))
		return false;
	return profile->locations.data[ret_location->i].resolved ||
	       bp_profile_set_frames(profile, *ret_location, &frame, 1, error);
}

/* Names one location; `*keep` is cleared if the stack is to be without it. */
static bool name_location(struct bp_trace_jit *jit, struct bp_profile *profile, uint64_t time_ns,
	struct bp_location_id *location, bool *keep, struct bp_error *error)
{
	const struct bp_location *found = &profile->locations.data[location->i];
	char text[BP_JIT_FOUND_BYTES];
	struct bp_jit_symbol symbol;
	*keep = true;
	if (found->module.i != 0 || found->resolved || found->address == 0)
		return true;
	/* A return address may already belong to the next piece of code. */
	if (!bp_jit_names_find(
		    jit->names, found->exact ? found->address : found->address - 1, time_ns, text))
		return true;
	bp_jit_symbol_read(text, &symbol);
	*keep = !symbol.trampoline || !jit->python;
	return !*keep || make_location(jit, profile, &symbol, location, error);
}

bool bp_trace_jit_stack(struct bp_trace_jit *jit, struct bp_profile *profile,
	struct bp_stack_id stack, uint32_t epoch, struct bp_stack_id *ret_stack,
	struct bp_error *error)
{
	const struct bp_stack from = profile->stacks.data[stack.i];
	*ret_stack = stack;
	if (jit->names == NULL || from.depth == 0)
		return true;
	struct bp_location_id *locations = malloc(from.depth * sizeof *locations);
	if (locations == NULL)
		return bp_error_set(error, "out of memory");
	const uint64_t time_ns = bp_jit_names_epoch_end(jit->names, epoch);
	uint32_t count = 0;
	bool good = true, changed = false;
	for (uint32_t i = 0; good && i < from.depth; i++) {
		const struct bp_location_id before =
			profile->stack_locations.data[from.first_location + i];
		bool keep;
		locations[count] = before;
		good = name_location(jit, profile, time_ns, &locations[count], &keep, error);
		changed = changed || !keep || locations[count].i != before.i;
		count += keep;
	}
	if (good && changed && count > 0)
		good = bp_profile_add_stack(
			profile, locations, count, from.flags, ret_stack, error);
	free(locations);
	return good;
}
