/* SPDX-License-Identifier: MIT */
/*
 * Which file may name an address, and what is said where none may: stripped and separated debug
 * information, replaced, damaged and missing files, symbols that do not cover the address.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "question.h"
#include "workshop.h"

/* `inside` is inlined into `hidden`, a local function; `here` marks code of it. */
static const char program_source[] =
	"static inline __attribute__((always_inline)) int inside(int a) {\n"
	"	__asm__ volatile(\".globl here\\n.hidden here\\nhere: nop\\n nop\");\n"
	"	return a * 7 + a / 3; }\n"
	"static __attribute__((noinline)) int hidden(int a) { return inside(a) * 5; }\n"
	"__attribute__((noinline)) int shown(int a) { return hidden(a) + hidden(a + 1); }\n";

#define OPTIONS "-O2 -g -fPIC"

/* Builds program_source as a library called `name`, with more options. */
static void build_library(const char *name, const char *options)
{
	write_source("program.c", program_source);
	run_command("gcc " OPTIONS " -shared %s program.c -o %s", options, name);
}

/* Asks for one address and checks the innermost frame: `function`, and, unless it is 0, the depth.
 * What `question` leaves open is as the file is now. */
static void check(const struct question *question, uint64_t address, const char *function,
	uint32_t depth, struct bp_symbol_summary *ret_summary)
{
	struct answer answer;
	struct bp_error error = { "" };
	const struct bp_frame *frame = NULL;
	if (!ask(question, &address, 1, &answer, &error))
		fail_msg("%s", error.text);
	frame = answer_frame(&answer, 0, 0);
	assert_non_null(frame);
	assert_string_equal(answer_text(&answer, frame->function), function);
	assert_int_equal(frame->named, strstr(function, "0x") == NULL);
	if (depth != 0)
		assert_int_equal(answer_depth(&answer, 0), depth);
	if (ret_summary != NULL)
		*ret_summary = answer.summary;
	answer_finish(&answer);
}

/* The made-up name. */
static void offset_name(const char *file, uint64_t address, char *name, size_t bytes)
{
	snprintf(name, bytes, "%s+0x%llx", file, (unsigned long long)address);
}

static void test_whole_file(void **state)
{
	struct bp_symbol_summary summary;
	struct question question = { .path = "whole.so", .exact = true };
	(void)state;
	build_library("whole.so", "");
	check(&question, symbol_value("whole.so", "here"), "inside", 2, &summary);
	assert_int_equal(summary.modules_stripped, 0);
	assert_int_equal(summary.named, 1);
}

/* Without debug information the symbol table names functions, and knows no lines. */
static void test_symbol_table_only(void **state)
{
	struct question question = { .path = "nodebug.so", .exact = true };
	struct bp_symbol_summary summary;
	(void)state;
	build_library("nodebug.so", "");
	run_command("strip --strip-debug nodebug.so");
	check(&question, symbol_value("nodebug.so", "here"), "hidden", 1, &summary);
	assert_int_equal(summary.modules_stripped, 0);
}

/* Of a stripped library only exported functions have a name; the local function behind one must not
 * get it. */
static void test_stripped(void **state)
{
	struct question question = { .path = "stripped.so", .exact = true };
	struct bp_symbol_summary summary;
	char name[64];
	uint64_t shown = 0, hidden = 0;
	(void)state;
	build_library("stripped.so", "");
	shown = symbol_value("stripped.so", "shown");
	hidden = symbol_value("stripped.so", "hidden");
	run_command("strip stripped.so");
	check(&question, shown + 1, "shown", 1, &summary);
	assert_int_equal(summary.modules_stripped, 1);
	for (uint64_t address = hidden; address < hidden + 8; address++) {
		offset_name("stripped.so", address, name, sizeof name);
		check(&question, address, name, 1, NULL);
	}
}

static void separate(const char *name)
{
	run_command("objcopy --only-keep-debug %s %s.debug && strip %s && objcopy "
		    "--add-gnu-debuglink=%s.debug %s",
		name, name, name, name, name);
}

