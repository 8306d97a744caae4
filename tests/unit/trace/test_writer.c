/* SPDX-License-Identifier: MIT */
/*
 * The writer, read back by the reader: every field of every record, changes of chunk, several
 * threads, and the ends of a disk: a size limit, pages that cannot be made present, a file that is
 * no longer under its name, a kernel that does not know how to make pages present, a kill. A record
 * whose call returned true is in the file, whole, or waits until that can grow, and is counted as
 * lost meanwhile; one that was lost is counted. Values are random with recorded seeds; what is
 * asserted is always true.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/reader.h"
#include "trace/writer/writer.h"

static struct bp_writer writer;
static char path[80];
static _Thread_local uint64_t state_of_random;

static uint64_t next(void)
{
	uint64_t z = (state_of_random += 0x9E3779B97F4A7C15u);
	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
	return z ^ (z >> 31);
}

static uint64_t any(void)
{
	const uint64_t bits = next() % 64;
	return next() >> bits;
}

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
	state_of_random = (uint64_t)number;
	snprintf(path, sizeof path, "/tmp/bytepoll-writer.%d.%d", (int)getpid(), number++);
	return open_writer(path) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	return unlink(path);
}

/* ---- samples and frees, numbered: number n is a function of n ---- */

static struct bp_record_sample sample_of(uint64_t n)
{
	state_of_random = n * 0xD1342543DE82EF95u;
	struct bp_record_sample record = { 0 };
	/* One after the other: each draws from the generator. */
	record.sequence = n;
	record.time_ns = any();
	record.address = any();
	record.size = any() >> 1;
	record.usable_known = next() % 2;
	record.offset = any();
	record.exact = next() % 2;
	record.interval_bytes = next() % 4 == 0 ? any() | 1 : 1000;
	record.law = next() % 8 == 0;
	record.thread = (uint32_t)(next() % 40);
	record.stack = (uint32_t)any();
	record.kind = (uint8_t)(1 + next() % 4);
	record.alignment_log2 = next() % 4 == 0 ? (uint8_t)(next() % 64) : 0;
	record.trials = any();
	record.objects = any();
	record.processor = next() % 4 == 0 ? (uint32_t)any() : 0;
	return record;
}

static struct bp_record_free free_of(uint64_t n)
{
	state_of_random = n * 0xD1342543DE82EF95u;
	struct bp_record_free record = { 0 };
	/* One after the other: each draws from the generator. */
	record.sequence = n;
	record.time_ns = any();
	record.sample_sequence = n - any() % (n + 1);
	record.thread = (uint32_t)(next() % 40);
	record.trials = any();
	record.objects = any();
	record.by_realloc = next() % 2;
	record.stack = next() % 2 == 0 ? (uint32_t)any() : 0;
	record.processor = next() % 4 == 0 ? (uint32_t)any() : 0;
	return record;
}

/* Odd numbers are samples, even ones frees. */
static bool write_number(uint64_t n)
{
	if (n % 2 == 1) {
		struct bp_record_sample sample = sample_of(n);
		sample.usable = sample.size + n % 100;
		return bp_writer_sample(&writer, &sample);
	}
	struct bp_record_free record = free_of(n);
	return bp_writer_free(&writer, &record);
}

static void check_sample(const struct bp_trace_sample *read)
{
	const struct bp_record_sample wrote = sample_of(read->sequence);
	assert_true(read->time_ns == wrote.time_ns && read->address == wrote.address);
	assert_true(read->size == wrote.size && read->stack == wrote.stack);
	assert_true(read->usable == (wrote.usable_known ? wrote.size + read->sequence % 100 : 0));
	assert_true(read->exact == wrote.exact && read->offset == (wrote.exact ? 0 : wrote.offset));
	assert_true(read->interval == wrote.interval_bytes && read->law == wrote.law);
	assert_true(read->thread == wrote.thread && read->kind == wrote.kind);
	assert_true(read->alignment_log2 == wrote.alignment_log2);
	assert_true(read->trials == wrote.trials && read->objects == wrote.objects);
	assert_true(read->processor == wrote.processor);
}

