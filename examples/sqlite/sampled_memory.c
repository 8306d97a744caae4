/* SPDX-License-Identifier: MIT */
/*
 * See sampled_memory.h. What an allocator has to do for bytepoll, in the order of an object's life:
 *
 *	made	   charge its bytes to the thread's counter (bp_sampler_crosses: two instructions); when that
 *		   borrows, ask the sampler; if it takes the object, record it, and follow `bytepoll control`
 *	freed	   ask the filter (bp_host_may_hold: a load and a comparison); if it may be a sample, record
 *		   its free, before the memory is given back
 *	resized	   both: a free and a new object of the whole new size
 *
 * The size charged is the one that SQLite asks for; what the allocator makes of it (xSize, the sum
 * of which is sqlite3_memory_used()) is recorded as the usable size.
 *
 * Threads. Counters and sampler are the thread's own. A thread is known to the host from its first
 * allocation, and its last counters are recorded by the destructor of a key.
 */
#include "sampled_memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 80

struct thread {
	struct bp_sampler_hot hot; /* zeroed: the first object takes the slow path */
	struct bp_sampler sampler;
	bool begun;
	uint32_t ordinal, stack; /* as the host knows them */
};

static __thread struct thread thread;

static sqlite3_mem_methods inner;
static struct bp_host *host;
static struct bp_host_options settings;
static pthread_once_t opened = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static uint64_t seed_of_next;

static uint64_t trials(void)
{
	return bp_sampler_trials(&thread.sampler, thread.hot.trials_left);
}

static void thread_ends(void *unused)
{
	(void)unused;
	bp_host_thread_end(host, thread.ordinal, trials(), thread.hot.objects);
	memset(&thread, 0, sizeof thread);
}

/* At the first allocation: a process that only passes by, a shell that starts another program,
 * writes no trace. */
static void open_host(void)
{
	pthread_key_create(&key, thread_ends);
	char problem[BP_HOST_PROBLEM_BYTES];
	host = bp_host_open(&settings);
	if (host == NULL) {
		bp_host_open_problem(&settings, errno, problem);
		fprintf(stderr, "sampled_memory: %s\n", problem);
	}
}

static void thread_begins(void)
{
	pthread_once(&opened, open_host);
	const uint64_t seed = __atomic_add_fetch(&seed_of_next, 1, __ATOMIC_RELAXED);
	bp_sampler_init(&thread.sampler, seed * 0x9E3779B97F4A7C15u,
		settings.dormant ? BP_SAMPLER_OFF : settings.interval, settings.law);
	thread.ordinal = bp_host_thread(host, "");
	thread.begun = true;
	pthread_setspecific(key, &thread);
}

/* The countdown was crossed by an object of `size` bytes. */
static void __attribute__((noinline)) look(const void *object, int size)
{
	struct bp_decision decision;
	if (!thread.begun)
		thread_begins();
	thread.hot.trials_left =
		bp_sampler_decide(&thread.sampler, thread.hot.trials_left, (size_t)size, &decision);
	if (!decision.sampled)
		bp_host_counted(host, thread.ordinal, trials(), thread.hot.objects);
	else
		bp_host_sampled(host, &(struct bp_host_event){
					      .kind = BP_HOST_SMALL,
					      .object = object,
					      .size = (uint64_t)size,
					      .usable = (uint64_t)inner.xSize((void *)object),
					      .thread = thread.ordinal,
					      .stack = thread.stack,
					      .decision = decision,
					      .trials = trials(),
					      .objects = thread.hot.objects,
				      });
	bp_host_follow(host, thread.ordinal, &thread.sampler, &thread.hot);
}

static void made(const void *object, int size)
{
	if (object != NULL && bp_sampler_crosses(&thread.hot, (size_t)size))
		look(object, size);
}

static void goes(const void *object)
{
	if (bp_host_may_hold(host, object))
		bp_host_freed(host, object, thread.ordinal, trials(), thread.hot.objects);
}

static void *memory_malloc(int size)
{
	void *object = inner.xMalloc(size);
	made(object, size);
	return object;
}

static void memory_free(void *object)
{
	goes(object);
	inner.xFree(object);
}

/* (If there is no memory the old object stays, and is told as gone. SQLite then gives up.) */
static void *memory_realloc(void *object, int size)
{
	goes(object);
	object = inner.xRealloc(object, size);
	made(object, size);
	return object;
}

bool sampled_memory_start(const struct bp_host_options *options)
{
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &inner) != SQLITE_OK)
		return false;
	sqlite3_mem_methods ours = inner;
	ours.xMalloc = memory_malloc;
	ours.xFree = memory_free;
	ours.xRealloc = memory_realloc;
	settings = *options;
	settings.name = "SQLite " SQLITE_VERSION;
	settings.charge = BP_SAMPLER_CHARGE;
	settings.follows_control = true;
	seed_of_next = settings.seed << 20;
	return sqlite3_config(SQLITE_CONFIG_MALLOC, &ours) == SQLITE_OK;
}

void sampled_memory_stop(void)
{
	struct bp_host *ended = host;
	/* Of this thread; one that still runs has not told its end, and then totals are not
	 * exact. */
	bp_host_thread_end(host, thread.ordinal, trials(), thread.hot.objects);
	host = NULL;
	bp_host_close(ended);
}

void sampled_memory_statement(const char *sql, const char *file, uint32_t line)
{
	char name[NAME_BYTES + 4];
	size_t bytes = 0;
	thread.stack = 0;
	if (sql == NULL || host == NULL)
		return;
	while (strncmp(sql, "--", 2) == 0)
		sql += strcspn(sql, "\n") + (strchr(sql, '\n') != NULL);
	/* One line of it, without indentation. */
	for (const char *at = sql; *at != '\0' && *at != ';' && bytes < NAME_BYTES; at++) {
		const bool blank = *at == ' ' || *at == '\n' || *at == '\t' || *at == '\r';
		if (!blank)
			name[bytes++] = *at;
		else if (bytes > 0 && name[bytes - 1] != ' ')
			name[bytes++] = ' ';
	}
	strcpy(name + bytes, bytes == NAME_BYTES ? "..." : "");
	const uint32_t frame = bp_host_frame(host, name, file, line);
	thread.stack = bp_host_stack(host, &frame, 1, false);
}
