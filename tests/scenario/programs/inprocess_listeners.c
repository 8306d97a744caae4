/* SPDX-License-Identifier: MIT */
/*
 * Listeners (bytepoll/bytepoll.h). Prints one line of JSON: what was told, and what the program
 * knows.
 *
 *	sums       one thread: what was told, summed, beside what was allocated
 *	storm      four threads allocate and free, each other's objects too; listeners allocate; others come
 *	           and go meanwhile. A listener that is called after its removal ends the program
 *	leaving    a listener leaves by longjmp: it is told nothing more, everything else goes on
 *	forked     a child tells, too
 *	places     the ninth finds no room, and a place that was left is given again
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <string.h>
#include <sys/wait.h>

#include "bytepoll/bytepoll.h"

#include "check.h"

#define THREADS 4

/* What a listener was told. */
static struct told {
	uint64_t sampled, freed, bytes, with_frames, wrong;
	double weighted_objects, weighted_bytes;
} told;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct bp_status status(void)
{
	struct bp_status now;
	CHECK(bp_status_get(&now) && now.profiled);
	return now;
}

/* One thread only. */
static void sum(const struct bp_event *event, void *context)
{
	struct told *to = context;
	if (event->what == BP_EVENT_FREED) {
		to->freed++;
		to->wrong += event->sample >= event->sequence || event->object == NULL;
		return;
	}
	to->sampled++;
	to->bytes += event->size;
	to->with_frames += event->depth > 1 && event->frames[0] != 0;
	to->weighted_objects += event->weight;
	to->weighted_bytes += event->weight * (double)event->size;
	to->wrong += event->what != BP_EVENT_SAMPLED || event->sample != event->sequence ||
		     event->usable < event->size || event->weight < 1;
	errno = 77;
}

static void print(const char *name, uint64_t bytes, uint64_t objects)
{
	const struct bp_status now = status();
	printf("{\"name\": \"%s\", \"sampled\": %llu, \"freed\": %llu, \"bytes\": %llu, "
	       "\"with_frames\": %llu, \"wrong\": %llu, \"weighted_objects\": %.17g, "
	       "\"weighted_bytes\": %.17g, \"truth_bytes\": %llu, \"truth_objects\": %llu, "
	       "\"untold\": %llu, \"samples\": %llu, \"listeners\": %u}\n",
		name, (unsigned long long)told.sampled, (unsigned long long)told.freed,
		(unsigned long long)told.bytes, (unsigned long long)told.with_frames,
		(unsigned long long)told.wrong, told.weighted_objects, told.weighted_bytes,
		(unsigned long long)bytes, (unsigned long long)objects,
		(unsigned long long)now.untold, (unsigned long long)now.samples, now.listeners);
	fflush(stdout);
}

static char buffer[1 << 16]; /* for stdio: no allocation of its own */

static void sums(void)
{
	uint64_t random = 3, bytes = 0, objects = 0;
	const uint32_t number = bp_listen(sum, &told);
	CHECK(number != 0);
	for (int i = 0; i < 20000; i++) {
		const size_t size = random_between(&random, 0, i % 100 == 0 ? 200000 : 600);
		errno = 5;
		void *object = i % 3 == 0 ? calloc(1, size) : malloc(size);
		CHECK(errno == 5);
		bytes += size;
		objects++;
		if (i % 7 == 0) {
			object = realloc(object, size + 100);
			bytes += size + 100;
			objects++;
		}
		KEEP(object);
		free(object);
		CHECK(errno == 5);
	}
	CHECK(bp_unlisten(number));
	free(malloc(10));
	print("sums", bytes, objects);
}

/* ---- storm ---- */

static bool over;
static void *shared[256];

/* May be called from any thread, and allocates. */
static void storm_listener(const struct bp_event *event, void *context)
{
	void *object = malloc(event->what == BP_EVENT_SAMPLED ? 100 : 3000);
	KEEP(object);
	CHECK(context == &told);
	if (event->what == BP_EVENT_SAMPLED)
		__atomic_add_fetch(&told.sampled, 1, __ATOMIC_RELAXED);
	else
		__atomic_add_fetch(&told.freed, 1, __ATOMIC_RELAXED);
	free(object);
}

static void *allocating_thread(void *argument)
{
	uint64_t random = (uint64_t)(intptr_t)argument + 17;
	for (int i = 0; i < 40000; i++) {
		void *object = malloc(random_between(&random, 1, i % 50 == 0 ? 100000 : 500));
		KEEP(object);
		free(__atomic_exchange_n(
			&shared[next_random(&random) % 256], object, __ATOMIC_SEQ_CST));
	}
	return NULL;
}

