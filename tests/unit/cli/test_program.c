/* SPDX-License-Identifier: MIT */
/*
 * Finding programs and judging their files: as a shell finds them, and by ELF headers alone. The
 * build gives a dynamic, a static and a dynamic executable with its own malloc as arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/process/elf_file.h"
#include "cli/run/program.h"
#include "own_folder.h"

static const char *dynamic_program, *static_program, *malloc_program;

static void make_file(const char *name, const void *bytes, size_t count, mode_t mode)
{
	FILE *file = fopen(own_path(name), "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, count, file), count);
	fclose(file);
	assert_int_equal(chmod(own_path(name), mode), 0);
}

static void judge(const char *path, struct bp_program *ret_program)
{
	struct bp_error error = { 0 };
	int status = 0;
	if (!bp_program_find(path, ret_program, &status, &error))
		fail_msg("%s", error.text);
	bp_program_examine(ret_program);
}

static void judges_executables(void **state)
{
	char loader[PATH_MAX];
	struct bp_program program;
	(void)state;
	judge(dynamic_program, &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_NONE);
	assert_true(program.loader[0] == '/');
	assert_string_equal(program.image, dynamic_program);
	judge(static_program, &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_STATIC);
	assert_string_equal(program.loader, "");
	/* A loader started by hand preloads like any other. */
	judge(dynamic_program, &program);
	strcpy(loader, program.loader);
	judge(loader, &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_NONE);
}

static void judges_foreign_files(void **state)
{
	unsigned char bytes[sizeof(Elf64_Ehdr)] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
		1 };
	struct bp_program program;
	(void)state;
	bytes[18] = EM_S390;
	make_file("other-machine", bytes, sizeof bytes, 0755);
	bytes[4] = ELFCLASS32;
	bytes[18] = EM_386;
	make_file("32-bit", bytes, sizeof bytes, 0755);
	make_file("torn", bytes, 20, 0755);
	make_file("four-bytes", bytes, 4, 0755);
	make_file("empty", "", 0, 0755);
	judge(own_path("other-machine"), &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_FOREIGN);
	judge(own_path("32-bit"), &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_FOREIGN);
	judge(own_path("torn"), &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_FOREIGN);
	judge(own_path("four-bytes"), &program); /* the kernel does not know it: the shell's */
	assert_int_equal(program.obstacle, BP_OBSTACLE_SCRIPT);
	judge(own_path("empty"), &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_SCRIPT);
}

static void looks_through_scripts(void **state)
{
	char text[512];
	struct bp_program program;
	(void)state;
	snprintf(text, sizeof text, "#! \t%s -x\n", static_program);
	make_file("direct", text, strlen(text), 0755);
	snprintf(text, sizeof text, "#!%s/direct", own_folder());
	make_file("nested", text, strlen(text), 0755);
	make_file("env", "#!/usr/bin/env -S A=1 sh\n", 25, 0755);
	make_file("loop", "#!/", 3, 0755);
	snprintf(text, sizeof text, "#!%s\n", own_path("loop"));
	make_file("loop", text, strlen(text), 0755);
	make_file("bare", "echo\n", 5, 0755);
	judge(own_path("direct"), &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_STATIC);
	assert_string_equal(program.image, static_program);
	judge(own_path("nested"), &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_STATIC);
	judge(own_path("env"), &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_NONE);
	assert_string_equal(strrchr(program.image, '/'), "/sh");
	judge(own_path("loop"), &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_NONE); /* the kernel will refuse it */
	judge(own_path("bare"), &program);
	assert_int_equal(program.obstacle, BP_OBSTACLE_SCRIPT);
}

static void sees_set_uid(void **state)
{
	struct stat status = { .st_mode = S_IFREG | S_ISUID | 0755, .st_uid = getuid() + 1 };
	(void)state;
	assert_true(bp_file_is_privileged("/", &status));
	status.st_uid = getuid();
	assert_false(bp_file_is_privileged("/", &status));
	status.st_mode = S_IFREG | S_ISGID | 0755;
	status.st_gid = getgid() + 1;
	assert_true(bp_file_is_privileged("/", &status));
	status.st_mode = S_IFREG | S_ISGID | 0745; /* mandatory locking, of old */
	assert_false(bp_file_is_privileged("/", &status));
}

