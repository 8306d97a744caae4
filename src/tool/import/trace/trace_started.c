/* SPDX-License-Identifier: MIT */
/*
 * See trace_started.h. A child may try several paths, as shells do along PATH: each attempt has a
 * record of the same number, and the last one counts. Between them there may be records of children
 * of other threads, of as many as a process has threads in vfork at a time; further back than
 * RECENT nobody looks.
 */
#include "import/trace/trace_started.h"

#include <string.h>

#include "base/vec.h"

#define RECENT 64

/* The entry of an earlier attempt; NULL: this is the first. */
static struct bp_started *earlier(struct bp_profile *profile, struct bp_process_id by, uint32_t pid)
{
	const uint32_t count = profile->started.count;
	for (uint32_t back = 1; back <= RECENT && back <= count; back++) {
		struct bp_started *started = &profile->started.data[count - back];
		if (started->by.i == by.i && started->pid == pid)
			return started;
	}
	return NULL;
}

bool bp_trace_started_add(struct bp_profile *profile, struct bp_process_id by,
	const struct bp_trace_exec *exec, struct bp_error *error)
{
	struct bp_started started = { .by = by, .pid = exec->pid, .time_ns = exec->time_ns };
	if (exec->pid == profile->processes.data[by.i].pid)
		return true;
	struct bp_started *before = earlier(profile, by, exec->pid);
	/* A path without a slash is a name that was looked for and not found. */
	if (memchr(exec->path.data, '/', exec->path.bytes) == NULL)
		return true;
	if (exec->unseen != BP_UNSEEN_NO) {
		if (before != NULL)
			*before = profile->started.data[--profile->started.count];
		return true;
	}
	if (!bp_profile_string(profile, exec->path.data, exec->path.bytes, &started.path, error))
		return false;
	if (before != NULL) {
		*before = started;
		return true;
	}
	if (!bp_vec_reserve(&profile->started.data, &profile->started.capacity,
		    (uint64_t)profile->started.count + 1, sizeof *profile->started.data))
		return bp_error_set(error, "out of memory");
	profile->started.data[profile->started.count++] = started;
	return true;
}
