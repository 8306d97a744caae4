/* SPDX-License-Identifier: MIT */
/*
 * Reading ahead: a trace of which every other record is the begin or the end of a thread, as a
 * server with a thread for each request leaves it, comes out of the ring record by record as the
 * reader gives it, frames and texts included, and full batches go over: what stood still at every
 * such record took ten times as long. The file is larger than what is worth a second thread; a
 * small one takes the other way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "import/trace/trace_ahead.h"
#include "trace/writer/writer.h"

#define FILE_BYTES_OF_TWO ((uint64_t)8 << 20) /* for which the reader has a thread */
#define DEEP 1600u			      /* frames: more than a batch has room for at first */
#define DEEP_STACKS 20u

static struct bp_writer writer;
static struct bp_profile profile;
static struct bp_trace_join join;
static char path[80];

static void open_writer(void)
{
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
	};
	memset(&writer, 0, sizeof writer);
	snprintf(path, sizeof path, "/tmp/bytepoll-ahead.%d", (int)getpid());
	unlink(path);
	assert_true(bp_writer_open(&writer, path, &header, "prog"));
}

static void write_stack(uint32_t id, uint32_t depth)
{
	static const uint8_t none_exact[(DEEP + 7) / 8];
	uint64_t pcs[DEEP];
	for (uint32_t i = 0; i < depth; i++)
		pcs[i] = 0x1000 + 16 * (uint64_t)i + id;
	assert_true(bp_writer_stack(&writer, id, 0, 0, depth, pcs, none_exact));
}

/* A thread that makes one object; now and then records of other kinds. */
static void write_thread(uint32_t ordinal)
{
	const uint64_t time_ns = 1000 + 100 * (uint64_t)ordinal;
	const uint64_t born[] = { ordinal, 7 * ordinal, time_ns };
	const uint64_t died[] = { ordinal, 7 * ordinal, time_ns + 90, 65, 1, 0, 0 };
	const struct bp_record_sample sample = { .sequence = 2 * (uint64_t)ordinal,
		.time_ns = time_ns + 10,
		.address = 0x5000 + 32 * (uint64_t)ordinal,
		.size = 64,
		.trials = 65,
		.objects = 1,
		.interval_bytes = 1000,
		.thread = ordinal,
		.stack = 1 + ordinal / 100,
		.kind = BP_KIND_MALLOC };
	const struct bp_record_free freed = { .sequence = 2 * (uint64_t)ordinal + 1,
		.time_ns = time_ns + 20,
		.sample_sequence = 2 * (uint64_t)ordinal,
		.trials = 65,
		.objects = 1,
		.thread = ordinal };
	char name[24];
	snprintf(name, sizeof name, "request-%u", ordinal);
	assert_true(bp_writer_plain(&writer, BP_TAG_THREAD_BEGIN, born, 3, name));
	if (ordinal % 100 == 0)
		write_stack(1 + ordinal / 100, 20);
	if (ordinal % 1000 == 0) {
		const struct bp_record_module module = { .id = ordinal,
			.start = 1,
			.end = 2,
			.build_id = "12345",
			.build_id_bytes = 5,
			.path = name };
		const uint64_t frame[] = { ordinal, 12 };
		const struct bp_record_text texts[] = { { name, strlen(name) }, { "file.c", 6 } };
		assert_true(bp_writer_module(&writer, &module));
		assert_true(bp_writer_names(&writer, BP_TAG_FRAME, frame, 2, texts, 2));
	}
	assert_true(bp_writer_sample(&writer, &sample) && bp_writer_free(&writer, &freed));
	assert_true(bp_writer_plain(&writer, BP_TAG_THREAD_END, died, 7, name));
}

static void write_trace(uint32_t threads)
{
	open_writer();
	for (uint32_t i = 1; i <= threads; i++)
		write_thread(i);
	for (uint32_t i = 0; i < DEEP_STACKS; i++)
		write_stack(1000000 + i, DEEP);
	bp_writer_close(&writer);
}

static void same_text(const struct bp_trace_text *text, const struct bp_trace_text *expected)
{
	assert_int_equal(text->bytes, expected->bytes);
	assert_memory_equal(text->data, expected->data, expected->bytes);
}

