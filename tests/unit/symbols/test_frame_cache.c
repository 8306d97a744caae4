/* SPDX-License-Identifier: MIT */
/*
 * The cache of frames: what was kept is what was found, a later debug file is used all the same,
 * and nothing that is torn, forged, somebody else's or too large does harm.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "question.h"
#include "symbols/files/frame_cache.h"
#include "workshop.h"

#define BUILD_ID "0123456789abcdef0123456789abcdef01234567"

static const struct bp_found_frame two_frames[] = { { "inner", "_Z5innerv", "a.cc", 7 },
	{ "outer", "", "b.cc", 70000 } };

/* An empty cache directory of its own. */
static int start(void **state)
{
	char path[4096];
	(void)state;
	run_command("rm -rf cache && mkdir -m 700 cache");
	snprintf(path, sizeof path, "%s/cache", workshop_directory());
	setenv("XDG_CACHE_HOME", path, 1);
	return 0;
}

static void keep(uint64_t identity, uint64_t address, uint32_t count)
{
	struct bp_frame_cache cache;
	bp_frame_cache_open(&cache, BUILD_ID, identity);
	bp_frame_cache_add(&cache, address, two_frames, count);
	bp_frame_cache_save(&cache, true);
	bp_frame_cache_finish(&cache);
}

/* The frames kept for an address; -1: not known. */
static int known(uint64_t identity, uint64_t address)
{
	struct bp_found_frame frames[BP_FRAMES_MAX];
	struct bp_frame_cache cache;
	uint32_t count = 0;
	bool found = false;
	bp_frame_cache_open(&cache, BUILD_ID, identity);
	found = bp_frame_cache_find(&cache, address, frames, &count);
	for (uint32_t i = 0; found && i < count; i++) {
		assert_string_equal(frames[i].function, two_frames[i].function);
		assert_string_equal(frames[i].system_name, two_frames[i].system_name);
		assert_string_equal(frames[i].source_file, two_frames[i].source_file);
		assert_int_equal(frames[i].line, two_frames[i].line);
	}
	bp_frame_cache_finish(&cache);
	return found ? (int)count : -1;
}

/* The one file, relative to the scratch directory. */
static const char *only_file(void)
{
	static char path[512];
	DIR *list = opendir("cache/bytepoll/symbols");
	struct dirent *entry = NULL;
	path[0] = '\0';
	assert_non_null(list);
	while ((entry = readdir(list)) != NULL)
		if (entry->d_name[0] != '.') {
			assert_int_equal(path[0], '\0');
			snprintf(path, sizeof path, "cache/bytepoll/symbols/%s", entry->d_name);
		}
	closedir(list);
	assert_int_not_equal(path[0], '\0');
	return path;
}

