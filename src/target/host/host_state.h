/* SPDX-License-Identifier: MIT */
/*
 * The state of a host; private to src/target/host. It has a mapping of its own; names and threads
 * lie in `memory`. Made by host.c, used by events.c, interval.c and name_records.c.
 */
#ifndef BP_HOST_HOST_STATE_H
#define BP_HOST_HOST_STATE_H

#include "bytepoll/host.h"
#include "host/live.h"
#include "host/memory.h"
#include "host/names.h"
#include "host/threads.h"
#include "trace/writer/writer.h"

#define BP_HOST_LISTENERS_MAX 8u

struct bp_host_heard {
	bp_host_listener *listener;
	void *context;
};

struct bp_host {
	struct bp_host_filter filter; /* first: bytepoll/host.h reads it */
	uint32_t *fork_mark;	      /* 1; the kernel zeroes it in children. NULL: it cannot */
	uint32_t pid;
	struct bp_host_options options; /* no pointers */
	uint64_t sequence;		/* the last that was given */
	uint64_t switches;		/* INTERVAL records so far */
	struct bp_host_memory memory;
	struct bp_host_names types, frames, stacks, labels;
	struct bp_host_threads threads;
	struct bp_host_live live;
	struct bp_lock listeners_lock;
	uint32_t listener_count;
	struct bp_host_heard listeners[BP_HOST_LISTENERS_MAX];
	struct bp_writer writer;
};

/* Is there a host, and is this its process? Every call tests this first. */
static inline bool bp_host_is_here(const struct bp_host *host)
{
	if (host == NULL)
		return false;
	return host->fork_mark != NULL ? __atomic_load_n(host->fork_mark, __ATOMIC_RELAXED) != 0
				       : bp_system_pid() == host->pid;
}

/* Counters as they go into the trace. */
static inline struct bp_host_totals bp_host_counters(
	const struct bp_host *host, uint64_t trials, uint64_t objects)
{
	return (struct bp_host_totals){ trials, host->options.objects_uncounted ? 0 : objects };
}

/* Stores the interval of the start in the state page (docs/trace-format.md 1.8). */
void bp_host_interval_begin(struct bp_host *host);

static inline uint64_t bp_host_next_sequence(struct bp_host *host)
{
	return __atomic_add_fetch(&host->sequence, 1, __ATOMIC_RELAXED);
}

#endif
