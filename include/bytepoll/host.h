/* SPDX-License-Identifier: MIT */
/*
 * For allocators and runtimes that sample by themselves, with bytepoll/sampler.h or
 * bytepoll/alloc_context.h: where they tell what they sampled. A host knows what malloc does not: the
 * type of an object, the function and line of its own language, its heap.
 *
 * What is told goes
 *   - into a trace (docs/trace-format.md) that every `bytepoll` command reads: reports by type, by
 *     function, by line, over time, each figure with its interval;
 *   - to listeners in the process;
 *   - to tracepoints (docs/tracepoints.md), where somebody listens.
 *
 *	struct bp_host *host = bp_host_open(&(struct bp_host_options){
 *		.name = "lua 5.4", .interval = 512 << 10, .charge = BP_SAMPLER_CHARGE });
 *	uint32_t thread = bp_host_thread(host, "main");
 *	...
 *	uint32_t type = bp_host_type(host, "table", 5);           // once, kept by the host
 *	uint32_t frame = bp_host_frame(host, "parse", "json.lua", 12);
 *	uint32_t stack = bp_host_stack(host, frames, depth, false); // equal stacks have one number
 *	bp_host_sampled(host, &(struct bp_host_event){ ... });
 *	...
 *	if (bp_host_may_hold(host, object) && bp_host_holds(host, object))
 *		bp_host_freed(host, object, thread, trials, objects); // before the memory is given out again
 *	...
 *	bp_host_thread_end(host, thread, trials, objects); // of every thread: totals are exact from these
 *	bp_host_close(host);
 *
 * Totals. The trace says exactly what was allocated if every thread told its end (bp_host_thread_end) before
 * bp_host_close, be it that another one told it: whoever closes tells its own, and those of threads that wait, whose
 * counters it reads. Nothing else says that counters are the last. Of any other thread, of those of a process that
 * was killed, and where objects were sampled of a thread that is not known, what was told last is a lower limit, and
 * reports estimate what was allocated.
 *
 * Failures are counted in the trace and never reach the host: a host that could not be opened (NULL)
 * is taken by every call, which then does nothing, and numbers are 0. Needs libc alone; allocates with
 * mmap, never by malloc, so it may be called from inside an allocator. Memory is bounded (some 64 MiB of
 * names, 2^22 live samples, 2^20 threads); what finds no room is a counted loss. errno is kept, but by
 * bp_host_open.
 *
 * Thread-safety: every call may be made by any thread; not by a signal handler that interrupted one.
 * After fork the child's host is closed by itself: every call does nothing there, and bp_host_close
 * gives back its memory. It opens its own file if it wants to tell.
 */
#ifndef BYTEPOLL_HOST_H
#define BYTEPOLL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytepoll/sampler.h"

