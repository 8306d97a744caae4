/* SPDX-License-Identifier: MIT */
/*
 * The live samples of pools against a plain model: an array of addresses, each with its pool and
 * number. The same pseudo-random steps in every run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "tables/pool_set.h"

#define ADDRESSES 700
#define POOLS 9

static struct {
	uint64_t sequence; /* 0: not live */
	uint32_t pool;
} model[ADDRESSES];
static uint32_t types[POOLS];
static uint64_t random_state = 12345;

static uint32_t pick(uint32_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(random_state >> 33) % below;
}

/* Objects of 8 bytes, and pools among them: an address may be both. */
static const void *address_of(uint32_t i)
{
	return (const void *)(uintptr_t)(0x7f0000001000u + 8 * (uint64_t)i);
}

static void insert(uint32_t i, uint32_t pool, uint64_t sequence)
{
	uint32_t type = 99;
	uint64_t buried = 99;
	assert_true(bp_pool_set_insert(address_of(pool), address_of(i), sequence, &type, &buried));
	assert_int_equal(type, types[pool]);
	assert_int_equal(buried, model[i].sequence);
	model[i].sequence = sequence;
	model[i].pool = pool;
}

static void take(uint32_t pool, uint32_t keep, uint32_t kept, bool destroy)
{
	struct bp_pool_sample samples[16];
	uint32_t count;
	do {
		count = bp_pool_set_take(address_of(pool), address_of(keep), 8 * (uint64_t)kept,
			destroy, samples, 16);
		for (uint32_t k = 0; k < count; k++) {
			const uint32_t i =
				(uint32_t)((samples[k].address - (uint64_t)address_of(0)) / 8);
			assert_true(i < ADDRESSES && model[i].pool == pool);
			assert_true(i < keep || i >= keep + kept);
			assert_int_equal(model[i].sequence, samples[k].sequence);
			model[i].sequence = 0;
		}
	} while (count == 16);
	for (uint32_t i = 0; i < ADDRESSES; i++)
		assert_true(model[i].sequence == 0 || model[i].pool != pool ||
			    (i >= keep && i < keep + kept));
	if (destroy)
		types[pool] = 0;
}

static void move(uint32_t from, uint32_t to)
{
	bp_pool_set_move(address_of(from), address_of(to));
	if (from == to)
		return;
	for (uint32_t i = 0; i < ADDRESSES; i++)
		if (model[i].sequence != 0 && model[i].pool == from)
			model[i].pool = to;
	if (types[from] != 0)
		types[to] = types[from];
	types[from] = 0;
}

static void behaves_as_the_model(void **state)
{
	(void)state;
	for (uint64_t step = 1; step < 200000; step++) {
		const uint32_t i = pick(ADDRESSES), pool = pick(POOLS), what = pick(1000);
		if (what < 600) {
			insert(i, pool, step);
		} else if (what < 985) {
			assert_int_equal(bp_pool_set_remove(address_of(i)), model[i].sequence);
			model[i].sequence = 0;
		} else if (what < 990) {
			take(pool, i, pick(100), false);
		} else if (what < 993) {
			take(pool, 0, 0, true);
		} else if (what < 996) {
			types[pool] = pick(5) + 1;
			assert_true(bp_pool_set_name(address_of(pool), types[pool]));
		} else {
			move(pool, pick(POOLS));
		}
		assert_true(model[i].sequence == 0 || bp_pool_set_may_hold(address_of(i)));
		assert_true(types[pool] == 0 || bp_pool_set_may_have(address_of(pool)));
	}
	for (uint32_t pool = 0; pool < POOLS; pool++)
		take(pool, 0, 0, true);
	for (uint32_t i = 0; i < ADDRESSES; i++)
		assert_int_equal(bp_pool_set_remove(address_of(i)), 0);
}

/* Every pool that has a name takes a place; those that are empty and have none give theirs back. */
static void places_are_bounded_and_given_back(void **state)
{
	uint32_t type;
	uint64_t buried;
	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint64_t i = 1; i <= BP_POOLS_MAX; i++)
			assert_true(bp_pool_set_name((const void *)(uintptr_t)(i << 20), 7));
		assert_false(bp_pool_set_name((const void *)(uintptr_t)8, 7));
		assert_false(bp_pool_set_insert((const void *)(uintptr_t)8,
			(const void *)(uintptr_t)16, 1, &type, &buried));
		for (uint64_t i = 1; i <= BP_POOLS_MAX; i++)
			assert_int_equal(bp_pool_set_take((const void *)(uintptr_t)(i << 20), NULL,
						 0, true, NULL, 0),
				0);
		assert_false(bp_pool_set_may_have((const void *)(uintptr_t)(5 << 20)));
	}
}

static void *own_objects(void *argument)
{
	const uint64_t base = 0x500000000000u + ((uint64_t)(uintptr_t)argument << 32);
	uint32_t type;
	uint64_t buried;
	for (uint64_t turn = 0; turn < 20; turn++) {
		for (uint64_t i = 0; i < 1000; i++) {
			const void *object = (const void *)(uintptr_t)(base + 16 * i);
			if (!bp_pool_set_insert(
				    argument, object, turn * 1000 + i + 1, &type, &buried) ||
				buried != 0 || !bp_pool_set_may_hold(object))
				return argument;
		}
		for (uint64_t i = 0; i < 1000; i++)
			if (bp_pool_set_remove((const void *)(uintptr_t)(base + 16 * i)) !=
				turn * 1000 + i + 1)
				return argument;
	}
	return NULL;
}

static void threads_have_what_they_entered(void **state)
{
	pthread_t threads[4];
	void *failed;
	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, own_objects, (void *)(i + 1)), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

/* A child of a fork in the middle of a change forgets everything, and goes on. */
static void begins_anew_where_it_was_half_changed(void **state)
{
	uint32_t type;
	uint64_t buried;
	(void)state;
	assert_true(bp_pool_set_insert(address_of(1), address_of(2), 5, &type, &buried));
	bp_pool_set_after_fork();
	assert_int_equal(bp_pool_set_remove(address_of(2)), 5);
	assert_true(bp_pool_set_insert(address_of(1), address_of(2), 6, &type, &buried));
	bp_pool_set_lock();
	bp_pool_set_after_fork();
	assert_false(bp_pool_set_may_hold(address_of(2)));
	assert_int_equal(bp_pool_set_remove(address_of(2)), 0);
	assert_true(bp_pool_set_insert(address_of(1), address_of(2), 7, &type, &buried));
	assert_int_equal(bp_pool_set_remove(address_of(2)), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(behaves_as_the_model),
		cmocka_unit_test(places_are_bounded_and_given_back),
		cmocka_unit_test(threads_have_what_they_entered),
		cmocka_unit_test(begins_anew_where_it_was_half_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