struct guest {
	uint64_t alive;
};

static void guest_listener(const struct bp_event *event, void *context)
{
	struct guest *guest = context;
	(void)event;
	CHECK(__atomic_load_n(&guest->alive, __ATOMIC_SEQ_CST) == 0xA11FE);
}

/* Listens, and listens no more, over and over. */
static void *coming_thread(void *argument)
{
	uint64_t turns = 0;
	while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
		struct guest guest = { 0xA11FE };
		const uint32_t number = bp_listen(guest_listener, &guest);
		CHECK(number != 0);
		for (int i = 0; i < 20; i++)
			sched_yield();
		while (!bp_unlisten(number))
			sched_yield();
		/* Asked again: true, but for the moment in which a thread looks whether it is still
		 * there. */
		while (!bp_unlisten(number))
			sched_yield();
		__atomic_store_n(&guest.alive, 0, __ATOMIC_SEQ_CST);
		turns++;
	}
	*(uint64_t *)argument = turns;
	return NULL;
}

static void storm(void)
{
	pthread_t threads[THREADS], coming[2];
	uint64_t turns[2];
	const uint32_t number = bp_listen(storm_listener, &told);
	CHECK(number != 0);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_create(&coming[i], NULL, coming_thread, &turns[i]) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, allocating_thread, (void *)(intptr_t)i) ==
			0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	__atomic_store_n(&over, true, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++)
		CHECK(pthread_join(coming[i], NULL) == 0);
	CHECK(turns[0] + turns[1] > 0); /* one of them may have had no processor meanwhile */
	while (!bp_unlisten(number))
		sched_yield();
	print("storm", 0, 0);
}

/* ---- leaving ---- */

static jmp_buf home;

static void leaving_listener(const struct bp_event *event, void *context)
{
	(void)context;
	if (event->what == BP_EVENT_SAMPLED && ++told.sampled == 3)
		longjmp(home, 1);
}

static void leaving(void)
{
	volatile uint64_t objects = 0;
	const uint32_t number = bp_listen(leaving_listener, NULL);
	if (setjmp(home) == 0)
		for (;; objects = objects + 1) {
			void *object = malloc(100);
			KEEP(object);
			free(object);
		}
	for (int i = 0; i < 1000; i++) {
		void *object = malloc(100);
		KEEP(object);
		free(object);
	}
	CHECK(!bp_unlisten(number) && !bp_unlisten(number));
	print("leaving", 0, objects);
}

static void forked(void)
{
	int child_status;
	const uint32_t number = bp_listen(sum, &told);
	void *kept = malloc(4000);
	KEEP(kept);
	pthread_mutex_lock(&lock);
	const pid_t child = fork();
	memset(&told, 0, sizeof told);
	free(kept);
	kept = malloc(5000);
	KEEP(kept);
	CHECK(told.freed == 1 && told.sampled == 1 && told.wrong == 0);
	CHECK(bp_unlisten(number));
	if (child == 0)
		_exit(0);
	pthread_mutex_unlock(&lock);
	CHECK(waitpid(child, &child_status, 0) == child && child_status == 0);
	print("forked", 9000, 2);
}

static void places(void)
{
	uint32_t numbers[BP_LISTENERS_MAX];
	CHECK(bp_listen(NULL, NULL) == 0);
	for (int i = 0; i < BP_LISTENERS_MAX; i++)
		CHECK((numbers[i] = bp_listen(sum, &told)) != 0);
	CHECK(bp_listen(sum, &told) == 0);
	CHECK(bp_unlisten(numbers[3]));
	const uint32_t again = bp_listen(sum, &told);
	CHECK(again != 0 && again != numbers[3]);
	CHECK(bp_unlisten(numbers[3])); /* long gone; the new one stays */
	CHECK(status().listeners == BP_LISTENERS_MAX);
	void *object = malloc(64);
	KEEP(object);
	CHECK(told.sampled == BP_LISTENERS_MAX);
	free(object);
	numbers[3] = again;
	for (int i = 0; i < BP_LISTENERS_MAX; i++)
		CHECK(bp_unlisten(numbers[i]));
	CHECK(bp_unlisten(0) && status().listeners == 0);
	print("places", 64, 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = { { "sums", sums }, { "storm", storm }, { "leaving", leaving },
		{ "forked", forked }, { "places", places } };
	CHECK(argc == 2);
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strcmp(argv[1], parts[i].name) == 0) {
			parts[i].run();
			return 0;
		}
	return 2;
}
