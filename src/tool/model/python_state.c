/* SPDX-License-Identifier: MIT */
/* See python_state.h. */
#include "model/python_state.h"

#include <stdio.h>

/* enum bp_python_state of the trace. */
enum state { RECORDED, NOT_ASKED, UNKNOWN_VERSION, FREE_THREADED, TEST_FAILED, ALL_IN_MALLOC };

bool bp_python_objects_counted(const struct bp_process *process)
{
	const uint32_t state = process->python.objects_state;
	return process->python.known && (state == RECORDED || state == ALL_IN_MALLOC);
}

static const char *reason(uint32_t state)
{
	switch (state) {
	case UNKNOWN_VERSION:
		return "is a version that the recorder does not know";
	case FREE_THREADED:
		return "is a free-threaded build, which the recorder does not know";
	case TEST_FAILED:
		return "does not keep its frames as its version does elsewhere";
	default:
		return "could not be looked into";
	}
}

bool bp_python_words(
	const struct bp_profile *profile, const struct bp_process *process, char *to, size_t bytes)
{
	const struct bp_process_python *python = &process->python;
	if (!python->known || python->frames_state == RECORDED || python->frames_state == NOT_ASKED)
		return false;
	snprintf(to, bytes, "%.60s %s: stacks show the interpreter's own functions of C%s",
		bp_profile_text(profile, python->name), reason(python->frames_state),
		bp_python_objects_counted(process)
			? ""
			: ", and its objects of up to 512 bytes are not counted "
			  "(PYTHONMALLOC=malloc has them counted)");
	return true;
}
