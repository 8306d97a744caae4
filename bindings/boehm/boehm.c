/* SPDX-License-Identifier: MIT */
/*
 * See bytepoll_boehm.h. Each thread has a byte counter in malloc's memory, made at its first object
 * and told of at its end. The live set is the host's table: when the marking of a collection is
 * over and the world runs again (GC_EVENT_RECLAIM_START, the collector's lock still held), every
 * live sample is asked for its mark. Nothing can have been given out anew by then, and what threads
 * hold in lists of their own is marked.
 *
 * Locks: the collector's, then the host's. A thread that is stopped for marking within the host
 * holds the host's lock, but the world runs again before we ask for it. The host never allocates
 * here.
 */
#define GC_THREADS
#include "bytepoll_boehm.h"

#include <errno.h>
#include <gc/gc_mark.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BP_BOEHM_COLD __attribute__((cold, noinline))

/* Of a thread since `generation` began. */
struct thread {
	struct bp_sampler_hot hot;
	struct bp_sampler sampler;
	struct thread *next;
	uint32_t number, generation;
};

static struct bp_host *host;
static uint32_t generation;	       /* counts starts; even: stopped */
static struct bp_host_options options; /* of `host` */
static char problem[BP_HOST_PROBLEM_BYTES];
static uint64_t ordinal;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over `threads`, `ordinal` */
static struct thread *threads;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static __thread struct thread *self;
static GC_on_collection_event_proc next_notifier;

/* ---- threads ---- */

static void tell_counters(struct thread *thread, bool ends)
{
	const uint64_t trials = bp_sampler_trials(&thread->sampler, thread->hot.trials_left);
	if (ends)
		bp_host_thread_end(host, thread->number, trials, thread->hot.objects);
	else
		bp_host_counted(host, thread->number, trials, thread->hot.objects);
}

static void end_thread(void *pointer)
{
	struct thread *thread = pointer;
	pthread_mutex_lock(&lock);
	struct thread **place = &threads;
	while (*place != thread)
		place = &(*place)->next;
	*place = thread->next;
	if (thread->generation == generation)
		tell_counters(thread, true);
	pthread_mutex_unlock(&lock);
	self = NULL;
	free(thread);
}

static void make_key(void)
{
	(void)pthread_key_create(&key, end_thread);
}

/* Under the lock. Seeds differ by the ordinal alone, so a run with one thread can be repeated. */
static void begin(struct thread *thread)
{
	thread->generation = generation;
	thread->hot = (struct bp_sampler_hot){ 0 };
	bp_sampler_init(&thread->sampler, options.seed + ++ordinal * UINT64_C(0x9E3779B97F4A7C15),
		options.dormant ? BP_SAMPLER_OFF : options.interval, BP_SAMPLER_EXACT);
	thread->number = bp_host_thread(host, "");
	(void)bp_host_follow(host, thread->number, &thread->sampler, &thread->hot);
}

/* NULL: not started, or no memory. */
static struct thread *this_thread(void)
{
	struct thread *thread = self;
	const uint32_t now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
	if (__builtin_expect(thread != NULL && thread->generation == now, 1))
		return now % 2 != 0 ? thread : NULL;
	if (now % 2 == 0)
		return NULL;
	pthread_once(&once, make_key);
	const bool is_new = thread == NULL;
	if (is_new)
		thread = calloc(1, sizeof *thread);
	if (thread == NULL)
		return NULL;
	pthread_mutex_lock(&lock);
	begin(thread);
	if (is_new) {
		thread->next = threads;
		threads = thread;
	}
	pthread_mutex_unlock(&lock);
	self = thread;
	(void)pthread_setspecific(key, thread);
	return thread;
}

/* ---- the live set ---- */

static bool is_marked(const void *object, void *context)
{
	(void)context;
	return GC_is_marked(object) != 0;
}

static void GC_CALLBACK notify(GC_EventType event)
{
	if (event == GC_EVENT_RECLAIM_START && host != NULL)
		bp_host_sweep(host, is_marked, NULL);
	if (next_notifier != NULL)
		next_notifier(event);
}

