/* SPDX-License-Identifier: MIT */
/*
 * For programs that are profiled: what they may ask of the recorder that runs in their own process.
 * Sampling is switched on and off, a stretch of time becomes a profile of its own, tags such as
 * tenant=42 go with what is allocated meanwhile, and functions of the program's own are told of every
 * sample.
 *
 * Nothing is linked. Every call goes to a weak symbol that the recorder defines (by `bytepoll run`, by
 * LD_PRELOAD, or linked); where there is none, in a program run by itself, the calls do nothing and say
 * so: false, 0. They also do nothing where the recorder stayed off (`bp_status_get` says why).
 *
 *	struct bp_window_token token;
 *	struct bp_window_profile profile;
 *	bp_window_start(&token, 0);
 *	handle(request);
 *	if (bp_window_stop(&token, &profile))
 *		printf("%s from %llu to %llu\n", profile.path, ...);
 *
 *	uint32_t before;
 *	bp_tag_push("phase", "load", &before);
 *	load();
 *	bp_tag_pop(before);
 *
 * Thread-safety: any call by any thread. Not in a signal handler, unless it is said. errno is kept. No
 * call allocates from the program's heap, and none holds a lock when the program's code runs.
 * An executable that is not position-independent binds weak symbols to nothing when it is linked, unless
 * the files that include this are compiled with -fPIC (docs/in-process.md, "Linking").
 */
#ifndef BYTEPOLL_BYTEPOLL_H
#define BYTEPOLL_BYTEPOLL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- State ---- */

/* Reasons of losses: docs/trace-format.md 1.4. */
#define BP_STATUS_LOSSES 32

struct bp_status {
	/* Of the trace, absolute. Static memory, which a fork's child changes. */
	const char *path;
	const char *version; /* "bytepoll 0.1.0" */
	/* False: the recorder is there, but off, and all below is zero but for the reason. */
	bool profiled;
	uint32_t unprofiled_reason; /* docs/trace-format.md 1.2; 0: not known, or profiled */
	bool sampling;		    /* samples are made */
	bool automatic;		    /* T is chosen by the recorder, to hold its budget */
	uint64_t interval;	    /* T, bytes; while sampling is off, what bp_start takes up */
	uint64_t start_ns;	    /* of this trace, CLOCK_MONOTONIC */
	uint64_t samples;	    /* written so far */
	uint64_t sequence;	    /* last number of the order of events */
	uint64_t own_bytes;	    /* memory that the recorder holds for itself */
	/* Allocated so far, by all threads: the truth is in between. */
	uint64_t bytes_low, bytes_high, objects_low, objects_high;
	uint64_t lost[BP_STATUS_LOSSES]; /* by reason */
	uint64_t untold;    /* samples and frees that listeners were not told of (bp_listen) */
	uint32_t threads;   /* that allocate, running now */
	uint32_t listeners; /* now */
};

/* Of any moment; the totals as bp_snapshot has them. False: no recorder is there. */
bool bytepoll_status(struct bp_status *ret_status, size_t bytes) __attribute__((weak));
static inline bool bp_status_get(struct bp_status *ret_status)
{
	return bytepoll_status != NULL && bytepoll_status(ret_status, sizeof *ret_status);
}

/* ---- Steering ---- */

/* Sampling on and off, as `bytepoll control PID start` and `stop`. At once for the calling thread; each
 * other thread follows when it next comes to the recorder, after at most 1 MiB of its own allocation.
 * Objects and bytes are counted in any state, frees of samples are recorded in any state. False: it was
 * so already, or no recorder is there. */
bool bytepoll_start(void) __attribute__((weak));
static inline bool bp_start(void)
{
	return bytepoll_start != NULL && bytepoll_start();
}

bool bytepoll_stop(void) __attribute__((weak));
static inline bool bp_stop(void)
{
	return bytepoll_stop != NULL && bytepoll_stop();
}

/* The mean sampling interval T from now on, 1 to 2^40 bytes; an automatic one is then no longer changed
 * by the recorder. In force as bp_start is; while sampling is off, when it is switched on. Estimates stay
 * unbiased however often it is changed, as long as what is allocated next does not decide it. False:
 * nothing changed. */
bool bytepoll_interval(uint64_t interval_bytes) __attribute__((weak));
static inline bool bp_interval(uint64_t interval_bytes)
{
	return bytepoll_interval != NULL && bytepoll_interval(interval_bytes);
}

/* ---- Moments and windows ---- */

/* A moment of the process: everything that the calling thread did before is before it. What other
 * threads allocated up to it lies within the limits, which are some microseconds of theirs apart; low ==
 * high if they were idle. */
struct bp_snapshot {
	const char *path; /* of the trace, as in bp_status */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	/* Since the start of this trace: what `report --from` and `--until` take. */
	uint64_t since_start_ns;
	uint64_t sequence; /* number of this moment in the order of events */
	uint64_t samples;  /* written */
	/* Allocated, by all threads. */
	uint64_t bytes_low, bytes_high, objects_low, objects_high;
	uint32_t threads; /* that run and have allocated */
	/* Of these, too busy to be read: limits allow for what they may have made. */
	uint32_t threads_unread;
};

