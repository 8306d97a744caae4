/* SPDX-License-Identifier: MIT */
/*
 * A host (bytepoll/host.h) with a heap of its own that knows the truth: objects of several types,
 * made by named functions on several threads, sampled by the byte counter or by allocation
 * contexts. It never touches the memory of its objects, which are addresses in a reserved range, so
 * that a gigabyte is made in a second. Prints what it made as JSON.
 *
 * What it makes is the same whatever the seed, which is the sampler's.
 *
 * Usage: host_truth TRACE FORM SEED INTERVAL OBJECTS [THREADS]
 *	FORM	counter		bp_sampler_crosses, freed one by one
 *		context		allocation contexts; a moving collection now and then (`sweep` frees)
 *		unseen		counter, and frees are never told
 *		killed		counter, and it ends without closing
 *		paused		counter; off for the second quarter of each thread's objects
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bytepoll/alloc_context.h"
#include "bytepoll/host.h"

#define TYPES 6
#define THREADS_MAX 8
#define LIVE_MAX 4096u
#define CONTEXT_BYTES 8192u
#define SPACE_BYTES ((size_t)1 << 36) /* reserved for each thread, in two halves */

struct kind {
	const char *name, *function;
	uint32_t line;
	uint64_t least, most; /* sizes, bytes */
	unsigned share;	      /* of 100 objects */
	unsigned lasting;     /* of 100 objects: live until the end */
};

static const struct kind kinds[TYPES] = {
	{ "node", "parse", 12, 16, 16, 45, 1 },
	{ "string", "read_line", 31, 1, 200, 30, 2 },
	{ "table\033[31m", "build <index>", 7, 64, 4096, 15, 5 },
	{ "buffer", "read_line", 40, 4096, 65536, 8, 1 },
	{ "\xff\xfe bytes", "load", 99, 1000, 3000, 1, 50 },
	{ "image", "load", 120, 100000, 2000000, 1, 2 },
};

struct live {
	const void *object;
	uint32_t kind;
	uint64_t size;
};

struct sums {
	uint64_t bytes, objects, live_bytes, live_objects;
};

struct worker {
	pthread_t thread;
	uint32_t ordinal;
	uint64_t random, objects_wanted;
	struct bp_sampler sampler;
	struct bp_sampler_hot hot;
	struct bp_alloc_context context;
	uintptr_t space,
		next; /* objects of this half; the other is where a collection moves them */
	bool in_upper;
	struct live lives[LIVE_MAX];
	uint32_t live_count;
	uint64_t objects;
	struct sums sums[TYPES];
	uint64_t samples, collections;
};

static struct bp_host *host;
static uint32_t types[TYPES], stacks[TYPES];
static bool contexts, unseen, paused, killed;
static uint64_t interval, seed;
static struct worker workers[THREADS_MAX];

static uint64_t draw(struct worker *worker, uint64_t below)
{
	worker->random = worker->random * 6364136223846793005u + 1442695040888963407u;
	return (worker->random >> 33) % below;
}

static void name_things(void)
{
	const uint32_t main_frame = bp_host_frame(host, "main", "program.x", 1);
	for (uint32_t i = 0; i < TYPES; i++) {
		types[i] = bp_host_type(host, kinds[i].name, strlen(kinds[i].name));
		const uint32_t frames[] = { bp_host_frame(host, kinds[i].function, "parser.x",
						    kinds[i].line),
			main_frame };
		stacks[i] = bp_host_stack(host, frames, 2, false);
	}
}

static uint64_t trials_of(const struct worker *worker)
{
	return contexts ? bp_alloc_context_bytes(&worker->context)
			: bp_sampler_trials(&worker->sampler, worker->hot.trials_left);
}

static void tell(struct worker *worker, const void *object, uint32_t kind, uint64_t size,
	const struct bp_decision *decision)
{
	const struct bp_host_event event = {
		.kind = size >= 85000 ? BP_HOST_LARGE : BP_HOST_SMALL,
		.type = types[kind],
		.object = object,
		.size = size,
		.usable = (size + 15) & ~(uint64_t)15,
		.heap = kind % 3,
		.thread = worker->ordinal,
		.stack = stacks[kind],
		.decision = *decision,
		.trials = trials_of(worker),
		.objects = worker->objects,
	};
	worker->samples += bp_host_sampled(host, &event);
}

static const void *take_space(struct worker *worker, uint64_t size)
{
	const uintptr_t object = worker->next;
	worker->next += (size + 15) & ~(uint64_t)15;
	return (const void *)object;
}

