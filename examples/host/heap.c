/* SPDX-License-Identifier: MIT */
/* See heap.h. What is between the two marks is shown in docs/hosts.md. */
#include "heap.h"

/* begin of the page */
#include "bytepoll/host.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct bp_host *host;
static struct bp_host_options settings = {
	.name = "example heap", .charge = BP_SAMPLER_CHARGE, .follows_control = true
};
static uint64_t threads_begun;
static __thread struct {
	struct bp_sampler_hot hot; /* what every allocation touches */
	struct bp_sampler sampler; /* what only a look touches */
	uint32_t thread, stack;	   /* numbers of the host */
} mine;

/* Trials that this thread has made; an object of n bytes makes n + charge of them. */
static uint64_t trials(void)
{
	return bp_sampler_trials(&mine.sampler, mine.hot.trials_left);
}

/* Once, before the first object. Without a trace the heap works all the same. */
void heap_open(void)
{
	char problem[BP_HOST_PROBLEM_BYTES];
	if (bp_host_settings(&settings, problem)) {
		host = bp_host_open(&settings);
		if (host != NULL)
			return;
		bp_host_open_problem(&settings, errno, problem);
	}
	fprintf(stderr, "heap: %s\n", problem);
}

/* In each thread, before its first object. Each thread draws with a seed of its own. */
void heap_thread_begin(const char *name)
{
	const uint64_t number = __atomic_add_fetch(&threads_begun, 1, __ATOMIC_RELAXED);
	mine.thread = bp_host_thread(host, name);
	bp_sampler_init(&mine.sampler, settings.seed + number * UINT64_C(0x9E3779B97F4A7C15),
		settings.dormant ? BP_SAMPLER_OFF : settings.interval, settings.law);
	bp_host_follow(host, mine.thread, &mine.sampler, &mine.hot);
}

/* In each thread, after its last object: from these counters totals are exact. */
void heap_thread_end(void)
{
	bp_host_thread_end(host, mine.thread, trials(), mine.hot.objects);
}

/* The function of the language that allocates from now on. */
void heap_enter(const char *function, const char *file, uint32_t line)
{
	const uint32_t frame = bp_host_frame(host, function, file, line);
	mine.stack = bp_host_stack(host, &frame, 1, false);
}

/* The countdown has ended within this object. */
static void __attribute__((noinline)) look(const void *object, size_t size, const char *type)
{
	struct bp_decision decision;
	mine.hot.trials_left =
		bp_sampler_decide(&mine.sampler, mine.hot.trials_left, size, &decision);
	if (decision.sampled)
		bp_host_sampled(host, &(struct bp_host_event){ .kind = BP_HOST_SMALL,
					      .type = bp_host_type(host, type, strlen(type)),
					      .object = object,
					      .size = size,
					      .thread = mine.thread,
					      .stack = mine.stack,
					      .decision = decision,
					      .trials = trials(),
					      .objects = mine.hot.objects });
	else
		bp_host_counted(host, mine.thread, trials(), mine.hot.objects);
	bp_host_follow(host, mine.thread, &mine.sampler, &mine.hot);
}

void *heap_new(size_t size, const char *type)
{
	void *object = malloc(size);
	if (object != NULL && bp_sampler_crosses(&mine.hot, size)) /* two instructions */
		look(object, size, type);
	return object;
}

void heap_delete(void *object)
{
	if (bp_host_may_hold(host, object)) /* eight instructions, nearly always false */
		bp_host_freed(host, object, mine.thread, trials(), mine.hot.objects);
	free(object); /* after it was recorded */
}

/* Once, after every thread has ended: the thread that closes has called heap_thread_end, too. */
void heap_close(void)
{
	bp_host_close(host);
	host = NULL;
}
/* end of the page */