/* Notes in the trace what every thread has made so far: a report on the file, now or later, then has the
 * totals up to this moment within those limits. What was recorded before can be read from the file at once,
 * by anybody, and survives the process (not a loss of power). Time: 0.2 microseconds, and a
 * system call and as much again for each other thread that has allocated. False: not recorded. */
bool bytepoll_snapshot(struct bp_snapshot *ret_snapshot, size_t bytes) __attribute__((weak));
static inline bool bp_snapshot_take(struct bp_snapshot *ret_snapshot)
{
	return bytepoll_snapshot != NULL && bytepoll_snapshot(ret_snapshot, sizeof *ret_snapshot);
}

/* A window that was started; the program's own memory, to be left alone. It holds no resource: any
 * number may be open, may overlap, be stopped by any thread, more than once (each stop gives the profile
 * from the start up to then), or never. */
struct bp_window_token {
	uint64_t private_words[24];
};

/* Sampling is switched on if it was off, until the last window with this flag is stopped. Without it a
 * window changes nothing: if sampling is off, no samples are in it. */
#define BP_WINDOW_SAMPLE 1u
/* For many short windows in a process of many threads: the trace gets the counters of the calling thread
 * alone, some 60 bytes a window and not 20 more for each thread and moment. bp_window_profile has the same
 * limits; a report on the trace has wider ones, where other threads allocated (by 1 MiB a thread at
 * most). */
#define BP_WINDOW_BRIEF 2u

/* What a window noted. The allocation profile of it is in the trace:
 *	bytepoll report --metric allocated --from FROMns --until TOns PATH
 * with from_ns and to_ns, or a query of bytepoll/analysis.h with these two, reads exactly what was allocated
 * in it. Estimates are made there, from facts. */
struct bp_window_profile {
	const char *path;		   /* of the trace, as in bp_status */
	uint64_t from_ns, to_ns;	   /* [from, to), since the start of this trace */
	uint64_t from_time_ns, to_time_ns; /* the same by CLOCK_MONOTONIC */
	/* Numbers of both moments in the order of events: those in between are of the window. */
	uint64_t from_sequence, to_sequence;
	uint64_t samples; /* written in it */
	/* Allocated in it, by all threads: exact limits. */
	uint64_t bytes_low, bytes_high, objects_low, objects_high;
	uint64_t interval;	 /* T in force at its end; 0: sampling was off */
	bool changed;		 /* sampling was switched or T changed meanwhile */
	uint32_t threads_unread; /* as in bp_snapshot, of both moments */
};

/* False: not recorded; the token then is of no window, and stopping it fails. After a fork the windows of
 * the parent are none of the child's. */
bool bytepoll_window_start(struct bp_window_token *ret_token, uint32_t flags) __attribute__((weak));
static inline bool bp_window_start(struct bp_window_token *ret_token, uint32_t flags)
{
	ret_token->private_words[0] = 0;
	return bytepoll_window_start != NULL && bytepoll_window_start(ret_token, flags);
}

bool bytepoll_window_stop(struct bp_window_token *token, struct bp_window_profile *ret_profile,
	size_t bytes) __attribute__((weak));
static inline bool bp_window_stop(
	struct bp_window_token *token, struct bp_window_profile *ret_profile)
{
	return bytepoll_window_stop != NULL &&
	       bytepoll_window_stop(token, ret_profile, sizeof *ret_profile);
}

/* ---- Tags ---- */

/* A thread's tags are pairs key=value; every sample carries those of its thread, as labels of the trace:
 * `report --by label:tenant`, `--filter label:phase=load`. Keys hold no '=' and no newline and have 1 to
 * 100 bytes, values no newline and at most 400; a thread has 1000 bytes of them at most. A new thread has
 * none; a forked child has those of the thread that forked it. Some hundred nanoseconds a call, and
 * nothing for each allocation. The recorder keeps up to 16,384 different sets: beyond, samples are without
 * their labels, and counted as such ("name" among the losses). */

/* Sets a tag of the calling thread (value NULL: takes it away). `ret_before` is what the thread had before,
 * for bp_tag_pop. False: not understood or too long, nothing changed; or no recorder. */
bool bytepoll_tag(const char *key, const char *value, uint32_t *ret_before) __attribute__((weak));
static inline bool bp_tag_push(const char *key, const char *value, uint32_t *ret_before)
{
	*ret_before = 0;
	return bytepoll_tag != NULL && bytepoll_tag(key, value, ret_before);
}

static inline bool bp_tag_set(const char *key, const char *value)
{
	uint32_t before;
	return bp_tag_push(key, value, &before);
}

/* All tags of the calling thread by one number, 0: none; it means the same to every thread of the process
 * and its forked children. Also in signal handlers. */
