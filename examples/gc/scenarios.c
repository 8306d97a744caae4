/* SPDX-License-Identifier: MIT */
/*
 * .NET's accuracy tests of its allocation sampling, on this collector: the five scenarios of the
 * manual test (dotnet/runtime, src/tests/tracing/eventpipe/randomizedallocationsampling/manual) and
 * the object of the automatic one. The program says what it allocated; what was sampled goes into a
 * trace, and accuracy.py compares the two.
 *
 *	gc-scenarios SCENARIO [--count N] [--interval BYTES] [--law bernoulli|exact] [--seed N]
 *	             [--context BYTES] [--output FILE]
 *
 * `count` objects of each type are allocated in turn. T is .NET's 102400 bytes and the law its own,
 * `bernoulli`, unless said otherwise. Prints one JSON object. Without --output no trace is written.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gc.h"
#include "samples.h"

#define TYPES_MAX 5
#define STREAMS_MAX 2

/* An object of a scenario: a type, and elements if it is an array. */
struct kind {
	struct gc_type type;
	uint64_t elements;
};

/* Streams are threads; the kinds of one are allocated in turn. */
struct scenario {
	const char *name, *function;
	uint64_t count; /* unless another is asked for */
	unsigned streams, kinds;
	bool there_and_back; /* the second half of the rounds in the opposite order */
	bool kept;	     /* in a list, so that collections move them */
	struct kind kind[STREAMS_MAX * TYPES_MAX];
};

#define OBJECT(label, size)                                          \
	{                                                            \
		{ .name = label, .bytes = size, .references = 1 }, 0 \
	}
#define ARRAY(label, head, each, length)                                        \
	{                                                                       \
		{ .name = label, .bytes = head, .element_bytes = each }, length \
	}

