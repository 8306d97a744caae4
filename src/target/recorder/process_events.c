/* SPDX-License-Identifier: MIT */
/* What the hooks report of the process's life, each in a visit of its own: new images, children,
 * unloaded modules, and limits that are about to be set. */
#include "python/interpreter.h"
#include "recorder/recorder.h"
#include "recorder/visit.h"
#include "unwind/modules.h"

void bp_recorder_exec(const char *path, enum bp_unseen unseen)
{
	struct bp_visit visit;
	if (bp_recorder.mode != BP_MODE_ON || !bp_visit_begin(&visit, 0))
		return;
	uint64_t values[4] = { bp_system_time_ns(CLOCK_MONOTONIC), bp_recorder.sequence,
		bp_system_pid(), unseen };
	(void)bp_writer_plain(&bp_recorder.writer, BP_TAG_EXEC, values, 4, path);
	bp_visit_end(&visit, visit.left);
}

void bp_recorder_forked(int32_t pid)
{
	struct bp_visit visit;
	if (bp_recorder.mode != BP_MODE_ON || !bp_visit_begin(&visit, 0))
		return;
	uint64_t values[3] = { bp_system_time_ns(CLOCK_MONOTONIC), bp_recorder.sequence,
		(uint32_t)pid };
	(void)bp_writer_plain(&bp_recorder.writer, BP_TAG_FORK, values, 3, NULL);
	bp_visit_end(&visit, visit.left);
}

void bp_recorder_unloaded(void)
{
	struct bp_visit visit;
	if (bp_recorder.mode != BP_MODE_ON || !bp_visit_begin(&visit, 0))
		return;
	bp_modules_check_gone(&bp_recorder.writer);
	bp_python_check_gone();
	bp_visit_end(&visit, visit.left);
}

void bp_recorder_before_limits(void)
{
	struct bp_visit visit;
	if (bp_recorder.mode != BP_MODE_ON || !bp_visit_begin(&visit, 0))
		return;
	bp_writer_trim(&bp_recorder.writer);
	bp_visit_end(&visit, visit.left);
}
