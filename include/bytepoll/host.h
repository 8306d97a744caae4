/* SPDX-License-Identifier: MIT */
/*
 * For allocators and runtimes ("hosts") that sample by themselves, with bytepoll/sampler.h or
 * bytepoll/alloc_context.h: by these calls they record their samples. A host knows what malloc does
 * not know: the type of an object, the function and line of its own language, its heap.
 *
 * What a host records goes
 *   - into a trace (docs/trace-format.md) that every `bytepoll` command reads: reports by type, by
 *     function, by line, over time, each figure with its interval;
 *   - to listeners in the process;
 *   - to tracepoints (docs/tracepoints.md), if a tracer listens.
 *
 * docs/hosts.md shows a whole allocator that does this, and tests compile and run it. The order of
 * the calls:
 *
 *	bp_host_settings(&options, problem);      // T and the seed, as the environment sets them
 *	host = bp_host_open(&options);
 *	thread = bp_host_thread(host, "main");    // and bp_sampler_init, for each thread
 *	bp_host_sampled(host, &event);            // for each object that its sampler takes
 *	bp_host_follow(host, thread, ...);        // whenever its sampler looked at an object
 *	bp_host_freed(host, object, thread, ...); // before the memory is given out again
 *	bp_host_thread_end(host, thread, ...);    // for each thread: totals are exact from these
 *	bp_host_close(host);
 *
 * Totals. The trace says exactly what was allocated if bp_host_thread_end was called for every
 * thread before bp_host_close. Any thread may make that call: the thread that calls bp_host_close
 * calls it for itself, and for threads that wait, whose counters it reads. Nothing else says that
 * counters are the last ones. For all other threads, for those of a process that was killed, and
 * where objects were sampled for an unknown thread, the last counters are a lower limit, and
 * reports estimate what was allocated.
 *
 * Failures are counted in the trace and never reach the host. If a host could not be opened it is
 * NULL; every call accepts NULL, does nothing and returns 0. The library needs libc alone. It
 * allocates with mmap and never by malloc, so that it may be called from inside an allocator. Its
 * memory is bounded (some 64 MiB of names, 2^22 live samples, 2^20 threads); what finds no room is
 * counted as lost. All calls except bp_host_open keep errno.
 *
 * Thread-safety: any thread may make any call, but no signal handler that interrupted one. After
 * fork the child's host is closed: every call does nothing there, and bp_host_close gives its
 * memory back. The child may open a host of its own, with threads of its own (bp_host_thread) whose
 * samplers are seeded anew.
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
	/* Path of the trace; `%p` is the pid, `%%` a percent sign. NULL: BYTEPOLL_HOST_OUTPUT, and
	 * if that is not set bytepoll.<pid>.bpt. A file that exists is never replaced: the host is
	 * then not opened. It is not opened either with NULL in a program with more rights than its
	 * caller (set-uid, file capabilities). */
	const char *path;
	uint64_t interval; /* T in force at the start, bytes; BP_SAMPLER_OFF: switched on later */
	/* Sampling is off at the start, and `interval` is the T at which it will be switched on. */
	bool dormant;
	/* Threads follow `bytepoll control`, by bp_host_follow or bp_host_interval_wanted. Then
	 * `interval` is at most 2^40. */
	bool follows_control;
	uint32_t law; /* enum bp_sampler_law */
	/* Trials of an object beyond its size, the same for all: BP_SAMPLER_CHARGE with the byte
	 * counter, 0 with allocation contexts. */
	uint32_t charge;
	uint64_t seed; /* recorded in the trace if `seed_given` */
	bool seed_given;
	bool frees_unseen; /* bp_host_freed is never called: reports show only what was allocated */
	/* Objects are not counted (as with allocation contexts): `objects` is ignored everywhere,
	 * totals of objects are estimates, and temporary memory is not known. */
	bool objects_uncounted;
};

/* Room for a line of text about what is wrong, its terminating zero included. */
#define BP_HOST_PROBLEM_BYTES 256

/* Reads the settings that all hosts share into `options`, and leaves those that are not set as they
 * are:
 *	BYTEPOLL_INTERVAL	`interval`: bytes, or with K, M or G. If neither says it: 512 KiB
 *	BYTEPOLL_SEED		`seed` and `seed_given`. If neither says it: a random `seed`
 *	BYTEPOLL_START		may be "dormant", which sets `dormant`
 * False: a value is not valid. Then `options` is as before, and `problem`, which has room for
 * BP_HOST_PROBLEM_BYTES, says which and why. Call it once, before the samplers are initialised. */
bool bp_host_settings(struct bp_host_options *options, char *problem);

/* Opens the trace and writes its header. NULL: it could not be (errno says why). */
struct bp_host *bp_host_open(const struct bp_host_options *options);

