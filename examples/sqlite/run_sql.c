/* SPDX-License-Identifier: MIT */
/*
 * Runs SQL from a file in databases in memory, one for each of THREADS threads, with SQLite's
 * memory sampled; prints what SQLite itself and an allocator below the sampled one counted, as
 * JSON. The trace ends while the databases are open: what is live then is what SQLite says it uses.
 *
 * Usage: run_sql TRACE INTERVAL SEED FILE [THREADS]
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampled_memory.h"

#define THREADS_MAX 16

/* What is counted below the wrapper. */
static struct {
	uint64_t bytes, objects, live_bytes;
} counted;
static sqlite3_mem_methods system_memory;

static void *counting_malloc(int size)
{
	void *object = system_memory.xMalloc(size);
	if (object == NULL)
		return NULL;
	__atomic_fetch_add(&counted.bytes, (uint64_t)size, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counted.objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(
		&counted.live_bytes, (uint64_t)system_memory.xSize(object), __ATOMIC_RELAXED);
	return object;
}

static void counting_free(void *object)
{
	__atomic_fetch_sub(
		&counted.live_bytes, (uint64_t)system_memory.xSize(object), __ATOMIC_RELAXED);
	system_memory.xFree(object);
}

static void *counting_realloc(void *object, int size)
{
	const uint64_t before = (uint64_t)system_memory.xSize(object);
	object = system_memory.xRealloc(object, size);
	if (object == NULL)
		return NULL;
	__atomic_fetch_sub(&counted.live_bytes, before, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counted.bytes, (uint64_t)size, __ATOMIC_RELAXED);
	__atomic_fetch_add(&counted.objects, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(
		&counted.live_bytes, (uint64_t)system_memory.xSize(object), __ATOMIC_RELAXED);
	return object;
}

static bool count_below(void)
{
	sqlite3_mem_methods counting;
	if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &system_memory) != SQLITE_OK)
		return false;
	counting = system_memory;
	counting.xMalloc = counting_malloc;
	counting.xFree = counting_free;
	counting.xRealloc = counting_realloc;
	return sqlite3_config(SQLITE_CONFIG_MALLOC, &counting) == SQLITE_OK;
}

struct job {
	pthread_t thread;
	sqlite3 *base;
	const char *file, *sql;
	bool failed;
};

/* Runs one statement after the other; each is known by the line it begins on. */
static bool run(struct job *job)
{
	const char *at = job->sql;
	uint32_t line = 1;
	for (;;) {
		sqlite3_stmt *statement = NULL;
		const char *next = NULL;
		for (; *at == ' ' || *at == '\n' || *at == '\t'; at++)
			line += *at == '\n';
		if (*at == '\0')
			break;
		sampled_memory_statement(at, job->file, line);
		if (sqlite3_prepare_v2(job->base, at, -1, &statement, &next) != SQLITE_OK)
			return false;
		int step = SQLITE_DONE;
		while (statement != NULL && (step = sqlite3_step(statement)) == SQLITE_ROW)
			;
		sqlite3_finalize(statement);
		if (step != SQLITE_DONE)
			return false;
		for (; at < next; at++)
			line += *at == '\n';
	}
	sampled_memory_statement(NULL, "", 0);
	return true;
}

static void *work(void *from)
{
	struct job *job = from;
	job->failed = sqlite3_open(":memory:", &job->base) != SQLITE_OK || !run(job);
	if (job->failed)
		fprintf(stderr, "run_sql: %s: %s\n", job->file, sqlite3_errmsg(job->base));
	return NULL;
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t room = 0;
	if (file == NULL || getdelim(&text, &room, '\0', file) < 0) {
		perror(path);
		exit(1);
	}
	fclose(file);
	return text;
}

static void print_truth(void)
{
	int count = 0, most = 0;
	sqlite3_status(SQLITE_STATUS_MALLOC_COUNT, &count, &most, 0);
	printf("{\"memory_used\": %lld, \"memory_highwater\": %lld, \"malloc_count\": %d, "
	       "\"live_bytes\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"objects\": %" PRIu64 "}\n",
		(long long)sqlite3_memory_used(), (long long)sqlite3_memory_highwater(0), count,
		counted.live_bytes, counted.bytes, counted.objects);
}

int main(int argc, char **argv)
{
	struct job jobs[THREADS_MAX] = { 0 };
	if (argc < 5) {
		fprintf(stderr, "usage: run_sql TRACE INTERVAL SEED FILE [THREADS]\n");
		return 2;
	}
	const int threads = argc > 5 ? atoi(argv[5]) : 1;
	char *sql = read_file(argv[4]);
	const struct bp_host_options options = { .path = argv[1],
		.interval = strtoull(argv[2], NULL, 10),
		.seed = strtoull(argv[3], NULL, 10),
		.seed_given = true };
	if (!count_below() || !sampled_memory_start(&options)) {
		fprintf(stderr, "run_sql: SQLite takes no other memory\n");
		return 1;
	}
	for (int i = 0; i < threads && i < THREADS_MAX; i++) {
		jobs[i].file = argv[4];
		jobs[i].sql = sql;
		pthread_create(&jobs[i].thread, NULL, work, &jobs[i]);
	}
	bool failed = false;
	for (int i = 0; i < threads && i < THREADS_MAX; i++) {
		pthread_join(jobs[i].thread, NULL);
		failed = failed || jobs[i].failed;
	}
	print_truth();
	sampled_memory_stop();
	for (int i = 0; i < threads && i < THREADS_MAX; i++)
		sqlite3_close(jobs[i].base);
	free(sql);
	return failed;
}
