/* SPDX-License-Identifier: MIT */
/*
 * The recorder in a program that ran before: opened by dlopen, it waits until bytepoll_attach is
 * called, by a signal frame that `bytepoll attach` has written or by the program itself.
 *
 * Attach: the settings are read, the trace is created, and only then the program's calls are bound
 * to the hooks (hooks/binding/late.c). Sampling begins when all are, so that the free of a sample
 * is seen; until then objects are only counted. Every thread is met at its first object. Functions
 * of Python are recorded at once, its small objects as soon as a thread that holds the GIL comes by
 * (hooks/python_late.c).
 *
 * Detach: the mode is OFF, so that no new visit begins, and the calls are bound back. Visits that
 * are under way are waited for: a visit is counted before it looks at the mode, so either the count
 * is seen here or the visit sees the mode. They are waited for briefly, since the calling thread is
 * the program's: where a thread does not get out in that time (it gets no processor, or a signal
 * handler holds it), the next call of detach or attach goes on from there. Then the trace is closed
 * like that of a process that ends, and the tables of live samples and of threads are emptied. The
 * library stays, because functions of it may still be under way or saved by the program; they pass
 * every call on.
 *
 * Attach again: another trace, a new attachment, in which each thread begins with zero.
 *
 * `attaching` is held throughout. The fork handlers take it first, so that no child is born in the
 * middle.
 */
#include "base/lock.h"
#include "recognition/live_set.h"
#include "recorder/real.h"
#include "recorder/recorder.h"
#include "recorder/thread.h"
#include "unwind/frame_rules.h"

/* How long visits are waited for. They take microseconds, unless their thread cannot run. */
#define QUIET_NS 20000000u
#define SETTINGS_COUNT_MAX 32

BP_EXPORT struct bp_attached bytepoll_attached;
BP_EXPORT uint32_t bytepoll_attach(const char *path);
BP_EXPORT uint32_t bytepoll_detach(void);

static struct bp_lock attaching;
static bool stuck; /* detached, but a thread has not come out yet: the trace is still open */

void bp_attach_lock(void)
{
	if (bp_recorder.is_late)
		bp_lock_take(&attaching);
}

void bp_attach_unlock(void)
{
	if (bp_recorder.is_late)
		bp_lock_release(&attaching);
}

void bp_attach_after_fork(void)
{
	if (!bp_recorder.is_late)
		return;
	(void)bp_lock_reset(&attaching);
	stuck = false;
	bp_recorder.mode = BP_MODE_OFF;
	bp_recorder.inside = 0;
	/* None of its mappings was inherited. */
	__builtin_memset(&bp_recorder.writer, 0, sizeof bp_recorder.writer);
	bp_threads_forget_all();
	bp_live_after_fork();
	bp_live_forget();
}

/* A file of lines NAME=VALUE, as an environment. */
static bool read_settings(const char *path, char **ret_settings)
{
	static char text[BP_SETTINGS_MAX_BYTES];
	size_t count = 0;
	const size_t length = bp_system_read_file(path, text, sizeof text);
	for (char *at = text; at < text + length && count < SETTINGS_COUNT_MAX - 1;) {
		ret_settings[count++] = at;
		while (*at != '\n' && *at != '\0')
			at++;
		*at++ = '\0';
	}
	ret_settings[count] = NULL;
	return count > 0;
}

/* Closes the trace, once no visit is under way. (In a child of a fork that no handler saw the trace
 * is the parent's, and stays open.) */
static enum bp_attach_result end_when_quiet(void)
{
	stuck = *bp_recorder.fork_mark == 0 || !bp_threads_are_quiet(QUIET_NS);
	if (stuck)
		return BP_ATTACH_NOT_QUIET;
	bp_recorder_end_late();
	bp_threads_forget();
	bp_live_forget();
	bp_real_settle_python();
	return BP_ATTACH_DONE;
}

static enum bp_attach_result attach(const char *path)
{
	char *settings[SETTINGS_COUNT_MAX];
	if (!bp_recorder.is_late)
		return BP_ATTACH_NOT_LATE;
	if (stuck && end_when_quiet() != BP_ATTACH_DONE)
		return BP_ATTACH_NOT_QUIET;
	if (bp_recorder.mode == BP_MODE_ON)
		return BP_ATTACH_ALREADY;
	if (!read_settings(path, settings))
		return BP_ATTACH_SETTINGS;
	/* This thread has just opened the recorder, or stands in the program or in a wait. */
	bp_module_ranges_look();
	const enum bp_attach_result result = bp_recorder_begin_late(settings);
	if (result != BP_ATTACH_DONE)
		return result;
	const struct bp_coverage coverage = bp_real_bind();
	__atomic_store_n(&bp_recorder.mode, BP_MODE_ON, __ATOMIC_SEQ_CST);
	bp_recorder_covers(coverage.objects, coverage.covered);
	bp_real_settle_python();
	return BP_ATTACH_DONE;
}

static enum bp_attach_result detach(void)
{
	if (!bp_recorder.is_late)
		return BP_ATTACH_NOT_LATE;
	if (stuck)
		return end_when_quiet();
	if (bp_recorder.mode != BP_MODE_ON || *bp_recorder.fork_mark == 0)
		return BP_ATTACH_ALREADY;
	__atomic_store_n(&bp_recorder.mode, BP_MODE_OFF, __ATOMIC_SEQ_CST);
	bp_real_unbind();
	return end_when_quiet();
}

/* Runs one of them with the thread busy: its own allocations are no requests of the program's. */
static uint32_t call(const char *path, bool attaches)
{
	const int saved_errno = errno;
	if (bp_hot.busy)
		return BP_ATTACH_NOT_QUIET;
	bp_hot.busy = 1;
	bp_lock_take(&attaching);
	errno = 0;
	const enum bp_attach_result result = attaches ? attach(path) : detach();
	bytepoll_attached.result = result;
	bytepoll_attached.error = result == BP_ATTACH_DONE ? 0 : errno;
	__atomic_fetch_add(&bytepoll_attached.calls, 1, __ATOMIC_RELEASE);
	bp_lock_release(&attaching);
	bp_hot.busy = 0;
	errno = saved_errno;
	return result;
}

uint32_t bytepoll_attach(const char *path)
{
	return call(path, true);
}

uint32_t bytepoll_detach(void)
{
	return call(NULL, false);
}

void bp_recorder_covers(uint32_t objects, uint32_t covered)
{
	if (bp_recorder.mode != BP_MODE_ON)
		return;
	struct bp_trace_state *state = bp_writer_state(&bp_recorder.writer);
	state->objects = objects;
	state->covered_objects = covered;
}