uint32_t bytepoll_tags(void) __attribute__((weak));
static inline uint32_t bp_tags_get(void)
{
	return bytepoll_tags == NULL ? 0 : bytepoll_tags();
}

/* Gives the calling thread all tags of that number, and no others: where work goes from thread to thread,
 * or a coroutine goes on. Some nanoseconds. Also in signal handlers. */
void bytepoll_tags_put(uint32_t tags) __attribute__((weak));
static inline void bp_tags_put(uint32_t tags)
{
	if (bytepoll_tags_put != NULL)
		bytepoll_tags_put(tags);
}

/* The end of a scope: the tags are as they were before, whatever was set in between. */
static inline void bp_tag_pop(uint32_t before)
{
	bp_tags_put(before);
}

static inline void bp_tag_scope_end(uint32_t *before)
{
	bp_tag_pop(*before);
}

#define BP_TAG_JOIN_(a, b) a##b
#define BP_TAG_JOIN(a, b) BP_TAG_JOIN_(a, b)
/* To the end of the block, left by return, break or a C++ exception. */
#define BP_TAG_SCOPE(key, value)                                                                   \
	uint32_t BP_TAG_JOIN(bp_tag_before_, __LINE__) __attribute__((cleanup(bp_tag_scope_end))); \
	(void)bp_tag_push(key, value, &BP_TAG_JOIN(bp_tag_before_, __LINE__))

/* ---- Listeners ---- */

enum bp_event_what {
	BP_EVENT_SAMPLED = 1, /* an object was allocated, and sampled */
	BP_EVENT_FREED = 2    /* a sampled object was freed */
};

struct bp_event {
	uint32_t what;	   /* enum bp_event_what */
	uint32_t kind;	   /* of call, docs/trace-format.md 3.1: 1 malloc, ... 7 pool; freed: 0 */
	void *object;	   /* freed: its memory is no longer the object's */
	uint64_t sample;   /* number of the sample: tells apart objects of one address */
	uint64_t sequence; /* number of the event, in the order of all; of a sample the same */
	uint64_t time_ns;  /* CLOCK_MONOTONIC */
	/* Of the thread, up to now: bytes that it allocated are trials - objects. */
	uint64_t trials, objects;
	uint32_t thread; /* ordinal in the trace */
	bool by_realloc; /* freed by a realloc; the new object, if sampled, is told next */
	/* From here on for BP_EVENT_SAMPLED alone. */
	bool exact;		 /* taken with certainty */
	uint64_t size;		 /* bytes requested */
	uint64_t usable;	 /* bytes that the allocator gave; 0: not known */
	uint64_t alignment;	 /* asked for; 0: none */
	uint64_t interval;	 /* T it was sampled with */
	uint64_t offset;	 /* failed trials of the object before its success; 0 if exact */
	double weight;		 /* objects it stands for, 1 / P(sampled); bytes: weight * size */
	uint32_t labels;	 /* bp_tags_get of the thread */
	uint32_t stack;		 /* number in the trace; 0: not known */
	const uintptr_t *frames; /* return addresses, innermost first; for the call alone */
	uint32_t depth;		 /* how many; 0: not known */
};

/*
 * Is called with every sample and every free of one, by the thread that allocated or freed, within its
 * malloc or free, when the recorder has done its work: no lock of its own is held, an allocated object is
 * in its place (and not yet in the program's hands), a freed one is gone.
 *
 * It may allocate and free: that is allocation of the program's like any other, counted, sampled and
 * recorded; only, what of it is sampled, or is the free of a sample, is told to no listener (and counted:
 * `untold`). It may call everything of this header. It must return: no longjmp, no exception, no end of
 * the thread (after one, the thread's samples are recorded but no longer told, and bp_unlisten of this
 * listener stays false). It may wait for nothing that a thread which allocates may hold: it is called
 * wherever malloc is, also in destructors of threads, before main and after exit. errno is kept. In a
 * forked child listeners go on.
 */
typedef void bp_listener(const struct bp_event *event, void *context);

/* Listens from now on; several see each event in the order of their coming. At most 8. 0: no room, or no
 * recorder; else a number for bp_unlisten. While nobody listens, nothing is spent on it. */
#define BP_LISTENERS_MAX 8
uint32_t bytepoll_listen(bp_listener *listener, void *context) __attribute__((weak));
static inline uint32_t bp_listen(bp_listener *listener, void *context)
{
	return bytepoll_listen == NULL ? 0 : bytepoll_listen(listener, context);
}

/* Listens no longer; never waits. True: no thread is in the listener, and none will be, so that what it uses
 * may be freed. False: some thread still is; it will not be called anew, and asking again until it is
 * true is how to wait. A listener that removes itself is still in itself. */
bool bytepoll_unlisten(uint32_t number) __attribute__((weak));
static inline bool bp_unlisten(uint32_t number)
{
	return bytepoll_unlisten == NULL || bytepoll_unlisten(number);
}

#ifdef __cplusplus
}
#endif

#endif
