/* SPDX-License-Identifier: MIT */
/*
 * A small garbage collector that moves objects, to show what sampling asks of one. It is a
 * semispace collector as in the textbooks (Cheney 1970): threads allocate by moving a pointer in
 * contexts of their own (8 KiB unless said otherwise), a collection copies what the roots reach
 * into a new space and gives the old one back. Objects of GC_LARGE_BYTES and more, and pinned ones,
 * lie outside and stay where they are.
 *
 *	with_sampling/     how it allocates with bytepoll, and tells what was sampled
 *	without_sampling/  how it did before
 *
 * Everything else is the same in both, fast path included (allocate.c): the build takes one folder
 * or the other. docs/embedding.md tells the story.
 *
 * Threads stop for a collection at their next slow path or gc_safepoint. What a thread holds over
 * an allocation must be a root (gc_root), for it may move. No memory left ends the program.
 */
#ifndef GC_H
#define GC_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "context.h"

#define GC_LARGE_BYTES 85000
#define GC_ROOTS_MAX 64
#define GC_FRAMES_MAX 64

struct gc_heap;

/* Kinds of objects: all of one type have the same layout. References come first. */
struct gc_type {
	const char *name;
	uint32_t bytes;		/* of an object without elements, header included */
	uint32_t references;	/* fields behind the header that are references */
	uint32_t element_bytes; /* of an array; 0: none */
	bool of_references;	/* the elements are */
	uint32_t number;	/* of whoever is told of samples; filled in */
};

/* The header is two words; the fields follow, then the elements. While objects are copied, what is
 * left behind holds the new address in place of its type, with the lowest bit set. */
struct gc_object {
	const struct gc_type *type;
	uint64_t elements;
	struct gc_object *fields[];
};

/* A thread that allocates. The context comes first: the fast path wants small offsets. */
struct gc_thread {
	gc_context context;
	struct gc_heap *heap;
	struct gc_thread *next;
	uint32_t number;   /* of whoever is told of samples */
	uint64_t interval; /* T they were told of */
	uint32_t root_count, depth;
	struct gc_object **roots[GC_ROOTS_MAX];
	uint32_t frames[GC_FRAMES_MAX]; /* numbers of names, outermost first */
};

struct gc_options {
	size_t context_bytes; /* 0: 8 KiB */
	size_t space_bytes;   /* least size of the space; 0: 64 MiB. It grows with what lives */
	struct gc_samples *samples; /* NULL: none */
};

struct gc_totals {
	uint64_t collections, moved_objects, moved_bytes, refills;
};

struct gc_heap *gc_create(const struct gc_options *options);
void gc_destroy(struct gc_heap *heap);
struct gc_totals gc_totals(struct gc_heap *heap);

/* Of the calling thread, or of one that will run soon; `name` for whoever is told. */
void gc_thread_begin(struct gc_heap *heap, struct gc_thread *thread, const char *name);
void gc_thread_end(struct gc_thread *thread);
/* A thread that waits for something else must not be waited for. */
void gc_thread_wait_begin(struct gc_thread *thread);
void gc_thread_wait_end(struct gc_thread *thread);

/* `*place` is a root until it is taken back, last in first out. */
void gc_root(struct gc_thread *thread, struct gc_object **place);
void gc_unroot(struct gc_thread *thread, unsigned count);

/* The fast path: `bytes` are those of the whole object, a multiple of 8; fields are 0. */
struct gc_object *gc_allocate(struct gc_thread *thread, const struct gc_type *type, size_t bytes);
struct gc_object *gc_allocate_slow(
	struct gc_thread *thread, const struct gc_type *type, size_t bytes);
/* Never moved. */
struct gc_object *gc_allocate_pinned(
	struct gc_thread *thread, const struct gc_type *type, size_t bytes);

static inline size_t gc_bytes(const struct gc_type *type, uint64_t elements)
{
	return (type->bytes + elements * type->element_bytes + 7) & ~(size_t)7;
}

static inline struct gc_object *gc_new(struct gc_thread *thread, const struct gc_type *type)
{
	return gc_allocate(thread, type, gc_bytes(type, 0));
}

static inline struct gc_object *gc_new_array(
	struct gc_thread *thread, const struct gc_type *type, uint64_t elements)
{
	struct gc_object *array = gc_allocate(thread, type, gc_bytes(type, elements));
	array->elements = elements;
	return array;
}

void gc_collect(struct gc_thread *thread);
void gc_safepoint(struct gc_thread *thread);

#endif
