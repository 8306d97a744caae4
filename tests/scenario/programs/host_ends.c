/* SPDX-License-Identifier: MIT */
/*
 * host_ends FOLDER FORM SEEDS: a host that ends in FORM, once for each seed from 1 on, into
 * FOLDER/FORM-<seed>.bpt, and what it allocated, a line of JSON for each. Its threads are no
 * threads of the system, but counters that take turns: a host cannot tell the difference. Forms:
 *
 *	told	 every thread tells its end
 *	waiting	 16 workers told their counters now and then, and wait; the one that closes tells its own end
 *	endless	 threads come and are never heard of again
 *	unknown	 a third of the threads is not known to the host: number 0, or one that it never gave
 *	silent	 a third tells counters that are wrong: always 0, or a twentieth
 *	mixed	 each thread does one of these, by chance
 *	charged	 every thread tells its end, and the host has declared another charge than it has
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytepoll/host.h"

enum { THREADS_MAX = 100, TYPES = 4, INTERVAL = 4096, OBJECTS = 12000 };
static const size_t size_of[TYPES] = { 48, 96, 200, 1000 };

enum way { ENDED, WAITING, WENT_ON, NUMBER_0, UNKNOWN_NUMBER, ALWAYS_0, A_TWENTIETH, WAYS };

struct thread {
	struct bp_sampler_hot hot;
	struct bp_sampler sampler;
	enum way way;
	uint32_t number;
	uint64_t bytes;
};

static struct thread threads[THREADS_MAX];
static unsigned thread_count;
static uint64_t random_state, bytes[TYPES], objects[TYPES], next_object;
static struct bp_host *host;
static uint32_t types[TYPES];

static uint64_t draw(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % below;
}

static uint64_t told(const struct thread *thread, uint64_t counter)
{
	return thread->way == ALWAYS_0 ? 0 : thread->way == A_TWENTIETH ? counter / 20 : counter;
}

static uint64_t trials(const struct thread *thread)
{
	return told(thread, bp_sampler_trials(&thread->sampler, thread->hot.trials_left));
}

static void make(struct thread *thread)
{
	const unsigned type = (unsigned)draw(TYPES);
	const size_t size = size_of[type];
	struct bp_decision decision;
	bytes[type] += size;
	objects[type]++;
	next_object += 16;
	thread->bytes += size;
	if (!bp_sampler_crosses(&thread->hot, size))
		return;
	thread->hot.trials_left =
		bp_sampler_decide(&thread->sampler, thread->hot.trials_left, size, &decision);
	if (!decision.sampled)
		return;
	(void)bp_host_sampled(host, &(struct bp_host_event){ .kind = BP_HOST_SMALL,
					    .type = types[type],
					    .object = (const void *)next_object,
					    .size = size,
					    .thread = thread->number,
					    .decision = decision,
					    .trials = trials(thread),
					    .objects = told(thread, thread->hot.objects) });
}

static void begin(struct thread *thread, const char *form, unsigned number)
{
	char name[16];
	enum way way = ENDED;
	if (strcmp(form, "waiting") == 0)
		way = number == 0 ? ENDED : WAITING;
	else if (strcmp(form, "endless") == 0)
		way = WAITING;
	else if (strcmp(form, "unknown") == 0 && number % 3 == 2)
		way = number % 2 == 0 ? NUMBER_0 : UNKNOWN_NUMBER;
	else if (strcmp(form, "silent") == 0 && number % 3 == 2)
		way = number % 2 == 0 ? ALWAYS_0 : A_TWENTIETH;
	else if (strcmp(form, "mixed") == 0)
		way = number == 0 ? WAITING : (enum way)draw(WAYS);
	*thread = (struct thread){ .way = way };
	bp_sampler_init(&thread->sampler, random_state ^ number, INTERVAL, BP_SAMPLER_EXACT);
	if (way == UNKNOWN_NUMBER)
		thread->number = 1000 + number;
	snprintf(name, sizeof name, "thread %u", number);
	if (way != UNKNOWN_NUMBER && way != NUMBER_0)
		thread->number = bp_host_thread(host, name);
}

static void end(struct thread *thread)
{
	bp_host_thread_end(host, thread->number, trials(thread), told(thread, thread->hot.objects));
}

static void run(const char *form, uint64_t seed)
{
	random_state = seed * 0x9E3779B97F4A7C15u;
	memset(bytes, 0, sizeof bytes);
	memset(objects, 0, sizeof objects);
	next_object = 0x10000;
	thread_count = strcmp(form, "endless") == 0 ? THREADS_MAX : 17;
	for (unsigned i = 0; i < TYPES; i++) {
		char name[16];
		snprintf(name, sizeof name, "type %u", i);
		types[i] = bp_host_type(host, name, strlen(name));
	}
	for (unsigned i = 0; i < thread_count; i++)
		begin(&threads[i], form, i);
	for (unsigned i = 0; i < OBJECTS; i++) {
		struct thread *thread = &threads[draw(thread_count)];
		make(thread);
		if (thread->way == WAITING && draw(100) == 0)
			bp_host_counted(host, thread->number, trials(thread), thread->hot.objects);
	}
	for (unsigned i = 0; i < thread_count; i++)
		if (threads[i].way != WAITING && threads[i].way < NUMBER_0)
			end(&threads[i]);
	for (unsigned i = 0; i < thread_count; i++) {
		/* It is heard of once more, at least. */
		for (unsigned k = 0; threads[i].way == WENT_ON && k < 2000; k++)
			make(&threads[i]);
		if (threads[i].way >= ALWAYS_0)
			end(&threads[i]);
	}
}

static void print_truth(uint64_t seed)
{
	printf("{\"seed\": %" PRIu64 ", \"types\": [", seed);
	for (unsigned i = 0; i < TYPES; i++)
		printf("%s{\"bytes\": %" PRIu64 ", \"objects\": %" PRIu64 "}", i == 0 ? "" : ", ",
			bytes[i], objects[i]);
	printf("], \"threads\": {");
	for (unsigned i = 0; i < thread_count; i++)
		printf("%s\"thread %u\": {\"bytes\": %" PRIu64 ", \"objects\": %" PRIu64 "}",
			i == 0 ? "" : ", ", i, threads[i].bytes, threads[i].hot.objects);
	printf("}}\n");
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	const uint64_t seeds = strtoull(argv[3], NULL, 10);
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		char path[4096];
		snprintf(path, sizeof path, "%s/%s-%" PRIu64 ".bpt", argv[1], argv[2], seed);
		host = bp_host_open(&(struct bp_host_options){ .name = "ends 1.0",
			.path = path,
			.interval = INTERVAL,
			.charge = strcmp(argv[2], "charged") == 0 ? 0 : BP_SAMPLER_CHARGE });
		if (host == NULL) {
			perror(path);
			return 1;
		}
		run(argv[2], seed);
		print_truth(seed);
		bp_host_close(host);
	}
	return 0;
}
