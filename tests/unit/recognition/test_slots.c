/* SPDX-License-Identifier: MIT */
/*
 * Slots: every size that has one, every alignment, no two objects in each other's way, all of the
 * usable bytes writable, the header word that free looks for, and memory that comes back. Orders
 * are random with recorded seeds; what is asserted is always true, so there are no false alarms.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "recognition/damage.h"
#include "recognition/hot.h"
#include "recognition/slots.h"
#include "tables/arena.h"

/* The largest request that lives in a slot: beyond, glibc's chunk has 64 KiB. */
#define SIZE_LARGEST 65512u

static uint64_t next(uint64_t *state)
{
	uint64_t z = (*state += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

struct object {
	uint8_t *at;
	struct bp_slot *slot;
	size_t size, usable;
	uint8_t pattern;
};

static void check_word(const struct object *object)
{
	const uint64_t word = bp_header_word(object->at);
	assert_true((word & BP_SLOT_BIT) != 0);
	assert_true(word >= BP_HEADER_LARGE);
	assert_ptr_equal(bp_slot_find(object->at), object->slot);
}

static struct object take(size_t size, size_t alignment, uint8_t pattern)
{
	struct object object = { .size = size, .usable = bp_slot_usable(size), .pattern = pattern };
	object.at = bp_slot_take(size, alignment, &object.slot);
	assert_non_null(object.at);
	assert_true((uintptr_t)object.at % 16 == 0);
	assert_true(alignment < 2 || (uintptr_t)object.at % alignment == 0);
	assert_true(object.usable >= size && object.slot->size == size);
	object.slot->sequence = pattern;
	memset(object.at, pattern, object.usable);
	check_word(&object);
	return object;
}

/* Untouched by anybody else, to the last usable byte. */
static void check(const struct object *object)
{
	check_word(object);
	assert_true(object->slot->sequence == object->pattern);
	for (size_t i = 0; i < object->usable; i++)
		if (object->at[i] != object->pattern)
			fail_msg("byte %zu of %zu (%zu) was changed", i, object->size,
				object->usable);
}

static void give(struct object *object)
{
	check(object);
	assert_true(bp_slot_release(object->slot));
	object->at = NULL;
}

/* ---- sizes ---- */

/* glibc's own functions: a sanitizer replaces malloc, and its blocks have no size word before
 * them. */
void *__libc_malloc(size_t size);
void __libc_free(void *chunk);

static void bounds(void **state)
{
	(void)state;
	assert_true(bp_slot_fits(0) && bp_slot_fits(1) && bp_slot_fits(SIZE_LARGEST));
	assert_false(bp_slot_fits(SIZE_LARGEST + 1));
	assert_false(bp_slot_fits(65536) || bp_slot_fits(SIZE_MAX) || bp_slot_fits(SIZE_MAX - 15));
	/* Exactly those whose chunk in glibc's heap is recognised neither by its size word. */
	for (size_t size = 65000; size < 66000; size++) {
		void *chunk = __libc_malloc(size);
		assert_non_null(chunk);
		__asm__("" : "+r"(chunk)); /* the word before it is no business of the compiler */
		if (!bp_slot_fits(size))
			assert_true(bp_header_word(chunk) >= BP_HEADER_LARGE);
		__libc_free(chunk);
	}
}

/* As glibc answers for a fresh block of the same request. */
static void usable_size(void **state)
{
	(void)state;
	for (size_t size = 0; bp_slot_fits(size); size++) {
		size_t chunk = (size + 8 + 15) & ~(size_t)15;
		assert_true(bp_slot_usable(size) == (chunk < 32 ? 32 : chunk) - 8);
	}
	for (size_t size = 0; size < 1000; size++) {
		void *chunk = __libc_malloc(size);
		assert_non_null(chunk);
		__asm__("" : "+r"(chunk));
		/* The low three bits of the size word are flags; the word itself is not usable. */
		assert_true((bp_header_word(chunk) & ~(size_t)7) - 8 >= bp_slot_usable(size));
		__libc_free(chunk);
	}
}

/* Every size, each with two neighbours of its own size, live at once. */
static void every_size(void **state)
{
	(void)state;
	for (size_t size = 0; bp_slot_fits(size); size += size < 9000 ? 1 : 7) {
		struct object three[3];
		for (unsigned i = 0; i < 3; i++)
			three[i] = take(size, 0, (uint8_t)(size + i + 1));
		for (unsigned i = 0; i < 3; i++)
			give(&three[i]);
	}
	for (size_t size = SIZE_LARGEST - 40; bp_slot_fits(size); size++) {
		struct object object = take(size, 0, 3);
		give(&object);
	}
}

static void every_alignment(void **state)
{
	static const size_t sizes[] = { 0, 1, 8, 24, 25, 100, 1000, 4096, 30000, 65000,
		SIZE_LARGEST };
	(void)state;
	for (size_t alignment = 1; alignment <= 1 << 20; alignment *= 2)
		for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			struct object three[3];
			for (unsigned k = 0; k < 3; k++)
				three[k] = take(sizes[i], alignment, (uint8_t)(k + 1));
			for (unsigned k = 0; k < 3; k++)
				give(&three[(k + i) % 3]);
		}
	struct bp_slot *slot;
	assert_null(bp_slot_take(10, (size_t)1 << 32, &slot));
	assert_null(bp_slot_take(10, (size_t)1 << 63, &slot));
}

/* ---- a life ---- */

#define LIVE 3000

static size_t any_size(uint64_t *random)
{
	const uint64_t r = next(random);
	size_t size = (size_t)(next(random) >> (48 + r % 16)); /* below 64 KiB, small ones often */
	return size > SIZE_LARGEST ? SIZE_LARGEST : size;
}

/* Objects come and go; all are found intact, and no two overlap (each has its own pattern). */
static void random_lives(void **state)
{
	static struct object objects[LIVE];
	uint64_t random = 11;
	(void)state;
	memset(objects, 0, sizeof objects);
	for (int i = 0; i < 200000; i++) {
		struct object *object = &objects[next(&random) % LIVE];
		if (object->at != NULL)
			give(object);
		size_t alignment = next(&random) % 8 == 0 ? (size_t)1 << (next(&random) % 14) : 0;
		if (i < 150000)
			*object = take(any_size(&random), alignment, (uint8_t)(1 + i % 255));
	}
	for (int i = 0; i < LIVE; i++)
		if (objects[i].at != NULL)
			give(&objects[i]);
}

/* A slot holds another size without moving: never more than there is, never nearly nothing. */
static void holding(void **state)
{
	uint64_t random = 12;
	(void)state;
	for (int i = 0; i < 30000; i++) {
		size_t alignment = next(&random) % 4 == 0 ? (size_t)1 << (next(&random) % 13) : 0;
		struct object object = take(any_size(&random), alignment, 1);
		struct object neighbour = take(object.size, alignment, 2);
		assert_true(alignment > 16 || bp_slot_holds(object.slot, object.size));
		for (int k = 0; k < 10; k++) {
			size_t size = next(&random) % 2 == 0 ? any_size(&random)
							     : object.size + next(&random) % 64;
			if (!bp_slot_fits(size) || !bp_slot_holds(object.slot, size))
				continue;
			bp_slot_resize(object.slot, size);
			memset(object.at, 1, bp_slot_usable(size)); /* must stay its own */
			check(&neighbour);
			check_word(&object);
		}
		assert_false(bp_slot_holds(object.slot, SIZE_LARGEST + 100));
		assert_true(bp_slot_release(object.slot));
		give(&neighbour);
	}
}

/* Freed objects are unknown, whatever their memory still says; and so is everything that never was
 * one. */
static void strangers(void **state)
{
	uint64_t fake[4] __attribute__((aligned(16))) = { 0, BP_SLOT_BIT, 0, 0 };
	(void)state;
	struct object kept = take(100, 0, 7), object = take(100, 0, 8);
	uint8_t *at = object.at;
	give(&object);
	assert_null(bp_slot_find(at));
	fake[1] = bp_header_word(kept.at); /* a copy elsewhere of a good word */
	assert_null(bp_slot_find(&fake[2]));
	uint64_t random = 13;
	for (int i = 0; i < 100000; i++) {
		fake[1] = BP_SLOT_BIT | next(&random) >> (next(&random) % 64);
		assert_null(bp_slot_find(&fake[2]));
	}
	give(&kept);
}

/* Given back while somebody holds the class, as a fork does all: nobody's at once, and a free slot
 * once the class is let go. */
static void returned(void **state)
{
	enum { COUNT = 40 };
	struct object objects[COUNT];
	(void)state;
	for (int i = 0; i < COUNT; i++)
		objects[i] = take(200, 0, (uint8_t)(i + 1));
	bp_slot_lock_all();
	for (int i = 0; i < COUNT; i++) {
		assert_true(bp_slot_release(objects[i].slot));
		assert_null(bp_slot_find(objects[i].at));
	}
	bp_slot_unlock_all();
	for (int i = 0; i < COUNT; i++) {
		struct object again = take(200, 0, (uint8_t)(i + 1));
		bool known = false;
		for (int k = 0; k < COUNT; k++)
			known |= again.at == objects[k].at;
		assert_true(known);
	}
}

/* ---- memory ---- */

static long resident_bytes(void)
{
	char text[128];
	long total, resident = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (file != NULL && fgets(text, sizeof text, file) != NULL &&
		sscanf(text, "%ld %ld", &total, &resident) != 2)
		resident = 0;
	if (file != NULL)
		fclose(file);
	return resident * 4096;
}

/* Slots are used again, and the memory of empty slabs goes back but for a little. */
static void memory_comes_back(void **state)
{
	enum { COUNT = 50000 };
	struct object *objects = calloc(COUNT, sizeof *objects);
	(void)state;
	assert_non_null(objects);
	const long before = resident_bytes();
	uint64_t mapped = 0, arena = 0;
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < COUNT; i++)
			objects[i] = take(500, 0, (uint8_t)(i % 255 + 1));
		assert_true(resident_bytes() - before > 20 << 20);
		for (int i = 0; i < COUNT; i++)
			give(&objects[(i * 7919) % COUNT]);
		assert_true(resident_bytes() - before < 8 << 20);
		if (round == 0) {
			mapped = bp_slot_bytes();
			arena = bp_arena_bytes();
		}
		assert_true(bp_slot_bytes() == mapped && bp_arena_bytes() == arena);
	}
	free(objects);
}