static void check_free(const struct bp_trace_free *read)
{
	const struct bp_record_free wrote = free_of(read->sequence);
	assert_true(read->time_ns == wrote.time_ns);
	assert_true(read->sample_sequence == wrote.sample_sequence);
	assert_true(read->thread == wrote.thread);
	assert_true(read->trials == wrote.trials && read->objects == wrote.objects);
	assert_int_equal((read->flags & BP_FREE_REALLOC) != 0, wrote.by_realloc);
	assert_true(read->stack == wrote.stack);
	assert_true(read->processor == wrote.processor);
}

struct found {
	uint64_t count, damaged, chunks, outages;
	struct bp_trace_state state;
};

/* Reads the file; each record is checked, and those up to `last` are there, each once, if `all`. */
static struct found read_back(uint64_t last, bool all)
{
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_error error = { .text = "" };
	struct found found = { 0 };
	uint8_t *seen = calloc(last + 1, 1);
	assert_non_null(seen);
	if (!bp_trace_reader_open(&reader, path, &error))
		fail_msg("%s", error.text);
	while (bp_trace_reader_next(&reader, &record, &error) == BP_TRACE_RECORD) {
		uint64_t n = 0;
		if (record.tag == BP_TAG_SAMPLE) {
			n = record.sample.sequence;
			check_sample(&record.sample);
		} else if (record.tag == BP_TAG_FREE) {
			n = record.free.sequence;
			check_free(&record.free);
		}
		if (record.tag == BP_TAG_OUTAGE) {
			assert_true(record.outage.from_ns < record.outage.to_ns);
			found.outages++;
			continue;
		}
		assert_in_range(n, 1, last);
		assert_int_equal(seen[n]++, 0);
		found.count++;
	}
	assert_true(!all || found.count == last);
	found.damaged = reader.damaged_chunks;
	found.chunks = reader.chunks;
	found.state = reader.state;
	bp_trace_reader_close(&reader);
	free(seen);
	return found;
}

static uint64_t lost_of(const struct found *found)
{
	return found->state.lost[BP_LOSS_TRACE_FULL] + found->state.lost[BP_LOSS_FREE];
}

static void round_trip(void **state)
{
	enum { COUNT = 60000 };
	(void)state;
	for (uint64_t n = 1; n <= COUNT; n++)
		assert_true(write_number(n));
	struct found found = read_back(COUNT, true);
	assert_true(found.damaged == 0 && found.chunks > 20);
	assert_true(found.state.samples == COUNT / 2);
	for (int i = 0; i < BP_LOSS_COUNT; i++)
		assert_true(found.state.lost[i] == 0);
}

static void *write_quarter(void *argument)
{
	for (uint64_t n = (uintptr_t)argument; n <= 80000; n += 4)
		if (!write_number(n))
			abort();
	return NULL;
}

static void threads(void **state)
{
	pthread_t running[4];
	(void)state;
	for (uintptr_t i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&running[i], NULL, write_quarter, (void *)(i + 1)), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_join(running[i], NULL), 0);
	struct found found = read_back(80000, true);
	assert_true(found.damaged == 0);
}

/* ---- the other records ---- */

static void check_stack(const struct bp_trace_stack *stack)
{
	assert_true(stack->id == 9 && stack->flags == BP_STACK_CUT && stack->epoch == 3);
	assert_int_equal(stack->depth, BP_STACK_MAX_DEPTH);
	for (uint32_t i = 0; i < stack->depth; i++) {
		assert_true(stack->frames[i].pc == (uint64_t)0x7f0000000000 - i * 0x12345);
		assert_int_equal(stack->frames[i].exact, i % 3 == 1);
	}
}

static void check_module(const struct bp_trace_module *module)
{
	assert_true(module->id == 7 && module->epoch == 2 && module->start == 0x1000);
	assert_true(module->end == UINT64_MAX && module->bias == 5 && module->file_bytes == 6);
	assert_true(module->file_mtime_ns == 8);
	assert_int_equal(module->build_id.bytes, 64); /* at most */
	assert_int_equal(module->path.bytes, 4000);   /* at most */
	assert_true(module->path.data[3999] == 'p');
}

