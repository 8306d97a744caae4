/* SPDX-License-Identifier: MIT */
/*
 * The table of all live objects against a plain model, one million operations; several threads at
 * once, each with addresses of its own and of others'; what a fork leaves of it; and a busy stripe.
 * The order of operations is random with recorded seeds; what is asserted is always true.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tables/verify_table.h"

#define ADDRESSES 60000

static uint64_t next(uint64_t *state)
{
	uint64_t z = (*state += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

/* As a heap gives them: side by side, 16 bytes and more apart, and far ones. */
static void *address(uint64_t i)
{
	return (void *)(0x55555557a010u + (i % 7 == 0 ? i << 21 : i << 5));
}

static struct bp_verify_entry entry_of(uint64_t i, uint64_t sequence)
{
	return (struct bp_verify_entry){ .address = (uint64_t)address(i),
		.size = sequence * 3,
		.stack = (uint32_t)sequence,
		.thread = (uint32_t)(sequence >> 3),
		.objects = sequence << 20 };
}

static void assert_entry(const struct bp_verify_entry *entry, uint64_t i, uint64_t sequence)
{
	const struct bp_verify_entry expected = entry_of(i, sequence);
	assert_memory_equal(entry, &expected, sizeof expected);
}

static void against_a_model(void **state)
{
	static uint64_t model[ADDRESSES]; /* sequence, 0: not there */
	struct bp_verify_entry found;
	uint64_t random = 1, sequence = 0;
	unsigned live = 0, most = 0;
	(void)state;
	assert_false(bp_verify_table_remove(address(1), &found));
	for (int i = 0; i < 1000000; i++) {
		/* The number of live ones swells and shrinks, so that probes wrap and move. */
		const unsigned wave = (unsigned)(i / 50000) % 4 + 1;
		const uint64_t k = next(&random) % ADDRESSES;
		if (next(&random) % 5 < wave) {
			const struct bp_verify_entry entry = entry_of(k, ++sequence);
			assert_true(bp_verify_table_insert(&entry, &found));
			if (model[k] != 0)
				assert_entry(&found, k, model[k]);
			else
				assert_true(found.address == 0);
			live += model[k] == 0;
			model[k] = sequence;
			most = live > most ? live : most;
			continue;
		}
		const bool there = next(&random) % 2 ? bp_verify_table_remove(address(k), &found)
						     : bp_verify_table_try_remove(address(k),
							       &found) == BP_VERIFY_FOUND;
		assert_int_equal(there, model[k] != 0);
		if (there)
			assert_entry(&found, k, model[k]);
		live -= model[k] != 0;
		model[k] = 0;
	}
	assert_true(most > ADDRESSES / 2);
	/* 32 bytes an object, more than three eighths full: what the largest number needed. */
	assert_true(bp_verify_table_bytes() <= 32 * 8 / 3 * (uint64_t)most + 64 * 4096);
	for (uint64_t k = 0; k < ADDRESSES; k++)
		assert_int_equal(bp_verify_table_remove(address(k), &found), model[k] != 0);
}

#define THREADS 4
#define OWN 20000

static void *insert_and_remove(void *argument)
{
	const uint64_t first = ADDRESSES + (uint64_t)(uintptr_t)argument * OWN;
	struct bp_verify_entry found;
	for (int round = 0; round < 5; round++) {
		for (uint64_t i = first; i < first + OWN; i++) {
			const struct bp_verify_entry entry = entry_of(i, i);
			if (!bp_verify_table_insert(&entry, &found) || found.address != 0)
				return "an entry that nobody made";
		}
		for (uint64_t i = first; i < first + OWN; i++) {
			const struct bp_verify_entry expected = entry_of(i, i);
			if (!bp_verify_table_remove(address(i), &found) ||
				memcmp(&found, &expected, sizeof found) != 0)
				return "an entry lost or changed";
		}
	}
	return NULL;
}

static void by_several_threads(void **state)
{
	pthread_t threads[THREADS];
	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, insert_and_remove, (void *)i), 0);
	for (int i = 0; i < THREADS; i++) {
		void *problem;
		assert_int_equal(pthread_join(threads[i], &problem), 0);
		if (problem != NULL)
			fail_msg("%s", (const char *)problem);
	}
}

/* The child's table is empty and works; the parent's is as it was. */
static void after_a_fork(void **state)
{
	struct bp_verify_entry found;
	(void)state;
	for (uint64_t i = 0; i < 5000; i++) {
		const struct bp_verify_entry entry = entry_of(i, i + 1);
		assert_true(bp_verify_table_insert(&entry, &found));
	}
	bp_verify_table_lock();
	const pid_t child = fork();
	if (child == 0) {
		int wrong = 0;
		bp_verify_table_after_fork();
		for (uint64_t i = 0; i < 5000; i++)
			wrong += bp_verify_table_remove(address(i), &found);
		for (uint64_t i = 0; i < 5000; i++) {
			const struct bp_verify_entry entry = entry_of(i, i + 7);
			wrong += !bp_verify_table_insert(&entry, &found) || found.address != 0;
		}
		for (uint64_t i = 0; i < 5000; i++)
			wrong += !bp_verify_table_remove(address(i), &found) ||
				 found.size != 3 * (i + 7);
		_exit(wrong == 0 ? 0 : 1);
	}
	bp_verify_table_unlock();
	int status = -1;
	assert_true(child > 0 && waitpid(child, &status, 0) == child);
	assert_int_equal(status, 0);
	for (uint64_t i = 0; i < 5000; i++) {
		assert_true(bp_verify_table_remove(address(i), &found));
		assert_entry(&found, i, i + 1);
	}
}

static void while_a_stripe_is_in_use(void **state)
{
	const struct bp_verify_entry entry = entry_of(3, 4);
	struct bp_verify_entry found;
	(void)state;
	assert_true(bp_verify_table_insert(&entry, &found));
	bp_verify_table_lock();
	assert_int_equal(bp_verify_table_try_remove(address(3), &found), BP_VERIFY_BUSY);
	bp_verify_table_unlock();
	assert_int_equal(bp_verify_table_try_remove(address(3), &found), BP_VERIFY_FOUND);
	assert_entry(&found, 3, 4);
	assert_int_equal(bp_verify_table_try_remove(address(3), &found), BP_VERIFY_ABSENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(against_a_model),
		cmocka_unit_test(by_several_threads),
		cmocka_unit_test(after_a_fork),
		cmocka_unit_test(while_a_stripe_is_in_use),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