static void end_of_life(struct thread *thread, const void *object)
{
	if (!bp_host_may_hold(host, object) || !bp_host_holds(host, object))
		return;
	if (thread == NULL)
		bp_host_freed(host, object, 0, 0, 0);
	else
		bp_host_freed(host, object, thread->number,
			bp_sampler_trials(&thread->sampler, thread->hot.trials_left),
			thread->hot.objects);
}

/* ---- samples ---- */

static void tell(struct thread *thread, void *object, size_t size, const struct bp_boehm_site *site,
	const struct bp_decision *decision)
{
	const uint32_t frame = bp_host_frame(host, site->function, site->file, site->line);
	const uint32_t type =
		site->type == NULL ? 0 : bp_host_type(host, site->type, strlen(site->type));
	(void)bp_host_sampled(host,
		&(struct bp_host_event){
			.kind = BP_HOST_SMALL,
			.type = type,
			.object = object,
			.size = size,
			.usable = GC_size(object),
			.thread = thread->number,
			.stack = bp_host_stack(host, &frame, 1, false),
			.decision = *decision,
			.trials = bp_sampler_trials(&thread->sampler, thread->hot.trials_left),
			.objects = thread->hot.objects,
		});
}

static void *allocate(size_t size, enum bp_boehm_kind kind)
{
	switch (kind) {
	case BP_BOEHM_ATOMIC:
		return GC_malloc_atomic(size);
	case BP_BOEHM_UNCOLLECTABLE:
		return GC_malloc_uncollectable(size);
	default:
		return GC_malloc(size);
	}
}

/* Counts an object that there is. */
static void charge(
	struct thread *thread, void *object, size_t size, const struct bp_boehm_site *site)
{
	struct bp_decision decision;
	if (!bp_sampler_crosses(&thread->hot, size))
		return;
	thread->hot.trials_left =
		bp_sampler_decide(&thread->sampler, thread->hot.trials_left, size, &decision);
	if (decision.sampled)
		tell(thread, object, size, site, &decision);
	(void)bp_host_follow(host, thread->number, &thread->sampler, &thread->hot);
}

/* The first object of a thread, and all while nothing is recorded. */
static BP_BOEHM_COLD void *allocate_first(
	size_t size, enum bp_boehm_kind kind, const struct bp_boehm_site *site)
{
	void *object = allocate(size, kind);
	struct thread *thread = this_thread();
	if (thread != NULL && object != NULL)
		charge(thread, object, size, site);
	return object;
}

static BP_BOEHM_COLD void *allocate_crossing(struct thread *thread, size_t size,
	enum bp_boehm_kind kind, const struct bp_boehm_site *site)
{
	struct bp_decision decision;
	thread->hot.trials_left =
		bp_sampler_decide(&thread->sampler, thread->hot.trials_left, size, &decision);
	void *object = allocate(size, kind);
	if (decision.sampled && object != NULL)
		tell(thread, object, size, site, &decision);
	(void)bp_host_follow(host, thread->number, &thread->sampler, &thread->hot);
	return object;
}

void *bp_boehm_malloc(size_t size, enum bp_boehm_kind kind, const struct bp_boehm_site *site)
{
	struct thread *thread = self;
	if (thread == NULL || thread->generation != __atomic_load_n(&generation, __ATOMIC_RELAXED))
		return allocate_first(size, kind, site);
	if (bp_sampler_crosses(&thread->hot, size))
		return allocate_crossing(thread, size, kind, site);
	return allocate(size, kind);
}

void *bp_boehm_realloc(void *object, size_t size, const struct bp_boehm_site *site)
{
	struct thread *thread = this_thread();
	if (object != NULL)
		end_of_life(thread, object);
	object = GC_realloc(object, size);
	if (thread != NULL && object != NULL)
		charge(thread, object, size, site);
	return object;
}

void bp_boehm_free(void *object)
{
	if (object != NULL)
		end_of_life(this_thread(), object);
	GC_free(object);
}

/* ---- lists ---- */

struct bp_boehm_list *bp_boehm_list_create(size_t size)
{
	struct bp_boehm_list *list = GC_malloc_uncollectable(sizeof *list);
	if (list != NULL)
		list->size = size < sizeof(void *) ? sizeof(void *) : size;
	return list;
}

