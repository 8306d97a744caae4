/* SPDX-License-Identifier: MIT */
/*
 * One program, with its debug information packed in every way that compilers and distributions
 * have: sections packed by zlib and zstd, split units (.dwo) of gcc and clang and packages of them
 * (.dwp), parts shared between files (dwz). However it is packed, the answers must be those of the
 * plain file, frame by frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "question.h"
#include "symbols/files/zstd_unpack.h"
#include "workshop.h"

#define ADDRESSES 300u

static const char first_source[] =
	"#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"
	"int total(const std::map<std::string, std::vector<int>> &seen);\n"
	"int main(int count, char **words) {\n"
	"	std::map<std::string, std::vector<int>> seen;\n"
	"	for (int i = 0; i < count; i++) seen[words[i]].push_back(i);\n"
	"	std::vector<std::pair<int, std::string>> order;\n"
	"	for (auto &entry : seen) order.push_back({entry.second[0], entry.first});\n"
	"	std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) {\n"
	"		return a.first > b.first || a.second < b.second; });\n"
	"	return (int)order.size() + total(seen); }\n";

static const char second_source[] =
	"#include <map>\n#include <numeric>\n#include <string>\n#include <vector>\n"
	"int total(const std::map<std::string, std::vector<int>> &seen) {\n"
	"	int sum = 0;\n"
	"	for (auto &entry : seen)\n"
	"		sum += std::accumulate(entry.second.begin(), entry.second.end(), 0);\n"
	"	return sum; }\n";

static void build(const char *compiler, const char *options, const char *name)
{
	write_source("first.cc", first_source);
	write_source("second.cc", second_source);
	run_command("%s -std=c++17 -O2 -g %s first.cc second.cc -Wl,--build-id -o %s", compiler,
		options, name);
}

static void choose_addresses(const char *file, uint64_t *addresses)
{
	uint64_t start = 0, bytes = 0;
	read_text_section(file, &start, &bytes);
	for (uint32_t i = 0; i < ADDRESSES; i++)
		addresses[i] = start + bytes * i / ADDRESSES;
}

static void ask_all(
	const struct question *question, const uint64_t *addresses, struct answer *answer)
{
	struct bp_error error = { "" };
	if (!ask(question, addresses, ADDRESSES, answer, &error))
		fail_msg("%s", error.text);
}

static bool same_frame(
	const struct answer *left, const struct answer *right, uint32_t i, uint32_t k)
{
	const struct bp_frame *a = answer_frame(left, i, k), *b = answer_frame(right, i, k);
	return a->line == b->line && a->named == b->named &&
	       (!a->named || strcmp(answer_text(left, a->function),
				     answer_text(right, b->function)) == 0) &&
	       strcmp(answer_text(left, a->source_file), answer_text(right, b->source_file)) == 0;
}

/* How many of the addresses have not the same frames. */
static unsigned differences(const struct answer *left, const struct answer *right)
{
	unsigned different = 0;
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		uint32_t depth = answer_depth(left, i), k = 0;
		while (depth == answer_depth(right, i) && k < depth &&
			same_frame(left, right, i, k))
			k++;
		different += k < depth;
	}
	return different;
}

static unsigned inlined(const struct answer *answer)
{
	unsigned count = 0;
	for (uint32_t i = 0; i < ADDRESSES; i++)
		count += answer_depth(answer, i) > 1;
	return count;
}

/* The packed file must say what the plain one says. */
static void compare(const char *plain, const struct question *packed)
{
	struct question question = { .path = plain, .exact = true };
	struct answer left, right;
	uint64_t addresses[ADDRESSES];
	choose_addresses(plain, addresses);
	ask_all(&question, addresses, &left);
	ask_all(packed, addresses, &right);
	assert_true(inlined(&left) > ADDRESSES / 4);
	assert_int_equal(right.summary.modules_compressed, 0);
	assert_int_equal(right.summary.modules_failed, 0);
	assert_int_equal(differences(&left, &right), 0);
	answer_finish(&left);
	answer_finish(&right);
}