static void same_record(
	const struct bp_trace_record *record, const struct bp_trace_record *expected)
{
	assert_int_equal(record->tag, expected->tag);
	switch (expected->tag) {
	case BP_TAG_SAMPLE:
		assert_true(record->sample.sequence == expected->sample.sequence &&
			    record->sample.time_ns == expected->sample.time_ns &&
			    record->sample.thread == expected->sample.thread);
		break;
	case BP_TAG_FREE:
		assert_true(record->free.sample_sequence == expected->free.sample_sequence);
		break;
	case BP_TAG_STACK:
		assert_true(record->stack.id == expected->stack.id &&
			    record->stack.depth == expected->stack.depth);
		for (uint32_t i = 0; i < expected->stack.depth; i++)
			assert_true(record->stack.frames[i].pc == expected->stack.frames[i].pc);
		break;
	case BP_TAG_THREAD_BEGIN:
	case BP_TAG_THREAD_END:
		assert_true(record->thread.ordinal == expected->thread.ordinal &&
			    record->thread.time_ns == expected->thread.time_ns);
		same_text(&record->thread.name, &expected->thread.name);
		break;
	case BP_TAG_MODULE:
		assert_int_equal(record->module.id, expected->module.id);
		same_text(&record->module.build_id, &expected->module.build_id);
		same_text(&record->module.path, &expected->module.path);
		break;
	case BP_TAG_FRAME:
		assert_int_equal(record->name.id, expected->name.id);
		same_text(&record->name.text, &expected->name.text);
		same_text(&record->name.file, &expected->name.file);
		break;
	default:
		fail_msg("a record of tag %d was not written", (int)expected->tag);
	}
}

static void is_of_kinds(const struct bp_trace_batch *batch)
{
	const struct bp_join_numbered *numbered = &batch->numbered;
	assert_int_equal(numbered->sample_count + numbered->free_count + numbered->other_count,
		batch->count);
	for (uint32_t i = 0; i < numbered->other_count; i++) {
		const enum bp_tag tag = batch->records[numbered->others[i]].tag;
		assert_true(tag != BP_TAG_SAMPLE && tag != BP_TAG_FREE);
	}
}

/* Reads the trace ahead and record by record; returns how many batches there were. */
static uint64_t read_both(uint64_t *ret_records, uint64_t *ret_file_bytes)
{
	struct bp_trace_reader reader, expected;
	struct bp_trace_ahead ahead;
	struct bp_error error = { .text = "" };
	const struct bp_trace_batch *batch;
	struct bp_trace_record record;
	uint64_t records = 0, batches = 0;
	assert_true(bp_trace_reader_open(&reader, path, &error) &&
		    bp_trace_reader_open(&expected, path, &error));
	*ret_file_bytes = reader.file_bytes;
	assert_true(bp_profile_init(&profile, &error));
	bp_trace_join_init(&join, &reader, (struct bp_process_id){ 0 }, &profile);
	assert_true(bp_trace_ahead_start(&ahead, &reader, &join, &error));
	while (bp_trace_ahead_next(&ahead, &batch, &error) == BP_TRACE_RECORD) {
		is_of_kinds(batch);
		assert_true(bp_trace_join_take(&join, batch->records, &batch->numbered, &error));
		for (uint32_t i = 0; i < batch->count; i++, records++) {
			assert_int_equal(
				bp_trace_reader_next(&expected, &record, &error), BP_TRACE_RECORD);
			same_record(&batch->records[i], &record);
		}
		batches++;
	}
	assert_string_equal(error.text, "");
	assert_int_equal(bp_trace_reader_next(&expected, &record, &error), BP_TRACE_END);
	bp_trace_ahead_stop(&ahead);
	assert_true(reader.thread_count == expected.thread_count && reader.samples > 0);
	assert_int_equal(profile.samples.count - 1, reader.samples);
	bp_trace_join_release(&join);
	bp_profile_finish(&profile);
	bp_trace_reader_close(&reader);
	bp_trace_reader_close(&expected);
	unlink(path);
	*ret_records = records;
	return batches;
}

/* Batches end early only at stacks for which they have no room, and at the end. */
static void reads_the_same(uint32_t threads, bool two)
{
	uint64_t records, file_bytes;
	write_trace(threads);
	const uint64_t batches = read_both(&records, &file_bytes);
	assert_true(records >= 4 * (uint64_t)threads);
	assert_true((file_bytes > FILE_BYTES_OF_TWO) == two);
	assert_in_range(batches, 1, records / BP_TRACE_BATCH_RECORDS + DEEP_STACKS + 1);
}

static void many_threads(void **state)
{
	(void)state;
	reads_the_same(110000, true);
}

static void few_threads(void **state)
{
	(void)state;
	reads_the_same(1000, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_threads),
		cmocka_unit_test(few_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