/* Objects too large for a class have a mapping each, and leave nothing behind. */
static void singles_come_back(void **state)
{
	struct object objects[20];
	(void)state;
	for (int i = 0; i < 20; i++)
		objects[i] = take(1000, 1 << 20, 1);
	for (int i = 0; i < 20; i++)
		give(&objects[i]);
	const uint64_t mapped = bp_slot_bytes(), arena = bp_arena_bytes();
	for (int round = 0; round < 1000; round++) {
		struct object object = take(1000, 1 << 20, 1);
		assert_true(bp_slot_bytes() > mapped);
		give(&object);
		assert_true(bp_slot_bytes() == mapped && bp_arena_bytes() == arena);
	}
}

/* What a signal handler could not free is handed out again, each object once. */
static void deferred(void **state)
{
	struct object objects[100];
	unsigned seen = 0;
	struct bp_slot *slot;
	void *at;
	(void)state;
	assert_null(bp_slot_next_deferred(&at));
	for (int i = 0; i < 100; i++)
		objects[i] = take(24, 0, (uint8_t)(i + 1));
	for (int i = 0; i < 100; i++) {
		assert_true(bp_slot_defer(objects[i].slot));
		assert_null(bp_slot_find(objects[i].at));
		assert_false(bp_slot_defer(objects[i].slot)); /* a second time */
		assert_false(bp_slot_release(objects[i].slot));
	}
	while ((slot = bp_slot_next_deferred(&at)) != NULL) {
		assert_ptr_equal(bp_slot_find(at), slot);
		assert_true(bp_slot_release(slot));
		seen++;
	}
	assert_int_equal(seen, 100);
}