static void check_thread_end(const struct bp_trace_thread_event *event)
{
	assert_true(event->ordinal == 1 && event->tid == 2 && event->time_ns == 3);
	assert_true(event->trials == 4 && event->objects == 5 && event->unoffered_trials == 6);
	assert_true(event->unoffered_objects == UINT64_MAX);
	assert_int_equal(event->name.bytes, 6);
	assert_memory_equal(event->name.data, "a name", 6);
}

static void write_others(void)
{
	static char long_path[5001];
	uint8_t build_id[80] = { 1 }, mask[BP_STACK_MAX_DEPTH / 8] = { 0 };
	uint64_t pcs[BP_STACK_MAX_DEPTH];
	const uint64_t end_of_thread[] = { 1, 2, 3, 4, 5, 6, UINT64_MAX }, gone[] = { 7, 3 };
	const uint64_t exec[] = { 1, 2, 3, BP_UNSEEN_STATIC };
	for (uint32_t i = 0; i < BP_STACK_MAX_DEPTH; i++) {
		pcs[i] = (uint64_t)0x7f0000000000 - i * 0x12345;
		mask[i / 8] |= (uint8_t)((i % 3 == 1) << (i % 8));
	}
	memset(long_path, 'p', 5000);
	struct bp_record_module module = { 7, 2, 0x1000, UINT64_MAX, 5, 6, 8, build_id, 80,
		long_path };
	assert_true(bp_writer_stack(&writer, 9, BP_STACK_CUT, 3, BP_STACK_MAX_DEPTH, pcs, mask));
	assert_true(bp_writer_module(&writer, &module));
	assert_true(bp_writer_plain(&writer, BP_TAG_MODULE_GONE, gone, 2, NULL));
	assert_true(bp_writer_plain(&writer, BP_TAG_THREAD_END, end_of_thread, 7, "a name"));
	assert_true(bp_writer_plain(&writer, BP_TAG_EXEC, exec, 4, "/bin/true"));
	assert_false(bp_writer_plain(&writer, BP_TAG_EXEC, exec, 16, ""));
}

static void other_records(void **state)
{
	enum { ROUNDS = 100 }; /* some chunks of them */
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_error error = { .text = "" };
	unsigned counts[16] = { 0 };
	(void)state;
	for (int round = 0; round < ROUNDS; round++)
		write_others();
	assert_true(bp_trace_reader_open(&reader, path, &error));
	while (bp_trace_reader_next(&reader, &record, &error) == BP_TRACE_RECORD) {
		counts[record.tag]++;
		if (record.tag == BP_TAG_STACK)
			check_stack(&record.stack);
		else if (record.tag == BP_TAG_MODULE)
			check_module(&record.module);
		else if (record.tag == BP_TAG_MODULE_GONE)
			assert_true(record.module.id == 7 && record.module.epoch == 3);
		else if (record.tag == BP_TAG_THREAD_END)
			check_thread_end(&record.thread);
		else
			assert_memory_equal(record.exec.path.data, "/bin/true", 9);
	}
	for (int tag = BP_TAG_STACK; tag <= BP_TAG_EXEC; tag++)
		assert_int_equal(counts[tag], tag == BP_TAG_THREAD_BEGIN ? 0 : ROUNDS);
	assert_true(reader.damaged_chunks == 0 && reader.chunks > 5);
	bp_trace_reader_close(&reader);
}

/* ---- slots of threads ---- */

static void thread_slots(void **state)
{
	enum { COUNT = 3000 }; /* those of chunk 0, and of three more */
	static struct bp_thread_slot *slots[COUNT];
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	struct bp_error error = { .text = "" };
	(void)state;
	for (uint32_t i = 0; i < COUNT; i++) {
		slots[i] = bp_writer_take_slot(&writer);
		assert_non_null(slots[i]);
		assert_true(slots[i]->state == 1 && slots[i]->ordinal == 0);
		slots[i]->ordinal = i + 1;
		slots[i]->trials = 10 * i + 10;
		slots[i]->objects = i;
		slots[i]->armed = 100;
	}
	assert_true(bp_trace_reader_open(&reader, path, &error));
	assert_true(bp_trace_reader_next(&reader, &record, &error) == BP_TRACE_END);
	assert_int_equal(reader.thread_count, COUNT);
	struct bp_trace_totals totals = bp_trace_reader_totals(&reader);
	assert_true(!totals.exact && totals.trials_low == 10ull * COUNT * (COUNT + 1) / 2);
	assert_true(totals.trials_high >= totals.trials_low + 100ull * COUNT);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_true(reader.threads[i].trials_low == 10 * reader.threads[i].ordinal &&
			    reader.threads[i].trials_high == reader.threads[i].trials_low + 100);
	bp_trace_reader_close(&reader);
	/* Given back, a slot of chunk 0 serves again, empty. */
	struct bp_thread_slot *given = slots[500];
	given->state = 0;
	assert_ptr_equal(bp_writer_take_slot(&writer), given);
	assert_true(given->ordinal == 0 && given->trials == 0 && given->state == 1);
}

