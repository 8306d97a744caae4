/* SPDX-License-Identifier: MIT */
/*
 * Control and budget, without the rest of the engine: the words of the state page are set here,
 * the threads that follow them are made here, and what they wrote is read back from the trace.
 * Nothing is random; where threads race, every order is right.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "recognition/live_set.h"
#include "recorder/steering/budget.h"
#include "recorder/steering/control.h"
#include "start/fine_start.h"
#include "tables/arena.h"
#include "trace/reader.h"
#include "unwind/stack_table.h"

#include "control_trace.h"

/* The table of stacks is empty here. */
uint64_t bp_stack_table_bytes(void)
{
	return 0;
}

/* The next word, as from outside: the number and one. */
static void set_word(uint64_t interval_and_bit)
{
	const uint64_t number = bp_control_number(word()) + 1;
	__atomic_store_n(&state_page()->control,
		number << BP_CONTROL_NUMBER_SHIFT | interval_and_bit, __ATOMIC_RELEASE);
}

static void begin_thread(struct bp_thread *thread, struct bp_hot *hot, uint32_t ordinal)
{
	memset(thread, 0, sizeof *thread);
	memset(hot, 0, sizeof *hot);
	thread->hot = hot;
	thread->ordinal = ordinal;
	bp_control_adopt(thread, bp_control_word());
	bp_sampler_init(&thread->sampler, ordinal, thread->interval, BP_LAW_EXACT);
	thread->slot = bp_writer_take_slot(&bp_recorder.writer);
	assert_non_null(thread->slot);
	bp_control_note_begin(thread);
}

/* One charged visit, as sample.c makes it. True: the object was sampled. */
static bool visit(struct bp_thread *thread, size_t size)
{
	struct bp_decision decision;
	struct bp_visit visit = { .hot = thread->hot, .thread = thread };
	struct bp_sampler_hot *counters = &thread->hot->counters;
	if (!bp_sampler_crosses(counters, size))
		return false;
	visit.objects = counters->objects;
	thread->visit_trials = bp_thread_trials(thread, counters->trials_left);
	const bool changed = bp_control_look(&visit);
	counters->trials_left =
		bp_sampler_decide(&thread->sampler, counters->trials_left, size, &decision);
	if (changed)
		bp_control_note(&visit);
	return decision.sampled;
}

/* The INTERVAL records of the trace, in order of the file. */
#define RECORDS_MAX 40000
static struct bp_trace_interval records[RECORDS_MAX];

static unsigned read_records(struct bp_trace_header *ret_header)
{
	struct bp_error error;
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	unsigned count = 0;
	assert_true(bp_trace_reader_open(&reader, path, &error));
	*ret_header = reader.header;
	while (bp_trace_reader_next(&reader, &record, &error) == BP_TRACE_RECORD)
		if (record.tag == BP_TAG_INTERVAL) {
			assert_true(count < RECORDS_MAX);
			records[count++] = record.interval;
		}
	bp_trace_reader_close(&reader);
	return count;
}

/* ---- control ---- */

static void first_words(void **state)
{
	const uint64_t now = bp_system_time_ns(CLOCK_MONOTONIC), hour = (uint64_t)3600 * 1000000000;
	const struct {
		struct bp_config config;
		uint64_t word, resume, flags;
		bool due;
	} cases[] = {
		{ { .interval = 4096 }, 4096, 4096, 0, false },
		{ { .interval = 4096, .dormant = true }, 0, 4096, BP_HEADER_DORMANT, false },
		{ { .interval = 16384, .automatic = true }, 16384 | BP_CONTROL_AUTO,
			16384 | BP_CONTROL_AUTO, BP_HEADER_AUTO, false },
		{ { .interval = 16384, .automatic = true, .dormant = true }, 0,
			16384 | BP_CONTROL_AUTO, BP_HEADER_AUTO | BP_HEADER_DORMANT, false },
		{ { .interval = 9, .start_time_ns = now + hour }, 0, 9, BP_HEADER_DORMANT, true },
		/* A time that has passed: on, whatever else was said. */
		{ { .interval = 9, .start_time_ns = 1, .dormant = true }, 9, 9, 0, false },
		{ { .interval = 9, .stop_time_ns = now + hour }, 9, 9, 0, true },
		{ { .interval = 9, .stop_time_ns = 1 }, 0, 9, BP_HEADER_DORMANT, false },
	};
	(void)state;
	for (unsigned i = 0; i < BP_COUNT(cases); i++) {
		struct bp_trace_header header;
		open_trace(&cases[i].config);
		assert_true(word() == cases[i].word);
		assert_true(state_page()->control_resume == cases[i].resume);
		assert_int_equal(bp_control.due_ns != UINT64_MAX, cases[i].due);
		assert_int_equal(read_records(&header), 0);
		assert_true(header.interval_bytes == cases[i].config.interval);
		assert_true(header.flags_skippable == cases[i].flags);
		if (i + 1 < BP_COUNT(cases))
			unlink(path);
	}
}

