/* SPDX-License-Identifier: MIT */
/*
 * Stacks to numbers, and back through the trace: equal stacks share one, different ones never do,
 * not even where their hashes collide (built here on purpose); what the table cannot hold is
 * counted. Nothing is random.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/reader.h"
#include "trace/writer/writer.h"
#include "unwind/stack_table.h"

static struct bp_writer writer;
static char path[64];

static void open_writer(void)
{
	struct bp_trace_header header = {
		.magic = BP_TRACE_MAGIC,
		.version_major = BP_TRACE_MAJOR,
		.version_minor = BP_TRACE_MINOR,
		.chunk_bytes = BP_CHUNK_BYTES,
		.page_bytes = 4096,
		.interval_bytes = 1,
		.charge_bytes = 1,
		.recognition = BP_RECOGNITION_HEADER,
	};
	static int number;
	memset(&writer, 0, sizeof writer);
	snprintf(path, sizeof path, "/tmp/bytepoll-stacks.%d.%d", (int)getpid(), number++);
	assert_true(bp_writer_open(&writer, path, &header, ""));
}

static int begin(void **state)
{
	(void)state;
	open_writer();
	return 0;
}

static int end(void **state)
{
	(void)state;
	return unlink(path);
}

/* `depth` frames derived from `value`; the pcs lie in no module. */
static void make_stack(struct bp_stack_capture *capture, uint32_t depth, uint64_t value)
{
	memset(capture, 0, offsetof(struct bp_stack_capture, known_epoch));
	capture->depth = depth;
	for (uint32_t i = 0; i < depth; i++)
		capture->pcs[i] = 0x10000 + value * 0x1001 + i * 0x777 * value;
}

/* The hash of the table over every fourth frame, after the first. */
static uint64_t hash_of_first(const struct bp_stack_capture *capture)
{
	uint64_t hash = capture->depth ^ (uint64_t)capture->flags << 32;
	hash = (hash ^ capture->pcs[0]) * 0xFF51AFD7ED558CCDu;
	return hash ^ hash >> 32;
}

/* Does the trace define `id` once, and as this stack? */
static void check_in_trace(uint32_t id, const struct bp_stack_capture *capture)
{
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_error error = { .text = "" };
	unsigned found = 0;
	assert_true(bp_trace_reader_open(&reader, path, &error));
	while (bp_trace_reader_next(&reader, &record, &error) == BP_TRACE_RECORD) {
		if (record.tag != BP_TAG_STACK || record.stack.id != id)
			continue;
		found++;
		assert_int_equal(record.stack.depth, capture->depth);
		assert_true(record.stack.flags == capture->flags);
		for (uint32_t i = 0; i < capture->depth; i++) {
			assert_true(record.stack.frames[i].pc == capture->pcs[i]);
			assert_int_equal(record.stack.frames[i].exact,
				capture->exact_mask[i / 8] >> (i % 8) & 1);
		}
	}
	assert_true(reader.damaged_chunks == 0);
	bp_trace_reader_close(&reader);
	assert_int_equal(found, 1);
}

static struct bp_stack_capture a, b;

static void equal_stacks_share(void **state)
{
	(void)state;
	for (uint32_t depth = 0; depth <= BP_STACK_MAX_DEPTH; depth += 1 + depth / 3) {
		make_stack(&a, depth, 3);
		make_stack(&b, depth, 3);
		memset(&b.scratch, 0x55, sizeof b.scratch); /* no part of a stack */
		b.range.known_low = 77;
		uint32_t id = bp_stack_table_id(&writer, &a);
		assert_true(id != 0 && bp_stack_table_id(&writer, &b) == id);
		check_in_trace(id, &a);
	}
}

/* A process with few stacks, a child of fork say, touches few pages of the table. Called first. */
static void small_at_first(void **state)
{
	(void)state;
	assert_true(bp_stack_table_bytes() == 0);
	make_stack(&a, 20, 5);
	assert_true(bp_stack_table_id(&writer, &a) != 0);
	assert_in_range(bp_stack_table_bytes(), 1, 8192);
}

static void collisions_are_compared(void **state)
{
	(void)state;
	for (uint64_t value = 1; value <= 40; value++) {
		make_stack(&a, 5, value);
		make_stack(&b, 5, value);
		/* The fifth frame makes up for the first, and the hash is the same; one must be
		 * found for which it stays an address. */
		do
			b.pcs[0] += 0x10;
		while ((hash_of_first(&a) ^ hash_of_first(&b)) >> 47 != 0);
		b.pcs[4] = a.pcs[4] ^ hash_of_first(&a) ^ hash_of_first(&b);
		uint32_t id_a = bp_stack_table_id(&writer, &a);
		uint32_t id_b = bp_stack_table_id(&writer, &b);
		assert_true(id_a != 0 && id_b != 0 && id_a != id_b);
		assert_true(bp_stack_table_id(&writer, &a) == id_a);
		assert_true(bp_stack_table_id(&writer, &b) == id_b);
		if (value % 10 == 0) {
			check_in_trace(id_a, &a);
			check_in_trace(id_b, &b);
		}
	}
}

