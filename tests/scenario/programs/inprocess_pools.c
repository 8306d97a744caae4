/* SPDX-License-Identifier: MIT */
/*
 * The arena of inprocess_pools.h, told by bytepoll/annotate.h. With `threads`: four threads make
 * and free objects of one pool, each other's too, while pools are made and destroyed; every object
 * ends.
 */
#include "bytepoll/annotate.h"

#define TELL_CREATE(arena, name) bp_pool_create(arena, name)
#define TELL_ALLOC(arena, object, size) bp_pool_alloc(arena, object, size)
#define TELL_FREE(arena, object) bp_pool_free(arena, object)
#define TELL_TRIM(arena, keep, bytes) bp_pool_trim(arena, keep, bytes)
#define TELL_DESTROY(arena) bp_pool_destroy(arena)
#define TELL_CHUNK_BEGIN               \
	struct bp_uncounted uncounted; \
	bp_uncounted_begin(&uncounted);
#define TELL_CHUNK_END bp_uncounted_end(&uncounted);

#include "inprocess_pools.h"

#include <pthread.h>

#define THREADS 4
#define PLACES 512

/* Memory that is cut up; an address is one object at a time. */
static char common[PLACES][1024];
static char *shared[PLACES];

static void *storm_thread(void *argument)
{
	const uint64_t who = (uint64_t)(intptr_t)argument;
	uint64_t random = who + 1;
	char own[64];
	for (int i = 0; i < 30000; i++) {
		/* Who takes a place has its object to itself. */
		const size_t at = next_random(&random) % PLACES;
		char *place = __atomic_exchange_n(&shared[at], NULL, __ATOMIC_SEQ_CST);
		if (place != NULL) {
			bp_pool_free(common, place);
			bp_pool_alloc(common, place, random_between(&random, 0, 1024));
			if (i % 5 == 0)
				bp_pool_resize(
					common, place, place, random_between(&random, 0, 1024));
			__atomic_store_n(&shared[at], place, __ATOMIC_SEQ_CST);
		}
		if (i % 16 == 0) {
			bp_pool_create(own, "short-lived");
			for (int k = 0; k < 64; k++)
				bp_pool_alloc(own, own + k, 100);
			if (i % 32 == 0)
				bp_pool_move(own, &random);
			bp_pool_destroy(i % 32 == 0 ? (const void *)&random : own);
		}
		free(malloc(100));
	}
	return NULL;
}

static void storm(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < PLACES; i++) {
		shared[i] = common[i];
		bp_pool_alloc(common, common[i], 8);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, storm_thread, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	bp_pool_destroy(common);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "threads") == 0)
		storm();
	else
		work();
	return 0;
}
