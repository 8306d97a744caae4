/* SPDX-License-Identifier: MIT */
/*
 * Children made while other threads change tags, pools and windows, by fork and (behind everybody's
 * back) by _Fork: each child calls all of bytepoll/bytepoll.h and annotate.h and must come to its
 * end; which it says by its status. The parent's tags and listeners are the child's.
 */
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "bytepoll/annotate.h"
#include "bytepoll/bytepoll.h"

#include "check.h"

#define THREADS 3
#define CHILDREN 60

static bool over;
static char objects[THREADS + 1][64];

static void *changing_thread(void *argument)
{
	const int who = (int)(intptr_t)argument;
	char value[32];
	for (int i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
		struct bp_window_token token;
		struct bp_window_profile profile;
		uint32_t before;
		snprintf(value, sizeof value, "%d.%d", who, i % 2000);
		CHECK(bp_tag_push("step", value, &before));
		for (int k = 0; k < 8; k++) {
			free(malloc(100));
			bp_pool_alloc(objects[who], &objects[who][k], 50);
		}
		bp_pool_create(objects[who], value);
		bp_pool_destroy(objects[who]);
		if (i % 16 == 0)
			CHECK(bp_window_start(&token, 0) && bp_window_stop(&token, &profile));
		bp_tag_pop(before);
	}
	return NULL;
}

static uint64_t events;

static void listener(const struct bp_event *event, void *context)
{
	(void)event, (void)context;
	__atomic_add_fetch(&events, 1, __ATOMIC_RELAXED);
}

static void be_a_child(uint32_t tags, uint32_t number)
{
	struct bp_window_token token;
	struct bp_window_profile profile;
	struct bp_status status;
	uint32_t before;
	alarm(30); /* a lock that nobody lets go */
	CHECK(bp_tags_get() == tags);
	CHECK(bp_window_start(&token, 0));
	CHECK(bp_tag_push("step", "child", &before) && before == tags);
	const uint64_t events_before = events;
	for (int i = 0; i < 10; i++) {
		bp_pool_alloc(objects[THREADS], &objects[THREADS][i], 100);
		void *object = malloc(100);
		KEEP(object);
		free(object);
	}
	bp_pool_create(objects[THREADS], "a child's");
	bp_pool_destroy(objects[THREADS]);
	CHECK(bp_window_stop(&token, &profile));
	CHECK(profile.objects_low == 20 && profile.objects_high == 20 && profile.samples == 20);
	CHECK(events == events_before + 40);
	CHECK(bp_status_get(&status) && status.profiled && status.threads == 1);
	CHECK(bp_unlisten(number));
	_exit(0);
}

int main(void)
{
	pthread_t threads[THREADS];
	uint32_t before;
	const uint32_t number = bp_listen(listener, NULL);
	CHECK(number != 0 && bp_tag_push("of", "the parent", &before));
	const uint32_t tags = bp_tags_get();
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, changing_thread, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < CHILDREN; i++) {
		int status;
		const pid_t child = i % 2 == 0 ? fork() : _Fork();
		if (child == 0)
			be_a_child(tags, number);
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		CHECK(status == 0);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	CHECK(bp_tags_get() == tags);
	return 0;
}
