/* SPDX-License-Identifier: MIT */
/*
 * The native frame of an evaluation loop is replaced by the frames of Python that it ran. The other
 * native frames of the interpreter's module say how CPython does what its functions say already,
 * and are left out. What is outside of the outermost frame of Python started the interpreter: where
 * that is nothing but the interpreter and the C library, as of the program `python`, it is left
 * out, too.
 */
#include "import/trace/trace_mixed.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "model/python_frames.h"
#include "model/gaps/python_state.h"
#include "trace/format.h"

struct join {
	const struct bp_trace_mixed *mixed;
	struct bp_trace_names *names;
	struct bp_profile *profile;
	struct bp_error *error;
	struct bp_location_id *locations; /* of the joined stack, so far */
	uint32_t count;
};

static const struct bp_stack *native_of(const struct join *join)
{
	return &join->profile->stacks.data[join->mixed->native.i];
}

static struct bp_location_id native_location(const struct join *join, uint32_t position)
{
	return join->profile->stack_locations.data[native_of(join)->first_location + position];
}

static struct bp_module_id module_at(const struct join *join, uint32_t position)
{
	return join->profile->locations.data[native_location(join, position).i].module;
}

static const char *file_at(const struct join *join, uint32_t position)
{
	const struct bp_module_id module = module_at(join, position);
	return bp_last_part(
		bp_profile_text(join->profile, join->profile->modules.data[module.i].path));
}

/* The interpreter itself may be a library, and the program no more than a call of it. */
static bool is_interpreter(const struct join *join, uint32_t position)
{
	return (join->mixed->interpreter.i != 0 &&
		       module_at(join, position).i == join->mixed->interpreter.i) ||
	       strncmp(file_at(join, position), "python", 6) == 0 ||
	       strncmp(file_at(join, position), "libpython", 9) == 0;
}

static bool is_c_library(const struct join *join, uint32_t position)
{
	const char *file = file_at(join, position);
	return strncmp(file, "libc.so", 7) == 0 || strncmp(file, "libc-2", 6) == 0 ||
	       strncmp(file, "libpthread", 10) == 0;
}

/* Where the native frames end that are shown: before those that only started the interpreter. */
static uint32_t native_end(const struct join *join)
{
	const uint32_t depth = native_of(join)->depth;
	const uint64_t last = join->mixed->frames[join->mixed->depth - 1] >> 32;
	if (last >= depth)
		return depth;
	for (uint32_t i = (uint32_t)last + 1; i < depth; i++)
		if (!is_interpreter(join, i) && !is_c_library(join, i))
			return depth;
	return (uint32_t)last + 1;
}

static bool add_python(struct join *join, uint64_t frame)
{
	struct bp_location_id location;
	if (!bp_trace_names_location(
		    join->names, (uint32_t)frame, join->profile, &location, join->error))
		return false;
	const struct bp_location *found = &join->profile->locations.data[location.i];
	const struct bp_frame *named = &join->profile->frames.data[found->first_frame.i];
	if (join->profile->frames_shown.hide_imports &&
		bp_python_is_import(bp_profile_text(join->profile, named->source_file)))
		return true;
	join->locations[join->count++] = location;
	return true;
}

/* Both, or Python's alone. */
static bool fill(struct join *join)
{
	const struct bp_trace_mixed *mixed = join->mixed;
	const bool both = join->profile->frames_shown.python == BP_PYTHON_FRAMES_BOTH;
	const uint32_t end = both ? native_end(join) : 0;
	uint32_t next = 0;
	for (uint32_t i = 0; i < end; i++) {
		/* (One at which the native walk ended may stand where a loop of its callers is.) */
		if (!is_interpreter(join, i))
			join->locations[join->count++] = native_location(join, i);
		for (; next < mixed->depth && mixed->frames[next] >> 32 <= i; next++)
			if (!add_python(join, mixed->frames[next]))
				return false;
	}
	for (; next < mixed->depth; next++)
		if (!add_python(join, mixed->frames[next]))
			return false;
	return true;
}

bool bp_trace_mixed_add(const struct bp_trace_mixed *mixed, struct bp_trace_names *names,
	struct bp_profile *profile, struct bp_stack_id *ret_stack, struct bp_error *error)
{
	struct join join = { .mixed = mixed, .names = names, .profile = profile, .error = error };
	*ret_stack = mixed->native;
	if (profile->frames_shown.python == BP_PYTHON_FRAMES_NATIVE || mixed->depth == 0)
		return true;
	const struct bp_stack native = *native_of(&join);
	/* What the interpreter maps (arenas for small objects) is its own, and not that of the
	 * function of Python whose object came just then. */
	if (profile->mapped && native.depth > 0 && is_interpreter(&join, 0))
		return true;
	join.locations = malloc(((size_t)native.depth + mixed->depth) * sizeof *join.locations);
	if (join.locations == NULL)
		return bp_error_set(error, "out of memory");
	/* A native walk that ended early may have ended between frames of Python; these are all
	 * there. */
	const uint64_t last = mixed->frames[mixed->depth - 1] >> 32;
	const bool reached = last < native.depth && is_interpreter(&join, (uint32_t)last);
	const uint8_t flags = mixed->flags | (reached ? native.flags : 0);
	const bool good =
		fill(&join) && (join.count == 0 || bp_profile_add_stack(profile, join.locations,
							   join.count, flags, ret_stack, error));
	free(join.locations);
	return good;
}