/* Writes to `problem`, which has room for BP_HOST_PROBLEM_BYTES, why bp_host_open with these
 * options returned NULL: `why` is its errno. */
void bp_host_open_problem(const struct bp_host_options *options, int why, char *problem);

/* Writes what is left, marks the trace as ended in order, and frees all memory. No other thread may
 * be in a call, or make one later. */
void bp_host_close(struct bp_host *host);

/* The path of the trace; "" for NULL, and in a child. Until bp_host_close. */
const char *bp_host_path(const struct bp_host *host);

/* These return numbers for names; equal names have one number. 0: there is no room, which is
 * counted. A name is bytes of any kind, cut at 2000. A call with a known name takes no lock; it
 * costs a hash and a comparison of the bytes. */
uint32_t bp_host_type(struct bp_host *host, const char *name, size_t bytes);
/* The name of a type, for listeners: terminated, "" if there is none. Valid until bp_host_close. */
const char *bp_host_type_name(const struct bp_host *host, uint32_t type);
/* A place in the host's language: a function that is running, its file, and the line that is being
 * executed (of a caller: the line of the call). `file` "" (or NULL) and `line` 0: not known, as for
 * a function in C. A function without a name gets the one that its users know, "(anonymous)" or
 * "(main chunk)". */
uint32_t bp_host_frame(struct bp_host *host, const char *function, const char *file, uint32_t line);
/* Frames, innermost first, 1 to BP_HOST_DEPTH_MAX of them; of more frames the innermost are kept.
 * `cut`: the stack had more frames. For depth 0 the number is 0. */
#define BP_HOST_DEPTH_MAX 512
uint32_t bp_host_stack(struct bp_host *host, const uint32_t *frames, uint32_t depth, bool cut);

/* A set of labels, as `report --by label:KEY` and `--filter label:KEY=VALUE` know them: what the
 * thread works on when it allocates, such as a request or a tenant. Of two labels with one key the
 * later holds. A key has 1 to 100 bytes and holds neither '=' nor a line feed; a value has at most
 * 400 bytes and holds no line feed; a set has at most 1000 bytes. 0: a label is not valid, or there
 * is no room, which is counted. It costs some hundred instructions a label: keep the number for as
 * long as the labels hold. */
struct bp_host_label {
	const char *key, *value; /* terminated */
};
uint32_t bp_host_labels(struct bp_host *host, const struct bp_host_label *labels, uint32_t count);

/* Adds a thread (or a coroutine, an isolate: whatever has counters of its own) with a name, which
 * may be "". Returns its number: 1, 2, ... Its interval is that of the options until
 * bp_host_interval changes it. */
uint32_t bp_host_thread(struct bp_host *host, const char *name);
/* Ends a thread: these counters are its last, and its place may be used for others. Any thread may
 * make this call, also for a thread that only waits. If larger counters of the thread come later,
 * the thread has gone on, and the call has to be made again. A call with smaller counters than
 * before is ignored. */
void bp_host_thread_end(struct bp_host *host, uint32_t thread, uint64_t trials, uint64_t objects);

/* Where the runtime has put the object. `--by kind` shows it, and `--by type` for objects without a
 * type; no figure depends on it. A runtime that makes no difference says BP_HOST_SMALL always. */
enum bp_host_kind { BP_HOST_SMALL = 8, BP_HOST_LARGE, BP_HOST_PINNED };

/* One sampled object. */
struct bp_host_event {
	uint8_t kind; /* enum bp_host_kind */
	/* which instance of the runtime in this process, from 0; for listeners and tracepoints */
	uint32_t runtime;
	uint32_t type;	  /* of bp_host_type; 0: not known; it cannot be given later */
	uint64_t type_id; /* of the runtime's own, for listeners and tracepoints */
	const void *object;
	uint64_t size;	 /* bytes, as charged to the sampler (less `charge`) */
	uint64_t usable; /* bytes the object takes; 0: not known */
	/* a number with a meaning of the runtime's: heap, generation, arena; or 0 */
	uint32_t heap;
	/* of bp_host_thread; 0, and any number that it did not return: not known (then totals are
	 * not exact) */
	uint32_t thread;
	uint32_t stack;		     /* of bp_host_stack; 0: not known */
	uint32_t labels;	     /* of bp_host_labels; 0: none */
	struct bp_decision decision; /* offset, exact, interval: as the sampler said */
	uint64_t trials, objects;    /* counters of the thread, this object included */
	/* Filled in for listeners and tracepoints. */
	uint64_t time_ns;      /* CLOCK_MONOTONIC */
	uint64_t sequence;     /* of the process; 0: not written */
	uint64_t amount_bytes; /* allocated bytes it stands for: size / P(sampled), rounded */
};