static const void *make_by_counter(struct worker *worker, uint32_t kind, uint64_t size)
{
	const void *object = take_space(worker, size);
	if (bp_sampler_crosses(&worker->hot, size)) {
		struct bp_decision decision;
		worker->hot.trials_left = bp_sampler_decide(
			&worker->sampler, worker->hot.trials_left, size, &decision);
		if (decision.sampled)
			tell(worker, object, kind, size, &decision);
	}
	return object;
}

static const void *make_in_context(struct worker *worker, uint32_t kind, uint64_t size)
{
	struct bp_alloc_context *context = &worker->context;
	struct bp_decision decision = { .sampled = false };
	const void *object;
	if (size > CONTEXT_BYTES / 4) {
		object = take_space(worker, size);
		bp_alloc_context_outside(context, size, &decision);
	} else if (size <= context->limit - context->pointer) {
		context->pointer += size;
		return (const void *)(context->pointer - size);
	} else {
		while (!bp_alloc_context_slow(context, size, &decision)) {
			const uintptr_t start = (uintptr_t)take_space(worker, CONTEXT_BYTES);
			bp_alloc_context_refill(context, start, start + CONTEXT_BYTES);
		}
		object = (const void *)(context->pointer - size);
	}
	if (decision.sampled)
		tell(worker, object, kind, size, &decision);
	return object;
}

static void forget(struct worker *worker, uint32_t i)
{
	struct live *live = &worker->lives[i];
	struct sums *sums = &worker->sums[live->kind];
	sums->live_bytes -= live->size;
	sums->live_objects--;
	if (!contexts && !unseen && bp_host_may_hold(host, live->object) &&
		bp_host_holds(host, live->object))
		bp_host_freed(
			host, live->object, worker->ordinal, trials_of(worker), worker->objects);
	*live = worker->lives[--worker->live_count];
}

static int by_address(const void *left, const void *right)
{
	const struct live *a = left, *b = right;
	return a->object < b->object ? -1 : a->object > b->object;
}

/* Where the collection at hand has moved an object; NULL: it is gone. */
static bool survived(const void *object, void *from)
{
	const struct worker *worker = from;
	struct live key = { .object = object };
	/* Other threads' objects are not collected. */
	if ((uintptr_t)object < worker->space || (uintptr_t)object >= worker->space + SPACE_BYTES)
		return true;
	return bsearch(&key, worker->lives, worker->live_count, sizeof key, by_address) != NULL;
}

/* Slides all live objects to the other half, or to the beginning of this one: objects then land
 * where others were. */
static void collect(struct worker *worker)
{
	bp_alloc_context_leave(&worker->context);
	qsort(worker->lives, worker->live_count, sizeof *worker->lives, by_address);
	bp_host_sweep(host, survived, worker);
	worker->in_upper = draw(worker, 2);
	worker->next = worker->space + (worker->in_upper ? SPACE_BYTES / 2 : 0) + 64;
	for (uint32_t i = 0; i < worker->live_count; i++) {
		struct live *live = &worker->lives[i];
		const void *to = take_space(worker, live->size);
		bp_host_moved(host, live->object, to);
		live->object = to;
	}
	bp_host_moves_end(host);
	worker->collections++;
}

static uint32_t draw_kind(struct worker *worker)
{
	uint64_t at = draw(worker, 100);
	uint32_t kind = 0;
	while (at >= kinds[kind].share)
		at -= kinds[kind++].share;
	return kind;
}

static void make(struct worker *worker)
{
	const uint32_t kind = draw_kind(worker);
	const uint64_t size =
		kinds[kind].least + draw(worker, kinds[kind].most - kinds[kind].least + 1);
	worker->objects++;
	const void *object = contexts ? make_in_context(worker, kind, size)
				      : make_by_counter(worker, kind, size);
	struct sums *sums = &worker->sums[kind];
	sums->bytes += size;
	sums->objects++;
	sums->live_bytes += size;
	sums->live_objects++;
	worker->lives[worker->live_count++] = (struct live){ object, kind, size };
	if (draw(worker, 10) == 0)
		forget(worker, worker->live_count - 1);
	/* In a collected heap what is dropped is found dead later: all of it at the end. */
	while (worker->live_count > LIVE_MAX - 1 ||
		(worker->live_count > 64 && draw(worker, 100) >= kinds[kind].lasting))
		forget(worker, (uint32_t)draw(worker, worker->live_count));
	if (contexts && draw(worker, 4000) == 0)
		collect(worker);
}