static void finds_as_a_shell(void **state)
{
	char path[256];
	struct bp_program program;
	struct bp_error error;
	int status = 0;
	(void)state;
	snprintf(path, sizeof path, "/nonexistent:%s:/bin", own_folder());
	setenv("PATH", path, 1);
	make_file("tool", "#!/bin/sh\n", 10, 0755);
	make_file("closed", "#!/bin/sh\n", 10, 0644);
	assert_true(bp_program_find("tool", &program, &status, &error));
	assert_string_equal(program.path, own_path("tool"));
	assert_true(bp_program_find("sh", &program, &status, &error));
	assert_string_equal(program.path, "/bin/sh");
	assert_false(bp_program_find("no-such-tool", &program, &status, &error));
	assert_int_equal(status, 127);
	assert_false(bp_program_find("", &program, &status, &error));
	assert_int_equal(status, 127);
	assert_false(bp_program_find("./no-such-tool", &program, &status, &error));
	assert_int_equal(status, 127);
	assert_false(bp_program_find("closed", &program, &status, &error));
	assert_int_equal(status, 126);
	assert_false(bp_program_find(own_path("closed"), &program, &status, &error));
	assert_int_equal(status, 126);
	assert_false(bp_program_find("/", &program, &status, &error));
	assert_int_equal(status, 126);
}

static void finds_definitions(void **state)
{
	struct bp_elf_file file;
	(void)state;
	assert_true(bp_elf_file_open(malloc_program, &file, NULL));
	assert_true(bp_elf_defines(&file, "malloc") != BP_ELF_UNDEFINED);
	assert_int_equal(bp_elf_defines(&file, "free"), BP_ELF_UNDEFINED);
	bp_elf_file_close(&file);
	assert_true(bp_elf_file_open(dynamic_program, &file, NULL));
	assert_int_equal(bp_elf_defines(&file, "malloc"), BP_ELF_UNDEFINED);
	assert_string_equal(bp_elf_dynamic_string(&file, DT_NEEDED, 0), "libc.so.6");
	assert_null(bp_elf_dynamic_string(&file, DT_NEEDED, 99));
	assert_null(bp_elf_dynamic_string(&file, DT_SONAME, 0));
	assert_true(bp_elf_has_section(&file, ".eh_frame"));
	assert_false(bp_elf_has_section(&file, ".nonsense"));
	bp_elf_file_close(&file);
}

/* Every byte of the headers and tables of a real file, changed in turn: no answer is expected, only
 * that none reads outside the file (the sanitizers of other builds look on). */
static void survives_damage(void **state)
{
	struct bp_elf_file original, file;
	unsigned char *copy;
	(void)state;
	assert_true(bp_elf_file_open(malloc_program, &original, NULL));
	copy = malloc(original.bytes);
	assert_non_null(copy);
	for (size_t i = 0; i < original.bytes; i += i < 1024 ? 1 : 37) {
		memcpy(copy, original.data, original.bytes);
		copy[i] ^= 0xff;
		file = original;
		file.data = copy;
		if (i % 5 == 0)
			file.bytes = i;
		(void)bp_elf_interpreter(&file);
		(void)bp_elf_defines(&file, "malloc");
		(void)bp_elf_dynamic_string(&file, DT_NEEDED, 0);
		(void)bp_elf_has_build_id(&file);
	}
	free(copy);
	assert_int_equal(original.machine, EM_X86_64);
	bp_elf_file_close(&original);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, own_folder_enter, own_folder_leave)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(judges_executables),
		TEST(judges_foreign_files),
		TEST(looks_through_scripts),
		TEST(sees_set_uid),
		TEST(finds_as_a_shell),
		TEST(finds_definitions),
		TEST(survives_damage),
	};
	if (argc != 4)
		return 2;
	dynamic_program = argv[1];
	static_program = argv[2];
	malloc_program = argv[3];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
