// SPDX-License-Identifier: MIT The collector of examples/gc under threads that change a graph of
// objects at random: small, large and pinned ones, in stacks that grow, shrink, and are cut. Every
// object knows what it is, so that a wrong copy shows. Then, after a last collection: the objects
// that the host holds as live samples are just those reachable ones that were sampled, at the
// addresses where they are now.
//
//	gc_graph OUTPUT INTERVAL SEED STEPS [changing]
//
// changing: T changes all the while, off included. Prints bytes allocated and the live samples;
// status 1 and a line if something is wrong.
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gc.h"
#include "samples.h"

#define THREADS 3
#define STACKS 16

static struct gc_type node_type = { .name = "node", .bytes = 32, .references = 1 };
static struct gc_type wide_type = { .name = "wide", .bytes = 208, .references = 1 };
static struct gc_type bytes_type = {
	.name = "bytes", .bytes = 32, .references = 1, .element_bytes = 1
};
static struct gc_type all_type = {
	.name = "all", .bytes = 16, .element_bytes = sizeof(void *), .of_references = true
};
static struct gc_object *all; // a root of the main thread: the tops of all stacks
static struct gc_heap *heap;
static uint64_t steps, seed;
static bool changing;
static uint64_t sampled, ended; // by a listener

struct worker {
	pthread_t thread;
	unsigned number;
	uint64_t random, depth[STACKS], bytes;
};

