/* SPDX-License-Identifier: MIT */
/*
 * Windows over a program that counts for itself (bytepoll/bytepoll.h). One line of JSON for each
 * window: its name, what the recorder said of it, and in `truth_` what the program allocated in it:
 * exactly where nobody else ran, else within the limits that its own counters give.
 *
 *	alone      windows one in another and overlapping, of one thread
 *	busy       four threads allocate while each has windows of its own
 *	crossed    windows that one thread starts and another stops
 *	forked     a window of the parent is none of the child's; the child has its own
 *	wanting    sampling is off; a window switches it on for itself
 *	abused     tokens of no window, flags that there are not
 *
 * Argument: which, or `absent`, to be run without the recorder.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "bytepoll/bytepoll.h"

#include "check.h"

#define THREADS 4
#define SITE __attribute__((noinline))

/* What each thread has asked for, and what it has got. */
static struct count {
	uint64_t asked_bytes, asked_objects, got_bytes, got_objects;
} __attribute__((aligned(64))) counts[THREADS + 1];

static void add(uint64_t *to, uint64_t what)
{
	__atomic_store_n(to, *to + what, __ATOMIC_SEQ_CST);
}

SITE static void *allocate(int who, size_t size)
{
	struct count *count = &counts[who];
	add(&count->asked_bytes, size);
	add(&count->asked_objects, 1);
	void *object = malloc(size);
	KEEP(object);
	add(&count->got_bytes, size);
	add(&count->got_objects, 1);
	return object;
}

static void churn(int who, int objects, uint64_t *random)
{
	for (int i = 0; i < objects; i++)
		free(allocate(who, random_between(random, 0, i % 64 == 0 ? 70000 : 400)));
}

static struct count sum(void)
{
	struct count all = { 0 };
	for (int i = 0; i <= THREADS; i++) {
		all.got_bytes += __atomic_load_n(&counts[i].got_bytes, __ATOMIC_SEQ_CST);
		all.got_objects += __atomic_load_n(&counts[i].got_objects, __ATOMIC_SEQ_CST);
		all.asked_bytes += __atomic_load_n(&counts[i].asked_bytes, __ATOMIC_SEQ_CST);
		all.asked_objects += __atomic_load_n(&counts[i].asked_objects, __ATOMIC_SEQ_CST);
	}
	return all;
}

/* A window with the program's own counters around its two moments. */
struct window {
	struct bp_window_token token;
	struct count before, begun;
};

static void begin(struct window *window, uint32_t flags)
{
	window->before = sum();
	CHECK(bp_window_start(&window->token, flags));
	window->begun = sum();
}

/* One write, so that lines of threads and children stay whole. */
static void print(const char *name, const struct window *window, const struct count *ending,
	const struct count *ended, const struct bp_window_profile *profile)
{
	char line[8192];
	const int length = snprintf(line, sizeof line,
		"{\"name\": \"%s\", \"pid\": %d, \"path\": \"%s\", \"from_ns\": %llu, \"to_ns\": "
		"%llu, \"from_sequence\": %llu, \"to_sequence\": %llu, \"samples\": %llu, "
		"\"bytes\": [%llu, %llu], \"objects\": [%llu, %llu], \"interval\": %llu, "
		"\"changed\": %d, \"unread\": %u, \"truth_bytes\": [%lld, %lld], "
		"\"truth_objects\": [%lld, %lld]}\n",
		name, (int)getpid(), profile->path, (unsigned long long)profile->from_ns,
		(unsigned long long)profile->to_ns, (unsigned long long)profile->from_sequence,
		(unsigned long long)profile->to_sequence, (unsigned long long)profile->samples,
		(unsigned long long)profile->bytes_low, (unsigned long long)profile->bytes_high,
		(unsigned long long)profile->objects_low, (unsigned long long)profile->objects_high,
		(unsigned long long)profile->interval, profile->changed, profile->threads_unread,
		(long long)(ending->got_bytes - window->begun.asked_bytes),
		(long long)(ended->asked_bytes - window->before.got_bytes),
		(long long)(ending->got_objects - window->begun.asked_objects),
		(long long)(ended->asked_objects - window->before.got_objects));
	CHECK(write(1, line, (size_t)length) == length);
}

static void end(const char *name, struct window *window)
{
	struct bp_window_profile profile;
	const struct count ending = sum();
	CHECK(bp_window_stop(&window->token, &profile));
	const struct count ended = sum();
	print(name, window, &ending, &ended, &profile);
}

static void alone(void)
{
	struct window outer, inner, late, empty;
	uint64_t random = 7;
	churn(0, 500, &random);
	begin(&outer, 0);
	churn(0, 1000, &random);
	begin(&inner, 0);
	churn(0, 300, &random);
	begin(&late, 0);
	churn(0, 200, &random);
	end("inner", &inner);
	begin(&empty, BP_WINDOW_BRIEF);
	end("empty", &empty);
	churn(0, 700, &random);
	end("outer", &outer);
	churn(0, 900, &random);
	end("late", &late);
	churn(0, 100, &random);
	end("late again", &late);
}