/* The object at hand is decided under the old state, the record says from where the new one holds.
 * */
static void a_thread_follows(void **state)
{
	struct bp_thread thread, late;
	struct bp_hot hot, late_hot;
	struct bp_trace_header header;
	(void)state;
	open_trace(&(struct bp_config){ .interval = 1 });
	begin_thread(&thread, &hot, 1);
	for (int i = 0; i < 10; i++)
		assert_true(visit(&thread, 9));
	set_word(0);
	assert_true(visit(&thread, 9));
	for (int i = 0; i < 10; i++)
		assert_false(visit(&thread, 99999));
	assert_int_equal(thread.slot->command, 1);
	set_word(1 | BP_CONTROL_AUTO);
	while (thread.control != word())
		assert_false(visit(&thread, 99999));
	assert_true(visit(&thread, 0));
	assert_int_equal(thread.slot->command, 2);
	begin_thread(&late, &late_hot, 2);
	assert_int_equal(late.slot->command, 2);

	assert_int_equal(read_records(&header), 3);
	assert_true(records[0].thread == 1 && records[0].interval == 0 && records[0].command == 1);
	assert_true(records[0].objects == 11 && records[0].trials == 110);
	assert_true(records[1].thread == 1 && records[1].interval == 1 && records[1].command == 2);
	assert_true(records[1].objects == hot.counters.objects - 1);
	assert_true(records[1].trials == 110 + 100000 * (records[1].objects - 11));
	assert_true(records[2].thread == 2 && records[2].interval == 1 && records[2].command == 2);
	assert_true(records[2].objects == 0 && records[2].trials == 0);
}

static void hostile_words(void **state)
{
	struct bp_thread thread, late;
	struct bp_hot hot, late_hot;
	struct bp_trace_header header;
	(void)state;
	open_trace(&(struct bp_config){ .interval = 4096 });
	begin_thread(&thread, &hot, 1);
	set_word(1);
	(void)visit(&thread, 4095);
	const uint64_t good = word();
	assert_true(thread.control == good);
	const uint64_t bad[] = { BP_INTERVAL_MAX + 1, BP_CONTROL_INTERVAL_MASK,
		BP_CONTROL_INTERVAL_MASK | BP_CONTROL_AUTO, UINT64_MAX };
	for (unsigned i = 0; i < BP_COUNT(bad); i++) {
		__atomic_store_n(&state_page()->control, bad[i], __ATOMIC_RELEASE);
		assert_true(visit(&thread, 100));
		assert_true(thread.control == good && thread.sampler.interval == 1);
		begin_thread(&late, &late_hot, 2 + i);
		assert_true(late.control == good && late.sampler.interval == 1);
	}
	state_page()->control_resume = UINT64_MAX;
	bp_control_inherit(state_page());
	bp_control_describe(&header);
	assert_true(bp_control.first == 1 && header.interval_bytes == 1);
}