/* The three places of a debug link, in turn, and none. */
static void test_debug_link(void **state)
{
	char path[PATH_MAX], root[PATH_MAX], name[64];
	struct question question = { .path = path, .debug_directory = root, .exact = true };
	uint64_t address = 0;
	(void)state;
	build_library("linked.so", "");
	snprintf(path, sizeof path, "%s/linked.so", workshop_directory());
	snprintf(root, sizeof root, "%s/root", workshop_directory());
	address = symbol_value("linked.so", "here");
	separate("linked.so");
	check(&question, address, "inside", 2, NULL);
	run_command("mkdir .debug && mv linked.so.debug .debug/");
	check(&question, address, "inside", 2, NULL);
	run_command("mkdir -p root%s && mv .debug/linked.so.debug root%s/", workshop_directory(),
		workshop_directory());
	check(&question, address, "inside", 2, NULL);
	run_command("rm -r root .debug");
	offset_name("linked.so", address, name, sizeof name);
	check(&question, address, name, 1, NULL);
}

/* A file without a build-id is known by the checksum in its debug link: one changed byte and it is
 * not used. */
static void test_debug_link_checksum(void **state)
{
	struct question question = { .path = "./summed.so", .exact = true };
	char name[64];
	uint64_t address = 0;
	(void)state;
	build_library("summed.so", "-Wl,--build-id=none");
	address = symbol_value("summed.so", "here");
	separate("summed.so");
	check(&question, address, "inside", 2, NULL);
	run_command("printf x >> summed.so.debug");
	offset_name("summed.so", address, name, sizeof name);
	check(&question, address, name, 1, NULL);
}

/* A debug file of another build under the right name is not used either. */
static void test_wrong_debug_file(void **state)
{
	struct question question = { .path = "./first.so", .exact = true };
	char name[64];
	uint64_t address = 0;
	(void)state;
	build_library("first.so", "");
	build_library("second.so", "-DX=1 -O1");
	address = symbol_value("first.so", "here");
	separate("first.so");
	run_command("objcopy --only-keep-debug second.so first.so.debug");
	offset_name("first.so", address, name, sizeof name);
	check(&question, address, name, 1, NULL);
}

/* The debug file below ROOT/.build-id, with the stripped file, and when that one is gone. */
static void test_build_id_directory(void **state)
{
	char root[PATH_MAX], build_id[128], name[64];
	struct question question = { .path = "known.so", .build_id = build_id, .exact = true };
	struct bp_symbol_summary summary;
	uint64_t address = 0;
	(void)state;
	build_library("known.so", "");
	read_build_id("known.so", build_id, sizeof build_id);
	assert_int_equal(strlen(build_id), 40);
	address = symbol_value("known.so", "here");
	snprintf(root, sizeof root, "%s/ids", workshop_directory());
	run_command("mkdir -p ids/.build-id/%.2s && objcopy --only-keep-debug known.so "
		    "ids/.build-id/%.2s/%s.debug && strip known.so",
		build_id, build_id, build_id + 2);
	offset_name("known.so", address, name, sizeof name);
	check(&question, address, name, 1, NULL);
	question.debug_directory = root;
	check(&question, address, "inside", 2, NULL);
	run_command("rm known.so");
	check(&question, address, "inside", 2, &summary);
	assert_int_equal(summary.modules_missing, 0);
	question.debug_directory = NULL;
	check(&question, address, name, 1, &summary);
	assert_int_equal(summary.modules_missing, 1);
}

static void check_replaced(const struct question *question, uint64_t address)
{
	struct bp_symbol_summary summary;
	char name[64];
	offset_name(question->path, address, name, sizeof name);
	check(question, address, name, 1, &summary);
	assert_int_equal(summary.modules_replaced, 1);
	assert_int_equal(summary.named, 0);
	assert_string_equal(summary.replaced_example, question->path);
}

