/* SPDX-License-Identifier: MIT */
/*
 * The reader against written-down values: what tests/data/trace/make_traces.py put into each file.
 * That every field of every record is right is the business of compare_decoders.py; here stand the
 * meaning of damage, the totals, the errors, and files that change under the reader.
 * Argument: the folder of the traces.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attributes.h"
#include "trace/reader.h"

static const char *folder;

static const char *trace_path(const char *name)
{
	static char path[4096];
	snprintf(path, sizeof path, "%s/%s.bpt", folder, name);
	return path;
}

static void open_trace(struct bp_trace_reader *reader, const char *name)
{
	struct bp_error error = { .text = "" };
	if (!bp_trace_reader_open(reader, trace_path(name), &error))
		fail_msg("%s", error.text);
}

/* Reads to the end, keeping the sequence numbers of samples. Returns the number of records. */
static unsigned read_all(struct bp_trace_reader *reader, uint64_t *sequences, size_t capacity)
{
	struct bp_trace_record record;
	struct bp_error error = { .text = "" };
	enum bp_trace_next next;
	unsigned count = 0;
	size_t samples = 0;
	while ((next = bp_trace_reader_next(reader, &record, &error)) == BP_TRACE_RECORD) {
		count++;
		if (record.tag == BP_TAG_SAMPLE && samples < capacity)
			sequences[samples++] = record.sample.sequence;
	}
	if (next != BP_TRACE_END)
		fail_msg("%s", error.text);
	assert_int_equal(bp_trace_reader_next(reader, &record, &error), BP_TRACE_END);
	return count;
}

static void header_and_state(void **state)
{
	struct bp_trace_reader reader;
	(void)state;
	open_trace(&reader, "simple");
	assert_int_equal(reader.header.pid, 100);
	assert_true(reader.header.interval_bytes == 4096);
	assert_true(reader.header.seed == 42 && reader.header.seed_given == 1);
	assert_int_equal(reader.program.bytes, strlen("/usr/bin/program"));
	assert_memory_equal(reader.program.data, "/usr/bin/program", reader.program.bytes);
	assert_int_equal(reader.command_line.bytes, sizeof "program\0argument" - 1);
	assert_memory_equal(reader.command_line.data, "program\0argument", 16);
	assert_memory_equal(reader.recorder_version.data, "0.1.0", 5);
	assert_true(reader.state.state == 1 && reader.state.end_reason == BP_END_EXIT);
	assert_true(reader.state.own_bytes == 123456);
	bp_trace_reader_close(&reader);
}

static void records_in_order(void **state)
{
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_error error;
	(void)state;
	open_trace(&reader, "simple");
	for (int i = 0; i < 5; i++)
		assert_int_equal(bp_trace_reader_next(&reader, &record, &error), BP_TRACE_RECORD);
	/* The fifth record is the second stack. */
	assert_int_equal(record.tag, BP_TAG_STACK);
	assert_int_equal(record.stack.depth, 3);
	assert_true(record.stack.frames[0].pc == 0x7F0000000500 && record.stack.frames[0].exact);
	assert_true(record.stack.frames[2].pc == 0x10 && !record.stack.frames[2].exact);
	assert_int_equal(bp_trace_reader_next(&reader, &record, &error), BP_TRACE_RECORD);
	assert_int_equal(record.tag, BP_TAG_SAMPLE);
	assert_true(record.sample.sequence == 1 && record.sample.time_ns == 2000);
	assert_true(record.sample.size == 100 && record.sample.usable == 104);
	assert_true(record.sample.offset == 7 && record.sample.stack == 1);
	assert_true(record.sample.trials == 5000 && record.sample.objects == 40);
	assert_true(record.sample.interval == 4096 && record.sample.law == BP_LAW_EXACT);
	assert_int_equal(bp_trace_reader_next(&reader, &record, &error), BP_TRACE_RECORD);
	assert_true(record.sample.exact && record.sample.offset == 0);
	assert_int_equal(bp_trace_reader_next(&reader, &record, &error), BP_TRACE_RECORD);
	assert_int_equal(record.tag, BP_TAG_FREE);
	assert_true(record.free.sample_sequence == 2 && record.free.objects == 41);
	bp_trace_reader_close(&reader);
}