#ifdef __cplusplus
extern "C" {
#endif

struct bp_host;

struct bp_host_options {
	const char *name; /* of the runtime, in reports: "lua 5.4"; not NULL */
	/* Of the trace; `%p` is the pid, `%%` a percent sign. NULL: BYTEPOLL_HOST_OUTPUT, and if that is
	 * not set bytepoll.<pid>.bpt. A file that exists is never replaced: the host is not opened. Nor is it
	 * with NULL in a program that has more rights than its caller (set-uid, file capabilities). */
	const char *path;
	uint64_t interval; /* T in force at the start, bytes; BP_SAMPLER_OFF: switched on later */
	uint32_t law;	   /* enum bp_sampler_law */
	/* Trials of an object beyond its size, the same for all: BP_SAMPLER_CHARGE with the byte counter,
	 * 0 with allocation contexts. */
	uint32_t charge;
	uint64_t seed; /* told in the trace if `seed_given` */
	bool seed_given;
	bool frees_unseen; /* bp_host_freed is never called: reports show what was allocated, only */
	/* Nobody counts objects (allocation contexts do not): `objects` is ignored everywhere, totals of
	 * objects are estimated, and what is temporary is not known. */
	bool objects_uncounted;
};

/* Opens the trace and writes its header. NULL: it could not be (errno says why). */
struct bp_host *bp_host_open(const struct bp_host_options *options);

/* Writes what is left, marks the trace as ended in order, and frees all. Nobody else may be in a call,
 * nor make one later. */
void bp_host_close(struct bp_host *host);

/* The path of the trace; "" for NULL, and in a child. Until bp_host_close. */
const char *bp_host_path(const struct bp_host *host);

/* Numbers for names; equal names have one. 0: no room (counted). Bytes of any kind; cut at 2000. A call
 * with a name that is known takes no lock; its cost is a hash and a comparison of the bytes. */
uint32_t bp_host_type(struct bp_host *host, const char *name, size_t bytes);
/* The name of a type, for listeners: terminated, "" if there is none. Valid until bp_host_close. */
const char *bp_host_type_name(const struct bp_host *host, uint32_t type);
/* A place in the host's language. `file` "" (or NULL) and `line` 0: not known. */
uint32_t bp_host_frame(struct bp_host *host, const char *function, const char *file, uint32_t line);
/* Frames innermost first, 1 to BP_HOST_DEPTH_MAX of them; of more, the innermost are taken. `cut`: there
 * were more. Depth 0: the number is 0. */
#define BP_HOST_DEPTH_MAX 512
uint32_t bp_host_stack(struct bp_host *host, const uint32_t *frames, uint32_t depth, bool cut);

/* A thread (or a coroutine, an isolate: whatever has counters of its own) by its name; "" is fine.
 * Numbers are 1, 2, ... Its interval is that of the options until bp_host_interval says otherwise. */
uint32_t bp_host_thread(struct bp_host *host, const char *name);
/* It makes nothing more: these counters are its last, and its place is given to others. To be told by any thread, also
 * of one that only waits. Where larger counters are told afterwards it has gone on, and is to tell its end again; an end
 * with smaller counters than were told before is none. */
void bp_host_thread_end(struct bp_host *host, uint32_t thread, uint64_t trials, uint64_t objects);

enum bp_host_kind { BP_HOST_SMALL = 8, BP_HOST_LARGE, BP_HOST_PINNED };

/* One sampled object. */
struct bp_host_event {
	uint8_t kind;	  /* enum bp_host_kind */
	uint32_t runtime; /* which instance of the runtime in this process, from 0 */
	uint32_t type;	  /* of bp_host_type; 0: not known */
	uint64_t type_id; /* of the runtime's own, for listeners and tracepoints */
	const void *object;
	uint64_t size;	 /* bytes, as charged to the sampler (less `charge`) */
	uint64_t usable; /* bytes the object takes; 0: not known */
	uint32_t heap;	 /* heap number, generation, arena: the runtime's meaning; 0 is fine */
	uint32_t thread; /* of bp_host_thread; 0: not known (then totals are not exact) */
	uint32_t stack;	 /* of bp_host_stack; 0: not known */
	struct bp_decision decision; /* offset, exact, interval: as the sampler said */
	uint64_t trials, objects;    /* counters of the thread, this object included */
	/* Filled in for listeners and tracepoints. */
	uint64_t time_ns;      /* CLOCK_MONOTONIC */
	uint64_t sequence;     /* of the process; 0: not written */
	uint64_t amount_bytes; /* allocated bytes it stands for: size / P(sampled), rounded */
};

/* Tells of a sampled object, which lives until bp_host_freed. False: lost, and counted. An object told at
 * the address of a live sample is the end of that one, which nobody saw: a lost free. */
bool bp_host_sampled(struct bp_host *host, const struct bp_host_event *event);

/* Private to the next function: what begins every bp_host. */
struct bp_host_filter {
	const uint8_t *pages; /* how many live samples begin in a page of 4 KiB, modulo 4 GiB */
};

/* May `object` be a live sample? The first question of a free, eight instructions on x86-64: false is
 * certain, true is a reason to ask bp_host_holds. */
static inline bool bp_host_may_hold(const struct bp_host *host, const void *object)
{
	const struct bp_host_filter *filter = (const struct bp_host_filter *)(const void *)host;
	return host != NULL && __atomic_load_n(&filter->pages[(uint32_t)(uintptr_t)object >> 12],
				       __ATOMIC_RELAXED) != 0;
}

/* Is `object` a live sample? Cheap when it is not; takes no lock. */
bool bp_host_holds(const struct bp_host *host, const void *object);

/* The live sample `object` was freed by that thread (0: not known), whose counters are given. To be told
 * before its memory is given out again. Nothing happens if there is none. */
void bp_host_freed(struct bp_host *host, const void *object, uint32_t thread, uint64_t trials,
	uint64_t objects);

/* A moving collection took the object from `from` to `to`. Cheap when it is no live sample. All moves of
 * a collection are told after it or during it, in any order, `from` always as before the collection;
 * then bp_host_moves_end, before anything is told of an object at a new address. */
void bp_host_moved(struct bp_host *host, const void *from, const void *to);
void bp_host_moves_end(struct bp_host *host);

/* After a collection: every live sample (that was not moved since the last bp_host_moves_end) is asked
 * about; false says that it is gone. `alive` is called without a lock and may call bp_host_moved, so that
 * a copying collector needs nothing else:
 *
 *	static bool survived(const void *object, void *host)
 *	{
 *		const void *copy = forwarded(object);
 *		if (copy != NULL)
 *			bp_host_moved(host, object, copy);
 *		return copy != NULL;
 *	}
 *	...
 *	bp_host_sweep(host, survived, host);
 *	bp_host_moves_end(host);
 */
typedef bool bp_host_alive(const void *object, void *context);
void bp_host_sweep(struct bp_host *host, bp_host_alive *alive, void *context);

/* Publishes a thread's counters, now and then, as a lower limit of what it has made: for whoever looks at a running
 * process, and after a kill. Counters never go back: smaller ones say nothing. */
void bp_host_counted(struct bp_host *host, uint32_t thread, uint64_t trials, uint64_t objects);

/* The thread's sampler follows another interval from these counters on; BP_SAMPLER_OFF: it is off. */
void bp_host_interval(struct bp_host *host, uint32_t thread, uint64_t interval, uint64_t trials,
	uint64_t objects);

/* Is called with every sampled object (`event`) and every end of one (`event` NULL), by the thread that
 * told, without a lock held. It may call anything of this header but bp_host_close. At most 8; false:
 * there are. One that the host's allocator samples again must see to it that this ends. */
typedef void bp_host_listener(const struct bp_host_event *event, const void *object, void *context);
bool bp_host_listen(struct bp_host *host, bp_host_listener *listener, void *context);

#ifdef __cplusplus
}
#endif

#endif
