/* SPDX-License-Identifier: MIT */
/* Names of code made at run time: maps and dumps as runtimes write them, FILE.jit, what is looked up
 * by address and time, and what V8 and CPython call their code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jit/jit_dump.h"
#include "jit/jit_file.h"
#include "jit/jit_symbol.h"
#include "jit/perf_map.h"

static const char *name_at(const struct bp_jit_names *names, uint64_t address, uint64_t time_ns)
{
	static char text[BP_JIT_FOUND_BYTES];
	return bp_jit_names_find(names, address, time_ns, text) ? text : "-";
}

static void add(struct bp_jit_names *names, uint64_t start, uint64_t bytes, uint64_t time_ns,
	const char *text)
{
	const struct bp_jit_name range = { .start = start, .bytes = bytes, .time_ns = time_ns };
	assert_true(bp_jit_names_add(names, &range, text, strlen(text), NULL));
}

static void names_of_a_map(void **state)
{
	static const char map[] =
		"1000 20 JS:~one /a.js:1:2\n"
		"0x2000 0x10 void J.work(int, byte[])\n"
		"no number\n3000 zz bad\n4000 10\n5000 0 empty\n"
		"ffffffffffffffff 10 beyond\n6000 10 tab\tand\x1b escape\r\n7000 8 last";
	struct bp_jit_names names = { .items = NULL };
	FILE *in = fmemopen((void *)(uintptr_t)map, sizeof map - 1, "r");
	(void)state;
	assert_true(bp_perf_map_read(in, &names, NULL));
	fclose(in);
	assert_true(bp_jit_names_finish(&names, NULL));
	assert_int_equal(names.count, 4);
	assert_string_equal(name_at(&names, 0x1000, 0), "JS:~one /a.js:1:2");
	assert_string_equal(name_at(&names, 0x101f, 5), "JS:~one /a.js:1:2");
	assert_string_equal(name_at(&names, 0x1020, 5), "-");
	assert_string_equal(name_at(&names, 0xfff, 5), "-");
	assert_string_equal(name_at(&names, 0x2008, 5), "void J.work(int, byte[])");
	assert_string_equal(name_at(&names, 0x6001, 5), "tab?and? escape");
	assert_string_equal(name_at(&names, 0x7007, 5), "last");
	bp_jit_names_free(&names);
}

static void the_name_is_that_of_the_time(void **state)
{
	struct bp_jit_names names = { .items = NULL };
	(void)state;
	add(&names, 0x1000, 0x100, 10, "first");
	add(&names, 0x1080, 0x100, 30, "second");
	add(&names, 0x1000, 0x40, 50, "third");
	add(&names, 0x9000, 0x40, 40, "apart");
	assert_true(bp_jit_names_finish(&names, NULL));
	assert_string_equal(name_at(&names, 0x1000, 9), "-");
	assert_string_equal(name_at(&names, 0x1000, 10), "first");
	assert_string_equal(name_at(&names, 0x1090, 29), "first");
	assert_string_equal(name_at(&names, 0x1090, 30), "second");
	assert_string_equal(name_at(&names, 0x1000, 49), "first");
	assert_string_equal(name_at(&names, 0x1000, 50), "third");
	assert_string_equal(name_at(&names, 0x1050, UINT64_MAX), "first");
	/* What overlaps nothing is no change. */
	assert_int_equal(names.change_count, 3);
	assert_int_equal(bp_jit_names_epoch(&names, 9), 0);
	assert_int_equal(bp_jit_names_epoch(&names, 30), 2);
	assert_int_equal(bp_jit_names_epoch(&names, 49), 2);
	assert_int_equal(bp_jit_names_epoch(&names, 50), 3);
	assert_int_equal(bp_jit_names_epoch_end(&names, 0), 9);
	assert_int_equal(bp_jit_names_epoch_end(&names, 2), 49);
	assert_true(bp_jit_names_epoch_end(&names, 3) == UINT64_MAX);
	assert_true(bp_jit_names_epoch_end(&names, UINT32_MAX) == UINT64_MAX);
	bp_jit_names_free(&names);
}

/* Which of several it was is not known without times, and is not guessed. */
static void several_without_times_are_all_named(void **state)
{
	struct bp_jit_names names = { .items = NULL };
	(void)state;
	add(&names, 0x1000, 0x100, 0, "one");
	add(&names, 0x1000, 0x100, 0, "one");
	add(&names, 0x1040, 0x10, 0, "two");
	add(&names, 0x1044, 0x4, 0, "three");
	assert_true(bp_jit_names_finish(&names, NULL));
	assert_int_equal(names.change_count, 0);
	assert_string_equal(name_at(&names, 0x1000, 5), "one");
	assert_string_equal(name_at(&names, 0x1041, 5), "two or one");
	assert_string_equal(name_at(&names, 0x1044, 5), "three or 2 others");
	bp_jit_names_free(&names);
}