static void switch_to(struct worker *worker, uint64_t to)
{
	bp_sampler_set_interval(&worker->sampler, to);
	worker->hot.trials_left = bp_sampler_restart(&worker->sampler, worker->hot.trials_left);
	bp_host_interval(host, worker->ordinal, to, trials_of(worker), worker->objects);
}

static void *work(void *from)
{
	struct worker *worker = from;
	char name[32];
	snprintf(name, sizeof name, "worker %ld", (long)(worker - workers));
	worker->ordinal = bp_host_thread(host, name);
	for (uint64_t i = 0; i < worker->objects_wanted; i++) {
		if (paused && i == worker->objects_wanted / 4)
			switch_to(worker, BP_SAMPLER_OFF);
		if (paused && i == worker->objects_wanted / 2)
			switch_to(worker, 2 * interval);
		make(worker);
		if (i % 1000 == 0)
			bp_host_counted(host, worker->ordinal, trials_of(worker), worker->objects);
	}
	if (contexts)
		collect(worker);
	(killed ? bp_host_counted : bp_host_thread_end)(
		host, worker->ordinal, trials_of(worker), worker->objects);
	return NULL;
}

static void start(struct worker *worker, uint64_t number)
{
	const uint32_t law = BP_SAMPLER_EXACT;
	worker->random = 20261122 + number;
	worker->space = (uintptr_t)mmap(
		NULL, SPACE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	worker->next = worker->space + 64;
	bp_sampler_init(&worker->sampler, seed * 1000 + number, interval, law);
	bp_alloc_context_init(&worker->context, seed * 1000 + number, interval, law);
	if (pthread_create(&worker->thread, NULL, work, worker) != 0)
		exit(1);
}

static void print_text(const char *text)
{
	putchar('"');
	for (; *text != '\0'; text++)
		printf("\\u%04x", (unsigned char)*text);
	putchar('"');
}

static void print_truth(unsigned threads)
{
	uint64_t samples = 0, collections = 0;
	printf("{\"types\": [");
	for (uint32_t i = 0; i < TYPES; i++) {
		struct sums sums = { 0 };
		for (unsigned k = 0; k < threads; k++) {
			const struct sums *one = &workers[k].sums[i];
			sums.bytes += one->bytes;
			sums.objects += one->objects;
			sums.live_bytes += one->live_bytes;
			sums.live_objects += one->live_objects;
		}
		printf("%s{\"name\": ", i == 0 ? "" : ", ");
		print_text(kinds[i].name);
		printf(", \"function\": ");
		print_text(kinds[i].function);
		printf(", \"line\": %u, \"bytes\": %" PRIu64 ", \"objects\": %" PRIu64
		       ", \"live_bytes\": %" PRIu64 ", \"live_objects\": %" PRIu64 "}",
			kinds[i].line, sums.bytes, sums.objects, sums.live_bytes,
			sums.live_objects);
	}
	for (unsigned k = 0; k < threads; k++) {
		samples += workers[k].samples;
		collections += workers[k].collections;
	}
	printf("], \"samples\": %" PRIu64 ", \"collections\": %" PRIu64 "}\n", samples,
		collections);
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	const char *form = argv[2];
	const unsigned threads = argc > 6 ? (unsigned)atoi(argv[6]) : 1;
	seed = strtoull(argv[3], NULL, 10);
	interval = strtoull(argv[4], NULL, 10);
	contexts = strcmp(form, "context") == 0;
	unseen = strcmp(form, "unseen") == 0;
	paused = strcmp(form, "paused") == 0;
	killed = strcmp(form, "killed") == 0;
	host = bp_host_open(&(struct bp_host_options){ .name = "truth 1.0",
		.path = argv[1],
		.interval = interval,
		.charge = contexts ? 0 : BP_SAMPLER_CHARGE,
		.seed = seed,
		.seed_given = true,
		.frees_unseen = unseen,
		.objects_uncounted = contexts });
	if (host == NULL) {
		perror(argv[1]);
		return 1;
	}
	name_things();
	for (unsigned i = 0; i < threads; i++) {
		workers[i].objects_wanted = strtoull(argv[5], NULL, 10) / threads;
		start(&workers[i], i);
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	print_truth(threads);
	fflush(stdout);
	if (killed)
		raise(SIGKILL);
	bp_host_close(host);
	return 0;
}