static bool can_pack(const char *how)
{
	char command[128];
	snprintf(command, sizeof command,
		"objcopy --compress-debug-sections=%s plain packed 2>/dev/null", how);
	return system(command) == 0;
}

/* A section of zeros, 1000 times as large as packed: the memory it would take is not taken, the
 * functions are named by the symbol table, and that is told. In both forms. */
static void test_unpacks_to_too_much(void **state)
{
	static const char *const ways[] = { "zlib", "zlib-gnu", "zstd" };
	struct question question = { .path = "packed", .exact = true };
	struct answer answer;
	uint64_t addresses[ADDRESSES];
	(void)state;
	build("g++", "", "plain");
	run_command("truncate -s 100M zeros && objcopy --add-section .debug_zeros=zeros "
		    "plain large && rm zeros && mv large plain");
	choose_addresses("plain", addresses);
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		if (!can_pack(ways[i]))
			continue;
		ask_all(&question, addresses, &answer);
		assert_int_equal(answer.summary.modules_too_large, 1);
		assert_int_equal(answer.summary.modules_failed, 0);
		assert_int_equal(inlined(&answer), 0);
		assert_true(answer.summary.named > 0);
		answer_finish(&answer);
	}
}

static void test_packed_sections(void **state)
{
	static const char *const ways[] = { "zlib", "zlib-gnu", "zstd" };
	struct question question = { .path = "packed", .exact = true };
	(void)state;
	build("g++", "", "plain");
	for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
		if (strcmp(ways[i], "zstd") == 0 && !bp_zstd_available())
			continue;
		if (!can_pack(ways[i]))
			continue;
		compare("plain", &question);
	}
}

static void test_packed_debug_file(void **state)
{
	struct question question = { .path = "stripped", .exact = true };
	(void)state;
	build("g++", "", "plain");
	if (!bp_zstd_available() || !can_pack("zstd"))
		skip();
	run_command("objcopy --only-keep-debug packed stripped.debug && strip -o stripped plain && "
		    "objcopy --add-gnu-debuglink=stripped.debug stripped");
	compare("plain", &question);
}

/* Every byte of the packed sections' beginnings changed in turn, sizes made huge: names from the
 * symbol table at worst, and nothing crashes. */
static void test_damaged_sections(void **state)
{
	struct question question = { .path = "damaged", .exact = true };
	uint64_t addresses[ADDRESSES], offset = 0;
	struct answer answer;
	static const int values[] = { 0, 1, 0x7f, 0xff };
	(void)state;
	build("g++", "", "plain");
	if (!can_pack("zstd"))
		skip();
	choose_addresses("plain", addresses);
	read_numbers("readelf -SW packed | sed 's/\\[ *//' | awk '$2 == \".debug_info\" "
		     "{ print $5 }'",
		&offset, 1);
	for (uint32_t at = 0; at < 40; at += 3) {
		FILE *file = NULL;
		run_command("cp packed damaged");
		file = fopen("damaged", "r+");
		assert_non_null(file);
		assert_int_equal(fseek(file, (long)(offset + at), SEEK_SET), 0);
		assert_int_not_equal(fputc(values[at % 4], file), EOF);
		assert_int_equal(fclose(file), 0);
		ask_all(&question, addresses, &answer);
		assert_int_equal(answer.summary.modules_failed, 0);
		assert_true(answer.summary.named > 0);
		answer_finish(&answer);
	}
}

/* Split units in a package, wherever it may lie, are those that were in the .dwo files. */
static void check_package(const char *packer)
{
	struct question question = { .path = "split", .exact = true };
	struct answer answer;
	uint64_t addresses[ADDRESSES];
	char path[512];
	snprintf(path, sizeof path, "%s/split", workshop_directory());
	choose_addresses("split", addresses);
	run_command("%s -e split -o split.dwp && rm *.dwo", packer);
	compare("plain", &question);
	run_command("objcopy --compress-debug-sections=zlib split.dwp && readelf -SW split.dwp | "
		    "grep -q ' EC\\? '");
	compare("plain", &question);
	run_command("mkdir -p root%s && mv split.dwp root%s", workshop_directory(),
		workshop_directory());
	question.debug_directory = "root";
	question.path = path;
	compare("plain", &question);
	question.debug_directory = NULL;
	ask_all(&question, addresses, &answer);
	assert_int_equal(inlined(&answer), 0);
	answer_finish(&answer);
}