static void totals_of_an_ended_process(void **state)
{
	struct bp_trace_reader reader;
	(void)state;
	open_trace(&reader, "simple");
	assert_int_equal(read_all(&reader, NULL, 0), 12);
	struct bp_trace_totals totals = bp_trace_reader_totals(&reader);
	assert_true(totals.exact);
	assert_true(totals.trials_low == 30000 && totals.trials_high == 30000);
	assert_true(totals.objects_low == 100 && totals.objects_high == 100);
	assert_true(totals.bytes_low == 29900 && totals.bytes_high == 29900);
	assert_true(reader.samples == 4 && reader.frees == 2);
	assert_true(reader.damaged_chunks == 0);
	bp_trace_reader_close(&reader);
}

static const struct bp_trace_thread *thread_of(
	const struct bp_trace_reader *reader, uint32_t ordinal)
{
	for (uint32_t i = 0; i < reader->thread_count; i++)
		if (reader->threads[i].ordinal == ordinal)
			return &reader->threads[i];
	fail_msg("thread %u is missing", ordinal);
	return NULL;
}

static void totals_of_a_killed_process(void **state)
{
	struct bp_trace_reader reader;
	const struct bp_trace_thread *thread;
	(void)state;
	open_trace(&reader, "killed");
	read_all(&reader, NULL, 0);
	assert_int_equal(reader.thread_count, 4);
	/* A sample newer than the slot raises what is known: 2500 > 2000 + 300. */
	thread = thread_of(&reader, 1);
	assert_true(thread->trials_low == 2500 && thread->trials_high == 2500);
	assert_true(thread->objects_low == 20 && thread->objects_high == 315);
	/* The end overrides the slot that is still in use. */
	thread = thread_of(&reader, 2);
	assert_true(thread->ended && thread->trials_low == 1000 && thread->trials_high == 1000);
	assert_true(thread->unoffered_trials == 5);
	/* No slot: samples only. */
	thread = thread_of(&reader, 3);
	assert_true(!thread->published && thread->trials_low == 700001);
	/* Killed while it published. */
	thread = thread_of(&reader, 4);
	assert_true(thread->trials_low == 100 && thread->trials_high == 150);
	assert_true(reader.torn_slots == 1);

	struct bp_trace_totals totals = bp_trace_reader_totals(&reader);
	assert_false(totals.exact);
	assert_true(totals.trials_low == 2500 + 1000 + 700001 + 100);
	/* One more: the object in flight. */
	assert_true(totals.trials_high == 2500 + 1000 + 700001 + 150 + 1);
	assert_true(totals.objects_low == 20 + 10 + 3 + 1);
	assert_true(totals.bytes_low == 2480 + 990 + 699998 + 99);
	assert_true(totals.unoffered_trials == 12 && totals.unoffered_objects == 3);
	assert_true(reader.state.lost[BP_LOSS_TRACE_FULL] == 3);
	bp_trace_reader_close(&reader);
}

static bool within(struct bp_trace_limits limits, uint64_t low, uint64_t high)
{
	return limits.low == low && limits.high == high;
}

/* Pauses cut out of threads exactly; at an orderly end both parts of the total are exact, too,
 * though two threads have not published their last. */
static void sampling_that_pauses(void **state)
{
	struct bp_trace_reader reader;
	(void)state;
	open_trace(&reader, "switched");
	read_all(&reader, NULL, 0);
	assert_true(reader.interval_min == 1024 && reader.interval_max == 16384);
	assert_int_equal(reader.switch_count, 7);
	const struct bp_trace_thread *thread = thread_of(&reader, 1);
	assert_true(thread->off_bytes.low == 600 && thread->off_bytes.high == 600);
	assert_true(thread->off_objects.low == 6 && thread->off_objects.high == 6);
	thread = thread_of(&reader, 2);
	assert_true(thread->off_bytes.low == 5000 && thread->off_objects.high == 50);
	/* Before the pause, in it, after it. */
	assert_true(bp_trace_reader_off_bytes(&reader, 1, 5960) == 0);
	assert_true(bp_trace_reader_off_bytes(&reader, 1, 6100) == 140);
	assert_true(bp_trace_reader_off_objects(&reader, 1, 48) == 2);
	assert_true(bp_trace_reader_off_bytes(&reader, 1, 9000) == 600);
	assert_true(bp_trace_reader_off_bytes(&reader, 3, 9000) == 0);
	struct bp_trace_totals totals = bp_trace_reader_totals(&reader);
	assert_true(within(totals.on_bytes, 20230, 20230));
	assert_true(within(totals.off_bytes, 5600, 5600));
	assert_true(within(totals.on_objects, 214, 214));
	assert_true(within(totals.off_objects, 56, 56));
	bp_trace_reader_close(&reader);
}