/* ---- attacks ---- */

/* What a program with a use after free might leave at its end and begin: an address that the
 * recorder must not follow, and a size word that names a slot which there is not. */
static void attack(void *at, uint64_t word, void *target)
{
	((uint64_t *)at)[-1] = word;
	((void **)at)[0] = target;
	((void **)at)[1] = target;
}

/* Freed objects wait in lists, because their class is locked or because a signal handler freed
 * them, and the program writes over all of their memory meanwhile. */
static void attacked(void **state)
{
	enum { COUNT = 32 };
	static uint64_t victim[4 * COUNT] __attribute__((aligned(16)));
	struct object objects[COUNT];
	struct bp_slot *slot;
	unsigned seen = 0;
	void *at;
	(void)state;
	for (int by_signal = 0; by_signal < 2; by_signal++) {
		for (int i = 0; i < COUNT; i++)
			objects[i] = take(200, 0, (uint8_t)(i + 1));
		struct object kept = take(200, 0, 99);
		const uint64_t number = bp_header_word(kept.at) & ~(uint64_t)0xffff;
		if (by_signal == 0)
			bp_slot_lock_all();
		for (int i = 0; i < COUNT; i++) {
			assert_true(by_signal != 0 ? bp_slot_defer(objects[i].slot)
						   : bp_slot_release(objects[i].slot));
			attack(objects[i].at, i % 2 == 0 ? number | 0xffff : (uint64_t)i << 40,
				&victim[4 * i + 2]);
		}
		if (by_signal == 0)
			bp_slot_unlock_all();
		while ((slot = bp_slot_next_deferred(&at)) != NULL && seen++ < 2 * COUNT)
			assert_true(bp_slot_release(slot));
		assert_int_equal(seen, by_signal * COUNT);
		for (int i = 0; i < 4 * COUNT; i++)
			assert_true(victim[i] == 0);
		give(&kept);
	}
	for (int i = 0; i < COUNT; i++)
		objects[i] = take(200, 0, (uint8_t)(i + 1));
	for (int i = 0; i < COUNT; i++)
		give(&objects[i]);
	assert_int_not_equal(bp_damage_noted(), BP_DAMAGE_NONE); /* it is seen, too */
}

