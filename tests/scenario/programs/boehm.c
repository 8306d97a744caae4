// SPDX-License-Identifier: MIT A program on the Boehm-Demers-Weiser collector, sampled by
// bindings/boehm: three threads that allocate nodes, wide nodes from lists, strings without
// pointers and buffers that grow, keep some of them in chains, cut chains, free now and then.
// Counts all it asked for, and prints that beside the collector's counters.
//
//	boehm STEPS
#define GC_THREADS
#include "bytepoll_boehm.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 3
#define CHAINS 64

struct node {
	struct node *next;
	char *text;
	uint64_t random;
	char more[]; // of wide ones
};

enum type { NODE, WIDE, TEXT, BUFFER, TYPES };
static const char *const names[TYPES] = { "node", "wide", "text", "buffer" };
#define WIDE_BYTES 112

struct worker {
	pthread_t thread;
	struct node **chain; // CHAINS, in uncollectable memory
	struct bp_boehm_list *list;
	uint64_t random, objects[TYPES], bytes[TYPES], counted;
};

static uint64_t steps;
static uint64_t sampled, ended; // by a listener

static uint64_t next(struct worker *worker)
{
	uint64_t z = (worker->random += UINT64_C(0x9E3779B97F4A7C15));
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static void count(struct worker *worker, enum type type, size_t size)
{
	worker->objects[type]++;
	worker->bytes[type] += size;
}

static struct node *new_node(struct worker *worker, uint64_t bits)
{
	if (bits % 3 == 0) {
		count(worker, WIDE, WIDE_BYTES);
		return BP_BOEHM_TAKE(worker->list, "wide");
	}
	count(worker, NODE, sizeof(struct node));
	return BP_BOEHM_MALLOC(sizeof(struct node), "node");
}

static char *new_text(struct worker *worker, uint64_t bits)
{
	const size_t size = 1 + bits % 300;
	count(worker, TEXT, size);
	return BP_BOEHM_MALLOC_ATOMIC(size, "text");
}

static void grow_and_free(struct worker *worker)
{
	void *buffer = NULL;
	for (size_t size = 100; size < 5000; size *= 3) {
		count(worker, BUFFER, size);
		buffer = bp_boehm_realloc(buffer, size, BP_BOEHM_SITE("buffer"));
	}
	bp_boehm_free(buffer);
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	worker->list = bp_boehm_list_create(WIDE_BYTES);
	for (uint64_t i = 0; i < steps; i++) {
		const uint64_t bits = next(worker);
		struct node **chain = &worker->chain[bits % CHAINS];
		if (bits / CHAINS % 512 == 0) {
			*chain = NULL;
		} else if (bits / CHAINS % 512 == 1) {
			grow_and_free(worker);
		} else {
			struct node *node = new_node(worker, next(worker));
			if (node->next != NULL || node->text != NULL || node->random != 0) {
				printf("wrong: a cell was not cleared\n");
				exit(1);
			}
			node->random = bits;
			node->text = new_text(worker, next(worker));
			node->next = *chain;
			*chain = node;
		}
	}
	bp_boehm_list_destroy(worker->list);
	worker->list = NULL;
	worker->counted = bp_boehm_bytes();
	return NULL;
}

static void listen(const struct bp_host_event *event, const void *object, void *context)
{
	(void)object;
	(void)context;
	__atomic_fetch_add(event != NULL ? &sampled : &ended, 1, __ATOMIC_RELAXED);
}

static void add_reachable(const void *object, uint64_t *objects, uint64_t *held, uint64_t *bytes)
{
	++*objects;
	*bytes += GC_size(object);
	*held +=
		bp_host_may_hold(bp_boehm_host(), object) && bp_host_holds(bp_boehm_host(), object);
}

static void print_reachable(struct worker *workers)
{
	uint64_t objects = 0, held = 0, bytes = 0;
	for (unsigned i = 0; i < THREADS * CHAINS; i++)
		for (struct node *node = workers[i / CHAINS].chain[i % CHAINS]; node != NULL;
			node = node->next) {
			add_reachable(node, &objects, &held, &bytes);
			add_reachable(node->text, &objects, &held, &bytes);
		}
	printf(" \"reachable\": %" PRIu64 ", \"held\": %" PRIu64 ", \"reachable_usable\": %" PRIu64
	       ", \"live_samples\": %" PRIu64 ", \"samples\": %" PRIu64
	       ", \"memory_use\": %zu, \"collections\": %lu}\n",
		objects, held, bytes, sampled - ended, sampled, GC_get_memory_use(),
		(unsigned long)GC_get_gc_no());
}

int main(int argc, char **argv)
{
	static struct worker workers[THREADS];
	if (argc != 2)
		return 2;
	steps = strtoull(argv[1], NULL, 10);
	GC_INIT();
	if (!bp_boehm_start("boehm test"))
		fprintf(stderr, "bp_boehm_start: %s\n", bp_boehm_problem());
	bp_host_listen(bp_boehm_host(), listen, NULL);
	const size_t before = GC_get_total_bytes();
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i].random = i;
		workers[i].chain = GC_malloc_uncollectable(CHAINS * sizeof *workers[i].chain);
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			return 1;
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	GC_gcollect();
	GC_gcollect();
	uint64_t counted = 0;
	printf("{\"types\": [");
	for (unsigned type = 0; type < TYPES; type++) {
		uint64_t objects = 0, bytes = 0;
		for (unsigned i = 0; i < THREADS; i++) {
			objects += workers[i].objects[type];
			bytes += workers[i].bytes[type];
		}
		printf("%s{\"name\": \"%s\", \"objects\": %" PRIu64 ", \"bytes\": %" PRIu64 "}",
			type == 0 ? "" : ", ", names[type], objects, bytes);
	}
	for (unsigned i = 0; i < THREADS; i++)
		counted += workers[i].counted;
	printf("],\n \"counted\": %" PRIu64 ", \"collector_bytes\": %zu,\n", counted,
		GC_get_total_bytes() - before);
	print_reachable(workers);
	bp_boehm_stop();
	return 0;
}
