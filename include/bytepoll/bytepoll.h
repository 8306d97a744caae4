/* SPDX-License-Identifier: MIT */
/*
 * For programs that are profiled: calls to the recorder that runs in the program's own process. A
 * program can switch sampling on and off, take the profile of a stretch of time, mark its samples
 * with tags such as tenant=42, and add functions that are called for every sample.
 *
 * Nothing is linked. Every call goes to a weak symbol that the recorder defines (by `bytepoll run`,
 * by LD_PRELOAD, or linked). Without a recorder the calls do nothing, and return false or 0. They
 * also do nothing if the recorder stayed off (`bp_status_get` says why).
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
 * Thread-safety: any thread may make any call. Signal handlers may make only the calls that say so.
 * errno is kept. No call allocates from the program's heap, and none holds a lock while the
 * program's code runs. An executable that is not position-independent binds weak symbols to nothing
 * when it is linked, unless the files that include this header are compiled with -fPIC
 * (docs/in-process.md, "Linking").
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
	/* Absolute path of the trace. Static memory, which changes in a child of fork. */
	const char *path;
	const char *version; /* "bytepoll 0.1.0" */
	/* False: the recorder is there, but off; all fields below are zero, except the reason. */
	bool profiled;
	uint32_t unprofiled_reason; /* docs/trace-format.md 1.2; 0: not known, or profiled */
	bool sampling;		    /* samples are made */
	bool automatic;		    /* the recorder chooses T, to keep to its budget */
	uint64_t interval;	    /* T, bytes; while sampling is off, what bp_start takes up */
	uint64_t start_ns;	    /* of this trace, CLOCK_MONOTONIC */
	uint64_t samples;	    /* written so far */
	uint64_t sequence;	    /* last number of the order of events */
	uint64_t own_bytes;	    /* memory that the recorder holds for itself */
	/* Limits of what all threads have allocated so far. */
	uint64_t bytes_low, bytes_high, objects_low, objects_high;
	uint64_t lost[BP_STATUS_LOSSES]; /* by reason */
	uint64_t untold;    /* samples and frees without a call of listeners (bp_listen) */
	uint32_t threads;   /* threads that run now and have allocated */
	uint32_t listeners; /* listeners now */
};

/* Returns the state at this moment; the totals are as those of bp_snapshot. False: there is no
 * recorder. */
bool bytepoll_status(struct bp_status *ret_status, size_t bytes) __attribute__((weak));
static inline bool bp_status_get(struct bp_status *ret_status)
{
	return bytepoll_status != NULL && bytepoll_status(ret_status, sizeof *ret_status);
}

/* ---- Control ---- */

/* Switch sampling on and off, as `bytepoll control PID start` and `stop` do. The calling thread
 * follows at once; each other thread follows at its next visit to the recorder, after at most 1 MiB
 * of its own allocation. In any state objects and bytes are counted, and frees of samples are
 * recorded. False: it was in that state already, or there is no recorder. */
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

/* Sets the mean sampling interval T, 1 to 2^40 bytes; the recorder then no longer changes T by
 * itself. Threads follow as with bp_start; while sampling is off, T is in force from when it is
 * switched on. Estimates stay unbiased however often T is changed, as long as the decision does not
 * depend on what is allocated next. False: nothing changed. */
bool bytepoll_interval(uint64_t interval_bytes) __attribute__((weak));
static inline bool bp_interval(uint64_t interval_bytes)
{
	return bytepoll_interval != NULL && bytepoll_interval(interval_bytes);
}

/* ---- Moments and windows ---- */

/* A moment of the process: everything that the calling thread did before is before it. What other
 * threads have allocated until then lies within the limits, which differ by what these threads
 * allocate in some microseconds; low == high if they were idle. */
struct bp_snapshot {
	const char *path; /* of the trace, as in bp_status */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	/* Since the start of this trace, as `report --from` and `--until` take it. */
	uint64_t since_start_ns;
	uint64_t sequence; /* number of this moment in the order of events */
	uint64_t samples;  /* samples written until then */
	/* Limits of what all threads have allocated. */
	uint64_t bytes_low, bytes_high, objects_low, objects_high;
	uint32_t threads; /* threads that run and have allocated */
	/* Those of them that were too busy to be read: the limits allow for what they may have
	 * made. */
	uint32_t threads_unread;
};

