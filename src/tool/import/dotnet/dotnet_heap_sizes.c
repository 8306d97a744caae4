/* SPDX-License-Identifier: MIT */
/*
 * See dotnet_heap_sizes.h.
 *
 * The events. At the end of a collection the runtime writes GCEnd and GCHeapStats, which has the
 * sizes of the generations, one directly after the other on one thread. When the collection stopped
 * the program (all but background collections do), CommittedUsage comes directly before them, on
 * the same thread. Each collection, background ones too, also writes a CommittedUsage at its start,
 * directly after GCStart; the sizes of the generations are not known then, so that one is not used.
 * Background collections write GCStart on the thread that asked for them and GCEnd on their own,
 * and server GC may do the same with any collection. So the events of each thread are looked at by
 * themselves: what counts is CommittedUsage not after GCStart, then GCEnd, then GCHeapStats.
 * Threads come in any order in a file; the events of one thread come in the order of time.
 *
 * How the figures add up (measured with .NET 10 against the process's mappings, to the byte; a
 * collection was forced and the program slept):
 *
 *	in use + free + global free + global decommit   all that is readable and writable in the
 *	                                                addresses reserved for the heap
 *	bookkeeping                                     the same of the tables, which lie elsewhere
 *
 * A generation's size is that of its objects and of the holes between them: a program that keeps
 * 4,000,024 bytes in one large array has 4,000,056 of large objects, and one that dropped its
 * pinned arrays keeps their room. The generations lie in regions that are in use. What such a
 * region has committed behind its last object is "committed and in use beyond these": room for the
 * next objects, of which the kernel may not have given all pages yet. Regions on the decommit list
 * were still committed at that moment, so they are free memory that is kept; some are given back
 * within the next second, of which no event tells. Sizes of generations that sum up to more than
 * what is in use belong to another moment; then what is committed is left out.
 *
 * A service has millions of collections. Every collection is kept at first; when the array is full,
 * every second moment is dropped, and from then on every second collection is kept, and so on. The
 * latest moment and the one with the highest total are kept beside these.
 */
#include "import/dotnet/dotnet_heap_sizes.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "import/dotnet/nettrace_clock.h"

/* Two places are for the latest and the highest moment. Even: see halve. */
#define REGULAR_MAX (BP_DOTNET_MOMENTS_MAX - 2)

static uint64_t sum_of_generations(const struct bp_dotnet_moment *moment)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < BP_DOTNET_GENERATIONS; i++)
		sum += moment->stats.generations[i];
	return sum;
}

static uint64_t free_bytes(const struct bp_dotnet_committed *committed)
{
	return committed->free + committed->global_free + committed->decommit;
}

/* All that is committed; where that is not known, the generations. */
static uint64_t total(const struct bp_dotnet_moment *moment)
{
	const struct bp_dotnet_committed *committed = &moment->committed;
	return moment->has_committed
		       ? committed->in_use + free_bytes(committed) + committed->bookkeeping
		       : sum_of_generations(moment);
}

/* The moments that remain are the multiples of twice the stride, and the next one is another,
 * because the number of moments is even. */
static void halve(struct bp_dotnet_heap_sizes *sizes)
{
	for (uint32_t i = 0; i < sizes->count / 2; i++)
		sizes->moments[i] = sizes->moments[2 * i];
	sizes->count /= 2;
	sizes->stride *= 2;
}

static bool append(struct bp_dotnet_heap_sizes *sizes, const struct bp_dotnet_moment *moment)
{
	if (!bp_vec_reserve(&sizes->moments, &sizes->capacity, (uint64_t)sizes->count + 1,
		    sizeof *sizes->moments))
		return false;
	sizes->moments[sizes->count++] = *moment;
	return true;
}

/* `moment` has everything but its order. */
static bool add_moment(struct bp_dotnet_heap_sizes *sizes, struct bp_dotnet_moment *moment)
{
	moment->order = sizes->seen++;
	if (moment->order == 0) {
		sizes->stride = 1;
		sizes->latest = sizes->highest = *moment;
	}
	if (moment->ticks >= sizes->latest.ticks)
		sizes->latest = *moment;
	if (total(moment) > total(&sizes->highest))
		sizes->highest = *moment;
	if (moment->order % sizes->stride != 0)
		return true;
	if (sizes->count == REGULAR_MAX)
		halve(sizes);
	return append(sizes, moment);
}

static struct bp_dotnet_gc_thread *thread_of(struct bp_dotnet_heap_sizes *sizes, uint64_t tid)
{
	struct bp_dotnet_gc_thread *thread =
		&sizes->threads[bp_hash_u64(tid) % BP_DOTNET_GC_THREADS];
	if (thread->tid != tid)
		*thread = (struct bp_dotnet_gc_thread){ .tid = tid };
	return thread;
}

/* False: it is not understood. */
static bool take_committed(struct bp_dotnet_gc_thread *thread, struct bp_bytes payload)
{
	struct bp_dotnet_committed committed;
	if (!bp_dotnet_read_committed(payload, &committed))
		return false;
	thread->has_committed = thread->last != BP_DOTNET_GC_START;
	thread->committed = committed;
	return true;
}