/* Each byte behind the usable end, wrong by one bit. */
static void overflow_of(const struct object *object)
{
	for (int byte = 0; byte < 8; byte++) {
		uint8_t *wrong = object->at + object->usable + byte;
		*wrong ^= 0x40;
		bp_slot_resize(object->slot, object->size);
		assert_int_equal(bp_damage_noted(), BP_DAMAGE_OVERFLOW);
		assert_int_equal(bp_damage_noted(), BP_DAMAGE_NONE);
		*wrong ^= 0x40;
		(void)bp_damage_noted();
		bp_slot_resize(object->slot, object->size); /* marked anew */
		(void)bp_damage_noted();
		bp_slot_resize(object->slot, object->size);
		assert_int_equal(bp_damage_noted(), BP_DAMAGE_NONE);
	}
	object->at[object->usable] ^= 0x40;
	assert_true(bp_slot_release(object->slot));
	assert_int_equal(bp_damage_noted(), BP_DAMAGE_OVERFLOW);
}

/* Found whether what lies behind is a mark, the size word of the next slot, or of one that was
 * never used. */
static void overflow(void **state)
{
	static const size_t sizes[] = { 0, 24, 100, 520, 521, 600, 1000, 5000, 65000,
		SIZE_LARGEST };
	(void)state;
	assert_int_equal(bp_damage_noted(), BP_DAMAGE_NONE);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t alignment = 16; alignment <= 1 << 18; alignment *= 4) {
			struct object one = take(sizes[i], alignment, 3);
			const uint8_t *end = one.at + one.usable;
			uint64_t word;
			memcpy(&word, end, sizeof word);
			overflow_of(&one);
			if (alignment <= 4096 &&
				i < 7) /* a slab's memory stays, and so must the next size word */
				memcpy((void *)(uintptr_t)end, &word, sizeof word);
		}
}