/* A thread that was killed in a pause: what it was armed with belongs to the pause. */
static void killed_in_a_pause(void **state)
{
	struct bp_trace_reader reader;
	(void)state;
	open_trace(&reader, "switched_killed");
	read_all(&reader, NULL, 0);
	const struct bp_trace_thread *thread = thread_of(&reader, 1);
	assert_true(thread->off_bytes.low == 990 && thread->off_bytes.high == 1490);
	thread = thread_of(&reader, 2);
	assert_true(thread->off_bytes.low == 1000 && thread->off_bytes.high == 1000);
	struct bp_trace_totals totals = bp_trace_reader_totals(&reader);
	/* A thread without a slot may have allocated more, in either part; the object in flight
	 * too. */
	assert_true(
		within(totals.on_bytes, 990 + 71000 + 396 + 297 + 1000, totals.bytes_high - 1990));
	assert_true(within(totals.off_bytes, 1990, totals.bytes_high - totals.on_bytes.low));
	bp_trace_reader_close(&reader);
}

static void never_switched_on(void **state)
{
	static const char *const names[] = { "dormant", "dormant_killed" };
	(void)state;
	for (size_t i = 0; i < BP_COUNT(names); i++) {
		struct bp_trace_reader reader;
		open_trace(&reader, names[i]);
		read_all(&reader, NULL, 0);
		struct bp_trace_totals totals = bp_trace_reader_totals(&reader);
		assert_true(reader.interval_max == 0);
		assert_true(within(totals.on_bytes, 0, 0) && within(totals.on_objects, 0, 0));
		assert_true(within(totals.off_bytes, totals.bytes_low, totals.bytes_high));
		assert_true(totals.bytes_low == (i == 0 ? 4900 : 3910));
		assert_true(totals.bytes_high == (i == 0 ? 4900 : 3910 + 993 + 1));
		bp_trace_reader_close(&reader);
	}
}

static void switches_that_make_no_sense(void **state)
{
	struct bp_trace_reader reader;
	(void)state;
	open_trace(&reader, "switched_badly");
	read_all(&reader, NULL, 0);
	assert_true(reader.damaged_chunks == 3 && reader.samples == 0);
	for (uint32_t i = 0; i < reader.thread_count; i++) {
		const struct bp_trace_thread *thread = &reader.threads[i];
		assert_true(thread->off_bytes.low <= thread->bytes_low);
		assert_true(thread->off_bytes.low <= thread->off_bytes.high);
		assert_true(thread->off_objects.high <= thread->objects_high);
	}
	struct bp_trace_totals totals = bp_trace_reader_totals(&reader);
	assert_true(totals.on_bytes.low <= totals.on_bytes.high);
	assert_true(totals.on_bytes.high <= totals.bytes_high);
	assert_true(totals.off_objects.low <= totals.off_objects.high);
	assert_true(totals.off_objects.high <= totals.objects_high);
	bp_trace_reader_close(&reader);
}

static void damage_costs_its_chunk_only(void **state)
{
	static const uint64_t whole[] = { 1, 2, 3, 4, 5 };
	struct bp_trace_reader reader;
	uint64_t sequences[8];
	(void)state;
	open_trace(&reader, "damaged");
	read_all(&reader, sequences, 8);
	assert_int_equal(reader.samples, BP_COUNT(whole));
	assert_memory_equal(sequences, whole, sizeof whole);
	/* Chunks 2 to 8: checksum, magic, number, committed, three malformed records. */
	assert_true(reader.damaged_chunks == 7);
	/* Zeros are records of tag 0 without content. */
	assert_true(reader.skipped_records == 20);
	bp_trace_reader_close(&reader);
}