/* The program was built again after it ran. */
static void test_replaced(void **state)
{
	char build_id[128];
	struct question by_id = { .path = "again.so", .build_id = build_id, .exact = true };
	struct question by_time = { .path = "again.so", .exact = true };
	struct stat status;
	uint64_t address = 0;
	(void)state;
	build_library("again.so", "-O1");
	read_build_id("again.so", build_id, sizeof build_id);
	assert_int_equal(stat("again.so", &status), 0);
	by_time.file_bytes = (uint64_t)status.st_size;
	by_time.file_mtime_ns =
		(uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
	address = symbol_value("again.so", "here");
	check(&by_time, address, "inside", 2, NULL);
	by_time.file_mtime_ns++;
	check_replaced(&by_time, address);
	by_time.file_mtime_ns--;
	by_time.file_bytes++;
	check_replaced(&by_time, address);
	by_time.file_bytes--;
	check(&by_time, address, "inside", 2, NULL);
	/* A copy is the same file by build-id, at whatever time it was made. */
	run_command("cp again.so copy.so && touch -d 2001-01-01 copy.so && mv copy.so again.so");
	check(&by_id, address, "inside", 2, NULL);
	build_library("again.so", "-O3");
	check_replaced(&by_id, address);
	/* What is there now has no build-id at all, or is no ELF file, or an empty one. */
	build_library("again.so", "-Wl,--build-id=none");
	check_replaced(&by_id, address);
	write_source("again.so", "#!/bin/sh\n");
	check_replaced(&by_id, address);
	write_source("again.so", "");
	check_replaced(&by_id, address);
}

static void test_no_file(void **state)
{
	static const char *const paths[] = { "gone.so", "a_directory", "a_pipe", "/dev/zero" };
	struct bp_symbol_summary summary;
	(void)state;
	run_command("mkdir a_directory && mkfifo a_pipe");
	for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
		struct question question = {
			.path = paths[i], .build_id = "0123456789abcdef", .exact = true
		};
		const char *slash = strrchr(paths[i], '/');
		char name[64];
		offset_name(slash != NULL ? slash + 1 : paths[i], 0x1234, name, sizeof name);
		check(&question, 0x1234, name, 1, &summary);
		assert_int_equal(summary.modules_missing, 1);
	}
}

/* Nothing was recorded to know the file by: it might be any. */
static void test_unverified(void **state)
{
	struct question question = { .path = "unknown.so", .unknown_file = true, .exact = true };
	struct bp_symbol_summary summary;
	char name[64];
	(void)state;
	build_library("unknown.so", "");
	offset_name("unknown.so", symbol_value("unknown.so", "shown"), name, sizeof name);
	check(&question, symbol_value("unknown.so", "shown"), name, 1, &summary);
	assert_int_equal(summary.modules_unverified, 1);
	assert_int_equal(summary.modules_replaced, 0);
}

/* Names that are no files, and no module at all. */
static void test_no_module(void **state)
{
	static const struct {
		const char *path, *name;
	} modules[] = { { "[vdso]", "[vdso]+0xabc" }, { "", "0xabc" } };
	struct bp_symbol_summary summary;
	(void)state;
	for (size_t i = 0; i < sizeof modules / sizeof modules[0]; i++) {
		struct question question = { .path = modules[i].path, .unknown_file = true };
		check(&question, 0xabc, modules[i].name, 1, &summary);
		assert_int_equal(summary.modules, 0);
		assert_int_equal(summary.locations, 1);
	}
}

/* Return addresses at the very start: address 0 must not wrap around. */
static void test_address_zero(void **state)
{
	struct question question = { .path = "zero.so" };
	(void)state;
	build_library("zero.so", "");
	check(&question, 0, "zero.so+0x0", 1, NULL);
	question.exact = true;
	check(&question, UINT64_MAX, "zero.so+0xffffffffffffffff", 1, NULL);
}

static const char assembly_source[] = ".text\n"
				      ".globl first\n.type first, @function\n"
				      "first: nop\n nop\n nop\n"
				      ".type second, @function\n"
				      "second: nop\n nop\n"
				      "label: nop\n nop\n"
				      ".globl sized\n.type sized, @function\n"
				      "sized: nop\n nop\n.size sized, 2\n"
				      " nop\n nop\n"
				      ".type last, @function\n"
				      "last: nop\n nop\n"
				      ".section .other, \"ax\"\n"
				      " nop\n nop\n";