/* Not the pcs alone make a stack: whether it was cut, and which pcs are exact, do too. */
static void flags_and_masks_differ(void **state)
{
	uint32_t ids[4];
	(void)state;
	make_stack(&a, 20, 900);
	ids[0] = bp_stack_table_id(&writer, &a);
	a.flags = BP_STACK_ENDED;
	ids[1] = bp_stack_table_id(&writer, &a);
	a.exact_mask[1] = 4;
	ids[2] = bp_stack_table_id(&writer, &a);
	check_in_trace(ids[2], &a);
	a.depth = 19;
	ids[3] = bp_stack_table_id(&writer, &a);
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < i; k++)
			assert_true(ids[i] != ids[k] && ids[i] != 0);
}

/* A module has gone: its stacks get new numbers, those beside it keep theirs. */
static void forgotten_stacks(void **state)
{
	(void)state;
	make_stack(&a, 3, 5000);
	make_stack(&b, 3, 6000);
	uint32_t id_a = bp_stack_table_id(&writer, &a), id_b = bp_stack_table_id(&writer, &b);
	bp_stack_table_forget(a.pcs[2], a.pcs[2] + 1);
	uint32_t again = bp_stack_table_id(&writer, &a);
	assert_true(again != 0 && again != id_a);
	assert_true(bp_stack_table_id(&writer, &b) == id_b);
	assert_true(bp_stack_table_id(&writer, &a) == again);
	bp_stack_table_forget(a.pcs[2] + 1, a.pcs[2] + 2); /* the end is not part of it */
	assert_true(bp_stack_table_id(&writer, &a) == again);
}

/* A child's trace has none of the stacks: each is written again when it is met. */
static void after_fork(void **state)
{
	(void)state;
	make_stack(&a, 10, 7000);
	uint32_t id = bp_stack_table_id(&writer, &a);
	check_in_trace(id, &a);
	assert_int_equal(unlink(path), 0);
	open_writer();
	bp_stack_table_after_fork();
	uint32_t id_in_child = bp_stack_table_id(&writer, &a);
	check_in_trace(id_in_child, &a);
}

/* ---- threads ---- */

#define STACKS 2000
static uint32_t ids[4][STACKS];

static void *intern_all(void *argument)
{
	struct bp_stack_capture *capture = malloc(sizeof *capture);
	const uintptr_t who = (uintptr_t)argument;
	for (uint32_t i = 0; capture != NULL && i < STACKS; i++) {
		uint32_t which = (uint32_t)((i * 7 + who * 500) % STACKS);
		make_stack(capture, 3 + which % 30, 100000 + which);
		ids[who][which] = bp_stack_table_id(&writer, capture);
	}
	free(capture);
	return NULL;
}

/* Two threads that meet a stack at once may give it two numbers, each defined; never may two stacks
 * have one. */
static void threads(void **state)
{
	pthread_t running[4];
	static uint32_t stack_of[4 * STACKS + 20000];
	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&running[i], NULL, intern_all, (void *)i), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(running[i], NULL), 0);
	for (uint32_t which = 0; which < STACKS; which++)
		for (int i = 0; i < 4; i++) {
			const uint32_t id = ids[i][which];
			assert_in_range(id, 1, sizeof stack_of / sizeof *stack_of - 1);
			assert_true(stack_of[id] == 0 || stack_of[id] == which + 1);
			stack_of[id] = which + 1;
		}
	make_stack(&a, 3 + 77 % 30, 100000 + 77);
	check_in_trace(ids[0][77], &a);
}

/* ---- growth ---- */

#define MANY 300000u /* the index grows twice */
#define GROWERS 4u

static uint32_t many_ids[GROWERS][MANY];

/* A shallow stack, which takes little of the table's memory. */
static void make_shallow(struct bp_stack_capture *capture, uint32_t which)
{
	make_stack(capture, 2, 3000000 + which);
}

/* Every thread meets every stack, and each stack again 1000 later. The orders have nothing in
 * common, so that threads hardly ever meet a new stack at once. */
static void *grow(void *argument)
{
	static const uint32_t strides[GROWERS] = { 1, 77773, 133337, 199999 }; /* prime to MANY */
	struct bp_stack_capture *capture = malloc(sizeof *capture);
	const uintptr_t who = (uintptr_t)argument;
	for (uint32_t i = 0; capture != NULL && i < MANY; i++) {
		const uint32_t which = (uint32_t)((uint64_t)i * strides[who] % MANY);
		make_shallow(capture, which);
		many_ids[who][which] = bp_stack_table_id(&writer, capture);
		if (i < 1000)
			continue;
		const uint32_t earlier = (uint32_t)((uint64_t)(i - 1000) * strides[who] % MANY);
		make_shallow(capture, earlier);
		if (bp_stack_table_id(&writer, capture) != many_ids[who][earlier])
			many_ids[who][earlier] = 0;
	}
	free(capture);
	return NULL;
}

