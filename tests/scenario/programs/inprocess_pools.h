/* SPDX-License-Identifier: MIT */
/*
 * An arena as programs have them: chunks from malloc, objects cut from them, everything given back
 * at once. Free lists are left out: a freed object's place is not used again. Four ways to tell of
 * it, chosen by a macro before this is included:
 *
 *	TELL_CREATE(arena, name), TELL_ALLOC(arena, object, size), TELL_FREE(arena, object),
 *	TELL_TRIM(arena, keep, bytes), TELL_DESTROY(arena), TELL_CHUNK_BEGIN, TELL_CHUNK_END
 */
#ifndef BP_SCENARIO_INPROCESS_POOLS_H
#define BP_SCENARIO_INPROCESS_POOLS_H

#include <string.h>

#include "check.h"

#define CHUNK_BYTES 100000u

struct chunk {
	struct chunk *next;
	char memory[CHUNK_BYTES];
};

struct arena {
	struct chunk *chunks;
	char *at, *end;
};

static void *arena_allocate(struct arena *arena, size_t size)
{
	const size_t room = (size + 15) & ~(size_t)15;
	CHECK(size <= CHUNK_BYTES);
	if ((size_t)(arena->end - arena->at) < room) {
		TELL_CHUNK_BEGIN
		struct chunk *chunk = (struct chunk *)malloc(sizeof *chunk);
		TELL_CHUNK_END
		CHECK(chunk != NULL);
		chunk->next = arena->chunks;
		arena->chunks = chunk;
		arena->at = chunk->memory;
		arena->end = chunk->memory + CHUNK_BYTES;
	}
	void *object = arena->at;
	arena->at += room;
	TELL_ALLOC(arena, object, size);
	return object;
}

static void arena_free_chunks(struct arena *arena)
{
	while (arena->chunks != NULL) {
		struct chunk *chunk = arena->chunks;
		arena->chunks = chunk->next;
		free(chunk);
	}
	memset(arena, 0, sizeof *arena);
}

/* What the sites make, which the driver knows too:
 *	site_kept     3000 objects of 1 to 300 bytes, kept
 *	site_freed    2000 objects of 40 bytes, freed one by one
 *	site_dropped  1000 objects of 10 to 90,000 bytes, given back with their arena
 *	site_trimmed  500 objects of 64 bytes, of which the first one's place alone is kept
 */
#define SITE __attribute__((noinline))

SITE static void *site_kept(struct arena *arena, size_t size)
{
	void *object = arena_allocate(arena, size);
	KEEP(object);
	return object;
}

SITE static void *site_freed(struct arena *arena, size_t size)
{
	void *object = arena_allocate(arena, size);
	KEEP(object);
	return object;
}

SITE static void *site_dropped(struct arena *arena, size_t size)
{
	void *object = arena_allocate(arena, size);
	KEEP(object);
	return object;
}

SITE static void *site_trimmed(struct arena *arena, size_t size)
{
	void *object = arena_allocate(arena, size);
	KEEP(object);
	return object;
}

struct figures {
	uint64_t bytes, objects;
};

static void add(struct figures *figures, size_t size)
{
	figures->bytes += size;
	figures->objects++;
}

static void print(const char *site, const struct figures *allocated, const struct figures *live)
{
	dprintf(1, "%s %llu %llu %llu %llu\n", site, (unsigned long long)allocated->bytes,
		(unsigned long long)allocated->objects, (unsigned long long)live->bytes,
		(unsigned long long)live->objects);
}

static void work(void)
{
	static struct arena keeping, dropping, trimming;
	struct figures kept = { 0, 0 }, freed = { 0, 0 }, dropped = { 0, 0 }, trimmed = { 0, 0 };
	const struct figures none = { 0, 0 }, one = { 64, 1 };
	uint64_t random = 5;
	TELL_CREATE(&keeping, "kept things");
	for (int i = 0; i < 3000; i++) {
		const size_t size = random_between(&random, 1, 300);
		(void)site_kept(&keeping, size);
		add(&kept, size);
	}
	for (int i = 0; i < 2000; i++) {
		void *object = site_freed(&keeping, 40);
		TELL_FREE(&keeping, object);
		add(&freed, 40);
	}
	TELL_CREATE(&dropping, "dropped things");
	for (int i = 0; i < 1000; i++) {
		const size_t size = random_between(&random, 10, i % 50 == 0 ? 90000 : 200);
		(void)site_dropped(&dropping, size);
		add(&dropped, size);
		if (i % 300 == 299) {
			/* Given back, and used again at the same addresses. */
			TELL_TRIM(&dropping, NULL, 0);
			arena_free_chunks(&dropping);
		}
	}
	TELL_DESTROY(&dropping);
	arena_free_chunks(&dropping);
	char *first = (char *)site_trimmed(&trimming, 64);
	add(&trimmed, 64);
	for (int i = 1; i < 500; i++) {
		(void)site_trimmed(&trimming, 64);
		add(&trimmed, 64);
	}
	TELL_TRIM(&trimming, first, 64);
	print("site_kept", &kept, &kept);
	print("site_freed", &freed, &none);
	print("site_dropped", &dropped, &none);
	print("site_trimmed", &trimmed, &one);
}

#endif