/* A child begins as its parent is, its numbers at 0. */
static void a_child_inherits(void **state)
{
	struct bp_trace_header header = { 0 };
	(void)state;
	open_trace(&(struct bp_config){ .interval = 4096, .budget_ppm = 7 });
	bp_control_inherit(state_page());
	bp_control_describe(&header);
	assert_true(bp_control.first == 4096 && header.flags_skippable == 0);
	set_word(65536 | BP_CONTROL_AUTO);
	bp_control_inherit(state_page());
	bp_control_describe(&header);
	assert_true(bp_control.first == (65536 | BP_CONTROL_AUTO) && bp_control.budget_ppm == 7);
	assert_true(header.interval_bytes == 65536);
	assert_true(header.flags_skippable == (BP_HEADER_AUTO | BP_HEADER_STEERED));
	state_page()->control_resume = 100;
	set_word(0);
	bp_control_inherit(state_page());
	bp_control_describe(&header);
	assert_true(bp_control.first == 0 && header.interval_bytes == 100);
	assert_true(header.flags_skippable == (BP_HEADER_DORMANT | BP_HEADER_STEERED));
}

/* What an image makes of its environment and of the trace before it. */
static void an_image_takes_over(void **state)
{
	const uint64_t automatic = BP_CONTROL_AUTO, changed = BP_CONTROL_NUMBER_ONE;
	const struct bp_config fixed = { .interval = 4096, .budget_ppm = 7 };
	const struct bp_config sleeping = { .interval = 4096, .budget_ppm = 7, .dormant = true };
	const struct bp_config own = { .interval = 4096, .budget_ppm = 7, .own_times = true };
	const struct bp_config itself = { .interval = 16384, .budget_ppm = 7, .automatic = true };
	const struct {
		const struct bp_config *config;
		struct bp_predecessor before; /* flags, interval_bytes, control, resume, budget */
		uint64_t first, resume, budget_ppm;
	} cases[] = {
		/* as it began: by the environment, be that another one */
		{ &fixed, { 0, 100, 100, 100, 9 }, 4096, 4096, 7 },
		{ &sleeping, { BP_HEADER_DORMANT, 100, 0, 100, 9 }, 0, 4096, 7 },
		{ &itself, { BP_HEADER_AUTO, 16384, 16384 | automatic, 16384 | automatic, 9 },
			16384 | automatic, 16384 | automatic, 7 },
		/* changed, or begun by one that was */
		{ &fixed, { 0, 100, 100 | changed, 100, 9 }, 100, 100, 9 },
		{ &fixed, { 0, 100, changed, 200, 9 }, 0, 200, 9 },
		{ &fixed, { BP_HEADER_STEERED, 100, 100, 100, 9 }, 100, 100, 9 },
		{ &fixed, { 0, 100, 300 | automatic | changed, 100, 9 }, 300 | automatic, 100, 9 },
		{ &sleeping, { BP_HEADER_DORMANT, 100, 0, 200, 9 }, 0, 200, 9 },
		{ &sleeping, { BP_HEADER_DORMANT, 100, 200 | changed, 200, 9 }, 200, 200, 9 },
		/* the automatic interval is each image's own */
		{ &itself,
			{ BP_HEADER_AUTO, 16384, 99 | automatic | changed, 16384 | automatic, 9 },
			16384 | automatic, 16384 | automatic, 9 },
		{ &itself, { BP_HEADER_AUTO, 16384, changed, 99 | automatic, 9 }, 0,
			16384 | automatic, 9 },
		{ &itself, { BP_HEADER_AUTO, 16384, 99 | changed, 16384 | automatic, 9 }, 99,
			16384 | automatic, 9 },
		/* times of its own; words that are none */
		{ &own, { 0, 100, 100 | changed, 100, 9 }, 4096, 4096, 7 },
		{ &fixed, { 0, 100, (BP_INTERVAL_MAX + 1) | changed, 100, 9 }, 4096, 4096, 7 },
		{ &fixed, { 0, 100, 100 | changed, BP_INTERVAL_MAX + 1, 9 }, 4096, 4096, 7 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		bp_control_configure(cases[i].config);
		bp_control_take_over(cases[i].config, &cases[i].before);
		assert_int_equal(bp_control.first, cases[i].first);
		assert_int_equal(bp_control.resume, cases[i].resume);
		assert_int_equal(bp_control.budget_ppm, cases[i].budget_ppm);
		assert_int_equal(bp_control.steered, cases[i].budget_ppm == 9);
	}
}

/* ---- the fine start ---- */

static void steps_of_the_fine_start(void **state)
{
	const uint64_t m = 1 << 20;
	const struct {
		uint64_t trials, interval;
	} cases[] = { { 0, 65536 }, { 128 * m - 1, 65536 }, { 128 * m, 131072 },
		{ 384 * m - 1, 131072 }, { 384 * m, 262144 }, { 896 * m - 1, 262144 },
		{ 896 * m, BP_INTERVAL_DEFAULT }, { UINT64_MAX, BP_INTERVAL_DEFAULT } };
	(void)state;
	for (size_t i = 0; i < BP_COUNT(cases); i++)
		assert_true(bp_fine_start_interval(cases[i].trials) == cases[i].interval);
}

/* Visits until the thread has made so many trials. */
static void go_on(struct bp_thread *thread, uint64_t trials)
{
	while (bp_thread_trials(thread, thread->hot->counters.trials_left) < trials)
		(void)visit(thread, 999);
}

/* Two threads whose sum takes the steps; a third that begins late; a child; and whoever steers ends
 * it. */
static void a_fine_start(void **state)
{
	const uint64_t m = 1 << 20;
	const struct bp_config config = { .interval = BP_INTERVAL_DEFAULT, .fine_start = true };
	struct bp_thread one, two, late;
	struct bp_hot hots[3];
	struct bp_trace_header header = { 0 };
	(void)state;
	open_trace(&config);
	begin_thread(&one, &hots[0], 1);
	begin_thread(&two, &hots[1], 2);
	go_on(&one, 100 * m);
	assert_true(one.interval == 65536 && one.fine);
	go_on(&two, 40 * m); /* the second thread takes the step for both */
	assert_true(two.interval == 131072 && one.interval == 65536);
	go_on(&one, 102 * m);
	assert_true(one.interval == 131072 && one.sampler.interval == 131072);
	assert_int_equal(one.slot->command, 0);
	begin_thread(&late, &hots[2], 3);
	assert_true(late.interval == 131072);
	bp_control_inherit(state_page());
	bp_control_describe(&header);
	assert_true(
		header.interval_bytes == 131072 && header.flags_skippable == BP_HEADER_FINE_START);
	go_on(&two, 900 * m);
	assert_true(two.interval == BP_INTERVAL_DEFAULT && !two.fine);
	assert_true(one.interval == 131072);
	/* The same T as a word of somebody's is no more that of the fine start. */
	assert_true(bp_control_set(BP_INTERVAL_DEFAULT));
	go_on(&one, 104 * m);
	assert_true(one.interval == BP_INTERVAL_DEFAULT && !one.fine);
	bp_control_inherit(state_page());
	bp_control_describe(&header);
	assert_true(header.interval_bytes == BP_INTERVAL_DEFAULT &&
		    header.flags_skippable == BP_HEADER_STEERED);
	assert_int_equal(read_records(&header), 6);
	assert_true(
		header.interval_bytes == 65536 && header.flags_skippable == BP_HEADER_FINE_START);
	const struct {
		uint32_t thread, command;
		uint64_t trials, interval;
	} expected[] = { { 2, 0, 26 * m, 131072 }, { 1, 0, 98 * m, 131072 }, { 3, 0, 0, 131072 },
		{ 2, 0, 280 * m, 262144 }, { 2, 0, 792 * m, BP_INTERVAL_DEFAULT },
		{ 1, 1, 100 * m, BP_INTERVAL_DEFAULT } };
	for (unsigned i = 0; i < BP_COUNT(expected); i++) {
		const struct bp_trace_interval *record = &records[i];
		assert_int_equal(record->thread, expected[i].thread);
		assert_true(record->interval == expected[i].interval);
		assert_int_equal(record->command, expected[i].command);
		/* A thread comes to look after 1 MiB at the latest; so do the others, whose sum it
		 * is. */
		assert_true(record->trials >= expected[i].trials &&
			    record->trials <= expected[i].trials + 4 * m);
	}
}

/* ---- threads ---- */

#define CHANGES 1000
#define THREADS 2

static uint32_t threads_done;
static struct bp_thread_slot *slots[THREADS];

/* Until each thread follows command `number`. */
static void wait_for_all(uint16_t number)
{
	for (int i = 0; i < THREADS; i++) {
		const struct bp_thread_slot *slot;
		while ((slot = __atomic_load_n(&slots[i], __ATOMIC_ACQUIRE)) == NULL ||
			__atomic_load_n(&slot->command, __ATOMIC_ACQUIRE) != number)
			sched_yield();
	}
}

static void *follow(void *argument)
{
	const uint32_t ordinal = *(const uint32_t *)argument;
	struct bp_thread *thread = malloc(sizeof *thread);
	struct bp_hot hot;
	begin_thread(thread, &hot, ordinal);
	__atomic_store_n(&slots[ordinal - 1], thread->slot, __ATOMIC_RELEASE);
	while (bp_control_number(thread->control) < CHANGES)
		(void)visit(thread, 4000);
	assert_int_equal(thread->slot->command, CHANGES);
	assert_true(thread->sampler.interval == bp_control_interval(thread->control));
	__atomic_fetch_add(&threads_done, 1, __ATOMIC_RELEASE);
	free(thread);
	return NULL;
}

/* Two threads, and a third that changes the word: each follows in order, and ends at the last. */
static void threads_follow(void **state)
{
	static const uint64_t intervals[] = { 1, 0, 300, (uint64_t)1 << 40, 2, 0, 65536 };
	pthread_t threads[THREADS];
	uint32_t ordinals[THREADS];
	struct bp_trace_interval last[THREADS + 1] = { 0 };
	struct bp_trace_header header;
	(void)state;
	open_trace(&(struct bp_config){ .interval = 1 });
	threads_done = 0;
	memset(slots, 0, sizeof slots);
	for (uint32_t i = 0; i < THREADS; i++) {
		ordinals[i] = i + 1;
		assert_int_equal(pthread_create(&threads[i], NULL, follow, &ordinals[i]), 0);
	}
	for (unsigned i = 1; i <= CHANGES; i++) {
		if (i % 10 == 1) /* so that every tenth at least is followed by both */
			wait_for_all((uint16_t)(i - 1));
		set_word(intervals[i % BP_COUNT(intervals)]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(threads_done, THREADS);
	unsigned count = read_records(&header);
	assert_true(count >= THREADS * CHANGES / 10);
	for (unsigned i = 0; i < count; i++) {
		struct bp_trace_interval *before = &last[records[i].thread];
		/* Two lanes may hold a thread's records out of order; its counters order them. */
		if (records[i].trials != 0) /* 0: what it began with */
			assert_int_equal(records[i].trials > before->trials,
				records[i].command > before->command);
		assert_true(
			records[i].interval == intervals[records[i].command % BP_COUNT(intervals)]);
		if (records[i].command > before->command)
			*before = records[i];
	}
	for (uint32_t i = 1; i <= THREADS; i++)
		assert_int_equal(last[i].command, CHANGES);
}

static void *look_at_time(void *argument)
{
	(void)argument;
	while (bp_control.due_ns != UINT64_MAX)
		bp_control_time_has_come();
	return NULL;
}

/* Each time is taken by one thread, once. */
static void times_come_once(void **state)
{
	(void)state;
	for (int round = 0; round < 200; round++) {
		const uint64_t hour = (uint64_t)3600 * 1000000000;
		uint64_t now = bp_system_time_ns(CLOCK_MONOTONIC);
		pthread_t threads[THREADS];
		if (round > 0)
			unlink(path);
		open_trace(&(struct bp_config){ .interval = 77,
			.start_time_ns = now + hour,
			.stop_time_ns = now + 2 * hour });
		now = bp_system_time_ns(CLOCK_MONOTONIC);
		bp_control.start_ns = bp_control.due_ns = now + 100000;
		bp_control.stop_ns = now + (round % 2 == 0 ? 100000 : 200000);
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&threads[i], NULL, look_at_time, NULL), 0);
		for (int i = 0; i < THREADS; i++)
			pthread_join(threads[i], NULL);
		assert_true(bp_control_interval(word()) == 0);
		assert_true(bp_control_number(word()) == 2);
		assert_true(state_page()->control_resume == 77);
	}
}

/* ---- budget and fill ---- */

static void spend(struct bp_thread *thread, uint64_t cost_ns)
{
	const uint64_t began = bp_budget_begin(thread);
	if (began != 0)
		bp_budget_end(thread, began - cost_ns);
}

static void without_the_bit_nothing_is_measured(void **state)
{
	struct bp_thread thread;
	struct bp_hot hot;
	(void)state;
	open_trace(&(struct bp_config){ .interval = 4096, .budget_ppm = 1 });
	begin_thread(&thread, &hot, 1);
	for (int i = 0; i < 100; i++)
		assert_true(bp_budget_begin(&thread) == 0);
	assert_true(word() == 4096);
}

/* A millionth of the CPU time: as good as nothing is allowed, and T doubles look by look. */
static void costs_make_it_coarser(void **state)
{
	struct bp_thread thread;
	struct bp_hot hot;
	(void)state;
	open_trace(&(struct bp_config){
		.interval = BP_INTERVAL_FINEST, .automatic = true, .budget_ppm = 1 });
	begin_thread(&thread, &hot, 1);
	for (int i = 0; i < 10; i++)
		spend(&thread, 10000);
	assert_true(bp_control_interval(word()) == BP_INTERVAL_FINEST); /* within what is given */
	for (int i = 0; i < 100000 && bp_control_interval(word()) < BP_INTERVAL_MAX; i++)
		spend(&thread, 10000);
	assert_true(bp_control_interval(word()) == BP_INTERVAL_MAX);
	assert_true((word() & BP_CONTROL_AUTO) != 0);
	assert_true(bp_control_number(word()) == 40 - 14);
	/* Off is nobody's to change but the user's. */
	set_word(BP_CONTROL_AUTO);
	const uint64_t off = word();
	for (int i = 0; i < 1000; i++)
		spend(&thread, 10000);
	assert_true(word() == off);
}

static void burn(uint64_t cpu_ns)
{
	const uint64_t until = bp_system_time_ns(CLOCK_PROCESS_CPUTIME_ID) + cpu_ns;
	while (bp_system_time_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
}

/* All of the CPU time is allowed, and little is spent: T halves, not below where it began. */
static void thrift_makes_it_finer(void **state)
{
	struct bp_thread thread;
	struct bp_hot hot;
	(void)state;
	open_trace(&(struct bp_config){ .interval = BP_INTERVAL_FINEST,
		.automatic = true,
		.budget_ppm = BP_BUDGET_MAX_PPM });
	set_word(8 * BP_INTERVAL_FINEST | BP_CONTROL_AUTO);
	begin_thread(&thread, &hot, 1);
	for (int i = 0; i < 64; i++) {
		burn(1000000);
		for (int k = 0; k < 16; k++)
			spend(&thread, 1000);
	}
	assert_true(bp_control_interval(word()) == BP_INTERVAL_FINEST);
	assert_int_equal(bp_control_number(word()), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(first_words, end),
		cmocka_unit_test_teardown(a_thread_follows, end),
		cmocka_unit_test_teardown(hostile_words, end),
		cmocka_unit_test_teardown(a_child_inherits, end),
		cmocka_unit_test(an_image_takes_over),
		cmocka_unit_test(steps_of_the_fine_start),
		cmocka_unit_test_teardown(a_fine_start, end),
		cmocka_unit_test_teardown(threads_follow, end),
		cmocka_unit_test_teardown(times_come_once, end),
		cmocka_unit_test_teardown(without_the_bit_nothing_is_measured, end),
		cmocka_unit_test_teardown(costs_make_it_coarser, end),
		cmocka_unit_test_teardown(thrift_makes_it_finer, end),
	};
	return cmocka_run_group_tests_name("control", tests, NULL, NULL);
}