/* How many stacks of the thread are found under the number that they got. */
static uint32_t kept(uint32_t who)
{
	uint32_t same = 0;
	for (uint32_t which = 0; which < MANY; which++) {
		make_shallow(&a, which);
		same += many_ids[who][which] != 0 &&
			bp_stack_table_id(&writer, &a) == many_ids[who][which];
	}
	return same;
}

/* While the index grows a stack keeps its number, and no two share one. */
static void growth(void **state)
{
	(void)state;
	(void)grow((void *)0);
	assert_int_equal(kept(0), MANY);
	static bool taken[2 * MANY + 100000];
	for (uint32_t which = 0; which < MANY; which++) {
		const uint32_t id = many_ids[0][which];
		assert_in_range(id, 1, sizeof taken - 1);
		assert_false(taken[id]);
		taken[id] = true;
	}
	assert_true(bp_stack_table_bytes() < BP_STACK_TABLE_MAX_BYTES / 4);
}

/* Of stacks that threads meet while one moves them, a few may get two numbers. All are forgotten
 * first: the threads find none of those before. */
static void growth_by_threads(void **state)
{
	pthread_t running[GROWERS];
	static uint32_t stack_of[6 * MANY];
	(void)state;
	bp_stack_table_forget(0, UINTPTR_MAX);
	for (uintptr_t i = 0; i < GROWERS; i++)
		assert_int_equal(pthread_create(&running[i], NULL, grow, (void *)i), 0);
	for (uint32_t i = 0; i < GROWERS; i++)
		assert_int_equal(pthread_join(running[i], NULL), 0);
	for (uint32_t who = 0; who < GROWERS; who++) {
		assert_in_range(kept(who), MANY - MANY / 1000, MANY);
		for (uint32_t which = 0; which < MANY; which++) {
			const uint32_t id = many_ids[who][which];
			assert_true(id < sizeof stack_of / sizeof *stack_of);
			assert_true(id == 0 || stack_of[id] == 0 || stack_of[id] == which + 1);
			stack_of[id] = id == 0 ? 0 : which + 1;
		}
	}
}

/* No memory for another stack: 0, counted, and the known ones still answer. Last, because what was
 * taken stays taken. */
static void full_table(void **state)
{
	struct rlimit before, limit;
	uint64_t value = 1000000;
	(void)state;
	make_stack(&b, 10, 8000);
	const uint32_t known = bp_stack_table_id(&writer, &b);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	limit = before;
	limit.rlim_cur = 1 << 20; /* nothing more can be mapped */
	assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
	uint32_t id;
	do {
		make_stack(&a, 200, value++);
		id = bp_stack_table_id(&writer, &a);
	} while (id != 0 && value < 1100000);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_int_equal(id, 0);
	assert_true(bp_writer_state(&writer)->lost[BP_LOSS_STACK_TABLE] == 1);
	assert_true(bp_stack_table_id(&writer, &b) == known);
}

/* Where a deep stack does not fit any more a shallow one still does, however often deep ones were
 * refused. */
static void smaller_after_refusal(void **state)
{
	uint64_t value = 2000000;
	(void)state;
	do
		make_stack(&a, 250, value++);
	while (bp_stack_table_id(&writer, &a) != 0 && value < 2500000);
	const uint64_t bytes = bp_stack_table_bytes();
	for (int i = 0; i < 1000; i++) {
		make_stack(&a, 250, value++);
		assert_int_equal(bp_stack_table_id(&writer, &a), 0);
	}
	assert_true(bp_stack_table_bytes() == bytes);
	make_stack(&a, 1, 9000);
	/* More than any shallow stack takes, less than a deep one. */
	if (BP_STACK_TABLE_MAX_BYTES - bytes > 128)
		assert_int_not_equal(bp_stack_table_id(&writer, &a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(small_at_first, begin, end),
		cmocka_unit_test_setup_teardown(equal_stacks_share, begin, end),
		cmocka_unit_test_setup_teardown(collisions_are_compared, begin, end),
		cmocka_unit_test_setup_teardown(flags_and_masks_differ, begin, end),
		cmocka_unit_test_setup_teardown(forgotten_stacks, begin, end),
		cmocka_unit_test_setup_teardown(after_fork, begin, end),
		cmocka_unit_test_setup_teardown(threads, begin, end),
		cmocka_unit_test_setup_teardown(growth, begin, end),
		cmocka_unit_test_setup_teardown(growth_by_threads, begin, end),
		cmocka_unit_test_setup_teardown(full_table, begin, end),
		cmocka_unit_test_setup_teardown(smaller_after_refusal, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