static const char *llvm_packer(void)
{
	return have_command("llvm-dwp-14") ? "llvm-dwp-14" : "llvm-dwp";
}

static void check_split(const char *compiler, const char *options, const char *packer)
{
	struct question question = { .path = "split", .exact = true };
	struct answer answer;
	uint64_t addresses[ADDRESSES];
	char all[128];
	snprintf(all, sizeof all, "-gsplit-dwarf %s", options);
	run_command("rm -f *.dwo");
	build(compiler, options, "plain");
	build(compiler, all, "split");
	run_command("ls *.dwo >/dev/null");
	compare("plain", &question);
	/* Without them: functions by the symbol table, lines by the skeletons, no inlined
	 * frames. */
	run_command("mkdir -p away && mv *.dwo away");
	choose_addresses("split", addresses);
	ask_all(&question, addresses, &answer);
	assert_int_equal(inlined(&answer), 0);
	assert_true(answer.summary.named > 0);
	answer_finish(&answer);
	run_command("mv away/*.dwo .");
	compare("plain", &question);
	if (packer != NULL)
		check_package(packer);
}

static void test_split_gcc(void **state)
{
	(void)state;
	if (!have_command("g++"))
		skip();
	check_split("g++", "-gdwarf-5", NULL); /* no packer of Debian 12 reads these */
	;
	check_split("g++", "-gdwarf-4", "dwp");
}

static void test_split_clang(void **state)
{
	(void)state;
	if (!have_command("clang++"))
		skip();
	check_split("clang++", "-gdwarf-5", llvm_packer());
	check_split("clang++", "-gdwarf-4", llvm_packer());
}

/* Parts that two programs share are in a third file, found beside them, or by its build-id. */
static void test_shared_parts(void **state)
{
	struct question question = { .path = "one", .exact = true };
	struct answer plain, lost;
	uint64_t addresses[ADDRESSES];
	char id[64];
	(void)state;
	if (!have_command("dwz"))
		skip();
	build("g++", "-gdwarf-4", "plain");
	run_command("cp plain one && cp plain two && objcopy --remove-section=.nothing two && "
		    "dwz -m shared one two");
	run_command("readelf -SW one | grep -q gnu_debugaltlink");
	compare("plain", &question);
	read_build_id("shared", id, sizeof id);
	run_command("mkdir -p root/.build-id/%.2s && mv shared root/.build-id/%.2s/%s.debug", id,
		id, id + 2);
	choose_addresses("plain", addresses);
	ask_all(&question, addresses, &lost);
	question.debug_directory = "root";
	compare("plain", &question);
	question = (struct question){ .path = "plain", .exact = true };
	ask_all(&question, addresses, &plain);
	/* Without it the symbol table has the names. */
	assert_true(differences(&plain, &lost) > 0);
	assert_true(lost.summary.named + 20 > plain.summary.named);
	assert_int_equal(inlined(&lost), 0);
	/* Another file in its place is not used. */
	run_command("cp plain shared && chmod u+w root/.build-id/%.2s/%s.debug && cp plain "
		    "root/.build-id/%.2s/%s.debug",
		id, id + 2, id, id + 2);
	question = (struct question){ .path = "one", .exact = true, .debug_directory = "root" };
	answer_finish(&plain);
	ask_all(&question, addresses, &plain);
	assert_int_equal(differences(&plain, &lost), 0);
	answer_finish(&plain);
	answer_finish(&lost);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unpacks_to_too_much),
		cmocka_unit_test(test_packed_sections),
		cmocka_unit_test(test_packed_debug_file),
		cmocka_unit_test(test_damaged_sections),
		cmocka_unit_test(test_split_gcc),
		cmocka_unit_test(test_split_clang),
		cmocka_unit_test(test_shared_parts),
	};
	return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
