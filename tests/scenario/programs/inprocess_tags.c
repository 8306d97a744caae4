/* SPDX-License-Identifier: MIT */
/*
 * Tags (bytepoll/bytepoll.h): prints what was allocated under which, as lines
 *
 *	KEY <tab> VALUE <tab> bytes <tab> objects <tab> live bytes
 *
 * where VALUE `-` stands for allocations without that key. With `many N`: N different sets, one
 * object of 100 bytes each. With `bad`: keys and values that are refused. With `storm`: threads
 * that change their tags and hand them on; every object has a tag that says which thread made it.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>

#include "bytepoll/bytepoll.h"

#include "check.h"

#define KEYS_MAX 3

static struct line {
	const char *key, *value;
	uint64_t bytes, objects, live;
} lines[64];
static int line_count;

static void count(const char *key, const char *value, size_t size, bool live)
{
	int i = 0;
	while (i < line_count &&
		(strcmp(lines[i].key, key) != 0 || strcmp(lines[i].value, value) != 0))
		i++;
	CHECK(i < 64);
	if (i == line_count)
		lines[line_count++] = (struct line){ .key = key, .value = value };
	lines[i].bytes += size;
	lines[i].objects++;
	lines[i].live += live ? size : 0;
}

/* Some objects, while the thread has these tags ("-": none of that key). */
static void work(const char *tenant, const char *phase, int objects, bool keep)
{
	for (int i = 0; i < objects; i++) {
		const size_t size = 20 + (size_t)i % 90;
		void *object = malloc(size);
		KEEP(object);
		count("tenant", tenant, size, keep);
		count("phase", phase, size, keep);
		if (!keep)
			free(object);
	}
}

#define TWO_SCOPES                      \
	BP_TAG_SCOPE("phase", "first"); \
	BP_TAG_SCOPE("phase", "second")

static void scopes(void)
{
	for (int i = 0; i < 3; i++) {
		BP_TAG_SCOPE("phase", i == 1 ? "parse" : "load");
		work("41", i == 1 ? "parse" : "load", 100, true);
		if (i == 2)
			break;
	}
	work("41", "-", 10, false);
	/* Both on the line of the macro. */
	TWO_SCOPES;
	work("41", "second", 20, true);
}

static void *thread_of_its_own(void *argument)
{
	CHECK(bp_tags_get() == 0);
	work("-", "-", 70, false);
	bp_tags_put(*(uint32_t *)argument);
	work("handed", "-", 80, true);
	return NULL;
}

static void ordinary(void)
{
	uint32_t outer, inner, handed;
	pthread_t thread;
	int status;
	work("-", "-", 50, true);
	CHECK(bp_tag_push("tenant", "41", &outer) && outer == 0);
	scopes();
	CHECK(bp_tag_push("tenant", "42", &inner) && inner != 0);
	work("42", "-", 200, false);
	CHECK(bp_tag_set("phase", "save") && bp_tag_set("phase", "load"));
	work("42", "load", 30, true);
	/* Taken away, and an empty value is another thing. */
	CHECK(bp_tag_set("phase", NULL) && bp_tag_set("phase", NULL));
	work("42", "-", 5, true);
	CHECK(bp_tag_set("phase", ""));
	work("42", "", 6, true);
	bp_tag_pop(inner);
	work("41", "-", 40, true);
	bp_tag_pop(outer);
	CHECK(bp_tags_get() == 0);
	CHECK(bp_tag_set("tenant", "handed"));
	handed = bp_tags_get();
	bp_tags_put(0);
	/* What pthread_create makes is this thread's, which has no tags. */
	CHECK(pthread_create(&thread, NULL, thread_of_its_own, &handed) == 0);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(bp_tag_set("tenant", "parent"));
	const pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 25; i++)
			free(malloc(77));
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	bp_tags_put(0);
}

static void many(int sets)
{
	char value[32];
	for (int i = 0; i < sets; i++) {
		snprintf(value, sizeof value, "v%d", i);
		CHECK(bp_tag_set("request", value));
		void *object = malloc(100);
		KEEP(object);
	}
}

static void bad(void)
{
	char long_key[102], long_value[402];
	memset(long_key, 'k', sizeof long_key - 1);
	memset(long_value, 'v', sizeof long_value - 1);
	long_key[101] = long_value[401] = '\0';
	CHECK(!bp_tag_set("", "x") && !bp_tag_set("a=b", "x") && !bp_tag_set("a\nb", "x"));
	CHECK(!bp_tag_set(NULL, "x") && !bp_tag_set("a", "x\ny"));
	CHECK(!bp_tag_set(long_key, "x") && !bp_tag_set("a", long_value));
	CHECK(bp_tags_get() == 0);
	CHECK(bp_tag_set(long_key + 1, long_value + 1));
	CHECK(bp_tag_set("b", long_value + 1) && !bp_tag_set("c", long_value + 1));
	CHECK(bp_tag_set(long_key + 1, NULL) && bp_tag_set("\xff\x1b[31m", "\x07\xfe<b>"));
	free(malloc(100));
	/* Numbers of no set. */
	bp_tags_put(123456);
	free(malloc(100));
	bp_tags_put(0);
}

#define THREADS 4

static void *storm_thread(void *argument)
{
	char name[16], value[32];
	snprintf(name, sizeof name, "t%d", (int)(intptr_t)argument);
	CHECK(bp_tag_set("who", name));
	for (int i = 0; i < 5000; i++) {
		uint32_t before;
		snprintf(value, sizeof value, "%d", i % 100);
		CHECK(bp_tag_push("step", value, &before));
		void *object = malloc(64);
		KEEP(object);
		bp_tag_pop(before);
		if (i % 2 == 0)
			free(object);
	}
	return NULL;
}

static void storm(void)
{
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, storm_thread, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "many") == 0)
		many(atoi(argv[2]));
	else if (argc == 2 && strcmp(argv[1], "bad") == 0)
		bad();
	else if (argc == 2 && strcmp(argv[1], "storm") == 0)
		storm();
	else
		ordinary();
	for (int i = 0; i < line_count; i++)
		dprintf(1, "%s\t%s\t%llu\t%llu\t%llu\n", lines[i].key, lines[i].value,
			(unsigned long long)lines[i].bytes, (unsigned long long)lines[i].objects,
			(unsigned long long)lines[i].live);
	return 0;
}