static uint64_t next(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static void fail(const char *what)
{
	printf("wrong: %s\n", what);
	exit(1);
}

static struct gc_object **top(unsigned worker, unsigned stack)
{
	return &((struct gc_object **)((char *)all + all_type.bytes))[worker * STACKS + stack];
}

static uint64_t identity(unsigned worker, unsigned stack, uint64_t depth)
{
	return ((uint64_t)worker << 56 | (uint64_t)stack << 48 | depth) *
	       UINT64_C(0xD6E8FEB86659FD93);
}

static struct gc_object *allocate(struct gc_thread *thread, uint64_t bits)
{
	if (bits % 512 == 0)
		return gc_new_array(thread, &bytes_type, 85000 + bits / 512 % 100000);
	if (bits % 512 == 1)
		return gc_allocate_pinned(thread, &node_type, gc_bytes(&node_type, 0));
	if (bits % 16 == 2)
		return gc_new_array(thread, &bytes_type, 1 + bits / 16 % 20000);
	return gc_new(thread, bits % 4 == 3 ? &wide_type : &node_type);
}

static void push(struct worker *worker, struct gc_thread *thread, unsigned stack)
{
	struct gc_object *object = allocate(thread, next(&worker->random));
	object->fields[0] = *top(worker->number, stack);
	object->fields[1] =
		(void *)(uintptr_t)identity(worker->number, stack, ++worker->depth[stack]);
	*top(worker->number, stack) = object;
}

static void walk(const struct worker *worker, unsigned stack)
{
	uint64_t depth = worker->depth[stack];
	for (struct gc_object *object = *top(worker->number, stack); object != NULL;
		object = object->fields[0], depth--) {
		if (object->type != &node_type && object->type != &wide_type &&
			object->type != &bytes_type)
			fail("a type");
		if ((uintptr_t)object->fields[1] != identity(worker->number, stack, depth))
			fail("an object is not what it was");
		const unsigned char *last =
			(unsigned char *)object + gc_bytes(object->type, object->elements) - 1;
		if (object->type != &node_type && *last != 0)
			fail("memory was not zeroed");
	}
	if (depth != 0)
		fail("the depth of a stack");
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct gc_thread thread;
	gc_thread_begin(heap, &thread, "worker");
	gc_samples_push(&thread, "work", "gc_graph.c", __LINE__);
	for (uint64_t i = 0; i < steps; i++) {
		const unsigned stack = next(&worker->random) % STACKS;
		const uint64_t what = next(&worker->random) % 4096;
		if (what == 0) {
			*top(worker->number, stack) = NULL;
			worker->depth[stack] = 0;
		} else if (what == 1) {
			walk(worker, stack);
		} else if (what == 2 && changing) {
			static const uint64_t intervals[] = { 1000, BP_SAMPLER_OFF, 20000 };
			gc_samples_set_interval(heap, intervals[next(&worker->random) % 3]);
		} else if (what % 3 != 0 || worker->depth[stack] == 0) {
			push(worker, &thread, stack);
		} else {
			*top(worker->number, stack) = (*top(worker->number, stack))->fields[0];
			worker->depth[stack]--;
		}
	}
	for (unsigned stack = 0; stack < STACKS; stack++)
		walk(worker, stack);
	worker->bytes = gc_samples_bytes(&thread);
	gc_thread_end(&thread);
	return NULL;
}

static void listen(const struct bp_host_event *event, const void *object, void *context)
{
	(void)object;
	(void)context;
	__atomic_fetch_add(event != NULL ? &sampled : &ended, 1, __ATOMIC_RELAXED);
}

static uint64_t held(const struct bp_host *host, uint64_t *reachable)
{
	uint64_t count = bp_host_may_hold(host, all) && bp_host_holds(host, all);
	*reachable = 1;
	for (unsigned i = 0; i < THREADS * STACKS; i++)
		for (struct gc_object *object = *top(i / STACKS, i % STACKS); object != NULL;
			object = object->fields[0]) {
			count += bp_host_may_hold(host, object) && bp_host_holds(host, object);
			++*reachable;
		}
	return count;
}

static struct bp_host *open_host(const char *path, uint64_t interval)
{
	struct bp_host *host = bp_host_open(&(struct bp_host_options){ .name = "gc_graph",
		.path = path,
		.interval = interval,
		.seed = seed,
		.seed_given = true,
		.objects_uncounted = true });
	if (host == NULL)
		fail("the trace cannot be written");
	bp_host_listen(host, listen, NULL);
	return host;
}

int main(int argc, char **argv)
{
	struct worker workers[THREADS] = { { 0 } };
	struct gc_samples samples;
	struct gc_thread thread;
	if (argc < 5)
		return 2;
	const uint64_t interval = strtoull(argv[2], NULL, 10);
	seed = strtoull(argv[3], NULL, 10);
	steps = strtoull(argv[4], NULL, 10);
	changing = argc > 5;
	struct bp_host *host = open_host(argv[1], interval);
	gc_samples_init(&samples, host, seed, interval, BP_SAMPLER_EXACT);
	gc_samples_type(&samples, &node_type);
	gc_samples_type(&samples, &wide_type);
	gc_samples_type(&samples, &bytes_type);
	gc_samples_type(&samples, &all_type);
	heap = gc_create(&(struct gc_options){
		.context_bytes = 1024 << seed % 4, .space_bytes = 1 << 20, .samples = &samples });
	gc_thread_begin(heap, &thread, "main");
	gc_root(&thread, &all);
	all = gc_new_array(&thread, &all_type, THREADS * STACKS);
	gc_thread_wait_begin(&thread);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].number = i;
		workers[i].random = seed * 1000 + i;
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			fail("no thread");
	}
	uint64_t bytes = 0, reachable;
	for (unsigned i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		bytes += workers[i].bytes;
	}
	gc_thread_wait_end(&thread);
	gc_collect(&thread);
	const uint64_t live = held(host, &reachable);
	if (live != sampled - ended)
		fail("live samples are not those that are reachable");
	if (interval == 1 && !changing && live != reachable)
		fail("T = 1, and not every object is a sample");
	bytes += gc_samples_bytes(&thread);
	gc_thread_end(&thread);
	const struct gc_totals totals = gc_totals(heap);
	printf("%" PRIu64 " bytes, %" PRIu64 " live samples, %" PRIu64 " reachable, %" PRIu64
	       " samples, %" PRIu64 " collections, %" PRIu64 " moved\n",
		bytes, live, reachable, sampled, totals.collections, totals.moved_objects);
	gc_destroy(heap);
	bp_host_close(host);
	return 0;
}
