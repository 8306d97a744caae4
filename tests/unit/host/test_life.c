/* SPDX-License-Identifier: MIT */
/*
 * The life of a host: its file, its threads and their totals, intervals, the end, a kill, a fork, a
 * file that cannot grow, many threads at a time.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host_trace.h"

static const void *at(uint64_t object)
{
	return (const void *)object;
}

static void the_file(void **state)
{
	(void)state;
	struct stat status;
	struct bp_host *host = host_open("file", 4096);
	assert_non_null(host);
	assert_string_equal(bp_host_path(host), host_path("file"));
	assert_int_equal(stat(host_path("file"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	/* It is never replaced, by a second host neither. */
	struct bp_host_options options = { .name = "x", .path = host_path("file"), .interval = 1 };
	assert_null(bp_host_open(&options));
	assert_int_equal(errno, EEXIST);
	bp_host_close(host);
	assert_null(bp_host_open(&options));
	assert_int_equal(errno, EEXIST);
	/* The tail that was mapped ahead is cut. */
	assert_int_equal(stat(host_path("file"), &status), 0);
	assert_true(status.st_size <= 2 * (off_t)BP_CHUNK_BYTES);
	const struct host_trace *trace = host_read("file", true);
	assert_true(trace->state.state == 1 && trace->totals.exact);
	/* What makes no sense is refused. */
	options.path = "/proc/self/missing/x.bpt"; /* Nobody can make that folder. */
	assert_null(bp_host_open(&options));
	assert_int_equal(errno, ENOENT);
	options.law = 7;
	assert_null(bp_host_open(&options));
	assert_int_equal(errno, EINVAL);
	options = (struct bp_host_options){ .path = "x" };
	assert_null(bp_host_open(&options));
	assert_int_equal(errno, EINVAL);
}