/* ---- files ---- */

static void nothing_is_overwritten(void **state)
{
	char other[100];
	(void)state;
	assert_true(write_number(1));
	const struct bp_writer kept = writer;
	assert_false(open_writer(path));
	assert_int_equal(errno, EEXIST);
	assert_null(writer.head);
	snprintf(other, sizeof other, "%s.link", path);
	assert_int_equal(symlink("/tmp/bytepoll-nowhere", other), 0);
	assert_false(open_writer(other));
	assert_true(access("/tmp/bytepoll-nowhere", F_OK) != 0);
	assert_int_equal(unlink(other), 0);
	assert_false(open_writer("/nonexistent/directory/file"));
	writer = kept;
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	(void)read_back(1, true);
}

/* Trimmed, as before mlockall: mappings of a few chunks from then on, and all goes well. */
static void trimmed(void **state)
{
	(void)state;
	assert_true(write_number(1));
	bp_writer_trim(&writer);
	for (uint64_t n = 2; n <= 60000; n++)
		assert_true(write_number(n));
	bp_writer_trim(&writer);
	assert_true(write_number(60001));
	assert_true(read_back(60001, true).damaged == 0);
}

/* The file is no longer under its name: what is mapped is used up, then it ends, counted. */
static void renamed(void **state)
{
	char other[100], bait[4] = "bait";
	uint64_t n = 1;
	(void)state;
	bp_writer_trim(&writer);
	snprintf(other, sizeof other, "%s.moved", path);
	assert_int_equal(rename(path, other), 0);
	int descriptor = open(path, O_CREAT | O_RDWR, 0600);
	assert_int_equal(write(descriptor, bait, 4), 4);
	/* In the file and in memory, until there is no room in either. */
	while (write_number(n))
		assert_true(n++ < 1000000);
	const uint64_t written = n - 1;
	assert_true(written > 10000);
	assert_false(write_number(n) || write_number(n + 1));
	assert_true(bp_writer_outage_since(&writer) != 0);
	assert_int_equal(bp_writer_state(&writer)->outage_since_ns, writer.outage.since_ns);
	struct stat status;
	assert_true(fstat(descriptor, &status) == 0 && status.st_size == 4);
	close(descriptor);
	assert_int_equal(rename(other, path), 0);
	struct found found = read_back(written, false);
	assert_true(found.damaged == 0 && found.count > 100 && found.outages == 0);
	assert_int_equal(lost_of(&found), written - found.count + 3);
	/* Everything that waited is there once the file can grow. */
	bp_writer_try_again(&writer, UINT64_MAX);
	assert_true(bp_writer_outage_since(&writer) == 0 && writer.outage.memory == NULL);
	assert_true(write_number(written + 1));
	found = read_back(written + 1, true);
	assert_true(found.damaged == 0 && found.outages == 1);
	assert_true(lost_of(&found) == 3 && found.state.outage_since_ns == 0);
}

/* ---- children whose world is smaller ---- */

#define WRITES_MOST 400000u /* more than wait in memory */