/* A write into a freed object is found when its memory is used again, be its slab emptied meanwhile
 * or not. */
static void written_when_freed(void **state)
{
	(void)state;
	/* The first word is that of glibc's own lists. A write behind it does no harm there, nor
	 * here. */
	for (int word = 0; word < 3; word++)
		for (int kept = 0; kept < 2; kept++) {
			struct object one = take(3333, 0, 1), other = take(3333, 0, 2);
			uint64_t *freed = (uint64_t *)(void *)one.at;
			if (kept == 0)
				give(&other);
			give(&one);
			freed[word] ^= 1;
			assert_int_equal(bp_damage_noted(), BP_DAMAGE_NONE);
			struct object again[2];
			for (int i = 0; i < 2; i++)
				again[i] = take(3333, 0, 3);
			assert_int_equal(bp_damage_noted(),
				word == 0 ? BP_DAMAGE_WRITE_FREED : BP_DAMAGE_NONE);
			for (int i = 0; i < 2; i++)
				give(&again[i]);
			if (kept != 0)
				give(&other);
			assert_int_equal(bp_damage_noted(), BP_DAMAGE_NONE);
		}
}

/* Of two frees of one object at a time one is refused. */
static void released_twice(void **state)
{
	(void)state;
	struct object object = take(100, 0, 5);
	assert_true(bp_slot_release(object.slot));
	assert_false(bp_slot_release(object.slot));
	assert_null(bp_slot_find(object.at));
	struct object one = take(100, 0, 6), other = take(100, 0, 7);
	assert_ptr_not_equal(one.at, other.at);
	give(&one);
	give(&other);
}

/* ---- threads ---- */

static void *worker(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument;
	struct object objects[64] = { 0 };
	for (int i = 0; i < 20000; i++) {
		struct object *object = &objects[next(&random) % 64];
		if (object->at != NULL) {
			/* cmocka's assertions are for one thread: damage ends the process. */
			for (size_t k = 0; k < object->usable; k++)
				if (object->at[k] != object->pattern)
					abort();
			if (!bp_slot_release(object->slot))
				abort();
		}
		object->size = any_size(&random) % 3000;
		object->usable = bp_slot_usable(object->size);
		object->pattern = (uint8_t)next(&random);
		object->at = bp_slot_take(object->size, 0, &object->slot);
		if (object->at == NULL || bp_slot_find(object->at) != object->slot)
			abort();
		memset(object->at, object->pattern, object->usable);
	}
	return NULL;
}

static void threads(void **state)
{
	pthread_t running[4];
	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&running[i], NULL, worker, (void *)(i + 1)), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(running[i], NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds),
		cmocka_unit_test(usable_size),
		cmocka_unit_test(every_size),
		cmocka_unit_test(every_alignment),
		cmocka_unit_test(random_lives),
		cmocka_unit_test(holding),
		cmocka_unit_test(strangers),
		cmocka_unit_test(returned),
		cmocka_unit_test(memory_comes_back),
		cmocka_unit_test(singles_come_back),
		cmocka_unit_test(deferred),
		cmocka_unit_test(attacked),
		cmocka_unit_test(released_twice),
		cmocka_unit_test(overflow),
		cmocka_unit_test(written_when_freed),
		cmocka_unit_test(threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