static bool take_stats(struct bp_dotnet_heap_sizes *sizes, const struct bp_dotnet_gc_thread *thread,
	const struct bp_nettrace_event *event)
{
	struct bp_dotnet_moment moment = { .ticks = event->time };
	if (!bp_dotnet_read_heap_stats(event->payload, event->kind->version, &moment.stats))
		return true;
	if (thread->last == BP_DOTNET_GC_END && thread->has_committed &&
		thread->committed.in_use >= sum_of_generations(&moment)) {
		moment.has_committed = true;
		moment.committed = thread->committed;
	}
	return add_moment(sizes, &moment);
}

bool bp_dotnet_heap_sizes_event(struct bp_dotnet_heap_sizes *sizes, enum bp_dotnet_event what,
	const struct bp_nettrace_event *event)
{
	if (what != BP_DOTNET_GC_START && what != BP_DOTNET_GC_END &&
		what != BP_DOTNET_HEAP_STATS && what != BP_DOTNET_GC_DYNAMIC)
		return true;
	struct bp_dotnet_gc_thread *thread = thread_of(sizes, event->thread);
	bool good = true;
	if (what == BP_DOTNET_GC_DYNAMIC && !take_committed(thread, event->payload))
		return true; /* of the collector's tuning: may come anywhere */
	if (what == BP_DOTNET_HEAP_STATS)
		good = take_stats(sizes, thread, event);
	if (what == BP_DOTNET_GC_END && thread->last != BP_DOTNET_GC_DYNAMIC)
		thread->has_committed = false;
	thread->last = what;
	return good;
}

/* ---- parts of the profile ---- */

struct part_adder {
	struct bp_profile *profile;
	struct bp_error *error;
	struct bp_runtime_part part; /* kind and bytes change */
};

static bool add_part(
	struct part_adder *adder, enum bp_runtime_part_kind kind, const char *name, uint64_t bytes)
{
	adder->part.kind = kind;
	adder->part.bytes = bytes;
	return bp_profile_string(
		       adder->profile, name, strlen(name), &adder->part.name, adder->error) &&
	       bp_profile_add_runtime_part(adder->profile, &adder->part, adder->error);
}

static bool add_parts(struct part_adder *adder, const struct bp_dotnet_moment *moment)
{
	static const char *const names[BP_DOTNET_GENERATIONS] = { "generation 0", "generation 1",
		"generation 2", "large objects", "pinned objects" };
	const struct bp_dotnet_committed *committed = &moment->committed;
	const uint32_t count =
		moment->stats.has_pinned ? BP_DOTNET_GENERATIONS : BP_DOTNET_GENERATION_PINNED;
	for (uint32_t i = 0; i < count; i++)
		if (!add_part(adder, BP_RUNTIME_HELD, names[i], moment->stats.generations[i]))
			return false;
	return !moment->has_committed ||
	       (add_part(adder, BP_RUNTIME_HELD, "committed and in use beyond these",
			committed->in_use - sum_of_generations(moment)) &&
		       add_part(adder, BP_RUNTIME_HELD, "free, kept", free_bytes(committed)) &&
		       add_part(adder, BP_RUNTIME_HELD, "the collector's own",
			       committed->bookkeeping) &&
		       add_part(adder, BP_RUNTIME_TOTAL, "committed", total(moment)));
}

static int by_time(const void *a, const void *b)
{
	const struct bp_dotnet_moment *x = a, *y = b;
	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

bool bp_dotnet_heap_sizes_add_parts(struct bp_dotnet_heap_sizes *sizes,
	const struct bp_nettrace_reader *reader, struct bp_profile *profile,
	struct bp_process_id process, struct bp_error *error)
{
	struct part_adder adder = { .profile = profile, .error = error };
	if (sizes->seen == 0)
		return true;
	const bool same = sizes->latest.order == sizes->highest.order;
	if ((sizes->latest.order % sizes->stride != 0 && !append(sizes, &sizes->latest)) ||
		(sizes->highest.order % sizes->stride != 0 && !same &&
			!append(sizes, &sizes->highest)))
		return bp_error_set(error, "out of memory while reading a .nettrace file");
	qsort(sizes->moments, sizes->count, sizeof *sizes->moments, by_time);
	adder.part.process = process;
	for (uint32_t i = 0; i < sizes->count; i++) {
		adder.part.time_ns = bp_nettrace_ns(reader, sizes->moments[i].ticks);
		/* Of several at one time the last one counts. */
		if (i + 1 < sizes->count &&
			bp_nettrace_ns(reader, sizes->moments[i + 1].ticks) == adder.part.time_ns)
			continue;
		if (!add_parts(&adder, &sizes->moments[i]))
			return false;
	}
	return bp_profile_string(profile, ".NET", strlen(".NET"),
		&profile->processes.data[process.i].runtime, error);
}

void bp_dotnet_heap_sizes_finish(struct bp_dotnet_heap_sizes *sizes)
{
	free(sizes->moments);
	sizes->moments = NULL;
	sizes->count = sizes->capacity = 0;
}