/* Records a sampled object, which lives until bp_host_freed. False: it is lost, which is counted.
 * If there is a live sample at the same address, that sample ends, and is counted as a lost free.
 *
 * An event that cannot be right is refused and counted as invalid: its object is NULL, its kind is
 * none of the three, its T is none, an object that was taken with certainty is smaller than T, or
 * the sampled byte lies behind the object's size and `charge`. */
bool bp_host_sampled(struct bp_host *host, const struct bp_host_event *event);

/* Private to the next function: what begins every bp_host. */
struct bp_host_filter {
	const uint8_t *pages; /* how many live samples begin in a page of 4 KiB, modulo 4 GiB */
};

/* May `object` be a live sample? This is the first test in a free, eight instructions on x86-64.
 * False is certain; true is a reason to call bp_host_holds. */
static inline bool bp_host_may_hold(const struct bp_host *host, const void *object)
{
	const struct bp_host_filter *filter = (const struct bp_host_filter *)(const void *)host;
	return host != NULL && __atomic_load_n(&filter->pages[(uint32_t)(uintptr_t)object >> 12],
				       __ATOMIC_RELAXED) != 0;
}

/* Is `object` a live sample? Cheap when it is not; takes no lock. */
bool bp_host_holds(const struct bp_host *host, const void *object);

/* Records that the live sample `object` was freed by that thread (0: not known), whose counters are
 * given. Called before its memory is given out again. Does nothing if `object` is no live
 * sample.
 *
 * For an object that is resized in place, realloc is such a giving out, and it may fail, after
 * which the object lives on. So a sample (bp_host_holds) is not given to realloc: the host makes a
 * new object, copies, and frees the old one. There are few of them. */
void bp_host_freed(struct bp_host *host, const void *object, uint32_t thread, uint64_t trials,
	uint64_t objects);

/* Records that a moving collection has moved an object from `from` to `to`. Cheap when it is no
 * live sample. All moves of a collection are recorded during or after it, in any order, with `from`
 * always as before the collection. Then bp_host_moves_end is called, before any event of an object
 * at a new address. */
void bp_host_moved(struct bp_host *host, const void *from, const void *to);
void bp_host_moves_end(struct bp_host *host);

/* Called after a collection. Calls `alive` for every live sample that was not moved since the last
 * bp_host_moves_end; `alive` returns false if the object is gone. No lock is held, and `alive` may
 * call bp_host_moved, so that a copying collector needs nothing else:
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
 * */
typedef bool bp_host_alive(const void *object, void *context);
void bp_host_sweep(struct bp_host *host, bp_host_alive *alive, void *context);

/* Publishes a thread's counters as a lower limit of what it has made, for readers of a running
 * process and for the case of a kill. A host calls this from time to time. Counters never go back:
 * smaller ones are ignored. */
void bp_host_counted(struct bp_host *host, uint32_t thread, uint64_t trials, uint64_t objects);

/* Records that the thread's sampler uses another interval from these counters on; BP_SAMPLER_OFF:
 * sampling is off. For an interval that the runtime chooses, or that bp_host_interval_wanted
 * returned. Ignored for an unknown thread. */
void bp_host_interval(struct bp_host *host, uint32_t thread, uint64_t interval, uint64_t trials,
	uint64_t objects);

/* Has `bytepoll control` asked for another interval since the thread last asked? True: the thread's
 * sampler is to use *ret_interval from now on (BP_SAMPLER_OFF: none), and bp_host_interval is to be
 * called when it does. Costs a few loads; each thread asks for itself, when its sampler has looked
 * at an object. False without `follows_control`. */
bool bp_host_interval_wanted(struct bp_host *host, uint32_t thread, uint64_t *ret_interval);

/* The same, and all that follows from it, for a thread with a byte counter: sets the sampler's
 * interval, draws its countdown anew, and records the change. To be called after the object at hand
 * was decided and recorded, and for a new thread after bp_host_thread and bp_sampler_init. True:
 * the interval has changed. */
bool bp_host_follow(struct bp_host *host, uint32_t thread, struct bp_sampler *sampler,
	struct bp_sampler_hot *hot);

/* Listeners are called for every sampled object (`event`) and every end of one (`event` NULL), by
 * the thread that recorded the event, without a lock held. A listener may make every call of this
 * header except bp_host_close. If it allocates from the host's allocator, which may sample again,
 * it has to make sure that this ends. At most 8; false: there are 8 already. */
typedef void bp_host_listener(const struct bp_host_event *event, const void *object, void *context);
bool bp_host_listen(struct bp_host *host, bp_host_listener *listener, void *context);

#ifdef __cplusplus
}
#endif

#endif