/* Records in the trace what every thread has made so far: a report on the file, now or later, then
 * knows the totals up to this moment within those limits. What was recorded before can be read from
 * the file at once by other processes, and survives the process (not a loss of power). It takes 0.2
 * microseconds, and for each other thread that has allocated as much again and a system call.
 * False: not recorded. */
bool bytepoll_snapshot(struct bp_snapshot *ret_snapshot, size_t bytes) __attribute__((weak));
static inline bool bp_snapshot_take(struct bp_snapshot *ret_snapshot)
{
	return bytepoll_snapshot != NULL && bytepoll_snapshot(ret_snapshot, sizeof *ret_snapshot);
}

/* A window that was started. This is the program's own memory, which it must not change. A window
 * holds no resource: any number of windows may be open and may overlap; any thread may stop a
 * window, more than once (each stop gives the profile from the start up to then), or never. */
struct bp_window_token {
	uint64_t private_words[24];
};

/* Switches sampling on if it is off, until the last window with this flag is stopped. Without this
 * flag a window changes nothing: if sampling is off, there are no samples in the window. */
#define BP_WINDOW_SAMPLE 1u
/* For many short windows in a process of many threads: only the counters of the calling thread go
 * into the trace, some 60 bytes for each window, without 20 more for each thread and moment.
 * bp_window_profile has the same limits. A report on the trace has wider ones if other threads
 * allocated (by at most 1 MiB for each thread). */
#define BP_WINDOW_BRIEF 2u

/* The facts about a window. Its allocation profile is in the trace: bytepoll report --metric
 * allocated --from FROMns --until TOns PATH with from_ns and to_ns, or a query of
 * bytepoll/analysis.h with these two, shows what was allocated in the window, with estimates. */
struct bp_window_profile {
	const char *path;		   /* of the trace, as in bp_status */
	uint64_t from_ns, to_ns;	   /* [from, to), since the start of this trace */
	uint64_t from_time_ns, to_time_ns; /* the same by CLOCK_MONOTONIC */
	/* Numbers of both moments in the order of events: events in between belong to the
	 * window. */
	uint64_t from_sequence, to_sequence;
	uint64_t samples; /* samples written in the window */
	/* Certain limits of what all threads have allocated in the window. */
	uint64_t bytes_low, bytes_high, objects_low, objects_high;
	uint64_t interval;	 /* T in force at its end; 0: sampling was off */
	bool changed;		 /* during the window sampling was switched, or T was changed */
	uint32_t threads_unread; /* as in bp_snapshot, for both moments */
};

/* Starts a window. False: not recorded; the token then belongs to no window, and stopping it fails.
 * A child of fork cannot stop the windows of its parent. */
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

/* A thread's tags are pairs key=value. Every sample carries the tags of its thread, as labels of
 * the trace: `report --by label:tenant`, `--filter label:phase=load`. Keys have 1 to 100 bytes
 * without '=' and newline, values at most 400 bytes without newline; all tags of a thread have at
 * most 1000 bytes. A new thread has no tags; a forked child has those of the thread that forked it.
 * A call takes some hundred nanoseconds, and an allocation costs nothing more. The recorder keeps
 * up to 16,384 different sets. Beyond this number samples have no labels, which is counted ("name"
 * among the losses). */

/* Sets a tag of the calling thread (value NULL: removes it). `ret_before` is the thread's set from
 * before, for bp_tag_pop. False: key or value is not valid or too long, and nothing changed; or
 * there is no recorder. */
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

/* Returns all tags of the calling thread as one number (0: none), which has the same meaning in
 * every thread of the process and in its forked children. Also for signal handlers. */
uint32_t bytepoll_tags(void) __attribute__((weak));
static inline uint32_t bp_tags_get(void)
{
	return bytepoll_tags == NULL ? 0 : bytepoll_tags();
}

/* Gives the calling thread the tags of that number, and no others. For work that moves from thread
 * to thread, and for coroutines. Takes some nanoseconds. Also for signal handlers. */
void bytepoll_tags_put(uint32_t tags) __attribute__((weak));
static inline void bp_tags_put(uint32_t tags)
{
	if (bytepoll_tags_put != NULL)
		bytepoll_tags_put(tags);
}

