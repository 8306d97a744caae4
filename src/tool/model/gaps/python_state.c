/* SPDX-License-Identifier: MIT */
/* See python_state.h. */
#include "model/gaps/python_state.h"

#include <stdio.h>

#include "base/attributes.h"

/* Attaching takes some milliseconds in any case. */
#define NOTICEABLE_NS 20000000u

static const struct {
	const char *name, *why, *remedy;
} states[] = {
	[BP_PROFILE_PYTHON_RECORDED] = { "recorded", "", "" },
	[BP_PROFILE_PYTHON_NOT_ASKED] = { "not asked",
		"they were not asked for, or --verify leaves them out",
		"bytepoll run --python all without --verify records them" },
	[BP_PROFILE_PYTHON_UNKNOWN_VERSION] = { "unknown version",
		"the recorder does not know this version or build of Python",
		"a newer bytepoll may know it, and bytepoll doctor names those that this one "
		"knows" },
	[BP_PROFILE_PYTHON_FREE_THREADED] = { "free-threaded", "this Python is free-threaded",
		"run the program with a build that has the GIL" },
	[BP_PROFILE_PYTHON_TEST_FAILED] = { "test failed",
		"what was read of the interpreter did not pass its test",
		"its structures may have been changed: run the program with a plain build" },
	[BP_PROFILE_PYTHON_ALL_IN_MALLOC] = { "all in malloc",
		"Python allocates all with it (PYTHONMALLOC=malloc)",
		"without that variable they are a kind of their own" },
	[BP_PROFILE_PYTHON_WAITING] = { "waiting",
		"since the process was attached to it has run no Python in its main thread, and no "
		"thread that runs Python has called malloc",
		"they are recorded from the moment on that it does" },
	[BP_PROFILE_PYTHON_INTERPRETERS] = { "several interpreters",
		"the process that was attached to has sub-interpreters, which may have a GIL each",
		"bytepoll run records them" },
	[BP_PROFILE_PYTHON_OTHER_ALLOCATORS] = { "other allocators",
		"other allocators than Python's own were in use when the process was attached to "
		"(tracemalloc, PYTHONMALLOC=debug, -X dev)",
		"attach to it without them, or start it with bytepoll run" },
};

bool bp_python_objects_are_seen(const struct bp_process_python *python)
{
	return python->known && (python->objects_state == BP_PROFILE_PYTHON_RECORDED ||
					python->objects_state == BP_PROFILE_PYTHON_ALL_IN_MALLOC);
}

const char *bp_python_state_name(uint32_t state)
{
	return state < BP_COUNT(states) ? states[state].name : "other";
}

static void write_line(const struct bp_profile *profile, const struct bp_process_python *python,
	const char *what, uint32_t state, char *to)
{
	const bool known = state < BP_COUNT(states);
	snprintf(to, BP_PYTHON_LINE_BYTES, "%.64s: %s: %s; %s",
		bp_profile_text(profile, python->name), what,
		known ? states[state].why : "the reason is not known to this bytepoll",
		known ? states[state].remedy : "a newer one may tell it");
}

uint32_t bp_python_missing_lines(const struct bp_profile *profile,
	const struct bp_process_python *python,
	char ret_lines[BP_PYTHON_LINES][BP_PYTHON_LINE_BYTES])
{
	static const char *const functions = "its functions are not in stacks";
	const uint32_t frames = python->frames_state;
	const bool impossible = frames == BP_PROFILE_PYTHON_FREE_THREADED ||
				frames == BP_PROFILE_PYTHON_UNKNOWN_VERSION;
	uint32_t objects = python->objects_state, count = 0;
	/* Asking for them would not help. */
	if (impossible && objects == BP_PROFILE_PYTHON_NOT_ASKED)
		objects = frames;
	if (!python->known)
		return 0;
	if (frames == objects && frames != BP_PROFILE_PYTHON_RECORDED) {
		write_line(profile, python,
			"neither its functions nor its small objects are recorded", frames,
			ret_lines[0]);
		return 1;
	}
	if (frames != BP_PROFILE_PYTHON_RECORDED)
		write_line(profile, python, functions, frames, ret_lines[count++]);
	if (objects == BP_PROFILE_PYTHON_ALL_IN_MALLOC)
		write_line(profile, python, "its small objects count as malloc's", objects,
			ret_lines[count++]);
	else if (objects != BP_PROFILE_PYTHON_RECORDED)
		write_line(profile, python, "its small objects are not recorded", objects,
			ret_lines[count++]);
	else if (python->objects_after_ns >= NOTICEABLE_NS)
		snprintf(ret_lines[count++], BP_PYTHON_LINE_BYTES,
			"%.64s: its small objects are recorded from %.3g s on, when it first ran "
			"Python after it was attached to; those made before are in no figure",
			bp_profile_text(profile, python->name),
			(double)python->objects_after_ns / 1e9);
	return count;
}