static void torn_tail(void **state)
{
	struct bp_trace_reader reader;
	uint64_t sequence = 0;
	(void)state;
	open_trace(&reader, "torn");
	assert_int_equal(read_all(&reader, &sequence, 1), 1);
	assert_true(sequence == 1 && reader.damaged_chunks == 1);
	bp_trace_reader_close(&reader);
}

/* A copy of a trace that the test may change. The caller removes it. */
static int copy_of(const char *name, char *path)
{
	static char bytes[1 << 20];
	int from = open(trace_path(name), O_RDONLY), to = mkstemp(path);
	ssize_t got = read(from, bytes, sizeof bytes);
	assert_true(got > 0 && to >= 0);
	assert_true(write(to, bytes, (size_t)got) == got);
	close(from);
	return to;
}

/* What a file that was shortened says of itself, and that a total of which a part may be missing
 * has no upper limit. Two chunks, the last one open. */
static void cut_anywhere(void **state)
{
	char path[] = "/tmp/bytepoll-test-XXXXXX";
	int fd = copy_of("killed", path);
	struct bp_chunk_header first, last;
	const off_t at = 2 * BP_CHUNK_BYTES;
	(void)state;
	assert_true(pread(fd, &first, sizeof first, BP_CHUNK_BYTES) == sizeof first);
	assert_true(pread(fd, &last, sizeof last, at) == sizeof last);
	const off_t end = at + (off_t)(sizeof last + last.committed), most = (end + 7) & ~(off_t)7;
	const off_t before =
		(BP_CHUNK_BYTES + (off_t)(sizeof first + first.committed) + 7) & ~(off_t)7;
	/* As it ends where the records of the first chunk do, only a sample that is missing
	 * tells. */
	const struct {
		off_t bytes;
		bool cut, whole;
	} cases[] = { { at + BP_CHUNK_BYTES, false, true }, { most, false, true },
		{ end, false, true }, { end - 1, true, false }, { at + 64, true, false },
		{ at + 63, true, false }, { at + 1, true, false }, { at, true, false },
		{ at - 1, true, false }, { before, false, false }, { before + 1, true, false },
		{ BP_CHUNK_BYTES + 1, true, false }, { BP_CHUNK_BYTES, true, false },
		{ BP_CHUNK_BYTES - 1, true, false }, { 8192, true, false }, { 4760, true, false } };
	assert_int_equal(ftruncate(fd, at + BP_CHUNK_BYTES), 0);
	for (size_t i = 0; i < BP_COUNT(cases); i++) {
		struct bp_trace_reader reader;
		struct bp_error error = { .text = "" };
		assert_int_equal(ftruncate(fd, cases[i].bytes), 0);
		assert_true(bp_trace_reader_open(&reader, path, &error));
		read_all(&reader, NULL, 0);
		if (reader.is_cut != cases[i].cut ||
			bp_trace_reader_is_whole(&reader) != cases[i].whole)
			fail_msg("%lld bytes", (long long)cases[i].bytes);
		const struct bp_trace_totals totals = bp_trace_reader_totals(&reader);
		assert_true((totals.bytes_high == UINT64_MAX) == !cases[i].whole);
		assert_true((totals.objects_high == UINT64_MAX) == !cases[i].whole);
		assert_true(totals.bytes_low <= 2480 + 990 + 699998 + 99);
		bp_trace_reader_close(&reader);
	}
	close(fd);
	unlink(path);
}

/* Totals that the state page has are exact, whatever else is missing. */
static void cut_after_its_end(void **state)
{
	struct bp_trace_reader reader;
	(void)state;
	open_trace(&reader, "cut_between");
	assert_int_equal(read_all(&reader, NULL, 0), 0);
	assert_true(reader.is_cut && !bp_trace_reader_is_whole(&reader));
	const struct bp_trace_totals totals = bp_trace_reader_totals(&reader);
	assert_true(totals.exact && totals.bytes_low == 29900 && totals.bytes_high == 29900);
	bp_trace_reader_close(&reader);
}