/* Ends a scope: restores the tags from before, whatever was set in between. */
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
/* Sets a tag up to the end of the block, however the block is left: by return, break or a C++
 * exception. May stand several times on a line. */
#define BP_TAG_SCOPE(key, value) BP_TAG_SCOPE_(key, value, BP_TAG_JOIN(bp_tag_before_, __COUNTER__))
#define BP_TAG_SCOPE_(key, value, before)                           \
	uint32_t before __attribute__((cleanup(bp_tag_scope_end))); \
	(void)bp_tag_push(key, value, &before)

/* ---- Listeners ---- */

enum bp_event_what {
	BP_EVENT_SAMPLED = 1, /* an object was allocated, and sampled */
	BP_EVENT_FREED = 2    /* a sampled object was freed */
};

struct bp_event {
	uint32_t what;	 /* enum bp_event_what */
	uint32_t kind;	 /* of call, docs/trace-format.md 3.1: 1 malloc, ... 7 pool; freed: 0 */
	void *object;	 /* when freed, its memory may already belong to another object */
	uint64_t sample; /* number of the sample, which identifies the object */
	/* number of the event in the order of all events; for a sample = sample */
	uint64_t sequence;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	/* Counters of the thread up to now; it has allocated trials - objects bytes. */
	uint64_t trials, objects;
	uint32_t thread; /* ordinal in the trace */
	/* freed by a realloc; if the new object is sampled, its event comes next */
	bool by_realloc;
	/* The fields from here on are for BP_EVENT_SAMPLED alone. */
	bool exact;		 /* taken with certainty */
	uint64_t size;		 /* bytes requested */
	uint64_t usable;	 /* bytes that the allocator gave; 0: not known */
	uint64_t alignment;	 /* requested; 0: none */
	uint64_t interval;	 /* T with which it was sampled */
	uint64_t offset;	 /* failed trials of the object before its success; 0 if exact */
	double weight;		 /* 1 / P(sampled): how many objects it stands for */
	uint32_t labels;	 /* bp_tags_get of the thread */
	uint32_t stack;		 /* number in the trace; 0: not known */
	const uintptr_t *frames; /* return addresses, innermost first; valid during the call */
	uint32_t depth;		 /* number of frames; 0: not known */
};

/*
 * A listener is called for every sample and every free of one, by the thread that allocated or
 * freed, within its malloc or free, after the recorder has done its work: the recorder holds no
 * lock, an allocated object is at its address (which the program does not have yet), and a freed
 * object is gone.
 *
 * A listener may allocate and free. This is counted, sampled and recorded as all other allocation,
 * but no listener is called for samples and frees of samples among it (`untold` counts them). It
 * may make every call of this header. It must return: no longjmp, no exception, no end of the
 * thread. (After one of these, the thread's samples are recorded, but listeners are not called for
 * them any more, and bp_unlisten of this listener stays false.) It must not wait for anything that
 * a thread may hold while it allocates, because it is called wherever malloc is, also in
 * destructors of threads, before main and after exit. errno is kept. In a forked child the
 * listeners stay.
 */
typedef void bp_listener(const struct bp_event *event, void *context);

/* Adds a listener, and returns a number for bp_unlisten; 0: there are 8 already, or there is no
 * recorder. Several listeners are called in the order in which they were added. Without listeners
 * this costs nothing. */
#define BP_LISTENERS_MAX 8
uint32_t bytepoll_listen(bp_listener *listener, void *context) __attribute__((weak));
static inline uint32_t bp_listen(bp_listener *listener, void *context)
{
	return bytepoll_listen == NULL ? 0 : bytepoll_listen(listener, context);
}

/* Removes a listener; never waits. True: no thread is in the listener, and none will be, so that
 * what it uses may be freed. False: a thread is still in it. It will not be called again; to wait,
 * call bp_unlisten until it returns true. For a listener that removes itself, its own thread is
 * still in it. */
bool bytepoll_unlisten(uint32_t number) __attribute__((weak));
static inline bool bp_unlisten(uint32_t number)
{
	return bytepoll_unlisten == NULL || bytepoll_unlisten(number);
}

#ifdef __cplusplus
}
#endif

#endif