void bp_boehm_list_destroy(struct bp_boehm_list *list)
{
	GC_free(list);
}

/* What comes before the next sampled cell is handed out fast. */
static void cut(struct bp_boehm_list *list)
{
	void **last = NULL, *cell = list->rest;
	if (list->hit == list->hits) {
		list->fast = list->rest;
		list->rest = NULL;
		return;
	}
	for (; list->position < list->hit_of[list->hit].index; list->position++) {
		last = (void **)cell;
		cell = *last;
	}
	list->fast = last == NULL ? NULL : list->rest;
	list->rest = cell;
	if (last != NULL)
		*last = NULL;
}

/* Cells beyond those that there is room for go back to the collector, which finds them by itself.
 * */
static bool fill(struct bp_boehm_list *list, struct thread *thread)
{
	uint32_t count = 0;
	void **last = NULL;
	list->rest = GC_malloc_many(list->size);
	for (void *cell = list->rest; cell != NULL && count < BP_BOEHM_CELLS_MAX; count++) {
		last = (void **)cell;
		cell = *last;
	}
	if (last == NULL)
		return false;
	*last = NULL;
	list->position = list->hit = list->hits = 0;
	list->generation = thread == NULL ? 0 : thread->generation;
	if (thread != NULL) {
		list->hits = (uint32_t)bp_sampler_charge_list(&thread->sampler, &thread->hot,
			list->size, count, list->hit_of, BP_BOEHM_CELLS_MAX);
		(void)bp_host_follow(host, thread->number, &thread->sampler, &thread->hot);
	}
	cut(list);
	return true;
}

void *bp_boehm_list_slow(struct bp_boehm_list *list, const struct bp_boehm_site *site)
{
	struct thread *thread = this_thread();
	if (list->rest == NULL && !fill(list, thread))
		return NULL;
	if (list->fast != NULL)
		return bp_boehm_list_take(list, site);
	void **cell = (void **)list->rest;
	const struct bp_decision decision = list->hit_of[list->hit++].decision;
	list->rest = *cell;
	list->position++;
	*cell = NULL;
	cut(list);
	if (thread != NULL && thread->generation == list->generation)
		tell(thread, cell, list->size, site, &decision);
	return cell;
}

/* ---- start and stop ---- */

bool bp_boehm_start(const char *name)
{
	int why = EINVAL;
	if (host != NULL || GC_is_incremental_mode()) {
		strcpy(problem, host != NULL
					? "it was started already"
					: "the collector is incremental, which is not supported");
		errno = EINVAL;
		return false;
	}
	options = (struct bp_host_options){ .name = name,
		.law = BP_SAMPLER_EXACT,
		.charge = BP_SAMPLER_CHARGE,
		.follows_control = true };
	if (bp_host_settings(&options, problem)) {
		host = bp_host_open(&options);
		why = errno;
		if (host == NULL)
			bp_host_open_problem(&options, why, problem);
	}
	if (host == NULL) {
		errno = why;
		return false;
	}
	ordinal = 0;
	next_notifier = GC_get_on_collection_event();
	GC_set_on_collection_event(notify);
	__atomic_store_n(&generation, generation + 1, __ATOMIC_RELEASE);
	return true;
}

void bp_boehm_stop(void)
{
	if (host == NULL)
		return;
	pthread_mutex_lock(&lock);
	for (struct thread *thread = threads; thread != NULL; thread = thread->next)
		if (thread->generation == generation)
			tell_counters(thread, true);
	__atomic_store_n(&generation, generation + 1, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
	GC_set_on_collection_event(next_notifier);
	bp_host_close(host);
	host = NULL;
}

const char *bp_boehm_problem(void)
{
	return problem;
}

struct bp_host *bp_boehm_host(void)
{
	return host;
}

uint64_t bp_boehm_bytes(void)
{
	struct thread *thread = this_thread();
	return thread == NULL ? 0
			      : bp_sampler_trials(&thread->sampler, thread->hot.trials_left) -
					thread->hot.objects;
}
