/* SPDX-License-Identifier: MIT */
/*
 * Stacks with frames of Python and what is said of the interpreter, written and read back
 * (docs/trace-format.md 3.10): the deepest stack, ids and positions of 32 bits, and what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/reader.h"
#include "trace/writer/writer.h"

#define DEEP BP_NAMED_STACK_MAX_DEPTH
#define ROUNDS 100u /* some chunks of them */

static struct bp_writer writer;
static char path[80];
static uint32_t frames[DEEP + 1], positions[DEEP + 1];

static int begin(void **state)
{
	static const char strings[] = "progcmdlibc1";
	struct bp_trace_header header = {
		.magic = BP_TRACE_MAGIC,
		.version_major = BP_TRACE_MAJOR,
		.version_minor = BP_TRACE_MINOR,
		.chunk_bytes = BP_CHUNK_BYTES,
		.page_bytes = 4096,
		.interval_bytes = 1000,
		.charge_bytes = 1,
		.recognition = BP_RECOGNITION_HEADER,
		.program_length = 4,
		.command_line_length = 3,
		.allocator_length = 4,
		.recorder_version_length = 1,
	};
	(void)state;
	snprintf(path, sizeof path, "/tmp/bytepoll-writer-python.%d", (int)getpid());
	unlink(path);
	memset(&writer, 0, sizeof writer);
	/* Ids go up and down by up to 32 bits; several frames share a position. */
	for (uint32_t i = 0; i <= DEEP; i++) {
		frames[i] = i % 3 == 0 ? UINT32_MAX - i : i % 3 == 1 ? 1 : i * 0x12345;
		positions[i] = i / 2 * 3;
	}
	return bp_writer_open(&writer, path, &header, strings) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	return unlink(path);
}

static void check_stack(const struct bp_trace_stack *stack)
{
	const bool deep = stack->id == UINT32_MAX;
	assert_true(deep || stack->id == 7);
	assert_true(stack->named && stack->epoch == 0);
	assert_int_equal(stack->native, deep ? 5 : UINT32_MAX);
	assert_int_equal(stack->flags, deep ? BP_STACK_CUT : 0);
	assert_int_equal(stack->depth, deep ? DEEP : 1);
	for (uint32_t i = 0; i < stack->depth; i++) {
		assert_int_equal((uint32_t)stack->frames[i].pc, frames[i]);
		assert_int_equal(stack->frames[i].pc >> 32, positions[i]);
	}
}

static void check_interpreter(const struct bp_trace_interpreter *interpreter)
{
	assert_true(interpreter->version == 0x030B07F0 && interpreter->small_bytes == 512);
	assert_true(interpreter->address == UINT64_MAX);
	assert_int_equal(interpreter->frames, BP_PYTHON_TEST_FAILED);
	assert_int_equal(interpreter->objects, BP_PYTHON_RECORDED);
	assert_int_equal(interpreter->name.bytes, 14);
	assert_memory_equal(interpreter->name.data, "CPython 3.11.7", 14);
}

static void read_back_as_written(void **state)
{
	const uint64_t values[] = { 0x030B07F0, UINT64_MAX, BP_PYTHON_TEST_FAILED,
		BP_PYTHON_RECORDED, 512 };
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_error error = { .text = "" };
	unsigned stacks = 0, interpreters = 0;
	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		assert_true(bp_writer_mixed_stack(
			&writer, UINT32_MAX, 5, BP_STACK_CUT, DEEP, frames, positions));
		assert_true(bp_writer_mixed_stack(&writer, 7, UINT32_MAX, 0, 1, frames, positions));
		assert_true(
			bp_writer_plain(&writer, BP_TAG_INTERPRETER, values, 5, "CPython 3.11.7"));
	}
	assert_true(bp_trace_reader_open(&reader, path, &error));
	while (bp_trace_reader_next(&reader, &record, &error) == BP_TRACE_RECORD) {
		if (record.tag == BP_TAG_MIXED_STACK) {
			check_stack(&record.stack);
			stacks++;
		} else {
			assert_int_equal(record.tag, BP_TAG_INTERPRETER);
			check_interpreter(&record.interpreter);
			interpreters++;
		}
	}
	assert_int_equal(stacks, 2 * ROUNDS);
	assert_int_equal(interpreters, ROUNDS);
	assert_true(reader.damaged_chunks == 0 && reader.chunks > 3);
	bp_trace_reader_close(&reader);
	bp_writer_close(&writer);
}

static void too_deep_is_refused(void **state)
{
	(void)state;
	assert_false(bp_writer_mixed_stack(&writer, 1, 1, 0, DEEP + 1, frames, positions));
	assert_true(bp_writer_mixed_stack(&writer, 1, 1, 0, DEEP, frames, positions));
	bp_writer_close(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(read_back_as_written, begin, end),
		cmocka_unit_test_setup_teardown(too_deep_is_refused, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