static void not_a_trace(void **state)
{
	static const struct {
		const char *name, *says;
	} bad[] = {
		{ "missing", "No such file" },
		{ "bad_empty", "is empty" },
		{ "bad_zeros", "torn before the end of its header" },
		{ "bad_magic_only", "torn before the end of its header" },
		{ "bad_header_torn", "torn before the end of its header" },
		{ "bad_strings_torn", "torn before the end of its header" },
		{ "bad_header_alone", "torn behind its header" },
		{ "bad_state_torn", "torn behind its header" },
		{ "bad_state_zeros", "torn behind its header" },
		{ "bad_foreign", "not a bytepoll trace" },
		{ "bad_version", "version 2.7" },
		{ "bad_flags_fatal", "flags 0x10" },
		{ "bad_header_checksum", "damaged" },
		{ "bad_chunk_bytes", "contradicts itself" },
		{ "bad_law", "contradicts itself" },
	};
	struct bp_trace_reader reader;
	struct bp_error error;
	(void)state;
	for (size_t i = 0; i < BP_COUNT(bad); i++) {
		error.text[0] = '\0';
		assert_false(bp_trace_reader_open(&reader, trace_path(bad[i].name), &error));
		if (strstr(error.text, bad[i].says) == NULL || strstr(error.text, folder) == NULL)
			fail_msg("%s: %s", bad[i].name, error.text);
		bp_trace_reader_close(&reader);
	}
	assert_false(bp_trace_reader_open(&reader, folder, &error));
	assert_non_null(strstr(error.text, "is a directory"));
	assert_false(bp_trace_reader_open(&reader, "/dev/null", &error));
	assert_non_null(strstr(error.text, "not a regular file"));
}

static void fatal_record(void **state)
{
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_error error = { .text = "" };
	(void)state;
	open_trace(&reader, "bad_record_fatal");
	assert_int_equal(bp_trace_reader_next(&reader, &record, &error), BP_TRACE_RECORD);
	assert_int_equal(bp_trace_reader_next(&reader, &record, &error), BP_TRACE_ERROR);
	assert_non_null(strstr(error.text, "kind 69"));
	bp_trace_reader_close(&reader);
}

static void truncated_at_every_length(void **state)
{
	char path[] = "/tmp/bytepoll-test-XXXXXX";
	int fd = copy_of("random_records", path);
	struct bp_error error;
	uint64_t samples_before = UINT64_MAX;
	unsigned opened = 0;
	(void)state;
	/* Cut ever shorter: fewer records at each step, never an error, never a wrong one. */
	for (off_t bytes = 262144; bytes >= 0; bytes -= 997) {
		struct bp_trace_reader reader;
		assert_int_equal(ftruncate(fd, bytes), 0);
		if (!bp_trace_reader_open(&reader, path, &error))
			continue;
		opened++;
		read_all(&reader, NULL, 0);
		assert_true(reader.samples <= samples_before);
		samples_before = reader.samples;
		bp_trace_reader_close(&reader);
	}
	assert_true(opened > 250 && samples_before == 0);
	close(fd);
	unlink(path);
}

static void truncated_under_the_reader(void **state)
{
	char path[] = "/tmp/bytepoll-test-XXXXXX";
	int fd = copy_of("random_records", path);
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_error error;
	(void)state;
	assert_true(bp_trace_reader_open(&reader, path, &error));
	for (int i = 0; i < 10; i++)
		assert_int_equal(bp_trace_reader_next(&reader, &record, &error), BP_TRACE_RECORD);
	assert_int_equal(ftruncate(fd, 100), 0);
	/* What was read of the first chunk stands; then the file ends. */
	assert_true(read_all(&reader, NULL, 0) > 100);
	assert_true(reader.damaged_chunks == 0);
	bp_trace_reader_close(&reader);
	close(fd);
	unlink(path);
}

/* A file of 4 TiB without content beyond a trace: 64 million chunks that were never begun. */
static void sparse_file(void **state)
{
	char path[] = "/tmp/bytepoll-test-XXXXXX";
	int fd = copy_of("simple", path);
	struct bp_trace_reader reader;
	struct bp_error error;
	(void)state;
	if (ftruncate(fd, (off_t)1 << 42) == 0) {
		assert_true(bp_trace_reader_open(&reader, path, &error));
		assert_int_equal(read_all(&reader, NULL, 0), 12);
		assert_true(reader.damaged_chunks == 0);
		/* Walked by what is there, not by length. */
		assert_true(reader.chunks < 100);
		bp_trace_reader_close(&reader);
	}
	close(fd);
	unlink(path);
}

