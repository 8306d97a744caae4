/* SPDX-License-Identifier: MIT */
/*
 * Reading without the lock, which somebody else keeps: right as long as FILE.fold stays as it is,
 * and an error where it came, went or was replaced meanwhile. Each opening waits its 5 s. Argument:
 * the folder of the traces.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "trace/reader.h"

static const char *traces;
static char folder[] = "/tmp/bytepoll-lock-XXXXXX";
static char trace[128], part[160];

static void copy(const char *from, const char *to)
{
	static char buffer[1 << 16];
	FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
	size_t bytes;
	assert_true(in != NULL && out != NULL);
	while ((bytes = fread(buffer, 1, sizeof buffer, in)) > 0)
		assert_int_equal(fwrite(buffer, 1, bytes, out), bytes);
	fclose(in);
	assert_int_equal(fclose(out), 0);
}

/* Reads a trace whose lock another descriptor holds; `meanwhile` is called after the first
 * record. */
static enum bp_trace_next read_locked_out(
	bool has_part, void (*meanwhile)(void), struct bp_error *error)
{
	char from[4096];
	struct bp_trace_reader reader;
	struct bp_trace_record record;
	enum bp_trace_next next;
	snprintf(from, sizeof from, "%s/simple.bpt", traces);
	copy(from, trace);
	unlink(part);
	if (has_part)
		/* not a folded part, and so left alone, but a file of its name */
		copy(trace, part);
	const int holder = open(trace, O_RDONLY | O_CLOEXEC);
	assert_true(holder >= 0 && flock(holder, LOCK_EX) == 0);
	if (!bp_trace_reader_open(&reader, trace, error))
		fail_msg("%s", error->text);
	assert_int_equal(bp_trace_reader_next(&reader, &record, error), BP_TRACE_RECORD);
	if (meanwhile != NULL)
		meanwhile();
	while ((next = bp_trace_reader_next(&reader, &record, error)) == BP_TRACE_RECORD)
		;
	bp_trace_reader_close(&reader);
	close(holder);
	return next;
}

static void put_part(void)
{
	copy(trace, part);
}

static void replace_part(void)
{
	char other[200];
	snprintf(other, sizeof other, "%s.new", part);
	copy(trace, other);
	assert_int_equal(rename(other, part), 0);
}

static void unchanged(void **state)
{
	struct bp_error error = { .text = "" };
	(void)state;
	assert_int_equal(read_locked_out(true, NULL, &error), BP_TRACE_END);
}

static void folded_for_the_first_time(void **state)
{
	struct bp_error error = { .text = "" };
	char holder[64];
	(void)state;
	assert_int_equal(read_locked_out(false, put_part, &error), BP_TRACE_ERROR);
	snprintf(holder, sizeof holder, "process %ld (test_lock) holds its lock", (long)getpid());
	assert_non_null(strstr(error.text, "folded while it was read"));
	assert_non_null(strstr(error.text, holder));
}

static void folded_again(void **state)
{
	struct bp_error error = { .text = "" };
	(void)state;
	assert_int_equal(read_locked_out(true, replace_part, &error), BP_TRACE_ERROR);
}

static int enter(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(trace, sizeof trace, "%s/t.bpt", folder);
	snprintf(part, sizeof part, "%s.fold", trace);
	return 0;
}

static int leave(void **state)
{
	(void)state;
	unlink(trace);
	unlink(part);
	return rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unchanged),
		cmocka_unit_test(folded_for_the_first_time),
		cmocka_unit_test(folded_again),
	};
	if (argc < 2)
		return 2;
	traces = argv[1];
	return cmocka_run_group_tests_name("reading without the lock", tests, enter, leave);
}
