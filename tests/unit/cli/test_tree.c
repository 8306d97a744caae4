/* SPDX-License-Identifier: MIT */
/*
 * The files of a run, on trees made by hand: which process counts as running, what is cut, what the
 * index says and what is removed. The traces hold headers, state pages and empty chunks; no
 * recorder is involved.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system_call.h"
#include "cli/files/tree.h"
#include "own_folder.h"

#define DEAD_PID 0x7ffffff0u /* above every pid_max */

/* What a trace made by hand shall say. */
struct made {
	const char *name;
	uint32_t pid;
	uint64_t start_ns, state, samples, chunks_reserved, trials, objects, lost;
	uint32_t committed; /* of the last chunk */
	uint32_t chunks_in_file;
	uint8_t id;
};

static void make_trace(const struct made *made)
{
	static const char program[] = "/usr/bin/a\tb";
	struct stat namespace;
	struct bp_trace_header header = { .version_major = BP_TRACE_MAJOR,
		.header_bytes = sizeof header + sizeof program - 1,
		.chunk_bytes = BP_CHUNK_BYTES,
		.page_bytes = 4096,
		.pid = made->pid,
		.start_monotonic_ns = made->start_ns,
		.interval_bytes = BP_INTERVAL_DEFAULT,
		.charge_bytes = 1,
		.recognition = 1,
		.program_length = sizeof program - 1 };
	struct bp_trace_state state = { .state = made->state,
		.chunks_reserved = made->chunks_reserved,
		.samples = made->samples,
		.end_trials = made->trials,
		.end_objects = made->objects };
	unsigned char start[sizeof header + sizeof program];
	int file = open(own_path(made->name), O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(file >= 0);
	assert_int_equal(stat("/proc/self/ns/pid", &namespace), 0);
	memcpy(header.magic, BP_TRACE_MAGIC, 8);
	header.pid_namespace = namespace.st_ino;
	header.trace_id[15] = made->id;
	state.lost[BP_LOSS_TRACE_FULL] = made->lost;
	memcpy(start, &header, sizeof header);
	memcpy(start + sizeof header, program, sizeof program - 1);
	header.checksum = bp_checksum(
		start + BP_HEADER_CHECKED_FROM, header.header_bytes - BP_HEADER_CHECKED_FROM);
	memcpy(start, &header, sizeof header);
	assert_int_equal(pwrite(file, start, header.header_bytes, 0), header.header_bytes);
	assert_int_equal(pwrite(file, &state, sizeof state, BP_STATE_OFFSET), sizeof state);
	for (uint64_t i = 1; i < made->chunks_in_file; i++) {
		struct bp_chunk_header chunk = { .magic = BP_CHUNK_MAGIC,
			.kind = BP_CHUNK_RECORDS,
			.number = i,
			.committed = made->committed };
		assert_int_equal(pwrite(file, &chunk, sizeof chunk, (off_t)(i * BP_CHUNK_BYTES)),
			sizeof chunk);
	}
	assert_int_equal(ftruncate(file, 64 * BP_CHUNK_BYTES), 0);
	close(file);
}

static off_t length_of(const char *name)
{
	struct stat status;
	return stat(own_path(name), &status) == 0 ? status.st_size : -1;
}

static void read_tree(struct bp_tree *ret_tree)
{
	struct bp_error error = { 0 };
	if (!bp_tree_read(own_path("t.bpt"), ret_tree, &error))
		fail_msg("%s", error.text);
}

static void no_file_is_an_empty_tree(void **state)
{
	struct bp_tree tree;
	struct bp_tree_sums sums;
	(void)state;
	read_tree(&tree);
	assert_int_equal(tree.count, 0);
	bp_tree_sum(&tree, &sums);
	assert_int_equal(sums.images, 0);
	assert_true(bp_tree_write_index(&tree, NULL));
	bp_tree_finish(&tree);
}

static void cuts_what_was_not_written(void **state)
{
	static const struct {
		uint64_t reserved;
		uint32_t in_file, committed;
		off_t expected;
	} cases[] = {
		{ 3, 3, 100, 2 * BP_CHUNK_BYTES + 64 + 104 },
		{ 3, 3, 104, 2 * BP_CHUNK_BYTES + 64 + 104 }, { 3, 3, 0, 2 * BP_CHUNK_BYTES + 64 },
		{ 5, 3, 65472, 3 * BP_CHUNK_BYTES }, /* two handed out, never begun */
		{ 1, 1, 0, BP_CHUNK_BYTES },
		{ 3, 3, 70000, 3 * BP_CHUNK_BYTES }, /* nonsense: the whole chunk stays */
		{ 0, 3, 100, 64 * BP_CHUNK_BYTES },  /* nonsense: untouched */
		{ UINT64_MAX, 64, 65472, 64 * BP_CHUNK_BYTES }, /* nothing beyond the file */
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct made made = { .name = "t.bpt",
			.pid = DEAD_PID,
			.start_ns = 5,
			.samples = 1,
			.chunks_reserved = cases[i].reserved,
			.chunks_in_file = cases[i].in_file,
			.committed = cases[i].committed };
		struct bp_tree tree;
		make_trace(&made);
		read_tree(&tree);
		assert_int_equal(tree.count, 1);
		bp_tree_cut_tails(&tree);
		assert_int_equal(length_of("t.bpt"), cases[i].expected);
		assert_int_equal(tree.files[0].bytes, cases[i].expected);
		bp_tree_finish(&tree);
	}
}

static void tells_who_still_runs(void **state)
{
	static const struct {
		bool own_pid;
		uint64_t state;
		bool long_ago, running;
	} cases[] = {
		{ true, 0, false, true }, { true, 1, false, false }, /* says that it ended */
		{ false, 0, false, false },			     /* was killed */
		{ true, 0, true, false }, /* the pid was given anew since */
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct made made = { .name = "t.bpt",
			.pid = cases[i].own_pid ? (uint32_t)getpid() : DEAD_PID,
			.start_ns = cases[i].long_ago ? 1 : bp_system_time_ns(CLOCK_MONOTONIC),
			.state = cases[i].state,
			.samples = 1,
			.chunks_reserved = 2,
			.chunks_in_file = 2 };
		struct bp_tree tree;
		make_trace(&made);
		read_tree(&tree);
		assert_int_equal(tree.files[0].running, cases[i].running);
		bp_tree_cut_tails(&tree);
		assert_int_equal(length_of("t.bpt") == 64 * BP_CHUNK_BYTES, cases[i].running);
		bp_tree_finish(&tree);
	}
}

static void an_image_ends_when_its_process_has_another(void **state)
{
	struct made first = { .name = "t.bpt",
		.pid = (uint32_t)getpid(),
		.start_ns = bp_system_time_ns(CLOCK_MONOTONIC),
		.chunks_reserved = 1 };
	struct made second = first;
	struct bp_tree tree;
	struct bp_tree_sums sums;
	(void)state;
	second.name = "t.bpt.d/1.1.bpt";
	second.start_ns++;
	assert_int_equal(mkdir(own_path("t.bpt.d"), 0700), 0);
	make_trace(&first);
	make_trace(&second);
	read_tree(&tree);
	assert_int_equal(tree.count, 2);
	assert_true(tree.files[0].first);
	assert_false(tree.files[0].running);
	assert_true(tree.files[1].running);
	bp_tree_sum(&tree, &sums);
	assert_int_equal(sums.running, 1);
	/* The tree has not ended: no index, nothing removed. */
	assert_true(bp_tree_write_index(&tree, NULL));
	assert_int_equal(length_of("t.bpt.d/index"), -1);
	assert_true(length_of("t.bpt.d/1.1.bpt") > 0);
	bp_tree_finish(&tree);
}

static void a_held_file_is_not_cut(void **state)
{
	struct made made = {
		.name = "t.bpt", .pid = DEAD_PID, .start_ns = 5, .samples = 1, .chunks_reserved = 1
	};
	struct bp_tree tree;
	void *memory;
	int file;
	(void)state;
	make_trace(&made);
	file = open(own_path("t.bpt"), O_RDWR);
	memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(memory != MAP_FAILED);
	close(file); /* as in a process that shares its dead parent's memory */
	read_tree(&tree);
	bp_tree_cut_tails(&tree);
	assert_int_equal(length_of("t.bpt"), 64 * BP_CHUNK_BYTES);
	munmap(memory, 4096);
	bp_tree_cut_tails(&tree);
	assert_int_equal(length_of("t.bpt"), BP_CHUNK_BYTES);
	bp_tree_finish(&tree);
}

static void read_index(char *text, size_t capacity)
{
	FILE *file = fopen(own_path("t.bpt.d/index"), "r");
	size_t got;
	assert_non_null(file);
	got = fread(text, 1, capacity - 1, file);
	text[got] = '\0';
	fclose(file);
}

static void writes_the_index_and_removes_what_it_tells(void **state)
{
	struct made traces[] = {
		{ .name = "t.bpt", .start_ns = 50, .id = 1, .trials = 300, .objects = 10 },
		{ .name = "t.bpt.d/7.1.bpt", .start_ns = 90, .id = 4, .samples = 3, .trials = 9 },
		{ .name = "t.bpt.d/5.1.bpt", .start_ns = 70, .id = 3, .trials = 44, .objects = 2 },
		{ .name = "t.bpt.d/4.1.bpt", .start_ns = 60, .id = 2, .lost = 8 },
	};
	static const char expected_removed[] =
		"file=-\ttrace_id=00000000000000000000000000000003\tparent_trace_id=00000000000000000000000000000000\tparent_sequence=0\tpid=2147483632\texec_number=0\tstart_monotonic_ns=70\tend_time_ns=0\tend_reason=0\tsamples=0\ttrials_low=44\ttrials_high=44\tobjects_low=2\tobjects_high=2\tprogram=/usr/bin/a\\tb\n";
	char text[8192];
	struct bp_tree tree;
	struct stat status;
	(void)state;
	assert_int_equal(mkdir(own_path("t.bpt.d"), 0700), 0);
	for (size_t i = 0; i < sizeof traces / sizeof traces[0]; i++) {
		traces[i].pid = DEAD_PID;
		traces[i].state = 1;
		traces[i].chunks_reserved = 1;
		make_trace(&traces[i]);
	}
	read_tree(&tree);
	assert_int_equal(tree.count, 4);
	assert_true(bp_tree_write_index(&tree, NULL));
	bp_tree_finish(&tree);
	read_index(text, sizeof text);
	assert_int_equal(strncmp(text, "bytepoll index 1\nfile=t.bpt\t", 28), 0);
	assert_non_null(strstr(text, expected_removed));
	assert_non_null(strstr(text, "\nfile=7.1.bpt\t"));
	assert_non_null(strstr(text, "\nfile=4.1.bpt\t"));
	assert_true(length_of("t.bpt") > 0);
	assert_true(length_of("t.bpt.d/7.1.bpt") > 0);
	assert_int_equal(length_of("t.bpt.d/5.1.bpt"), -1);
	/* What was lost stands in no index. */
	assert_true(length_of("t.bpt.d/4.1.bpt") > 0);
	assert_int_equal(length_of("t.bpt.d/index.new"), -1);
	assert_int_equal(stat(own_path("t.bpt.d/index"), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void a_killed_process_has_an_interval(void **state)
{
	struct made first = { .name = "t.bpt", .pid = DEAD_PID, .state = 1, .chunks_reserved = 1 };
	struct made killed = {
		.name = "t.bpt.d/5.1.bpt", .pid = DEAD_PID, .start_ns = 9, .chunks_reserved = 1
	};
	struct bp_thread_slot slot = {
		.state = 1, .ordinal = 1, .tid = 5, .trials = 100, .objects = 7, .armed = 1000
	};
	char text[4096];
	struct bp_tree tree;
	int file;
	(void)state;
	assert_int_equal(mkdir(own_path("t.bpt.d"), 0700), 0);
	make_trace(&first);
	make_trace(&killed);
	file = open(own_path("t.bpt.d/5.1.bpt"), O_WRONLY);
	assert_int_equal(pwrite(file, &slot, sizeof slot, BP_SLOTS_OFFSET), sizeof slot);
	close(file);
	read_tree(&tree);
	assert_true(bp_tree_write_index(&tree, NULL));
	bp_tree_finish(&tree);
	read_index(text, sizeof text);
	assert_non_null(strstr(
		text, "\ttrials_low=100\ttrials_high=1101\tobjects_low=7\tobjects_high=1008\t"));
	assert_int_equal(length_of("t.bpt.d/5.1.bpt"), -1);
}

static void an_empty_directory_goes(void **state)
{
	struct made made = { .name = "t.bpt", .pid = DEAD_PID, .state = 1, .chunks_reserved = 1 };
	struct bp_tree tree;
	(void)state;
	assert_int_equal(mkdir(own_path("t.bpt.d"), 0700), 0);
	make_trace(&made);
	read_tree(&tree);
	assert_true(bp_tree_write_index(&tree, NULL));
	bp_tree_finish(&tree);
	assert_int_equal(access(own_path("t.bpt.d"), F_OK), -1);
}

static void rubbish_is_counted_and_left_alone(void **state)
{
	struct made made = {
		.name = "t.bpt", .pid = DEAD_PID, .state = 1, .samples = 1, .chunks_reserved = 1
	};
	struct bp_tree tree;
	FILE *file;
	(void)state;
	assert_int_equal(mkdir(own_path("t.bpt.d"), 0700), 0);
	make_trace(&made);
	file = fopen(own_path("t.bpt.d/torn.bpt"), "w");
	assert_non_null(file);
	fputs("BYTEPOLL", file);
	fclose(file);
	assert_int_equal(symlink("/etc/passwd", own_path("t.bpt.d/link.bpt")), 0);
	assert_int_equal(mkfifo(own_path("t.bpt.d/pipe.bpt"), 0600), 0);
	read_tree(&tree);
	assert_int_equal(tree.count, 1);
	assert_int_equal(tree.unreadable, 3);
	bp_tree_cut_tails(&tree);
	assert_true(bp_tree_write_index(&tree, NULL));
	bp_tree_finish(&tree);
	assert_int_equal(length_of("t.bpt.d/torn.bpt"), 8);
}

static void force_removes_traces_only(void **state)
{
	struct made made = { .name = "t.bpt", .pid = DEAD_PID, .state = 1, .chunks_reserved = 1 };
	struct bp_error error = { 0 };
	(void)state;
	assert_true(bp_tree_remove(own_path("t.bpt"), &error)); /* nothing there */
	assert_int_equal(mkdir(own_path("t.bpt.d"), 0700), 0);
	make_trace(&made);
	made.name = "t.bpt.d/1.1.bpt";
	make_trace(&made);
	made.name = "t.bpt.d/precious";
	make_trace(&made);
	assert_false(bp_tree_remove(own_path("t.bpt"), &error));
	assert_non_null(strstr(error.text, "t.bpt.d cannot be removed"));
	assert_true(length_of("t.bpt.d/precious") > 0);
	assert_int_equal(length_of("t.bpt.d/1.1.bpt"), -1);
	unlink(own_path("t.bpt.d/precious"));
	assert_true(bp_tree_remove(own_path("t.bpt"), &error));
	assert_int_equal(access(own_path("t.bpt.d"), F_OK), -1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, own_folder_enter, own_folder_leave)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_file_is_an_empty_tree),
		TEST(cuts_what_was_not_written),
		TEST(tells_who_still_runs),
		TEST(an_image_ends_when_its_process_has_another),
		TEST(a_held_file_is_not_cut),
		TEST(writes_the_index_and_removes_what_it_tells),
		TEST(a_killed_process_has_an_interval),
		TEST(an_empty_directory_goes),
		TEST(rubbish_is_counted_and_left_alone),
		TEST(force_removes_traces_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