static void verify_of_a_verified_run(void **state)
{
	struct bp_trace_reader reader;
	uint64_t sequences[2];
	(void)state;
	open_trace(&reader, "census");
	assert_true(reader.header.flags_skippable == BP_HEADER_VERIFY);
	assert_int_equal(read_all(&reader, sequences, 2), 5);
	assert_true(reader.samples == 1 && reader.damaged_chunks == 0);
	assert_true(reader.state.verify_sums.allocated_bytes == 1077);
	assert_true(reader.state.verify_sums.smallest_size == 1);
	assert_true(reader.state.verify_sums.unknown_frees == 3);
	assert_true(reader.state.verify_sums.failed_objects == 2);
	/* Those in use, in file order. */
	assert_int_equal(reader.verify_sums_count, 4);
	static const uint32_t stacks[] = { 1, 2, 0, 1 };
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(reader.verify_sums[i].stack, stacks[i]);
	assert_true(reader.verify_sums[0].allocated_bytes == 1000);
	assert_true(reader.verify_sums[0].temporary_objects == 3);
	assert_true(reader.verify_sums[3].freed_objects == 2);
	bp_trace_reader_close(&reader);
}

/* What an older reader makes of it: bits, fields and chunks that it does not know. */
static void verify_that_is_not_known(void **state)
{
	struct bp_trace_reader reader;
	uint64_t sequences[2];
	(void)state;
	open_trace(&reader, "census_of_later");
	assert_int_equal(read_all(&reader, sequences, 2), 5);
	assert_true(reader.samples == 1 && sequences[0] == 1 && reader.damaged_chunks == 0);
	assert_int_equal(reader.verify_sums_count, 0);
	assert_true(bp_trace_reader_totals(&reader).objects_low == 21);
	bp_trace_reader_close(&reader);
}

static void closing_twice(void **state)
{
	struct bp_trace_reader reader;
	(void)state;
	memset(&reader, 0, sizeof reader);
	bp_trace_reader_close(&reader);
	open_trace(&reader, "chunks");
	bp_trace_reader_close(&reader);
	bp_trace_reader_close(&reader);
	assert_false(reader.is_open);
}

static void sniffing(void **state)
{
	(void)state;
	assert_true(bp_trace_sniff((const uint8_t *)"BYTEPOLL", 8));
	assert_true(bp_trace_sniff((const uint8_t *)"BYTE", 4));
	assert_true(bp_trace_sniff((const uint8_t *)"\0\0\0\0\0\0\0\0\0", 9));
	assert_false(bp_trace_sniff((const uint8_t *)"BYTEPOLS", 8));
	assert_false(bp_trace_sniff((const uint8_t *)"\0\0\0\0\0\0\0\0\1", 9));
	assert_false(bp_trace_sniff((const uint8_t *)"", 0));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_and_state),
		cmocka_unit_test(records_in_order),
		cmocka_unit_test(totals_of_an_ended_process),
		cmocka_unit_test(totals_of_a_killed_process),
		cmocka_unit_test(sampling_that_pauses),
		cmocka_unit_test(killed_in_a_pause),
		cmocka_unit_test(never_switched_on),
		cmocka_unit_test(switches_that_make_no_sense),
		cmocka_unit_test(damage_costs_its_chunk_only),
		cmocka_unit_test(torn_tail),
		cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(cut_after_its_end),
		cmocka_unit_test(not_a_trace),
		cmocka_unit_test(fatal_record),
		cmocka_unit_test(truncated_at_every_length),
		cmocka_unit_test(truncated_under_the_reader),
		cmocka_unit_test(sparse_file),
		cmocka_unit_test(verify_of_a_verified_run),
		cmocka_unit_test(verify_that_is_not_known),
		cmocka_unit_test(closing_twice),
		cmocka_unit_test(sniffing),
	};
	if (argc != 2)
		return 2;
	folder = argv[1];
	return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