static void names_of_files(void **state)
{
	(void)state;
	char folder[] = "/tmp/bytepoll-host-XXXXXX", expected[300], path[5000];
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/a%%pb%%%%c%%d.bpt", folder);
	setenv("BYTEPOLL_HOST_OUTPUT", path, 1);
	struct bp_host *host =
		bp_host_open(&(struct bp_host_options){ .name = "x", .interval = 9 });
	snprintf(expected, sizeof expected, "%s/a%ldb%%c%%d.bpt", folder, (long)getpid());
	assert_string_equal(bp_host_path(host), expected);
	bp_host_close(host);
	unlink(expected);
	unsetenv("BYTEPOLL_HOST_OUTPUT");
	char *before = getcwd(NULL, 0);
	assert_int_equal(chdir(folder), 0);
	host = bp_host_open(&(struct bp_host_options){ .name = "x", .interval = 9 });
	snprintf(expected, sizeof expected, "bytepoll.%ld.bpt", (long)getpid());
	assert_string_equal(bp_host_path(host), expected);
	bp_host_close(host);
	unlink(expected);
	assert_int_equal(chdir(before), 0);
	free(before);
	rmdir(folder);
	memset(path, 'a', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	assert_null(bp_host_open(&(struct bp_host_options){ .name = "x", .path = path }));
	assert_int_equal(errno, ENAMETOOLONG);
}

static void threads_and_totals(void **state)
{
	(void)state;
	enum { COUNT = 3000 }; /* more than the slots of the first chunk, and the next */
	struct bp_host *host = host_open("threads", 4096);
	for (uint32_t i = 1; i <= COUNT; i++)
		assert_int_equal(bp_host_thread(host, i % 2 == 0 ? "even" : ""), i);
	for (uint32_t i = 1; i <= COUNT; i++) {
		bp_host_counted(host, i, 1000 + i, 10);
		bp_host_counted(host, i, 5, 20);   /* trials never go back */
		bp_host_counted(host, i, 2000, 0); /* nor do objects */
	}
	bp_host_thread_end(host, 7, 3000, 21);
	bp_host_thread_end(host, 7, 2999, 20); /* it has ended */
	bp_host_counted(host, 7, 5, 5);
	bp_host_counted(host, 0, 0, 0);
	/* An event tells counters, too. */
	assert_true(host_sample(host, 4096, 4999, 8));
	bp_host_freed(host, at(4096), 9, 6000, 30);
	for (uint32_t i = 1; i <= COUNT; i++)
		bp_host_thread_end(host, i, 6000, i == 9 ? 30 : i == 7 ? 21 : 20);
	bp_host_close(host);
	const struct host_trace *trace = host_read("threads", true);
	assert_true(trace->totals.exact);
	/* Thread 7 went on. */
	assert_int_equal(trace->totals.trials_low, 6000 * COUNT);
	assert_int_equal(trace->totals.objects_low, 20 * COUNT + 1 + 10);
	assert_int_equal(trace->begins, COUNT);
	assert_int_equal(trace->ends, COUNT + 1);
	assert_int_equal(trace->open_threads, 0);
}

/* Threads that did not tell their end, whatever they told last: totals have a lower limit only. */
static void threads_that_wait(void **state)
{
	(void)state;
	struct bp_host *host = host_open("wait", 4096);
	for (uint32_t i = 1; i <= 4; i++)
		assert_int_equal(bp_host_thread(host, ""), i);
	bp_host_thread_end(host, 1, 1000, 10);
	bp_host_counted(host, 2, 2000, 20);
	assert_true(host_sample(host, 4096, 2999, 3));
	bp_host_thread_end(host, 4, 4000, 40);
	bp_host_counted(host, 4, 4001, 41); /* it went on */
	bp_host_close(host);
	const struct host_trace *trace = host_read("wait", true);
	assert_int_equal(trace->state.state, 1);
	assert_int_equal(trace->state.open_threads, 3);
	assert_false(trace->totals.exact);
	assert_int_equal(trace->totals.trials_low, 1000 + 2000 + 3000 + 4001);
	assert_int_equal(trace->totals.objects_low, 10 + 20 + 1 + 41);
	assert_true(trace->totals.trials_high - trace->totals.trials_low >= BP_ARMED_WITHOUT_LIMIT);
	assert_true(trace->totals.bytes_high - trace->totals.bytes_low >= BP_ARMED_WITHOUT_LIMIT);
	assert_int_equal(trace->open_threads, 3);
	/* An end below what was told before is none. */
	host = host_open("wait", 4096);
	assert_int_equal(bp_host_thread(host, ""), 1);
	bp_host_counted(host, 1, 2000, 20);
	bp_host_thread_end(host, 1, 3000, 19);
	bp_host_close(host);
	trace = host_read("wait", true);
	assert_int_equal(trace->state.open_threads, 1);
	assert_int_equal(trace->totals.trials_low, 3000);
	assert_false(trace->totals.exact);
}

/* Something is told of a thread that is not known. */
static void unknown_threads(void **state)
{
	(void)state;
	for (int how = 0; how < 6; how++) {
		struct bp_host *host = host_open("unknown", 4096);
		assert_int_equal(bp_host_thread(host, ""), 1);
		if (how < 2)
			assert_true(host_sample(host, 4096, 2999, how == 0 ? 0 : 2));
		else if (how == 2)
			bp_host_counted(host, 2, 100, 1);
		else if (how == 3)
			bp_host_interval(host, 2, 512, 100, 1);
		else if (how == 4)
			bp_host_thread_end(host, 2, 100, 1);
		else if (how == 5) {
			/* That nobody knows who freed says nothing of who allocated. */
			assert_true(host_sample(host, 4096, 999, 1));
			bp_host_freed(host, at(4096), 0, 100, 1);
		}
		bp_host_thread_end(host, 1, 1000, 10);
		bp_host_close(host);
		const struct host_trace *trace = host_read("unknown", true);
		assert_int_equal(trace->state.open_threads, 0);
		assert_int_equal(trace->totals.exact, how == 5);
		assert_true(how == 5 || trace->totals.bytes_high >= BP_ARMED_WITHOUT_LIMIT);
		assert_true(trace->totals.trials_low >= 1000);
	}
}

static void intervals(void **state)
{
	(void)state;
	unlink(host_path("intervals"));
	struct bp_host *host = bp_host_open(&(struct bp_host_options){ .name = "x",
		.path = host_path("intervals"),
		.interval = BP_SAMPLER_OFF,
		.charge = BP_SAMPLER_CHARGE });
	const uint32_t thread = bp_host_thread(host, "t");
	bp_host_interval(host, thread, 4096, 1100, 100);
	bp_host_interval(host, thread, BP_SAMPLER_OFF, 2200, 200);
	bp_host_interval(host, 0, 5, 5, 5);
	bp_host_thread_end(host, thread, 3300, 300);
	bp_host_close(host);
	const struct host_trace *trace = host_read("intervals", true);
	assert_int_equal(trace->interval_count, 2);
	assert_int_equal(trace->header.flags_skippable, BP_HEADER_DORMANT);
	assert_int_equal(trace->totals.on_bytes.low, 1000);
	assert_int_equal(trace->totals.on_bytes.high, 1000);
	assert_int_equal(trace->totals.off_bytes.low, 2000);
	assert_int_equal(trace->totals.off_objects.high, 200);
}

/* As bp_control_set_interval of the command line does it. */
static void ask_for(const char *path, uint64_t interval)
{
	const int file = open(path, O_RDWR);
	char *head = mmap(NULL, BP_CHUNK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(head != MAP_FAILED);
	struct bp_trace_state *page = (struct bp_trace_state *)(void *)(head + BP_STATE_OFFSET);
	const uint64_t number = (page->control >> BP_CONTROL_NUMBER_SHIFT) + 1;
	page->control = number << BP_CONTROL_NUMBER_SHIFT | interval;
	munmap(head, BP_CHUNK_BYTES);
	close(file);
}

static void following(void **state)
{
	(void)state;
	struct bp_sampler_hot hot = { 0 };
	struct bp_sampler sampler;
	uint64_t interval = 77;
	unlink(host_path("following"));
	struct bp_host_options options = { .name = "x",
		.path = host_path("following"),
		.interval = 65536,
		.dormant = true,
		.follows_control = true,
		.charge = BP_SAMPLER_CHARGE };
	struct bp_host *host = bp_host_open(&options);
	const uint32_t first = bp_host_thread(host, ""), second = bp_host_thread(host, "");
	bp_sampler_init(&sampler, 1, BP_SAMPLER_OFF, BP_SAMPLER_EXACT);
	assert_false(bp_host_follow(host, first, &sampler, &hot));
	ask_for(options.path, 4096);
	assert_true(bp_host_follow(host, first, &sampler, &hot));
	assert_int_equal(sampler.interval, 4096);
	assert_false(bp_host_follow(host, first, &sampler, &hot));
	/* The second thread finds two changes at once; the runtime's own leaves the word alone. */
	ask_for(options.path, BP_SAMPLER_OFF);
	assert_true(bp_host_interval_wanted(host, second, &interval));
	assert_int_equal(interval, BP_SAMPLER_OFF);
	bp_host_interval(host, second, interval, 1000, 10);
	bp_host_interval(host, second, 512, 2000, 20);
	assert_true(bp_host_follow(host, first, &sampler, &hot));
	assert_int_equal(sampler.interval, BP_SAMPLER_OFF);
	/* Neither a thread that is not known nor a T that is none. */
	assert_false(bp_host_interval_wanted(host, 3, &interval));
	ask_for(options.path, BP_INTERVAL_MAX + 1);
	assert_false(bp_host_interval_wanted(host, first, &interval));
	bp_host_thread_end(host, first, 500, 5);
	bp_host_thread_end(host, second, 3000, 30);
	bp_host_close(host);
	const struct host_trace *trace = host_read("following", true);
	const struct bp_trace_interval *records = trace->intervals;
	assert_int_equal(trace->interval_count, 4);
	assert_true(records[0].interval == 4096 && records[0].command == 1);
	assert_true(records[1].interval == 0 && records[1].command == 2);
	assert_true(records[2].interval == 512 && records[2].command == 2);
	assert_true(records[3].interval == 0 && records[3].command == 2);
	assert_int_equal(trace->header.interval_bytes, 65536);
	assert_int_equal(trace->header.flags_skippable, BP_HEADER_DORMANT | BP_HEADER_HOST_FOLLOWS);
	assert_int_equal(trace->state.control_resume, 65536);
	options.interval = BP_INTERVAL_MAX + 1;
	assert_null(bp_host_open(&options));
	assert_int_equal(errno, EINVAL);
}

/* What the environment says is tested with a program (scenario "host of the page"). */
static void settings(void **state)
{
	(void)state;
	char problem[BP_HOST_PROBLEM_BYTES];
	struct bp_host_options options = { .interval = 9, .seed = 5, .seed_given = true };
	assert_true(bp_host_settings(&options, problem));
	assert_true(options.interval == 9 && options.seed == 5 && !options.dormant);
	assert_string_equal(problem, "");
	setenv("BYTEPOLL_INTERVAL", "3KiB", 1);
	setenv("BYTEPOLL_SEED", "18446744073709551615", 1);
	setenv("BYTEPOLL_START", "dormant", 1);
	options = (struct bp_host_options){ 0 };
	assert_true(bp_host_settings(&options, problem));
	assert_true(options.interval == 3072 && options.seed == UINT64_MAX && options.seed_given &&
		    options.dormant);
	setenv("BYTEPOLL_SEED", "18446744073709551616", 1);
	options.interval = 1;
	assert_false(bp_host_settings(&options, problem));
	assert_int_equal(options.interval, 1);
	assert_string_equal(
		problem, "BYTEPOLL_SEED is '18446744073709551616': give a number below 2^64");
	unsetenv("BYTEPOLL_INTERVAL");
	unsetenv("BYTEPOLL_SEED");
	unsetenv("BYTEPOLL_START");
	/* However long the path. */
	char path[5000];
	memset(path, 'x', sizeof path);
	path[sizeof path - 1] = '\0';
	options.path = path;
	bp_host_open_problem(&options, ENAMETOOLONG, problem);
	assert_true(strlen(problem) < BP_HOST_PROBLEM_BYTES);
	assert_non_null(strstr(problem, "xxx: the path is too long"));
}

static int wait_for(pid_t child)
{
	int status = 0;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

static void killed(void **state)
{
	(void)state;
	unlink(host_path("killed"));
	char path[300];
	strcpy(path, host_path("killed"));
	const pid_t child = fork();
	if (child == 0) {
		struct bp_host *host = bp_host_open(&(struct bp_host_options){
			.name = "x", .path = path, .interval = 64, .charge = 1 });
		const uint32_t thread = bp_host_thread(host, "t");
		for (uint64_t i = 1; i <= 5000; i++)
			(void)host_sample(host, 64 * i, i, thread);
		bp_host_counted(host, thread, 1000000, 5000);
		raise(SIGKILL);
	}
	assert_true(WIFSIGNALED(wait_for(child)));
	const struct host_trace *trace = host_read("killed", true);
	assert_int_equal(trace->sample_count, 5000);
	assert_false(trace->totals.exact);
	assert_int_equal(trace->totals.bytes_low, 995000);
	assert_int_equal(trace->open_threads, 1);
	assert_true(trace->totals.bytes_high >= BP_ARMED_WITHOUT_LIMIT);
}

static void listener_in_child(const struct bp_host_event *event, const void *object, void *context)
{
	(void)event, (void)object, (void)context;
	_exit(99);
}

/* In a child every call does nothing, whatever state the parent's threads were in. */
static int child_of(struct bp_host *host)
{
	const uint32_t frame = 1;
	alarm(20);
	if (!bp_host_may_hold(host, at(4096)))
		return 1;
	if (bp_host_type(host, "known", 5) != 0 || bp_host_frame(host, "f", "g", 1) != 0 ||
		bp_host_stack(host, &frame, 1, false) != 0 || bp_host_thread(host, "c") != 0 ||
		host_sample(host, 8192, 10, 1) || bp_host_listen(host, listener_in_child, NULL) ||
		bp_host_path(host)[0] != '\0' || bp_host_type_name(host, 1)[0] != '\0')
		return 2;
	(void)bp_host_holds(host, at(4096));
	bp_host_freed(host, at(4096), 1, 1, 1);
	bp_host_moved(host, at(4096), at(8192));
	bp_host_moves_end(host);
	bp_host_sweep(host, NULL, NULL);
	bp_host_counted(host, 1, 1 << 20, 1 << 20);
	bp_host_thread_end(host, 1, 1 << 20, 1 << 20);
	bp_host_interval(host, 1, 1, 1, 1);
	/* What is mapped where the trace was in the parent stays. */
	uint8_t *others[200];
	for (int i = 0; i < 200; i++) {
		others[i] = mmap(
			NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memset(others[i], i, 65536);
	}
	bp_host_close(host);
	for (int i = 0; i < 200; i++)
		for (int k = 0; k < 65536; k++)
			if (others[i][k] != i)
				return 3;
	struct bp_host *own = host_open("child", 4096);
	if (!host_sample(own, 4096, 77, 0))
		return 4;
	bp_host_close(own);
	return host_read("child", true)->samples[0].size == 77 ? 0 : 5;
}

static void forks(void **state)
{
	(void)state;
	struct bp_host *host = host_open("fork", 4096);
	assert_int_equal(bp_host_type(host, "known", 5), 1);
	assert_int_equal(bp_host_thread(host, "t"), 1);
	assert_true(host_sample(host, 4096, 100, 1));
	const pid_t child = fork();
	if (child == 0)
		_exit(child_of(host));
	assert_int_equal(wait_for(child), 0);
	assert_true(bp_host_holds(host, at(4096)));
	bp_host_freed(host, at(4096), 1, 200, 2);
	bp_host_close(host);
	const struct host_trace *trace = host_read("fork", true);
	assert_true(trace->sample_count == 1 && trace->free_count == 1);
	assert_int_equal(trace->totals.trials_low, 200);
	for (uint32_t i = 0; i < BP_LOSS_COUNT; i++)
		assert_int_equal(trace->state.lost[i], 0);
}

/* Forks while other threads are inside the host: their locks are held in the child for ever. */
static struct bp_host *storm_host;
static bool storm_ends;

static void *storm(void *number)
{
	const uint64_t own = (uint64_t)(uintptr_t)number << 32;
	char name[40];
	for (uint64_t i = 1; !__atomic_load_n(&storm_ends, __ATOMIC_RELAXED); i++) {
		const uint64_t object = own + 64 * (i % 1000 + 1);
		snprintf(name, sizeof name, "type %d", (int)(i % 5000));
		(void)bp_host_type(storm_host, name, strlen(name));
		(void)host_sample(storm_host, object, i, 0);
		bp_host_moved(storm_host, at(object), at(object + (1 << 20)));
		bp_host_moves_end(storm_host);
		bp_host_freed(storm_host, at(object + (1 << 20)), 0, 0, 0);
	}
	return NULL;
}

static void forks_in_a_storm(void **state)
{
	(void)state;
	pthread_t threads[3];
	storm_host = host_open("storm", 4096);
	assert_true(host_sample(storm_host, 4096, 100, 1));
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, storm, (void *)(i + 1));
	for (int i = 0; i < 30; i++) {
		const pid_t child = fork();
		if (child == 0)
			_exit(child_of(storm_host));
		assert_int_equal(wait_for(child), 0);
	}
	__atomic_store_n(&storm_ends, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	bp_host_close(storm_host);
	unlink(host_path("storm"));
}

/* Threads that sample, move and free at once: every life is told whole. */
struct worker {
	pthread_t thread;
	struct bp_host *host;
	uint64_t number;
	uint32_t samples;
};

static void *work(void *from)
{
	enum { COUNT = 12000 };
	struct worker *worker = from;
	const uint64_t own = worker->number << 40;
	const uint32_t thread = bp_host_thread(worker->host, "worker");
	for (uint64_t i = 1; i <= COUNT; i++) {
		const void *object = at(own + 16 * i);
		worker->samples += bp_host_sampled(
			worker->host, &(struct bp_host_event){ .kind = BP_HOST_SMALL,
					      .object = object,
					      .size = i,
					      .thread = thread,
					      .decision = { .interval = 4096 },
					      .trials = i * 100,
					      .objects = i });
		if (!bp_host_holds(worker->host, object))
			worker->samples = 1u << 31;
		if (i % 3 == 0)
			bp_host_freed(worker->host, at(own + 16 * i), thread, i * 100, i);
		if (i > 10 && (i - 10) % 3 != 0)
			bp_host_freed(worker->host, at(own + 16 * (i - 10)), thread, i * 100, i);
	}
	return NULL;
}

static void many_threads(void **state)
{
	(void)state;
	struct worker workers[6];
	struct bp_host *host = host_open("workers", 4096);
	for (uint64_t i = 0; i < 6; i++) {
		workers[i] = (struct worker){ .host = host, .number = i + 1 };
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	}
	for (int i = 0; i < 6; i++) {
		pthread_join(workers[i].thread, NULL);
		assert_int_equal(workers[i].samples, 12000);
	}
	bp_host_close(host);
	const struct host_trace *trace = host_read("workers", true);
	assert_int_equal(trace->sample_count, 72000);
	/* All but six of the last ten of each: every third was freed at once. */
	assert_int_equal(trace->free_count, 72000 - 6 * 6);
	assert_int_equal(trace->totals.trials_low, 6 * 1200000);
	assert_int_equal(trace->damaged, 0);
	for (uint32_t i = 0; i < BP_LOSS_COUNT; i++)
		assert_int_equal(trace->state.lost[i], 0);
}

/* More than the file, and the memory where records wait until it can grow, have room for. */
#define OBJECTS_TOO_MANY 300000

/* A file that may not grow: what is lost is counted, and not live. */
static void full(void **state)
{
	(void)state;
	unlink(host_path("full"));
	char path[300], name[1000];
	strcpy(path, host_path("full"));
	const pid_t child = fork();
	if (child == 0) {
		const struct rlimit limit = { 4 * BP_CHUNK_BYTES, 4 * BP_CHUNK_BYTES };
		setrlimit(RLIMIT_FSIZE, &limit);
		struct bp_host *host = bp_host_open(
			&(struct bp_host_options){ .name = "x", .path = path, .interval = 1 });
		uint32_t told = 0, held = 0, named = 0;
		memset(name, 'n', sizeof name);
		for (uint64_t i = 1; i <= OBJECTS_TOO_MANY; i++) {
			told += host_sample(host, 64 * i, i, 0);
			held += bp_host_holds(host, at(64 * i));
		}
		for (uint64_t i = 1; i <= 100; i++) {
			memcpy(name, &i, sizeof i);
			named += bp_host_type(host, name, sizeof name) != 0;
		}
		bp_host_close(host);
		_exit(told == held && told > 1000 && told < OBJECTS_TOO_MANY && named < 100 ? 0
											    : 1);
	}
	assert_int_equal(wait_for(child), 0);
	const struct host_trace *trace = host_read("full", true);
	assert_int_equal(
		trace->sample_count + trace->state.lost[BP_LOSS_TRACE_FULL], OBJECTS_TOO_MANY);
	assert_int_equal(trace->type_count + trace->state.lost[BP_LOSS_NAME], 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_file),
		cmocka_unit_test(names_of_files),
		cmocka_unit_test(threads_and_totals),
		cmocka_unit_test(threads_that_wait),
		cmocka_unit_test(unknown_threads),
		cmocka_unit_test(intervals),
		cmocka_unit_test(following),
		cmocka_unit_test(settings),
		cmocka_unit_test(killed),
		cmocka_unit_test(forks),
		cmocka_unit_test(forks_in_a_storm),
		cmocka_unit_test(many_threads),
		cmocka_unit_test(full),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
