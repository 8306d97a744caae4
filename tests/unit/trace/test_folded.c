/* SPDX-License-Identifier: MIT */
/*
 * The records of folded parts, from bytes written down by hand as docs/trace-format.md, section 5,
 * has them: what is read, what is refused, and where a clock and a set of chunks put a moment and a
 * number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "trace/folded.h"

#define FIELDS(...) \
	bp_bytes_of((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* thread 3, stack 4, T = 100, law 0 */
#define KEY(flags) flags, 1, 3, 4, 100, 0

static void reads_entries(void **state)
{
	struct bp_bytes fields = FIELDS(KEY(BP_FOLDED_USABLE), 10, 6, 2, 5, 3 << 2 | 1, 7, 0, 8, 1,
		0, 0 << 2 | 3, 9, 5, 0, 1, 1, 0 << 2 | 2, 0);
	struct bp_trace_folded folded;
	struct bp_trace_folded_entry entry;
	(void)state;
	assert_true(bp_trace_decode_folded(&fields, false, &folded));
	assert_int_equal(folded.thread, 3);
	assert_int_equal(folded.stack, 4);
	assert_int_equal(folded.interval, 100);
	assert_int_equal(folded.objects, 6);
	assert_int_equal(folded.tick_end, 8);
	assert_true(bp_trace_folded_next(&folded, &entry));
	assert_int_equal(entry.size, 10);
	assert_int_equal(entry.usable, 16);
	assert_int_equal(entry.birth, 2);
	assert_int_equal(entry.death, 7);
	assert_int_equal(entry.count, 4);
	assert_int_equal(entry.halves, 1);
	assert_int_equal(entry.offsets, 7);
	/* The same size: the birth goes on from the one before. */
	assert_true(bp_trace_folded_next(&folded, &entry));
	assert_int_equal(entry.size, 10);
	assert_int_equal(entry.usable, 18);
	assert_int_equal(entry.birth, 3);
	assert_int_equal(entry.death, 3);
	assert_int_equal(entry.halves, 3);
	/* A larger one: from 0. */
	assert_true(bp_trace_folded_next(&folded, &entry));
	assert_int_equal(entry.size, 15);
	assert_int_equal(entry.birth, 1);
	assert_int_equal(entry.death, 2);
	assert_int_equal(entry.halves, 2);
	assert_false(bp_trace_folded_next(&folded, &entry));
}