/* Writes until a call says no, tells how far it came, and ends well or by SIGKILL. */
static uint64_t write_in_child(void (*prepare)(void), bool kill_it, int *ret_status)
{
	uint64_t *written =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(written != MAP_FAILED);
	pid_t child = fork();
	if (child == 0) {
		uint64_t n = 1;
		prepare();
		for (; n <= WRITES_MOST && write_number(n); n++)
			__atomic_store_n(written, n, __ATOMIC_RELEASE);
		_exit(!write_number(n) && !write_number(n + 1) ? 0 : 9);
	}
	while (kill_it && __atomic_load_n(written, __ATOMIC_ACQUIRE) < 3000)
		;
	if (kill_it)
		kill(child, SIGKILL);
	assert_int_equal(waitpid(child, ret_status, 0), child);
	uint64_t result = *written;
	munmap(written, 4096);
	return result;
}

/* The mappings are not inherited, so that a child opens its own file. */
static void open_own(void)
{
	unlink(path);
	if (!open_writer(path))
		_exit(8);
}

static void limit_size(void)
{
	struct rlimit limit = { 5 * BP_CHUNK_BYTES + 1000, 5 * BP_CHUNK_BYTES + 1000 };
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
		_exit(7);
	open_own();
}

static void size_limit(void **state)
{
	int status;
	(void)state;
	uint64_t written = write_in_child(limit_size, false, &status);
	assert_int_equal(status, 0); /* no SIGXFSZ */
	assert_true(written > 1000);
	struct found found = read_back(written, false);
	assert_true(found.damaged == 0 && found.chunks == 5 && found.count > 1000);
	assert_int_equal(lost_of(&found), written - found.count + 3);
}

/* From now on madvise(MADV_POPULATE_WRITE) of `bytes` and more fails with `error`. */
static void refuse_populate(int error, uint32_t bytes)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MADV_POPULATE_WRITE, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, bytes, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		_exit(6);
}

static void no_page_more(void)
{
	open_own();
	refuse_populate(EFAULT, 0);
}

/* Pages of a chunk are asked for in growing steps: the third is refused, as on a disk that is full
 * in the middle of a chunk. */
static void no_large_step(void)
{
	open_own();
	refuse_populate(EFAULT, 16384);
}

static void full_disk(void **state)
{
	int status;
	(void)state;
	for (int middle = 0; middle < 2; middle++) {
		uint64_t written =
			write_in_child(middle ? no_large_step : no_page_more, false, &status);
		assert_int_equal(status, 0);
		struct found found = read_back(written, false);
		assert_true(middle ? found.count > 200 : found.count == 0);
		assert_true(found.damaged == 0 && found.state.outage_since_ns != 0);
		assert_int_equal(lost_of(&found), written - found.count + 3);
	}
}

static void old_kernel(void)
{
	refuse_populate(EINVAL, 0);
	open_own();
}

/* Kernels before 5.14: the disk is reserved ahead instead. */
static void kernel_without_populate(void **state)
{
	struct stat status;
	int ended;
	(void)state;
	uint64_t written = write_in_child(old_kernel, false, &ended);
	assert_int_equal(ended, 9 << 8); /* came to the end of the loop: nothing was refused */
	assert_true(written == WRITES_MOST);
	struct found found = read_back(WRITES_MOST + 1, true);
	assert_true(found.damaged == 0);
	assert_int_equal(stat(path, &status), 0);
	assert_true(status.st_blocks * 512 >= (blkcnt_t)(found.chunks * BP_CHUNK_BYTES));
}

/* Killed at a random moment: everything whose call had returned is there. */
static void killed(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		int status;
		uint64_t written = write_in_child(open_own, true, &status);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		/* One more may have been committed before it was told. */
		struct found found = read_back(written + 1, false);
		assert_true(found.damaged == 0 && found.count >= written);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(round_trip, begin, end),
		cmocka_unit_test_setup_teardown(threads, begin, end),
		cmocka_unit_test_setup_teardown(other_records, begin, end),
		cmocka_unit_test_setup_teardown(thread_slots, begin, end),
		cmocka_unit_test_setup_teardown(nothing_is_overwritten, begin, end),
		cmocka_unit_test_setup_teardown(trimmed, begin, end),
		cmocka_unit_test_setup_teardown(renamed, begin, end),
		cmocka_unit_test_setup_teardown(size_limit, begin, end),
		cmocka_unit_test_setup_teardown(full_disk, begin, end),
		cmocka_unit_test_setup_teardown(kernel_without_populate, begin, end),
		cmocka_unit_test_setup_teardown(killed, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
