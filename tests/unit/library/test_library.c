/* SPDX-License-Identifier: MIT */
/*
 * What a caller may count on, whatever it gives: structs of other sizes, errors as values, handles
 * closed in any order, files that are no profiles, other locales, threads, and no growth over 1000
 * rounds. That figures are right is agree.py's affair. argv[1]: the folder of the tests' traces.
 *
 * Run under ASan, TSan (build with -Db_sanitize=...) or valgrind it needs nothing else.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bytepoll/analysis.h"

static char folder[2000];

static const char *trace_path(const char *name)
{
	static _Thread_local char path[4096];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static struct bytepoll_profile *open_one(const char *path, struct bytepoll_error *error)
{
	struct bytepoll_open_options options;
	BYTEPOLL_CLEAR(options);
	options.flags = BYTEPOLL_NO_SYMBOLS;
	return bytepoll_open(&path, 1, &options, error);
}

static struct bytepoll_profile *simple(void)
{
	struct bytepoll_profile *profile = open_one(trace_path("simple.bpt"), NULL);
	assert_non_null(profile);
	return profile;
}

/* One error, of the kind expected, in one line that a terminal can show. */
static void assert_error(const struct bytepoll_error *error, int kind, const char *part)
{
	assert_int_equal(error->kind, kind);
	assert_non_null(strstr(error->text, part));
	for (const char *c = error->text; *c != '\0'; c++)
		assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static void test_errors_of_files(void **state)
{
	static const struct {
		const char *path, *part;
	} files[] = { { "/no/such/file", "no such file" }, { "/", "directory" },
		{ "/dev/null", "not a regular file" } };
	struct bytepoll_error error;
	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		assert_null(open_one(files[i].path, &error));
		assert_error(&error, BYTEPOLL_ERROR_FILE, files[i].part);
		assert_null(open_one(files[i].path, NULL));
	}
	const char *hostile = "/no/such/\x1b[2Jfile\n";
	assert_null(open_one(hostile, &error));
	assert_error(&error, BYTEPOLL_ERROR_FILE, "no such file");
	assert_null(bytepoll_open(&hostile, 0, NULL, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "no file given");
	assert_null(bytepoll_open(NULL, 1, NULL, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "no file given");
}

static void test_torn_files(void **state)
{
	char path[] = "/tmp/bytepoll-torn-XXXXXX", bytes[300000];
	const int in = open(trace_path("simple.bpt"), O_RDONLY), out = mkstemp(path);
	const ssize_t size = read(in, bytes, sizeof bytes);
	unsigned seed = 7, opened = 0, refused = 0;
	(void)state;
	assert_true(in >= 0 && out >= 0 && size > 1000);
	for (int i = 0; i < 400; i++) {
		struct bytepoll_error error = { 0 };
		ssize_t kept = i < 100 ? i * 50 : (ssize_t)(rand_r(&seed) % (unsigned)size);
		char other[sizeof bytes];
		memcpy(other, bytes, (size_t)size);
		for (int j = 0; i >= 200 && j < 20; j++)
			other[rand_r(&seed) % (unsigned)(i % 2 ? size : 3000)] =
				(char)rand_r(&seed);
		kept = i >= 200 ? size : kept;
		assert_int_equal(ftruncate(out, 0), 0);
		assert_int_equal(pwrite(out, other, (size_t)kept, 0), kept);
		struct bytepoll_profile *profile = open_one(path, &error);
		struct bytepoll_table *table =
			profile != NULL ? bytepoll_aggregate(profile, NULL, &error) : NULL;
		assert_true(table != NULL || error.text[0] != '\0');
		opened += table != NULL;
		refused += table == NULL;
		bytepoll_close(profile);
		bytepoll_table_close(table);
	}
	assert_true(opened > 20 && refused > 20);
	close(in);
	close(out);
	unlink(path);
}

static void test_wrong_questions(void **state)
{
	struct bytepoll_profile *profile = simple();
	struct bytepoll_query query;
	struct bytepoll_error error;
	const char *filter = "nonsense";
	(void)state;
#define WRONG(field, value, part)                                         \
	do {                                                              \
		BYTEPOLL_CLEAR(query);                                    \
		query.field = value;                                      \
		assert_null(bytepoll_aggregate(profile, &query, &error)); \
		assert_error(&error, BYTEPOLL_ERROR_CALL, part);          \
		assert_null(strstr(error.text, "--"));                    \
	} while (0)
	WRONG(metric, "\x1b[31mlive", "live, peak, allocated, temporary");
	WRONG(by, "colour", "no such key");
	WRONG(by, "label:", "label:KEY");
	WRONG(sort, "", "bytes, objects");
	WRONG(estimator, "guess", "memray");
	WRONG(method, "wald", "camp-paulson");
	WRONG(edges, "sharp", "sample");
	WRONG(edges, "both", "edges");
	WRONG(confidence, 1.0, "confidence");
	WRONG(confidence, -0.5, "confidence");
	WRONG(confidence, NAN, "confidence");
	WRONG(flags, 1u << 31, "flags");
	WRONG(filter_count, 65, "filters");
	WRONG(filter_count, 1, "NULL");
	WRONG(struct_bytes, 0, "struct_bytes");
#undef WRONG
	/* What the command line calls by options has the names of fields here. */
	BYTEPOLL_CLEAR(query);
	query.metric = "peak";
	query.flags = BYTEPOLL_HAS_AT;
	assert_null(bytepoll_aggregate(profile, &query, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "at_ns with metric peak");
	assert_null(strstr(error.text, "--"));
	BYTEPOLL_CLEAR(query);
	query.filters = &filter;
	query.filter_count = 1;
	assert_null(bytepoll_aggregate(profile, &query, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "KEY=GLOB");
	BYTEPOLL_CLEAR(query);
	query.pid = 4000000;
	assert_null(bytepoll_aggregate(profile, &query, &error));
	assert_error(&error, BYTEPOLL_ERROR_ABSENT, "4000000");
	bytepoll_close(profile);
}

/* A later header has longer structs, an earlier one shorter ones. */
static void test_other_sizes(void **state)
{
	struct bytepoll_profile *profile = simple();
	struct {
		struct bytepoll_query query;
		uint64_t later;
	} longer;
	struct {
		struct bytepoll_table_info info;
		unsigned char later[24], behind;
	} room;
	struct bytepoll_error error;
	(void)state;
	BYTEPOLL_CLEAR(longer.query);
	longer.query.struct_bytes = sizeof longer;
	longer.later = 0;
	struct bytepoll_table *table = bytepoll_aggregate(profile, &longer.query, &error);
	assert_non_null(table);
	longer.later = 1;
	assert_null(bytepoll_aggregate(profile, &longer.query, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "later");
	longer.query.struct_bytes = offsetof(struct bytepoll_query, sort);
	longer.query.sort = "what an earlier caller has behind it";
	longer.query.by = "module";
	struct bytepoll_table *other = bytepoll_aggregate(profile, &longer.query, &error);
	assert_non_null(other);
	memset(&room, 0xee, sizeof room);
	room.info.struct_bytes = sizeof room.info + sizeof room.later;
	assert_true(bytepoll_table_info(table, &room.info));
	assert_int_equal(room.info.struct_bytes, sizeof room.info + sizeof room.later);
	for (size_t i = 0; i < sizeof room.later; i++)
		assert_int_equal(room.later[i], 0);
	assert_int_equal(room.behind, 0xee);
	memset(&room, 0xee, sizeof room);
	room.info.struct_bytes = offsetof(struct bytepoll_table_info, samples);
	assert_true(bytepoll_table_info(table, &room.info));
	assert_int_equal(room.info.samples, 0xeeeeeeeeeeeeeeee);
	assert_true(room.info.rows > 0);
	room.info.struct_bytes = 3;
	assert_false(bytepoll_table_info(table, &room.info));
	bytepoll_table_close(table);
	bytepoll_table_close(other);
	bytepoll_close(profile);
}

/* Whatever is closed first. */
static void test_order_of_closing(void **state)
{
	struct bytepoll_profile *profile = simple();
	struct bytepoll_profile *const both[2] = { profile, profile };
	struct bytepoll_query query;
	struct bytepoll_row row;
	(void)state;
	BYTEPOLL_CLEAR(query);
	BYTEPOLL_CLEAR(row);
	query.metric = "allocated";
	struct bytepoll_table *table = bytepoll_aggregate(profile, &query, NULL);
	struct bytepoll_difference *diff =
		bytepoll_compare(both, 1, both + 1, 1, &query, NULL, NULL);
	struct bytepoll_difference *moments =
		bytepoll_compare_moments(profile, 100, 500, NULL, NULL, NULL);
	assert_true(table != NULL && diff != NULL && moments != NULL);
	bytepoll_close(profile);
	assert_true(bytepoll_table_row(table, 0, &row));
	assert_true(strlen(row.name) > 0);
	bytepoll_difference_close(moments);
	bytepoll_table_close(table);
	struct bytepoll_difference_row changed;
	BYTEPOLL_CLEAR(changed);
	assert_true(bytepoll_difference_total(diff, &changed));
	assert_string_equal(changed.verdict, "unclear");
	bytepoll_difference_close(diff);
	bytepoll_close(NULL);
	bytepoll_table_close(NULL);
	bytepoll_difference_close(NULL);
}

/* Every accessor, and what lies just outside of it. */
static void test_contents(void **state)
{
	struct bytepoll_profile *profile = simple();
	struct bytepoll_profile_info info;
	struct bytepoll_process process;
	struct bytepoll_thread thread;
	struct bytepoll_sample sample;
	struct bytepoll_stack stack;
	struct bytepoll_frame frame;
	double bytes = 0;
	(void)state;
	BYTEPOLL_CLEAR(info);
	BYTEPOLL_CLEAR(process);
	BYTEPOLL_CLEAR(thread);
	BYTEPOLL_CLEAR(sample);
	BYTEPOLL_CLEAR(stack);
	BYTEPOLL_CLEAR(frame);
	assert_true(bytepoll_profile_info(profile, &info));
	assert_int_equal(info.samples, 4);
	assert_int_equal(info.processes, 1);
	assert_true(bytepoll_profile_process(profile, 1, &process));
	assert_int_equal(process.interval_max, 4096);
	assert_int_equal(process.objects.low, 100);
	assert_int_equal(process.bytes.low, 30000 - 100);
	assert_true(process.ended && process.profiled);
	assert_false(bytepoll_profile_process(profile, 0, &process));
	assert_false(bytepoll_profile_process(profile, 2, &process));
	assert_true(bytepoll_profile_thread(profile, 1, &thread));
	assert_string_equal(thread.name, "main");
	assert_false(bytepoll_profile_thread(profile, info.threads + 1, &thread));
	assert_null(bytepoll_profile_type(profile, 0));
	for (uint64_t i = 0; i < info.samples; i++) {
		assert_true(bytepoll_profile_sample(profile, i, &sample));
		assert_true(sample.weight >= 1 && sample.count == 1);
		assert_int_equal(sample.weight == 1, (sample.flags & BYTEPOLL_SAMPLE_EXACT) != 0);
		bytes += sample.weight * (double)sample.size;
		assert_true(bytepoll_profile_stack(profile, sample.stack, &stack));
		assert_true(stack.depth == 3 && stack.charged < stack.depth);
		for (uint32_t j = 0; j < stack.depth; j++) {
			assert_true(bytepoll_profile_frame(profile, stack.frames[j], &frame));
			assert_true(strlen(frame.function) > 0);
		}
	}
	assert_false(bytepoll_profile_sample(profile, info.samples, &sample));
	assert_false(bytepoll_profile_sample(profile, UINT64_MAX, &sample));
	assert_false(bytepoll_profile_stack(profile, info.stacks + 1, &stack));
	assert_false(bytepoll_profile_frame(profile, info.frames + 1, &frame));
	assert_true(bytes > 8192 + 3 * 4000 && bytes < 8192 + 3 * 4200);
	bytepoll_close(profile);
}

static void test_other_failures(void **state)
{
	struct bytepoll_profile *profile = simple();
	struct bytepoll_error error;
	struct bytepoll_moment moments[2];
	struct bytepoll_query query;
	struct bytepoll_comparison comparison;
	struct bytepoll_limit limit;
	struct bytepoll_check_result result;
	const double scale[2] = { 1, -1 };
	(void)state;
	BYTEPOLL_CLEAR(query);
	BYTEPOLL_CLEAR(comparison);
	BYTEPOLL_CLEAR(limit);
	BYTEPOLL_CLEAR(result);
	query.metric = "allocated";
	query.by = "process";
	struct bytepoll_table *table = bytepoll_aggregate(profile, &query, NULL);
	assert_false(bytepoll_table_timeline(table, 2, moments, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "live");
	assert_null(bytepoll_compare(&profile, 1, &profile, 1, &query, NULL, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "process");
	query.by = NULL;
	comparison.scales = scale;
	assert_null(bytepoll_compare(&profile, 1, &profile, 1, &query, &comparison, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "scale");
	assert_null(bytepoll_compare(&profile, 0, &profile, 1, &query, NULL, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "runs");
	assert_null(bytepoll_compare_moments(profile, 500, 100, NULL, NULL, &error));
	assert_error(&error, BYTEPOLL_ERROR_ABSENT, "later");
	assert_false(bytepoll_check(profile, NULL, NULL, &result, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "limit");
	limit.most = -1;
	assert_false(bytepoll_check(profile, NULL, &limit, &result, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "below 0");
	limit.most = 1;
	limit.filter = "x";
	assert_false(bytepoll_check(profile, NULL, &limit, &result, &error));
	assert_error(&error, BYTEPOLL_ERROR_CALL, "KEY=GLOB");
	bytepoll_table_close(table);
	bytepoll_close(profile);
}

/* Everything once with one profile. */
static void use(struct bytepoll_profile *profile)
{
	static const char *const keys[] = { "function", "stack", "size", "thread" };
	static const char *const metrics[] = { "live", "peak", "allocated", "temporary" };
	struct bytepoll_query query;
	struct bytepoll_row row;
	BYTEPOLL_CLEAR(row);
	for (size_t i = 0; i < 4; i++) {
		BYTEPOLL_CLEAR(query);
		query.by = keys[i];
		query.metric = metrics[i];
		struct bytepoll_table *table = bytepoll_aggregate(profile, &query, NULL);
		for (uint32_t j = 0; table != NULL && bytepoll_table_row(table, j, &row); j++)
			assert_true(row.bytes.high >= row.bytes.low);
		bytepoll_table_close(table);
	}
	struct bytepoll_difference *diff =
		bytepoll_compare(&profile, 1, &profile, 1, NULL, NULL, NULL);
	bytepoll_difference_close(diff);
}

static void *use_own(void *context)
{
	for (int i = 0; i < 20; i++) {
		struct bytepoll_profile *profile = open_one(trace_path("simple.bpt"), NULL);
		use(profile);
		bytepoll_close(profile);
	}
	return context;
}

static void *use_shared(void *context)
{
	for (int i = 0; i < 20; i++)
		use(context);
	return context;
}

/* Two threads with handles of their own, and two that read one profile. */
static void test_threads(void **state)
{
	struct bytepoll_profile *shared = simple();
	pthread_t threads[4];
	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, i < 2 ? use_own : use_shared, shared), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	bytepoll_close(shared);
}

static size_t held_bytes(void)
{
	return mallinfo2().uordblks;
}

static unsigned open_descriptors(void)
{
	unsigned count = 0;
	DIR *descriptors = opendir("/proc/self/fd");
	while (readdir(descriptors) != NULL)
		count++;
	closedir(descriptors);
	return count;
}

static void use_rounds(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		struct bytepoll_profile *profile = open_one(trace_path("simple.bpt"), NULL);
		use(profile);
		bytepoll_close(profile);
		bytepoll_close(open_one(trace_path("killed.bpt"), NULL));
		assert_null(open_one("/no/such/file", NULL));
	}
}

/* 1000 rounds of everything, failures too, hold no more memory and no more descriptors than before.
 * What malloc keeps for threads counts as held, too, and may grow once; one object of 24 bytes left
 * behind in each round would be 32,000 in each thousand. */
static void test_no_growth(void **state)
{
	bool grew = true;
	(void)state;
	use_rounds(10);
	const unsigned descriptors = open_descriptors();
	for (int thousand = 0; grew && thousand < 3; thousand++) {
		const size_t bytes = held_bytes();
		use_rounds(1000);
		grew = held_bytes() >= bytes + 16000;
	}
	assert_false(grew);
	assert_int_equal(open_descriptors(), descriptors);
}

static volatile sig_atomic_t children_seen;

static void reap_any(int number)
{
	(void)number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		children_seen++;
}

/* With symbols, in a program that waits for any child of its own, or for none. */
static void test_children(void **state)
{
	struct sigaction reap = { .sa_handler = reap_any }, ignore = { .sa_handler = SIG_IGN },
			 before;
	char text[64];
	int pipe_ends[2];
	(void)state;
	assert_int_equal(pipe(pipe_ends), 0);
	const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
	dup2(pipe_ends[1], STDOUT_FILENO);
	dup2(pipe_ends[1], STDERR_FILENO);
	const char *path = trace_path("simple.bpt");
	for (int i = 0; i < 20; i++) {
		sigaction(SIGCHLD, i % 2 ? &reap : &ignore, i == 0 ? &before : NULL);
		struct bytepoll_profile *profile = bytepoll_open(&path, 1, NULL, NULL);
		if (profile == NULL)
			break;
		bytepoll_close(profile);
	}
	sigaction(SIGCHLD, &before, NULL);
	fcntl(pipe_ends[0], F_SETFL, O_NONBLOCK);
	const ssize_t said = read(pipe_ends[0], text, sizeof text);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	close(out);
	close(err);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
	assert_int_equal(said, -1);			  /* nothing was printed */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* and no child is left */
}

int main(int count, char **words)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errors_of_files),
		cmocka_unit_test(test_torn_files),
		cmocka_unit_test(test_wrong_questions),
		cmocka_unit_test(test_other_sizes),
		cmocka_unit_test(test_order_of_closing),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_other_failures),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_no_growth),
		cmocka_unit_test(test_children),
	};
	if (count != 2)
		return 2;
	snprintf(folder, sizeof folder, "%s", words[1]);
	return cmocka_run_group_tests_name("library", tests, NULL, NULL);
}