/* A table in which all overlaps, and one piece over all the others: nothing is looked for long. */
static void hostile_tables_cost_no_more(void **state)
{
	struct bp_jit_names names = { .items = NULL };
	char text[32];
	(void)state;
	add(&names, 0, UINT64_MAX, 1, "over all");
	for (unsigned i = 0; i < 300000; i++) {
		snprintf(text, sizeof text, "name %u", i);
		add(&names, 0x1000, 0x100000, i + 1, text);
	}
	assert_true(bp_jit_names_finish(&names, NULL));
	for (unsigned i = 0; i < 100000; i++)
		assert_string_not_equal(name_at(&names, 0x2000 + i, 1000000), "-");
	bp_jit_names_free(&names);
}

static ssize_t give_zeros(void *given, char *buffer, size_t bytes)
{
	memset(buffer, 0, bytes);
	*(uint64_t *)given += bytes;
	return (ssize_t)bytes;
}

static void a_map_without_end_is_not_read_for_ever(void **state)
{
	struct bp_jit_names names = { .items = NULL };
	uint64_t given = 0;
	FILE *in = fopencookie(&given, "r", (cookie_io_functions_t){ .read = give_zeros });
	(void)state;
	assert_non_null(in);
	assert_true(bp_perf_map_read(in, &names, NULL));
	fclose(in);
	assert_int_equal(names.count, 0);
	assert_true(given < UINT64_C(2) << 30);
}

/* ---- dumps ---- */

struct dump {
	char data[4096];
	size_t bytes;
};

static void put(struct dump *dump, const void *data, size_t bytes)
{
	memcpy(dump->data + dump->bytes, data, bytes);
	dump->bytes += bytes;
}

static void put_u32(struct dump *dump, uint32_t value)
{
	put(dump, &value, sizeof value);
}

static void put_u64(struct dump *dump, uint64_t value)
{
	put(dump, &value, sizeof value);
}

static void put_head(struct dump *dump, uint32_t pid, uint64_t time_ns, uint64_t flags)
{
	put_u32(dump, 0x4A695444);
	put_u32(dump, 1);
	put_u32(dump, 40);
	put_u32(dump, 62);
	put_u32(dump, 0);
	put_u32(dump, pid);
	put_u64(dump, time_ns);
	put_u64(dump, flags);
}

static void put_load(struct dump *dump, uint64_t time_ns, uint64_t address, uint64_t bytes,
	uint64_t index, const char *name)
{
	put_u32(dump, 0);
	put_u32(dump, (uint32_t)(16 + 40 + strlen(name) + 1 + bytes));
	put_u64(dump, time_ns);
	put_u64(dump, 0);
	put_u64(dump, address);
	put_u64(dump, address);
	put_u64(dump, bytes);
	put_u64(dump, index);
	put(dump, name, strlen(name) + 1);
	memset(dump->data + dump->bytes, 0xcc, bytes);
	dump->bytes += bytes;
}

static void put_move(
	struct dump *dump, uint64_t time_ns, uint64_t to, uint64_t bytes, uint64_t index)
{
	put_u32(dump, 1);
	put_u32(dump, 16 + 48);
	put_u64(dump, time_ns);
	put_u64(dump, 0);
	put_u64(dump, to);
	put_u64(dump, 0);
	put_u64(dump, to);
	put_u64(dump, bytes);
	put_u64(dump, index);
}

static struct bp_jit_names read_dump(const struct dump *dump, uint32_t pid, uint64_t from_ns)
{
	struct bp_jit_names names = { .items = NULL };
	FILE *in = fmemopen((void *)(uintptr_t)dump->data, dump->bytes, "r");
	assert_true(bp_jit_dump_read(in, pid, from_ns, &names, NULL));
	fclose(in);
	assert_true(bp_jit_names_finish(&names, NULL));
	return names;
}