/* Until all threads are there: the C library allocates for each. */
static pthread_barrier_t begun;

static void *busy_thread(void *argument)
{
	const int who = (int)(intptr_t)argument;
	uint64_t random = (uint64_t)who + 100;
	char name[32];
	(void)pthread_barrier_wait(&begun);
	for (int round = 0; round < 6; round++) {
		struct window first, second;
		begin(&first, 0);
		churn(who, 2000, &random);
		begin(&second, round % 2 == 0 ? BP_WINDOW_BRIEF : 0);
		churn(who, 2000, &random);
		snprintf(name, sizeof name, "busy %d first %d", who, round);
		end(name, &first);
		churn(who, 1000, &random);
		snprintf(name, sizeof name, "busy %d second %d", who, round);
		end(name, &second);
	}
	return NULL;
}

static void busy(void)
{
	pthread_t threads[THREADS];
	CHECK(pthread_barrier_init(&begun, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, busy_thread, (void *)(intptr_t)(i + 1)) ==
			0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

static struct window handed;

static void *stopping_thread(void *argument)
{
	uint64_t random = 5;
	(void)argument;
	churn(1, 500, &random);
	end("handed", &handed);
	return NULL;
}

static void crossed(void)
{
	pthread_t thread;
	uint64_t random = 3;
	begin(&handed, 0);
	churn(0, 400, &random);
	/* pthread_create allocates for the thread: the limits of this window are the C library's,
	 * too. */
	CHECK(pthread_create(&thread, NULL, stopping_thread, NULL) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void forked(void)
{
	struct window window, own;
	struct bp_window_profile profile;
	uint64_t random = 9;
	int status;
	begin(&window, 0);
	churn(0, 100, &random);
	const pid_t child = fork();
	if (child == 0) {
		CHECK(!bp_window_stop(&window.token, &profile));
		begin(&own, 0);
		churn(0, 200, &random);
		end("child", &own);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	churn(0, 50, &random);
	end("parent", &window);
}

static bool is_sampling(void)
{
	struct bp_status status;
	CHECK(bp_status_get(&status));
	return status.sampling;
}

static void wanting(void)
{
	struct window off, first, second;
	uint64_t random = 11;
	CHECK(bp_stop() && !bp_stop() && !is_sampling());
	begin(&off, 0);
	churn(0, 1000, &random);
	end("off", &off);
	begin(&first, BP_WINDOW_SAMPLE);
	CHECK(is_sampling());
	churn(0, 1000, &random);
	begin(&second, BP_WINDOW_SAMPLE);
	end("first", &first);
	CHECK(is_sampling());
	churn(0, 500, &random);
	end("second", &second);
	CHECK(!is_sampling());
	/* Stopped once more it takes nothing back again. */
	begin(&first, BP_WINDOW_SAMPLE);
	end("third", &second);
	CHECK(is_sampling());
	CHECK(!bp_start());
	end("fourth", &first);
	CHECK(!is_sampling());
	CHECK(bp_start() && !bp_start());
	begin(&first, BP_WINDOW_SAMPLE);
	end("on", &first);
	CHECK(is_sampling());
}

static void abused(void)
{
	struct bp_window_token token;
	struct bp_window_profile profile;
	memset(&token, 0xA5, sizeof token);
	CHECK(!bp_window_stop(&token, &profile));
	CHECK(!bp_window_start(&token, 4));
	CHECK(!bp_window_stop(&token, &profile));
	CHECK(!bp_interval(0) && !bp_interval(UINT64_MAX));
}

static void absent(void)
{
	struct bp_window_token token;
	struct bp_window_profile profile;
	struct bp_snapshot snapshot;
	struct bp_status status;
	uint32_t before = 7;
	CHECK(!bp_status_get(&status) && !bp_start() && !bp_stop() && !bp_interval(4096));
	CHECK(!bp_snapshot_take(&snapshot) && !bp_window_start(&token, 0));
	CHECK(!bp_window_stop(&token, &profile));
	CHECK(!bp_tag_set("key", "value") && !bp_tag_push("key", "value", &before) && before == 0);
	bp_tag_pop(before);
	CHECK(bp_tags_get() == 0 && bp_listen(NULL, NULL) == 0 && bp_unlisten(1));
	BP_TAG_SCOPE("key", "value");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} parts[] = { { "alone", alone }, { "busy", busy }, { "crossed", crossed },
		{ "forked", forked }, { "wanting", wanting }, { "abused", abused },
		{ "absent", absent } };
	CHECK(argc == 2);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strcmp(argv[1], parts[i].name) == 0) {
			parts[i].run();
			return 0;
		}
	return 2;
}
