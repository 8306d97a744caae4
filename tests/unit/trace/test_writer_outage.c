/* SPDX-License-Identifier: MIT */
/*
 * An outage by itself: when it is tried to end one, and what waits for that. The file is renamed,
 * so that it cannot grow, and gets its name back.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/writer/writer.h"

static struct bp_writer writer;
static char path[80];

static bool open_writer(const char *name)
{
	struct bp_trace_header header = {
		.magic = BP_TRACE_MAGIC,
		.version_major = BP_TRACE_MAJOR,
		.version_minor = BP_TRACE_MINOR,
		.chunk_bytes = BP_CHUNK_BYTES,
		.page_bytes = 4096,
		.interval_bytes = 1000,
		.law = BP_LAW_EXACT,
		.charge_bytes = 1,
		.recognition = BP_RECOGNITION_HEADER,
		.program_length = 4,
		.command_line_length = 3,
		.allocator_length = 4,
		.recorder_version_length = 1,
	};
	memset(&writer, 0, sizeof writer);
	return bp_writer_open(&writer, name, &header, "progcmdlibc1");
}

static int begin(void **state)
{
	static int number;
	(void)state;
	snprintf(path, sizeof path, "/tmp/bytepoll-outage.%d.%d", (int)getpid(), number++);
	unlink(path);
	return open_writer(path) ? 0 : 1;
}

static int end(void **state)
{
	(void)state;
	bp_writer_close(&writer);
	unlink(path);
	return 0;
}

/* A record without a time: with one, the writer would try again by it. */
static bool write_plain(uint64_t n)
{
	const uint64_t values[] = { n, n, n };
	return bp_writer_plain(&writer, BP_TAG_THREAD_BEGIN, values, 3, "");
}

/* A second time within a second nothing is tried; then it is. */
static void tried_once_a_second(void **state)
{
	char other[100];
	(void)state;
	bp_writer_trim(&writer);
	snprintf(other, sizeof other, "%s.moved", path);
	assert_int_equal(rename(path, other), 0);
	for (uint64_t n = 1; bp_writer_outage_since(&writer) == 0; n++)
		assert_true(write_plain(n));
	const uint64_t since_ns = bp_writer_outage_since(&writer);
	bp_writer_try_again(&writer, since_ns + 2000000000);
	assert_int_equal(bp_writer_outage_since(&writer), since_ns);
	assert_int_equal(rename(other, path), 0);
	const uint64_t next_ns = writer.outage.next_try_ns;
	bp_writer_try_again(&writer, next_ns - 1);
	assert_int_equal(bp_writer_outage_since(&writer), since_ns);
	assert_true(next_ns - since_ns >= 1000000000);
	bp_writer_try_again(&writer, next_ns);
	assert_int_equal(bp_writer_outage_since(&writer), 0);
}

/* Slots of threads that ended wait until their ends are in the file. */
static void slots_wait(void **state)
{
	char other[100];
	(void)state;
	struct bp_thread_slot *early = bp_writer_take_slot(&writer),
			      *late = bp_writer_take_slot(&writer);
	bp_writer_give_slot(&writer, early);
	assert_int_equal(early->state, 0);
	bp_writer_trim(&writer);
	snprintf(other, sizeof other, "%s.moved", path);
	assert_int_equal(rename(path, other), 0);
	for (uint64_t n = 1; bp_writer_outage_since(&writer) == 0; n++)
		assert_true(write_plain(n));
	bp_writer_give_slot(&writer, late);
	assert_int_equal(late->state, 1);
	assert_int_equal(rename(other, path), 0);
	bp_writer_try_again(&writer, UINT64_MAX);
	assert_int_equal(late->state, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tried_once_a_second, begin, end),
		cmocka_unit_test_setup_teardown(slots_wait, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
