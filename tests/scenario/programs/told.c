/* SPDX-License-Identifier: MIT */
/*
 * Everything that tracepoints tell: told OBJECTS HOST_TRACE HEARD. Two threads make and free
 * OBJECTS objects by malloc, while a listener of the program's own notes the sequence number of
 * every event; the file HEARD gets them, 64 bits each, as what a tracer must have heard, too. Then
 * two threads of a host tell of OBJECTS / 4 objects of a heap that is made up: addresses that
 * nobody reads, frees, moves, a sweep, a change of T. What is told of an object follows from its
 * size, so that it can be checked:
 *
 *	type      names[size % 4], "" for 0      type id   0xabc000 + size % 4
 *	kind      8 + size % 3                   heap      size % 7
 *
 * Prints how many events were heard, and how many the recorder did not tell.
 */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "bytepoll/bytepoll.h"
#include "bytepoll/host.h"
#include "bytepoll/lttng.h"
#include "bytepoll/sampler.h"

#include "check.h"

#define KEPT 256
#define HEARD_MAX ((size_t)1 << 24)
#define HOST_INTERVAL 512
#define HOST_INTERVAL_LATER 2048

static const char *const names[] = { "", "table", "cl\303\264sure", "" };
static char long_name[301];
static uint64_t *heard;
static size_t heard_count;
static size_t objects;
static struct bp_host *host;
static uint32_t types[4];
static const char *made_up; /* a heap of addresses */

static void hear(const struct bp_event *event, void *context)
{
	(void)context;
	const size_t place = __atomic_fetch_add(&heard_count, 1, __ATOMIC_RELAXED);
	if (place < HEARD_MAX)
		heard[place] = event->sequence;
}

static void *churn(void *argument)
{
	uint64_t seed = (uint64_t)(uintptr_t)argument;
	void *kept[KEPT] = { 0 };
	for (size_t i = 0; i < objects / 2; i++) {
		const size_t slot = i % KEPT;
		const size_t size = random_between(&seed, 1, i % 100 ? 600 : 90000);
		free(kept[slot]);
		kept[slot] = i % 7 == 0 ? realloc(malloc(size / 2 + 1), size) : malloc(size);
		KEEP(kept[slot]);
	}
	for (size_t i = 0; i < KEPT; i++)
		free(kept[i]);
	return NULL;
}

struct heap {
	struct bp_sampler sampler;
	struct bp_sampler_hot hot;
	uint32_t thread;
	const char *next;
};

static uint64_t trials(const struct heap *heap)
{
	return bp_sampler_trials(&heap->sampler, heap->hot.trials_left);
}

static const void *make(struct heap *heap, size_t size)
{
	struct bp_decision decision;
	const void *object = heap->next;
	heap->next += (size + 15) / 16 * 16;
	if (!bp_sampler_crosses(&heap->hot, size))
		return object;
	heap->hot.trials_left =
		bp_sampler_decide(&heap->sampler, heap->hot.trials_left, size, &decision);
	if (decision.sampled)
		bp_host_sampled(host, &(struct bp_host_event){
					      .kind = (uint8_t)(BP_HOST_SMALL + size % 3),
					      .runtime = 7,
					      .type = types[size % 4],
					      .type_id = 0xabc000 + size % 4,
					      .object = object,
					      .size = size,
					      .heap = (uint32_t)(size % 7),
					      .thread = heap->thread,
					      .decision = decision,
					      .trials = trials(heap),
					      .objects = heap->hot.objects,
				      });
	return object;
}

static void end(struct heap *heap, const void *object)
{
	if (object != NULL && bp_host_holds(host, object))
		bp_host_freed(host, object, heap->thread, trials(heap), heap->hot.objects);
}

static void *tell(void *argument)
{
	const size_t number = (size_t)(uintptr_t)argument;
	struct heap heap = { .thread = bp_host_thread(host, "mutator"),
		.next = made_up + number * ((size_t)1 << 32) };
	const void *kept[KEPT] = { 0 };
	uint64_t seed = 77 + number;
	bp_sampler_init(&heap.sampler, number, HOST_INTERVAL, BP_SAMPLER_EXACT);
	for (size_t i = 0; i < objects / 8; i++) {
		const size_t slot = i % KEPT;
		if (i == objects / 16) {
			bp_sampler_set_interval(&heap.sampler, HOST_INTERVAL_LATER);
			bp_host_interval(host, heap.thread, HOST_INTERVAL_LATER, trials(&heap),
				heap.hot.objects);
		}
		if (i % 5 != 0)
			end(&heap, kept[slot]);
		kept[slot] = make(&heap, random_between(&seed, 0, i % 50 ? 400 : 9000));
	}
	bp_host_thread_end(host, heap.thread, trials(&heap), heap.hot.objects);
	return NULL;
}

/* A collection: of those alive a third is moved, a third stays, a third goes. */
static bool survives(const void *object, void *context)
{
	static const char *to;
	(void)context;
	if (to == NULL)
		to = made_up + ((size_t)7 << 32);
	const uintptr_t third = (uintptr_t)object / 16 % 3;
	if (third == 0) {
		bp_host_moved(host, object, to);
		to += 64;
	}
	return third != 1;
}

static void in_two_threads(void *(*run)(void *))
{
	pthread_t threads[2];
	for (uintptr_t i = 0; i < 2; i++)
		CHECK(pthread_create(&threads[i], NULL, run, (void *)(i + 1)) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static void tell_of_host(const char *path)
{
	made_up = mmap(NULL, (size_t)8 << 32, PROT_NONE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(made_up != MAP_FAILED);
	host = bp_host_open(&(struct bp_host_options){ .name = "made up 1.0",
		.path = path,
		.interval = HOST_INTERVAL,
		.charge = BP_SAMPLER_CHARGE });
	CHECK(host != NULL);
	(void)bp_lttng_host(host);
	memset(long_name, 'n', sizeof long_name - 1);
	for (size_t i = 1; i < 3; i++)
		types[i] = bp_host_type(host, names[i], strlen(names[i]));
	types[3] = bp_host_type(host, long_name, sizeof long_name - 1);
	in_two_threads(tell);
	bp_host_sweep(host, survives, NULL);
	bp_host_moves_end(host);
	bp_host_close(host);
}

int main(int count, char **arguments)
{
	struct bp_status status = { 0 };
	CHECK(count == 4);
	objects = strtoul(arguments[1], NULL, 10);
	heard = mmap(NULL, HEARD_MAX * sizeof *heard, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(heard != MAP_FAILED);
	const uint32_t listener = bp_listen(hear, NULL);
	in_two_threads(churn);
	(void)bp_unlisten(listener);
	(void)bp_status_get(&status);
	tell_of_host(arguments[2]);
	FILE *file = fopen(arguments[3], "wbx");
	CHECK(file != NULL && heard_count <= HEARD_MAX);
	CHECK(fwrite(heard, sizeof *heard, heard_count, file) == heard_count && fclose(file) == 0);
	printf("%zu %llu\n", heard_count, (unsigned long long)status.untold);
	return 0;
}
