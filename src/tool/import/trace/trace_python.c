/* SPDX-License-Identifier: MIT */
/*
 * What a trace says of the CPython in its process (docs/trace-format.md 3.10). Of several records
 * the largest states hold: from "recorded" on they only grow. That small objects wait to be
 * recorded holds where nothing else is said of them, and as long as the state page has no time.
 */
#include "import/trace/trace.h"
#include "model/gaps/python_state.h"
#include "trace/format.h"

_Static_assert((int)BP_PYTHON_OTHER_ALLOCATORS == BP_PROFILE_PYTHON_OTHER_ALLOCATORS &&
		       (int)BP_PYTHON_WAITING == BP_PROFILE_PYTHON_WAITING &&
		       (int)BP_PYTHON_FREE_THREADED == BP_PROFILE_PYTHON_FREE_THREADED,
	"states are copied as they are");

/* Does the state hold rather than the one that is known? */
static bool holds(uint32_t state, uint32_t known)
{
	if (known == BP_PYTHON_WAITING)
		return state != BP_PYTHON_RECORDED;
	return state > known && (state != BP_PYTHON_WAITING || known == BP_PYTHON_RECORDED);
}

void bp_trace_python_add(
	const struct bp_trace_interpreter *interpreter, struct bp_process_python *python)
{
	if (!python->known || interpreter->frames > python->frames_state)
		python->frames_state = interpreter->frames;
	if (!python->known || holds(interpreter->objects, python->objects_state))
		python->objects_state = interpreter->objects;
	python->known = true;
}

void bp_trace_python_finish(const struct bp_trace_reader *reader, struct bp_process_python *python)
{
	const uint64_t since_ns = reader->state.small_objects_time_ns;
	const uint64_t begin_ns = reader->header.start_monotonic_ns;
	if (python->objects_state != BP_PROFILE_PYTHON_WAITING || since_ns == 0)
		return;
	python->objects_state = BP_PROFILE_PYTHON_RECORDED;
	python->objects_after_ns = since_ns > begin_ns ? since_ns - begin_ns : 0;
}