static void refuses_entries(void **state)
{
	struct bp_trace_folded folded;
	struct bp_bytes bad[] = {
		FIELDS(0, 1, 3, 4, 100),			    /* no law */
		FIELDS(0, 1, 3, 4, 100, 2),			    /* no such law */
		FIELDS(KEY(BP_FOLDED_ALIGNMENT), 64),		    /* no such alignment */
		FIELDS(KEY(BP_FOLDED_EXACT), 10, 0, 1),		    /* cut */
		FIELDS(KEY(BP_FOLDED_EXACT), 10, 0, 1, 0 << 2 | 0), /* in no half */
		FIELDS(KEY(BP_FOLDED_EXACT), 10, 0, 1, 0x81, 0x80, 0x80, 0x08), /* 2^22 + 1 */
		FIELDS(KEY(BP_FOLDED_EXACT), 10, 0xff, 0xff, 0xff, 0xff, 0x0f, 1,
			1), /* a tick beyond 32 bits */
		FIELDS(KEY(BP_FOLDED_EXACT), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			1, 0, 0, 1, 1, 0, 0, 1), /* sizes that wrap */
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(bp_trace_decode_folded(&bad[i], false, &folded));
}

static void reads_readings(void **state)
{
	struct bp_bytes fields = FIELDS(5, 100, 10, 1, 50, 20, 0);
	struct bp_bytes cut = FIELDS(5, 100, 10);
	struct bp_trace_readings readings;
	struct bp_trace_reading reading;
	(void)state;
	assert_true(bp_trace_decode_readings(&fields, &readings));
	assert_int_equal(readings.thread, 5);
	assert_true(bp_trace_readings_next(&readings, &reading));
	assert_true(bp_trace_readings_next(&readings, &reading));
	assert_int_equal(reading.time_ns, 150);
	assert_int_equal(reading.trials, 30);
	assert_int_equal(reading.objects, 1);
	assert_false(bp_trace_readings_next(&readings, &reading));
	assert_false(bp_trace_decode_readings(&cut, &readings));
}

static void tells_time(void **state)
{
	struct bp_bytes fields = FIELDS(10, 100, 14, 50, 3); /* (100, 7), (150, 5) */
	struct bp_trace_clock clock = { 0 };
	struct bp_trace_ticks ticks;
	(void)state;
	assert_int_equal(bp_trace_clock_find(&clock, 1, 1), 0);
	assert_true(bp_trace_decode_ticks(&fields, &ticks));
	assert_int_equal(ticks.count, 2);
	assert_int_equal(bp_trace_clock_add(&clock, &ticks), BP_TRACE_ADDED);
	assert_int_equal(clock.resolution_ns, 10);
	assert_int_equal(clock.ticks[1].sequence, 5);
	assert_int_equal(bp_trace_clock_find(&clock, 99, 1000), 0);
	assert_int_equal(bp_trace_clock_find(&clock, 100, 7), 0);
	assert_int_equal(bp_trace_clock_find(&clock, 100, 8), 1);
	assert_int_equal(bp_trace_clock_find(&clock, 150, 5), 1);
	assert_int_equal(bp_trace_clock_find(&clock, 150, 6), 2);
	/* A second time the same: not in order. */
	assert_int_equal(bp_trace_clock_add(&clock, &ticks), BP_TRACE_NOT_IN_ORDER);
	bp_trace_clock_finish(&clock);
}

static void bounds_the_resolution(void **state)
{
	struct bp_bytes largest =
		FIELDS(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 100, 14); /* 2^62 */
	struct bp_bytes larger =
		FIELDS(0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40, 100, 14); /* and 1 */
	struct bp_trace_ticks ticks;
	(void)state;
	assert_true(bp_trace_decode_ticks(&largest, &ticks));
	assert_true(ticks.resolution_ns == UINT64_C(1) << 62);
	assert_false(bp_trace_decode_ticks(&larger, &ticks));
}

static void holds_chunks(void **state)
{
	struct bp_bytes fields = FIELDS(2, 3, 1, 1); /* 2, 3, 4 and 6 */
	struct bp_bytes empty = FIELDS(2, 3, 1, 0);  /* the second holds nothing */
	struct bp_bytes wraps = FIELDS(2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1);
	struct bp_trace_held held = { 0 };
	struct bp_trace_ranges ranges;
	(void)state;
	assert_false(bp_trace_held_has(&held, 0));
	assert_true(bp_trace_decode_ranges(&fields, &ranges));
	assert_int_equal(bp_trace_held_add(&held, &ranges), BP_TRACE_ADDED);
	for (uint64_t number = 0; number < 9; number++)
		assert_int_equal(bp_trace_held_has(&held, number),
			(number >= 2 && number <= 4) || number == 6);
	assert_int_equal(bp_trace_held_add(&held, &ranges), BP_TRACE_NOT_IN_ORDER);
	assert_false(bp_trace_decode_ranges(&wraps, &ranges));
	assert_false(bp_trace_decode_ranges(&empty, &ranges));
	bp_trace_held_finish(&held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_entries),
		cmocka_unit_test(refuses_entries),
		cmocka_unit_test(reads_readings),
		cmocka_unit_test(tells_time),
		cmocka_unit_test(bounds_the_resolution),
		cmocka_unit_test(holds_chunks),
	};
	return cmocka_run_group_tests_name("folded parts", tests, NULL, NULL);
}