static struct dump a_dump(uint64_t flags)
{
	struct dump dump = { .bytes = 0 };
	put_head(&dump, 77, 1000, flags);
	put_load(&dump, 1010, 0x4000, 32, 1, "Foo::bar");
	put_u32(&dump, 2); /* lines: passed over */
	put_u32(&dump, 16 + 8);
	put_u64(&dump, 1020);
	put_u64(&dump, 0);
	put_load(&dump, 1030, 0x5000, 16, 2, "Foo::baz");
	put_move(&dump, 1040, 0x6000, 32, 1);
	put_move(&dump, 1040, 0x7000, 32, 99);
	put_load(&dump, 1050, 0x4000, 32, 3, "Other::one");
	return dump;
}

static void names_of_a_dump(void **state)
{
	const struct dump dump = a_dump(0);
	struct bp_jit_names names = read_dump(&dump, 77, 900);
	(void)state;
	assert_int_equal(names.count, 4);
	assert_string_equal(name_at(&names, 0x4010, 1049), "Foo::bar");
	assert_string_equal(name_at(&names, 0x4010, 1050), "Other::one");
	assert_string_equal(name_at(&names, 0x500f, 1030), "Foo::baz");
	assert_string_equal(name_at(&names, 0x6000, 1039), "-");
	assert_string_equal(name_at(&names, 0x6000, 1040), "Foo::bar");
	assert_string_equal(name_at(&names, 0x7000, 2000), "-");
	assert_int_equal(names.change_count, 2);
	bp_jit_names_free(&names);
}

static void a_dump_without_the_clock_has_no_times(void **state)
{
	const struct dump dump = a_dump(1);
	struct bp_jit_names names = read_dump(&dump, 77, 900);
	(void)state;
	assert_string_equal(name_at(&names, 0x4010, 1), "Other::one or Foo::bar");
	bp_jit_names_free(&names);
}

static void torn_and_foreign_dumps_name_what_is_sure(void **state)
{
	const struct dump whole = a_dump(0);
	(void)state;
	struct bp_jit_names names = read_dump(&whole, 78, 900);
	assert_int_equal(names.count, 0); /* another process */
	bp_jit_names_free(&names);
	names = read_dump(&whole, 77, 1001);
	assert_int_equal(names.count, 0); /* an earlier one of that number */
	bp_jit_names_free(&names);
	for (size_t bytes = 1; bytes < whole.bytes; bytes++) {
		struct dump torn = whole;
		torn.bytes = bytes;
		names = read_dump(&torn, 77, 900);
		assert_true(names.count <= 4);
		bp_jit_names_free(&names);
	}
}

/* ---- FILE.jit ---- */

static char folder[] = "/tmp/test-jit.XXXXXX";

static void write_text(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

static void a_file_says_what_was_written(void **state)
{
	char trace[64], path[80];
	static const uint8_t ids[2][16] = { { 1, 2, 3 }, { 4, 5, 6 } };
	struct bp_jit_file file = { .processes = NULL }, read;
	struct bp_error error = { .text = "" };
	struct stat status;
	(void)state;
	snprintf(trace, sizeof trace, "%s/a.bpt", folder);
	snprintf(path, sizeof path, "%s.jit", trace);
	for (uint32_t i = 0; i < 2; i++) {
		struct bp_jit_process *process = bp_jit_file_add(&file, ids[i], 10 + i);
		assert_non_null(process);
		add(&process->names, 0x1000, 0x10, i, i == 0 ? "a b\xff c" : "d");
	}
	assert_true(bp_jit_file_write(path, &file, &error));
	assert_true(bp_jit_file_write(path, &file, &error)); /* once more over it */
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_true(bp_jit_file_read(trace, &read, &error));
	assert_int_equal(read.count, 2);
	assert_string_equal(name_at(bp_jit_file_find(&read, ids[0]), 0x100f, 0), "a b\xff c");
	assert_string_equal(name_at(bp_jit_file_find(&read, ids[1]), 0x1000, 0), "-");
	assert_string_equal(name_at(bp_jit_file_find(&read, ids[1]), 0x1000, 1), "d");
	static const uint8_t unknown[16] = { 9 };
	assert_null(bp_jit_file_find(&read, unknown));
	bp_jit_file_free(&read);
	bp_jit_file_free(&file);
	bp_jit_file_remove(path);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_true(bp_jit_file_read(trace, &read, &error)); /* nothing is no error */
	assert_int_equal(read.count, 0);
}

static void damaged_files_say_nothing(void **state)
{
	static const char head[] = "bytepoll jit 1\n"
				   "trace_id=01020300000000000000000000000000\tpid=4\tnames=1\n";
	static const char *const rest[] = { "", "1000\t10\t0\tx\n", "1000\t10\t0\tx\nend 2\n",
		"1000\t10\t0\tx\nend 1\nmore\n", "end 1\n", "1000 10 0 x\nend 1\n",
		"1000\t10\t-1\tx\nend 1\n", "zz\t10\t0\tx\nend 1\n" };
	struct bp_jit_file read;
	char trace[64], path[80], text[512];
	(void)state;
	snprintf(trace, sizeof trace, "%s/b.bpt", folder);
	snprintf(path, sizeof path, "%s.jit", trace);
	for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
		struct bp_error error = { .text = "" };
		snprintf(text, sizeof text, "%s%s", head, rest[i]);
		write_text(path, text);
		assert_false(bp_jit_file_read(trace, &read, &error));
		assert_non_null(strstr(error.text, "b.bpt.jit is torn or damaged"));
		assert_int_equal(read.count, 0);
	}
	snprintf(text, sizeof text, "%s1000\t10\t0\tx\nend 1\n", head);
	write_text(path, text);
	assert_true(bp_jit_file_read(trace, &read, NULL));
	assert_int_equal(read.count, 1);
	bp_jit_file_free(&read);
	unlink(path);
}