/* Functions of no stated size end at the next symbol; behind a label or a function that has ended,
 * whose code it is is unknown. */
static void test_assembly(void **state)
{
	static const char *const names[] = { "first", "first", "first", "second", "second", NULL,
		NULL, "sized", "sized", NULL, NULL, "last", "last" };
	struct question question = { .path = "assembly.so", .exact = true };
	struct bp_symbol_summary summary;
	uint64_t start = 0, bytes = 0;
	char name[64];
	(void)state;
	write_source("assembly.s", assembly_source);
	run_command("gcc -shared -nostdlib assembly.s -o assembly.so");
	read_text_section("assembly.so", &start, &bytes);
	assert_int_equal(bytes, sizeof names / sizeof names[0]);
	for (uint64_t i = 0; i < bytes; i++) {
		offset_name("assembly.so", start + i, name, sizeof name);
		check(&question, start + i, names[i] != NULL ? names[i] : name, 1, &summary);
	}
	/* The section behind has no symbol at all. */
	offset_name("assembly.so", start + bytes, name, sizeof name);
	check(&question, start + bytes, name, 1, NULL);
	/* Without local functions in the table, anything may stand behind `first`. */
	run_command("strip -x assembly.so");
	offset_name("assembly.so", start + 1, name, sizeof name);
	check(&question, start + 1, name, 1, NULL);
	check(&question, start + 7, "sized", 1, NULL);
}

/* A function of no stated size within one that has a size and ends first: whose the rest is, is
 * unknown. */
static void test_overlapping_assembly(void **state)
{
	static const char *const names[] = { "outer", "outer", "outer", NULL, NULL };
	struct question question = { .path = "overlap.so", .exact = true };
	uint64_t start = 0, bytes = 0;
	char name[64];
	(void)state;
	write_source("overlap.s", ".text\n.type outer, @function\nouter: nop\n nop\n"
				  ".type entry, @function\nentry: nop\n"
				  ".size outer, 3\n nop\n nop\n");
	run_command("gcc -shared -nostdlib overlap.s -o overlap.so");
	read_text_section("overlap.so", &start, &bytes);
	assert_int_equal(bytes, sizeof names / sizeof names[0]);
	for (uint64_t i = 0; i < bytes; i++) {
		offset_name("overlap.so", start + i, name, sizeof name);
		check(&question, start + i, names[i] != NULL ? names[i] : name, 1, NULL);
	}
}

/* Aliases: the name people know, whatever the order in the table. */
static void test_aliases(void **state)
{
	struct question question = { .path = "alias.so", .exact = true };
	(void)state;
	write_source("alias.c",
		"int __lib_open(int a) { return a + 1; }\n"
		"int _lib_open(int) __attribute__((weak, alias(\"__lib_open\")));\n"
		"int open_lib(int) __attribute__((weak, alias(\"__lib_open\")));\n");
	run_command("gcc -O2 -shared -fPIC alias.c -o alias.so");
	check(&question, symbol_value("alias.so", "__lib_open"), "open_lib", 1, NULL);
}

static void test_linkage_stub(void **state)
{
	static const char *const options[] = { "-Wl,-z,lazy", "-Wl,-z,now", "-fcf-protection" };
	char command[256];
	uint64_t stub = 0;
	(void)state;
	write_source("stub.c", "#include <stdlib.h>\n#include <unistd.h>\n"
			       "int main(void) { return rand() % 3 + (getpid() == 1); }\n");
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
		struct question question = { .path = "stub", .exact = true };
		run_command("gcc -O1 %s stub.c -o stub", options[i]);
		snprintf(command, sizeof command,
			"objdump -d stub | sed -n 's/.*call *\\([0-9a-f]*\\) <rand@plt>/\\1/p'");
		read_numbers(command, &stub, 1);
		check(&question, stub, "rand@plt", 1, NULL);
		run_command("strip stub");
		check(&question, stub, "rand@plt", 1, NULL);
	}
}

