/* SPDX-License-Identifier: MIT */
/*
 * The book-keeping of the truth programs: what every call site allocated, what of it is live at the
 * end and what was temporary, counted by the program itself at the point of request, in static
 * memory. The definitions are those of the profiler's manual:
 *   allocated  every request that succeeded, as requested; a realloc is a new object of the whole
 *              new size and frees the old one; realloc(p, 0) is only a free;
 *   live       not freed when the program ends;
 *   temporary  freed by the thread that allocated it before that thread allocates again; the old
 *              block of a realloc is freed before the new one is made.
 * A site is one function that is neither inlined nor cloned (programs are built with -O1), so that
 * its name in a report is the site's name. The truth is printed as JSON on standard output.
 */
#ifndef BP_SCENARIO_TRUTH_H
#define BP_SCENARIO_TRUTH_H

#include "check.h"

#define SITE __attribute__((noinline))

enum metric { METRIC_ALLOCATED, METRIC_LIVE, METRIC_TEMPORARY, METRIC_COUNT };

struct site {
	const char *name;
	uint64_t bytes[METRIC_COUNT], objects[METRIC_COUNT];
};

/* One object of the program; zeroed: none. */
struct object {
	void *pointer;
	size_t size;
	struct site *site;
	int thread;
	uint64_t made; /* the thread's objects, this one included */
};

/* Number of the thread (main: 0) and the objects it made. */
static __thread int this_thread;
static __thread uint64_t objects_made;

static inline void count(struct site *site, enum metric metric, uint64_t bytes, uint64_t objects)
{
	__atomic_fetch_add(&site->bytes[metric], bytes, __ATOMIC_RELAXED);
	__atomic_fetch_add(&site->objects[metric], objects, __ATOMIC_RELAXED);
}

/* A request of `size` bytes at `site` gave `pointer`. */
static inline void made(struct object *object, struct site *site, void *pointer, size_t size)
{
	CHECK(pointer != NULL);
	KEEP(pointer);
	objects_made++;
	object->pointer = pointer;
	object->size = size;
	object->site = site;
	object->thread = this_thread;
	object->made = objects_made;
	count(site, METRIC_ALLOCATED, size, 1);
	count(site, METRIC_LIVE, size, 1);
}

/* The object is about to be freed (or has just been, with nothing allocated between). */
static inline void gone(struct object *object)
{
	count(object->site, METRIC_LIVE, -(uint64_t)object->size, -(uint64_t)1);
	if (object->thread == this_thread && object->made == objects_made)
		count(object->site, METRIC_TEMPORARY, object->size, 1);
	object->pointer = NULL;
}

/* One more object of this thread that belongs to no site and stays: whatever was made before it is
 * no longer temporary when freed. A metric that is not zero must be more than one lucky object. */
static inline void separate(void)
{
	void *pointer = malloc(8);
	KEEP(pointer);
	objects_made++;
}

static inline void drop(struct object *object)
{
	void *pointer = object->pointer;
	gone(object);
	free(pointer);
}

static inline void print_truth(const struct site *sites, int site_count)
{
	static const char *const names[METRIC_COUNT] = { "allocated", "live", "temporary" };
	printf("{");
	for (int i = 0; i < site_count; i++) {
		printf("%s\n \"%s\": {", i ? "," : "", sites[i].name);
		for (int m = 0; m < METRIC_COUNT; m++)
			printf("%s\"%s\": {\"bytes\": %llu, \"objects\": %llu}", m ? ", " : "",
				names[m], (unsigned long long)sites[i].bytes[m],
				(unsigned long long)sites[i].objects[m]);
		printf("}");
	}
	printf("\n}\n");
}

#endif