/* What is there and is not ours stays. */
static void a_stranger_is_not_replaced(void **state)
{
	struct bp_jit_file file = { .processes = NULL };
	struct bp_error error = { .text = "" };
	char path[80];
	struct stat status;
	(void)state;
	snprintf(path, sizeof path, "%s/c.bpt.jit", folder);
	write_text(path, "mine\n");
	assert_false(bp_jit_file_write(path, &file, &error));
	assert_non_null(strstr(error.text, "cannot be written"));
	bp_jit_file_remove(path);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, 5);
	unlink(path);
}

/* ---- what runtimes call their code ---- */

static void functions_of_runtimes(void **state)
{
	static const struct {
		const char *text, *function, *file;
		bool trampoline;
	} cases[] = {
		{ "JS:~makeBuffers /app/j.js:1:21", "makeBuffers", "/app/j.js", false },
		{ "JS:*outer file:///app/j.mjs:2:15", "outer", "file:///app/j.mjs", false },
		{ "JS:^'get size node:internal/x:5:6", "get size", "node:internal/x", false },
		{ "LazyCompile:*Module.load node:internal/modules/cjs/loader:99:3", "Module.load",
			"node:internal/modules/cjs/loader", false },
		{ "JS:~ /app/lib/j.js:31:10", "(anonymous j.js:31)", "/app/lib/j.js", false },
		{ "Script:~ /app/j.js:1:1", "(anonymous j.js:1)", "/app/j.js", false },
		{ "Function:~ ", "(anonymous)", "", false },
		{ "Eval:~f", "f", "", false },
		{ "JS:", "(anonymous)", "", false },
		{ "Builtin:CompileLazy", "Builtin:CompileLazy", "", false },
		{ "py::Index.add:/srv/app.py", "Index.add", "/srv/app.py", true },
		{ "py::x", "py::x", "", false },
		{ "py:::/srv/app.py", "py:::/srv/app.py", "", false },
		{ "byte[] J.work(int)", "byte[] J.work(int)", "", false },
		{ "", "", "", false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct bp_jit_symbol symbol;
		char function[256], file[256];
		bp_jit_symbol_read(cases[i].text, &symbol);
		snprintf(function, sizeof function, "%.*s", (int)symbol.function_bytes,
			symbol.function);
		snprintf(file, sizeof file, "%.*s", (int)symbol.file_bytes, symbol.file);
		assert_string_equal(function, cases[i].function);
		assert_string_equal(file, cases[i].file);
		assert_int_equal(symbol.trampoline, cases[i].trampoline);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_a_map),
		cmocka_unit_test(the_name_is_that_of_the_time),
		cmocka_unit_test(several_without_times_are_all_named),
		cmocka_unit_test(hostile_tables_cost_no_more),
		cmocka_unit_test(a_map_without_end_is_not_read_for_ever),
		cmocka_unit_test(names_of_a_dump),
		cmocka_unit_test(a_dump_without_the_clock_has_no_times),
		cmocka_unit_test(torn_and_foreign_dumps_name_what_is_sure),
		cmocka_unit_test(a_file_says_what_was_written),
		cmocka_unit_test(damaged_files_say_nothing),
		cmocka_unit_test(a_stranger_is_not_replaced),
		cmocka_unit_test(functions_of_runtimes),
	};
	if (mkdtemp(folder) == NULL)
		return 1;
	const int failed = cmocka_run_group_tests(tests, NULL, NULL);
	return rmdir(folder) != 0 || failed != 0;
}