/* Debug information packed by zstd: older elfutils cannot read it, the symbol table still names. */
static void test_zstd(void **state)
{
	struct question question = { .path = "zstd.so", .exact = true };
	struct bp_symbol_summary summary;
	struct answer answer;
	struct bp_error error = { "" };
	uint64_t address = 0;
	(void)state;
	build_library("zstd.so", "");
	if (system("objcopy --compress-debug-sections=zstd zstd.so 2>/dev/null") != 0)
		skip();
	address = symbol_value("zstd.so", "here");
	assert_true(ask(&question, &address, 1, &answer, &error));
	summary = answer.summary;
	assert_int_equal(summary.named, 1);
	assert_int_equal(summary.modules_stripped, 0);
	if (summary.modules_compressed == 1)
		assert_string_equal(
			answer_text(&answer, answer_frame(&answer, 0, 0)->function), "hidden");
	else
		assert_int_equal(answer_depth(&answer, 0), 2);
	answer_finish(&answer);
}

/* A name of a megabyte is cut. */
static void test_huge_name(void **state)
{
	struct question question = { .path = "huge.so", .exact = true };
	struct answer answer;
	struct bp_error error = { "" };
	FILE *file = fopen("huge.s", "w");
	uint64_t start = 0, bytes = 0;
	(void)state;
	assert_non_null(file);
	fprintf(file,
		".text\n.globl _ZN%0*d\n.type _ZN%0*d, @function\n_ZN%0*d: nop\n nop\n"
		".size _ZN%0*d, 2\n",
		1 << 20, 1, 1 << 20, 1, 1 << 20, 1, 1 << 20, 1);
	assert_int_equal(fclose(file), 0);
	run_command("gcc -shared -nostdlib huge.s -o huge.so");
	read_text_section("huge.so", &start, &bytes);
	assert_true(ask(&question, &start, 1, &answer, &error));
	assert_true(answer_frame(&answer, 0, 0)->named);
	assert_int_equal(strlen(answer_text(&answer, answer_frame(&answer, 0, 0)->function)), 8192);
	answer_finish(&answer);
}

/* A file cut short anywhere is read as far as it goes; nothing is named wrongly, nothing crashes.
 */
static void test_cut_short(void **state)
{
	struct question question = { .path = "cut.so", .exact = true };
	struct stat status;
	struct bp_error error = { "" };
	uint64_t address = 0;
	(void)state;
	build_library("full.so", "");
	address = symbol_value("full.so", "here");
	assert_int_equal(stat("full.so", &status), 0);
	for (off_t bytes = 0; bytes < status.st_size; bytes += status.st_size / 61) {
		struct answer answer;
		const char *name = NULL;
		run_command("head -c %lld full.so > cut.so", (long long)bytes);
		assert_true(ask(&question, &address, 1, &answer, &error));
		name = answer_text(&answer, answer_frame(&answer, 0, 0)->function);
		assert_int_equal(answer.summary.modules_failed, 0);
		if (strncmp(name, "cut.so+0x", 9) != 0 && strcmp(name, "inside") != 0)
			assert_string_equal(name, "hidden");
		answer_finish(&answer);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_file),
		cmocka_unit_test(test_symbol_table_only),
		cmocka_unit_test(test_stripped),
		cmocka_unit_test(test_debug_link),
		cmocka_unit_test(test_debug_link_checksum),
		cmocka_unit_test(test_wrong_debug_file),
		cmocka_unit_test(test_build_id_directory),
		cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_unverified),
		cmocka_unit_test(test_no_module),
		cmocka_unit_test(test_address_zero),
		cmocka_unit_test(test_assembly),
		cmocka_unit_test(test_overlapping_assembly),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_linkage_stub),
		cmocka_unit_test(test_zstd),
		cmocka_unit_test(test_huge_name),
		cmocka_unit_test(test_cut_short),
	};
	return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