static struct scenario scenarios[] = {
	{ "small-and-big", "SmallAndBig", 200000, 1, 5, true, true,
		{ OBJECT("Object24", 24), OBJECT("Object32", 32), OBJECT("Object48", 48),
			OBJECT("Object80", 80), OBJECT("Object144", 144) } },
	{ "per-thread", "PerThread", 200000, 2, 3, false, false,
		{ OBJECT("Object24", 24), OBJECT("Object48", 48), OBJECT("Object72", 72),
			OBJECT("Object32", 32), OBJECT("Object64", 64), OBJECT("Object96", 96) } },
	{ "doubles", "ArrayOfDouble", 1000000, 1, 1, false, false,
		{ ARRAY("double[]", 24, 8, 1) } },
	{ "types", "DifferentTypes", 1000000, 1, 4, false, false,
		{ ARRAY("string", 22, 2, 37), OBJECT("Finalizable", 24),
			ARRAY("byte[]", 24, 1, 173), ARRAY("int[,]", 40, 4, 8) } },
	{ "ratio", "RatioSizedArrays", 100000, 1, 5, false, false,
		{ ARRAY("byte[1024]", 24, 1, 1024), ARRAY("byte[10240]", 24, 1, 10240),
			ARRAY("byte[102400]", 24, 1, 102400),
			ARRAY("byte[1024000]", 24, 1, 1024000),
			ARRAY("byte[10240000]", 24, 1, 10240000) } },
	{ "automatic", "Automatic", 2000000, 1, 1, false, false, { OBJECT("Object144", 144) } },
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

/* What a listener heard of a type. */
struct heard {
	uint64_t samples, bytes;
};

struct run {
	struct scenario *scenario;
	struct gc_heap *heap;
	uint64_t count;
	struct heard heard[STREAMS_MAX * TYPES_MAX];
	uint64_t thread_bytes[STREAMS_MAX];
};

struct stream {
	struct run *run;
	unsigned number;
	pthread_t running;
	struct gc_thread thread;
};

static void allocate_rounds(struct run *run, struct gc_thread *thread, struct kind *kinds)
{
	const struct scenario *scenario = run->scenario;
	struct gc_object *kept = NULL;
	gc_root(thread, &kept);
	for (uint64_t round = 0; round < run->count; round++) {
		const bool back = scenario->there_and_back && round >= run->count / 2;
		for (unsigned i = 0; i < scenario->kinds; i++) {
			struct kind *kind = &kinds[back ? scenario->kinds - 1 - i : i];
			struct gc_object *object =
				kind->elements == 0
					? gc_new(thread, &kind->type)
					: gc_new_array(thread, &kind->type, kind->elements);
			if (!scenario->kept)
				continue;
			object->fields[0] = kept;
			kept = object;
		}
	}
	gc_unroot(thread, 1);
}

static void *run_stream(void *argument)
{
	struct stream *stream = argument;
	struct run *run = stream->run;
	gc_samples_push(&stream->thread, "Main", "Program.cs", 1);
	gc_samples_push(&stream->thread, run->scenario->function, "Scenarios.cs", 10);
	allocate_rounds(
		run, &stream->thread, &run->scenario->kind[stream->number * run->scenario->kinds]);
	run->thread_bytes[stream->number] = gc_samples_bytes(&stream->thread);
	gc_thread_end(&stream->thread);
	return NULL;
}

/* Begun in their order, as the seeds of their samplers follow from it. */
static void run_streams(struct run *run)
{
	struct stream streams[STREAMS_MAX];
	for (unsigned i = 0; i < run->scenario->streams; i++) {
		char name[32];
		snprintf(name, sizeof name, "%s %u", run->scenario->name, i + 1);
		streams[i] = (struct stream){ .run = run, .number = i };
		gc_thread_begin(run->heap, &streams[i].thread, name);
		if (pthread_create(&streams[i].running, NULL, run_stream, &streams[i]) != 0) {
			fprintf(stderr, "gc-scenarios: no thread\n");
			exit(1);
		}
	}
	for (unsigned i = 0; i < run->scenario->streams; i++)
		pthread_join(streams[i].running, NULL);
}

/* By whichever thread told. */
static void listen(const struct bp_host_event *event, const void *object, void *context)
{
	struct run *run = context;
	(void)object;
	if (event == NULL)
		return;
	for (unsigned i = 0; i < run->scenario->streams * run->scenario->kinds; i++)
		if (event->type_id == (uint64_t)(uintptr_t)&run->scenario->kind[i].type) {
			__atomic_fetch_add(&run->heard[i].samples, 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(
				&run->heard[i].bytes, event->amount_bytes, __ATOMIC_RELAXED);
		}
}

static void print(const struct run *run, const struct gc_samples *samples)
{
	const struct gc_totals totals = gc_totals(run->heap);
	printf("{\"scenario\": \"%s\", \"count\": %" PRIu64 ", \"interval\": %" PRIu64
	       ", \"law\": \"%s\", \"seed\": %" PRIu64 ",\n \"types\": [",
		run->scenario->name, run->count, samples->interval,
		samples->law == BP_SAMPLER_EXACT ? "exact" : "bernoulli", samples->seed);
	for (unsigned i = 0; i < run->scenario->streams * run->scenario->kinds; i++) {
		const struct kind *kind = &run->scenario->kind[i];
		const uint64_t bytes = gc_bytes(&kind->type, kind->elements);
		printf("%s\n  {\"name\": \"%s\", \"size\": %" PRIu64 ", \"objects\": %" PRIu64
		       ", \"bytes\": %" PRIu64 ", \"heard_samples\": %" PRIu64
		       ", \"heard_bytes\": %" PRIu64 "}",
			i == 0 ? "" : ",", kind->type.name, bytes, run->count, run->count * bytes,
			run->heard[i].samples, run->heard[i].bytes);
	}
	printf("],\n \"counted_bytes\": %" PRIu64 ", \"collections\": %" PRIu64
	       ", \"moved_objects\": %" PRIu64 ", \"refills\": %" PRIu64 "}\n",
		run->thread_bytes[0] + run->thread_bytes[1], totals.collections,
		totals.moved_objects, totals.refills);
}

/* ---- the command line ---- */

struct wishes {
	struct scenario *scenario;
	uint64_t count, interval, seed, context_bytes;
	uint32_t law;
	const char *output;
};

static bool read_number(const char *text, uint64_t least, uint64_t *ret_number)
{
	char *end;
	errno = 0;
	const unsigned long long number = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || number < least)
		return false;
	*ret_number = number;
	return true;
}

static bool read_law(const char *text, uint32_t *ret_law)
{
	*ret_law = strcmp(text, "exact") == 0 ? BP_SAMPLER_EXACT : BP_SAMPLER_BERNOULLI;
	return strcmp(text, "exact") == 0 || strcmp(text, "bernoulli") == 0;
}

static bool read_option(const char *name, const char *value, struct wishes *wishes)
{
	if (strcmp(name, "--count") == 0)
		return read_number(value, 1, &wishes->count);
	if (strcmp(name, "--interval") == 0)
		return read_number(value, 0, &wishes->interval) &&
		       wishes->interval <= BP_SAMPLER_INTERVAL_MAX;
	if (strcmp(name, "--seed") == 0)
		return read_number(value, 0, &wishes->seed);
	if (strcmp(name, "--context") == 0)
		return read_number(value, 64, &wishes->context_bytes) &&
		       wishes->context_bytes <= 1 << 24 && wishes->context_bytes % 8 == 0;
	if (strcmp(name, "--law") == 0)
		return read_law(value, &wishes->law);
	wishes->output = value;
	return strcmp(name, "--output") == 0 && value[0] != '\0';
}

static bool read_wishes(int argc, char **argv, struct wishes *wishes)
{
	for (size_t i = 0; argc > 1 && i < SCENARIOS; i++)
		if (strcmp(argv[1], scenarios[i].name) == 0)
			wishes->scenario = &scenarios[i];
	if (wishes->scenario == NULL) {
		fprintf(stderr, "gc-scenarios: which scenario? One of:");
		for (size_t i = 0; i < SCENARIOS; i++)
			fprintf(stderr, " %s", scenarios[i].name);
		fprintf(stderr, "\n");
		return false;
	}
	wishes->count = wishes->scenario->count;
	for (int i = 2; i < argc; i += 2)
		if (i + 1 == argc || !read_option(argv[i], argv[i + 1], wishes)) {
			fprintf(stderr, "gc-scenarios: option %d is none, or its value cannot be\n",
				i - 1);
			return false;
		}
	return true;
}

int main(int argc, char **argv)
{
	struct wishes wishes = { .interval = 102400, .law = BP_SAMPLER_BERNOULLI, .seed = 1 };
	struct gc_samples samples;
	struct bp_host *host = NULL;
	if (!read_wishes(argc, argv, &wishes))
		return 2;
	struct run run = { .scenario = wishes.scenario, .count = wishes.count };
	if (wishes.output != NULL) {
		host = bp_host_open(&(struct bp_host_options){ .name = "examples/gc",
			.path = wishes.output,
			.interval = wishes.interval,
			.law = wishes.law,
			.seed = wishes.seed,
			.seed_given = true,
			.objects_uncounted = true });
		if (host == NULL) {
			fprintf(stderr, "gc-scenarios: the trace cannot be written: %s\n",
				strerror(errno));
			return 1;
		}
	}
	gc_samples_init(&samples, host, wishes.seed, wishes.interval, wishes.law);
	for (unsigned i = 0; i < run.scenario->streams * run.scenario->kinds; i++)
		gc_samples_type(&samples, &run.scenario->kind[i].type);
	(void)bp_host_listen(host, listen, &run);
	run.heap = gc_create(&(struct gc_options){ .context_bytes = wishes.context_bytes,
		.space_bytes = (size_t)16 << 20,
		.samples = &samples });
	run_streams(&run);
	print(&run, &samples);
	gc_destroy(run.heap);
	bp_host_close(host);
	return 0;
}
