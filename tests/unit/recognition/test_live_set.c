/* SPDX-License-Identifier: MIT */
/*
 * The table of large live samples against a plain model, one million operations; readers beside a
 * writer; and the full table. The order of operations is random with recorded seeds; what is
 * asserted is always true.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "recognition/live_set.h"

#define ADDRESSES 20000

static uint64_t next(uint64_t *state)
{
	uint64_t z = (*state += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

/* Large blocks: page by page, some of them side by side, as allocators give them. */
static const void *address(uint64_t i)
{
	return (const void *)(0x7f0000000010u + (i % 5 == 0 ? i << 12 : i << 17));
}

static void against_a_model(void **state)
{
	static uint64_t model[ADDRESSES]; /* sequence, 0: not there */
	uint64_t random = 1, sequence = 0;
	unsigned live = 0, most = 0;
	(void)state;
	assert_false(bp_live_contains(address(1)));
	assert_true(bp_live_remove(address(1)) == 0);
	for (int i = 0; i < 1000000; i++) {
		/* The number of live ones swells and shrinks, so that probes wrap and move. */
		const unsigned wave = (unsigned)(i / 50000) % 4 + 1;
		const uint64_t k = next(&random) % ADDRESSES;
		const bool insert = next(&random) % 5 < wave;
		assert_int_equal(bp_live_contains(address(k)), model[k] != 0);
		if (insert && model[k] == 0) {
			assert_true(bp_live_insert(address(k), ++sequence));
			model[k] = sequence;
			most = ++live > most ? live : most;
		} else if (!insert) {
			uint64_t removed = next(&random) % 2 ? bp_live_remove(address(k))
							     : bp_live_try_remove(address(k));
			assert_true(removed == model[k]);
			live -= model[k] != 0;
			model[k] = 0;
		}
	}
	assert_true(most > ADDRESSES / 2);
	for (uint64_t k = 0; k < ADDRESSES; k++) {
		assert_int_equal(bp_live_contains(address(k)), model[k] != 0);
		assert_true(bp_live_remove(address(k)) == model[k]);
	}
	/* The same address again: the newer number holds. */
	assert_true(bp_live_insert(address(3), 5) && bp_live_insert(address(3), 6));
	assert_true(bp_live_remove(address(3)) == 6);
	assert_false(bp_live_contains(address(3)));
}

/* ---- readers beside writers ---- */

static volatile int stop;
static volatile unsigned long wrong, looked;

/* Looks at objects nobody touches: those with odd numbers are in, the even ones never. */
static void *reader(void *argument)
{
	uint64_t random = (uint64_t)(uintptr_t)argument;
	unsigned long count = 0;
	while (!stop) {
		uint64_t k = 100000 + next(&random) % 1000;
		/* A true for what is not there would be legal while a writer sleeps. */
		if (k % 2 == 1 && !bp_live_contains(address(k)))
			wrong++;
		count++;
	}
	__atomic_fetch_add(&looked, count, __ATOMIC_RELAXED);
	return NULL;
}

static void *writer(void *argument)
{
	const uint64_t base = 200000 + 100000 * (uint64_t)(uintptr_t)argument;
	uint64_t random = base, sequence = 1;
	static uint8_t in[2][100000];
	uint8_t *mine = in[(uintptr_t)argument];
	for (int i = 0; i < 300000; i++) {
		const uint64_t k = next(&random) % 30000;
		const void *object = address(base + k);
		if (mine[k] ? bp_live_remove(object) == 0 : !bp_live_insert(object, ++sequence))
			wrong++;
		mine[k] = !mine[k];
	}
	for (uint64_t k = 0; k < 30000; k++)
		if (mine[k])
			wrong += bp_live_remove(address(base + k)) == 0;
	return NULL;
}

static void concurrent_readers(void **state)
{
	pthread_t readers[2], writers[2];
	(void)state;
	for (uint64_t k = 100001; k < 101000; k += 2)
		assert_true(bp_live_insert(address(k), k));
	for (uintptr_t i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&readers[i], NULL, reader, (void *)(i + 1)), 0);
		assert_int_equal(pthread_create(&writers[i], NULL, writer, (void *)i), 0);
	}
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(writers[i], NULL), 0);
	stop = 1;
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_join(readers[i], NULL), 0);
	assert_true(wrong == 0);
	assert_true(looked > 1000);
	for (uint64_t k = 100001; k < 101000; k += 2)
		assert_true(bp_live_remove(address(k)) == k);
}

/* A lock held (by the writer that a signal handler interrupted) makes the handler give up. */
static void try_remove_does_not_wait(void **state)
{
	(void)state;
	assert_true(bp_live_insert(address(1), 9));
	bp_live_lock();
	assert_true(bp_live_try_remove(address(1)) == 0);
	assert_true(bp_live_contains(address(1)));
	bp_live_unlock();
	assert_true(bp_live_try_remove(address(1)) == 9);
}

/* Full means full: nothing is lost of what is in, and there is room again afterwards. */
static void full_table(void **state)
{
	uint32_t count = 0;
	(void)state;
	while (bp_live_insert((const void *)(0x10000000010u + ((uint64_t)count << 12)), count + 1))
		count++;
	assert_in_range(count, BP_LIVE_MAX - 2, BP_LIVE_MAX);
	assert_false(bp_live_insert(address(7), 1));
	for (uint32_t i = 0; i < count; i++)
		assert_true(bp_live_remove((const void *)(0x10000000010u + ((uint64_t)i << 12))) ==
			    i + 1);
	assert_true(bp_live_insert(address(7), 1) && bp_live_remove(address(7)) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_a_model),
		cmocka_unit_test(concurrent_readers),
		cmocka_unit_test(try_remove_does_not_wait),
		cmocka_unit_test(full_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
