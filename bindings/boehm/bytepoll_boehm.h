/* SPDX-License-Identifier: MIT */
/*
 * Sampling inside the Boehm-Demers-Weiser collector (bdwgc 8): what a program allocates with these
 * functions in place of GC_MALLOC and its like is sampled, by the place in the source that
 * allocates and by a type if one is given, and a sample lives until the collector finds it
 * unreachable.
 *
 *	#define GC_THREADS
 *	#include <bytepoll_boehm.h>          // includes <gc.h>
 *	...
 *	GC_INIT();
 *	if (!bp_boehm_start("my program")) // BYTEPOLL_HOST_OUTPUT, _INTERVAL, _SEED, _START
 *		fprintf(stderr, "not profiled: %s\n", bp_boehm_problem());
 *	node = BP_BOEHM_MALLOC(sizeof *node, "node");
 *	...
 *	bp_boehm_stop();
 *
 * Inline allocation: a struct bp_boehm_list holds cells of one size that GC_malloc_many gave, and
 * BP_BOEHM_TAKE takes one with no instruction for sampling. Whether a cell will be sampled is
 * decided when the list is filled (bp_sampler_charge_list); the list is then cut in front of it, so
 * that it is the slow path that hands it out. Cells are counted as allocated when they come into
 * the list.
 *
 * Thread-safety: all but start and stop may be called by any thread that the collector knows. Not
 * from a finalizer that runs with the collector's lock, nor from a signal handler. Listeners of the
 * host may not call the collector: some are called with its lock held. Fork: the child is not
 * recorded.
 *
 * What it cannot know: an object that is unreachable but kept for its finalizer is gone from the
 * live set one collection early. Incremental collection (GC_enable_incremental) is not supported:
 * start fails.
 */
#ifndef BYTEPOLL_BOEHM_H
#define BYTEPOLL_BOEHM_H

#include <gc/gc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytepoll/host.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A place in the source; the macros below make one. */
struct bp_boehm_site {
	const char *function, *file;
	uint32_t line;
	const char *type; /* NULL: not known */
};

enum bp_boehm_kind { BP_BOEHM_NORMAL, BP_BOEHM_ATOMIC, BP_BOEHM_UNCOLLECTABLE };

/* Opens the trace and begins to sample. False: it was running, the collector is incremental, a
 * setting of the environment is not valid, or the trace could not be opened (errno and
 * bp_boehm_problem say why); everything allocates all the same. */
bool bp_boehm_start(const char *name);
/* Why the last bp_boehm_start returned false, in one line; "" before. */
const char *bp_boehm_problem(void);
/* Ends the trace, with the counters of the threads that still run as they are. No other thread may
 * be in a call. */
void bp_boehm_stop(void);
/* NULL while not started: for bp_host_listen and bp_host_path. */
struct bp_host *bp_boehm_host(void);
/* Bytes asked for by the calling thread since start, as counted for the trace: exact. */
uint64_t bp_boehm_bytes(void);

/* As GC_malloc, GC_malloc_atomic, GC_malloc_uncollectable. */
void *bp_boehm_malloc(size_t size, enum bp_boehm_kind kind, const struct bp_boehm_site *site);
/* As GC_realloc: the end of the old object and a new one of `size`. */
void *bp_boehm_realloc(void *object, size_t size, const struct bp_boehm_site *site);
void bp_boehm_free(void *object);

#define BP_BOEHM_SITE(name)                                                                  \
	__extension__({                                                                      \
		static const struct bp_boehm_site bp_site_ = { __func__, __FILE__, __LINE__, \
			name };                                                              \
		&bp_site_;                                                                   \
	})
#define BP_BOEHM_MALLOC(size, type) bp_boehm_malloc(size, BP_BOEHM_NORMAL, BP_BOEHM_SITE(type))
#define BP_BOEHM_MALLOC_ATOMIC(size, type) \
	bp_boehm_malloc(size, BP_BOEHM_ATOMIC, BP_BOEHM_SITE(type))

/* Most cells that the collector gives at once: a block of 4 KiB in granules of 16 bytes. More than
 * that are taken in parts. */
#define BP_BOEHM_CELLS_MAX 256

/* Cells of one size for one thread. To be kept where the collector sees it, and nowhere else: made
 * by bp_boehm_list_create, in uncollectable memory. */
struct bp_boehm_list {
	void *fast; /* none of these is sampled */
	void *rest; /* the next one is, or there are none */
	size_t size;
	uint32_t position, hit, hits; /* of the first of `rest`; of the next in `hit_of` */
	uint32_t generation;	      /* of the start under which it was filled */
	struct bp_list_hit hit_of[BP_BOEHM_CELLS_MAX];
};

struct bp_boehm_list *bp_boehm_list_create(size_t size);
void bp_boehm_list_destroy(struct bp_boehm_list *list);
void *bp_boehm_list_slow(struct bp_boehm_list *list, const struct bp_boehm_site *site);

static inline void *bp_boehm_list_take(struct bp_boehm_list *list, const struct bp_boehm_site *site)
{
	void **cell = (void **)list->fast;
	if (__builtin_expect(cell == NULL, 0))
		return bp_boehm_list_slow(list, site);
	list->fast = *cell;
	*cell = NULL;
	return cell;
}
#define BP_BOEHM_TAKE(list, type) bp_boehm_list_take(list, BP_BOEHM_SITE(type))

#ifdef __cplusplus
}
#endif

#endif