static void test_kept(void **state)
{
	struct stat status;
	(void)state;
	assert_int_equal(known(1, 100), -1);
	keep(1, 100, 2);
	keep(1, 50, 0);
	keep(1, UINT64_MAX, 1);
	assert_int_equal(known(1, 100), 2);
	assert_int_equal(known(1, 50), 0);
	assert_int_equal(known(1, UINT64_MAX), 1);
	assert_int_equal(known(1, 99), -1);
	assert_int_equal(known(2, 100), -1); /* other files behind it now */
	assert_int_equal(stat("cache/bytepoll/symbols", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
	assert_int_equal(stat(only_file(), &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void test_no_build_id(void **state)
{
	struct bp_frame_cache cache;
	static const char *const ids[] = { "", "0123", "../../../../../../etc/passwd",
		"0123456789abcdef/../../x", "0123456789ABCDEF01" };
	(void)state;
	for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		bp_frame_cache_open(&cache, ids[i], 1);
		assert_int_equal(cache.directory, -1);
		bp_frame_cache_finish(&cache);
	}
}

/* Cut anywhere, and each byte changed: known as it was or not known, never something else. */
static void test_torn(void **state)
{
	unsigned char data[4096];
	size_t bytes = 0;
	char path[512];
	FILE *file = NULL;
	(void)state;
	keep(1, 100, 2);
	snprintf(path, sizeof path, "%s", only_file());
	file = fopen(path, "r");
	assert_non_null(file);
	bytes = fread(data, 1, sizeof data, file);
	fclose(file);
	assert_in_range(bytes, 100, sizeof data - 1);
	for (size_t i = 0; i < bytes; i++) {
		for (int change = 0; change < 2; change++) {
			file = fopen(path, "w");
			assert_non_null(file);
			data[i] ^= change ? 0x41 : 0;
			fwrite(data, 1, change ? bytes : i, file);
			data[i] ^= change ? 0x41 : 0;
			fclose(file);
			assert_int_equal(known(1, 100), -1);
		}
	}
	keep(1, 100, 2); /* and it is mended */
	assert_int_equal(known(1, 100), 2);
}

/* A file with a good checksum and bad offsets, as one who wants harm writes it. */
static void test_forged(void **state)
{
	(void)state;
	for (unsigned way = 0; way < 7; way++) {
		struct bp_frame_list list = { .addresses = NULL };
		struct bp_frame_file file;
		uint64_t bytes = 0;
		void *image = NULL;
		assert_true(bp_frame_list_add(&list, 5, two_frames, 2));
		assert_true(bp_frame_list_add(&list, 6, two_frames, 1));
		if (way == 1)
			list.frames[0].function = list.text_bytes;
		if (way == 2)
			list.frames[2].source_file = UINT32_MAX;
		if (way == 3)
			list.addresses[1].first_frame = 3;
		if (way == 4)
			list.addresses[0].frame_count = BP_FRAMES_MAX + 1;
		if (way == 5)
			list.addresses[1].first_frame = UINT32_MAX;
		if (way == 6)
			list.texts[list.text_bytes - 1] = 'x';
		image = bp_frame_list_image(&list, 9, false, &bytes);
		assert_non_null(image);
		assert_int_equal(bp_frame_file_open(&file, image, bytes, 9), way == 0);
		bp_frame_file_close(&file);
		bp_frame_list_finish(&list);
	}
}

/* What others may write to, links, and (as root) other people's files. */
static void test_not_ours(void **state)
{
	char path[512];
	(void)state;
	keep(1, 100, 2);
	snprintf(path, sizeof path, "%s", only_file());
	run_command("chmod g+w %s", path);
	assert_int_equal(known(1, 100), -1);
	run_command("chmod g-w %s", path);
	assert_int_equal(known(1, 100), 2);
	run_command("mv %s elsewhere && ln -s $PWD/elsewhere %s", path, path);
	assert_int_equal(known(1, 100), -1);
	run_command("rm %s && mkfifo %s", path, path);
	assert_int_equal(known(1, 100), -1);
	run_command("rm %s && cp elsewhere %s && chmod 600 %s", path, path, path);
	assert_int_equal(known(1, 100), 2);
	run_command("chmod o+w cache/bytepoll/symbols");
	assert_int_equal(known(1, 100), -1);
	run_command("chmod o-w cache/bytepoll/symbols");
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(path, 12345, 12345), 0);
	assert_int_equal(known(1, 100), -1);
	run_command("rm -rf cache && mkdir cache && chown 12345 cache");
	keep(1, 100, 2);
	run_command("test -z \"$(ls cache)\"");
	/* A home of somebody else gets no .cache of ours. */
	snprintf(path, sizeof path, "%s/cache", workshop_directory());
	setenv("HOME", path, 1);
	unsetenv("XDG_CACHE_HOME");
	keep(1, 100, 2);
	run_command("test -z \"$(ls -A cache)\"");
}

static void test_no_directory(void **state)
{
	(void)state;
	setenv("XDG_CACHE_HOME", "relative", 1);
	setenv("HOME", "", 1);
	keep(1, 100, 2);
	assert_int_equal(known(1, 100), -1);
	setenv("XDG_CACHE_HOME", "/nonexistent/x/y", 1);
	keep(1, 100, 2);
	assert_int_equal(known(1, 100), -1);
}

/* Processes that read and write at once: whoever finds an address finds it whole, and in the end
 * most of what was written is there. */
static void test_at_once(void **state)
{
	int wrong = 0, kept = 0;
	(void)state;
	for (unsigned process = 0; process < 6; process++)
		if (fork() == 0) {
			for (unsigned i = 0; i < 20; i++) {
				keep(1, 1000 * process + i, 2);
				if (known(1, 1000 * process + i) < 0)
					_exit(1);
			}
			_exit(0);
		}
	for (unsigned process = 0; process < 6; process++) {
		int status = 0;
		assert_true(wait(&status) > 0);
		wrong += status != 0;
	}
	assert_int_equal(wrong, 0);
	for (unsigned process = 0; process < 6; process++)
		for (unsigned i = 0; i < 20; i++)
			kept += known(1, 1000 * process + i) == 2;
	assert_int_equal(kept, 120);
	run_command("test -z \"$(ls -A cache/bytepoll/symbols | grep new-)\"");
}

/* Too much of it: what was used longest ago goes, what a dead writer left goes, too. */
static void test_bound(void **state)
{
	(void)state;
	keep(1, 100, 2);
	run_command("cd cache/bytepoll/symbols && for i in $(seq 1 9); do fallocate -l 32M "
		    "old$i.frames 2>/dev/null || head -c 32M /dev/zero > old$i.frames; touch -d "
		    "\"$i days ago\" old$i.frames; done; touch -d '2 hours ago' .new-1; touch "
		    ".new-2; echo > mine.txt");
	keep(1, 101, 2);
	run_command(
		"cd cache/bytepoll/symbols && test ! -e old9.frames && test ! -e old6.frames && "
		"test -e old1.frames && test -e old5.frames && test ! -e .new-1 && test -e "
		".new-2 && test -e mine.txt");
	assert_int_equal(known(1, 100), 2);
	assert_int_equal(known(1, 101), 2);
}

static void check(const struct question *question, uint64_t address, const char *function)
{
	struct answer answer;
	struct bp_error error = { "" };
	if (!ask(question, &address, 1, &answer, &error))
		fail_msg("%s", error.text);
	assert_string_equal(answer_text(&answer, answer_frame(&answer, 0, 0)->function), function);
	answer_finish(&answer);
}

/* From end to end: answers are taken from the cache (the file is changed behind its back to show
 * it), and a debug file that comes later is used. */
static void test_end_to_end(void **state)
{
	char id[64], root[4096];
	struct question question = { .path = "p.so", .build_id = id, .exact = true, .cache = true };
	struct bp_frame_cache cache;
	uint64_t address = 0;
	(void)state;
	write_source("p.c",
		"static inline __attribute__((always_inline)) int inside(int a) {\n"
		"	__asm__ volatile(\".globl here\\n.hidden here\\nhere: nop\\n nop\");\n"
		"	return a * 7; }\n"
		"int shown(int a) { return inside(a) * 5; }\n");
	run_command("gcc -O2 -g -fPIC -shared -Wl,--build-id p.c -o p.so && objcopy "
		    "--only-keep-debug p.so p.debug");
	read_build_id("p.so", id, sizeof id);
	address = symbol_value("p.so", "here");
	run_command("strip p.so");
	check(&question, address, "shown");
	snprintf(root, sizeof root, "%s/root", workshop_directory());
	question.debug_directory = root;
	check(&question, address, "shown");
	run_command("mkdir -p root/.build-id/%.2s && cp p.debug root/.build-id/%.2s/%s.debug", id,
		id, id + 2);
	check(&question, address, "inside");
	/* Both answers are kept, each for its state of the files; forge them. */
	run_command("cd cache/bytepoll/symbols && test $(ls | wc -l) = 2");
	for (int i = 0; i < 2; i++) {
		DIR *list = opendir("cache/bytepoll/symbols");
		struct dirent *entry = NULL;
		while ((entry = readdir(list)) != NULL) {
			const char *dash = strchr(entry->d_name, '-');
			static const struct bp_found_frame forged[] = { { "forged", "", "", 1 } };
			if (dash == NULL || entry->d_name[0] == '.')
				continue;
			unlinkat(dirfd(list), entry->d_name, 0);
			bp_frame_cache_open(&cache, id, strtoull(dash + 1, NULL, 16));
			bp_frame_cache_add(&cache, address, forged, 1);
			bp_frame_cache_save(&cache, false);
			bp_frame_cache_finish(&cache);
		}
		closedir(list);
	}
	check(&question, address, "forged");
	/* Another debug file, by its time: what was kept no longer holds. */
	run_command("touch -d '1 day ago' root/.build-id/%.2s/%s.debug", id, id + 2);
	check(&question, address, "inside");
	question.cache = false;
	check(&question, address, "inside");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_kept, start),
		cmocka_unit_test_setup(test_no_build_id, start),
		cmocka_unit_test_setup(test_torn, start),
		cmocka_unit_test_setup(test_forged, start),
		cmocka_unit_test_setup(test_not_ours, start),
		cmocka_unit_test_setup(test_no_directory, start),
		cmocka_unit_test_setup(test_at_once, start),
		cmocka_unit_test_setup(test_bound, start),
		cmocka_unit_test_setup(test_end_to_end, start),
	};
	return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
