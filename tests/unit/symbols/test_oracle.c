/* SPDX-License-Identifier: MIT */
/*
 * Hundreds of random addresses of real C++ (std::map, std::regex, sorting with lambdas, in two
 * units that share templates, so that the linker discards the second copies) against another
 * symboliser: llvm-symbolizer where there is one, else addr2line. Every address must have the same
 * number of inlined frames and the same innermost line; against llvm-symbolizer also the same file,
 * the same places of all callers and the same functions (addr2line of binutils 2.40 takes a wrong
 * file here and there, and shows no linkage names). The addresses come from a recorded seed.
 *
 * Function names are compared on a copy without a symbol table, where both can only tell what debug
 * information says: else llvm-symbolizer takes the outermost name from the symbol table, which may
 * hold several for one function.
 */
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "question.h"
#include "workshop.h"

#define ADDRESSES 800u
#define FRAMES_MAX 128u
#define NAME_BYTES 4096u
#define SEED 20240607u

static const char first_source[] =
	"#include <algorithm>\n"
	"#include <iostream>\n"
	"#include <map>\n"
	"#include <regex>\n"
	"#include <string>\n"
	"#include <vector>\n"
	"int count_words(const std::string &text);\n"
	"int main(int count, char **words) {\n"
	"	std::string text;\n"
	"	for (int i = 0; i < count; i++) text += words[i];\n"
	"	std::regex pattern(\"([a-z]+)[0-9]*\");\n"
	"	std::map<std::string, int> seen;\n"
	"	for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i)\n"
	"		seen[i->str()]++;\n"
	"	std::vector<std::pair<int, std::string>> order;\n"
	"	for (auto &entry : seen) order.push_back({entry.second, entry.first});\n"
	"	std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) {\n"
	"		return a.first > b.first || a.second < b.second; });\n"
	"	for (auto &entry : order) std::cout << entry.second << entry.first << \"\\n\";\n"
	"	return count_words(text) > 100; }\n";

static const char second_source[] = "#include <map>\n#include <regex>\n#include <string>\n"
				    "static int unused_start(int a) { return a + 1; }\n"
				    "int (*start)(int) = unused_start;\n"
				    "int count_words(const std::string &text) {\n"
				    "	std::map<std::string, int> seen;\n"
				    "	std::regex pattern(\"[A-Z]([a-z]*|[0-9]{2,3})\");\n"
				    "	for (std::sregex_iterator i(text.begin(), text.end(), "
				    "pattern), end; i != end; ++i)\n"
				    "		seen[i->str()] += start(1);\n"
				    "	return (int)seen.size(); }\n";

/* Less to compile, for the second format of debug information. */
static const char small_source[] =
	"#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"
	"int main(int count, char **words) {\n"
	"	std::map<std::string, std::vector<int>> seen;\n"
	"	for (int i = 0; i < count; i++) seen[words[i]].push_back(i);\n"
	"	std::vector<std::pair<int, std::string>> order;\n"
	"	for (auto &entry : seen) order.push_back({entry.second[0], entry.first});\n"
	"	std::sort(order.begin(), order.end(), [](const auto &a, const auto &b) {\n"
	"		return a.first > b.first || a.second < b.second; });\n"
	"	return (int)order.size(); }\n";

struct other_frame {
	char *function, *file;
	uint32_t line;
};

/* What the other one says of one address. */
struct other_answer {
	struct other_frame frames[FRAMES_MAX];
	uint32_t depth;
};

/* xorshift64*, Vigna 2016: enough to spread addresses. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717u;
}

static void choose_addresses(const char *file, uint64_t *addresses)
{
	uint64_t start = 0, bytes = 0, state = SEED;
	read_text_section(file, &start, &bytes);
	for (uint32_t i = 0; i < ADDRESSES; i++)
		addresses[i] = start + next_random(&state) % bytes;
}

/* "path:12" or "path:12 (discriminator 3)" or "??:?". */
static void split_place(char *text, struct other_frame *frame)
{
	char *colon = NULL;
	text[strcspn(text, " ")] = '\0';
	colon = strrchr(text, ':');
	frame->line = colon != NULL ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
	if (colon != NULL)
		*colon = '\0';
	frame->file = strdup(text);
}

/* Both tools print, as asked here: the address, then function and place of each frame. */
static void ask_other(const char *command, const uint64_t *addresses, struct other_answer *answers)
{
	char line[NAME_BYTES], whole[512];
	FILE *file = fopen("addresses", "w");
	uint32_t at = 0;
	struct other_answer *answer = NULL;
	assert_non_null(file);
	for (uint32_t i = 0; i < ADDRESSES; i++)
		fprintf(file, "0x%" PRIx64 "\n", addresses[i]);
	assert_int_equal(fclose(file), 0);
	snprintf(whole, sizeof whole, "%s < addresses", command);
	file = popen(whole, "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0')
			continue;
		if (strncmp(line, "0x", 2) == 0) {
			assert_true(at < ADDRESSES);
			assert_int_equal(strtoull(line, NULL, 16), addresses[at]);
			answer = &answers[at++];
			continue;
		}
		assert_non_null(answer);
		assert_true(answer->depth < FRAMES_MAX);
		answer->frames[answer->depth].function = strdup(line);
		assert_non_null(fgets(line, sizeof line, file));
		line[strcspn(line, "\n")] = '\0';
		split_place(line, &answer->frames[answer->depth++]);
	}
	pclose(file);
	assert_int_equal(at, ADDRESSES);
}

static void free_other(struct other_answer *answers)
{
	for (uint32_t i = 0; i < ADDRESSES; i++)
		for (uint32_t k = 0; k < answers[i].depth; k++) {
			free(answers[i].frames[k].function);
			free(answers[i].frames[k].file);
		}
	free(answers);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

/* Same line; files by their last part, because the tools join directories differently. Where the
 * other one knows no line (0), ours must not claim one. */
static bool same_place(const struct answer *answer, const struct bp_frame *frame,
	const struct other_frame *other, bool files)
{
	if (frame->line != other->line)
		return false;
	return !files || other->line == 0 ||
	       strcmp(base_name(answer_text(answer, frame->source_file)), base_name(other->file)) ==
		       0;
}

static bool same_function(
	const struct answer *answer, const struct bp_frame *frame, const struct other_frame *other)
{
	if (strcmp(other->function, "??") == 0)
		return !frame->named;
	return strcmp(answer_text(answer, frame->system_name), other->function) == 0;
}

struct comparison {
	const char *file, *command;
	bool llvm;  /* files and callers are compared too */
	bool names; /* functions, too */
};

static void report_difference(const struct answer *answer, uint32_t index, uint64_t address,
	const struct other_answer *other)
{
	print_message("# 0x%" PRIx64 "\n", address);
	for (uint32_t i = 0; i < answer_depth(answer, index); i++) {
		const struct bp_frame *frame = answer_frame(answer, index, i);
		print_message("#  ours   %.200s %s:%" PRIu32 "\n",
			answer_text(answer, frame->system_name),
			answer_text(answer, frame->source_file), frame->line);
	}
	for (uint32_t i = 0; i < other->depth; i++)
		print_message("#  theirs %.200s %s:%" PRIu32 "\n", other->frames[i].function,
			other->frames[i].file, other->frames[i].line);
}

static bool agrees(const struct comparison *comparison, const struct answer *answer, uint32_t index,
	const struct other_answer *other)
{
	if (answer_depth(answer, index) != other->depth)
		return false;
	for (uint32_t i = 0; i < (comparison->llvm ? other->depth : 1); i++)
		if (!same_place(answer, answer_frame(answer, index, i), &other->frames[i],
			    comparison->llvm))
			return false;
	for (uint32_t i = 0; comparison->names && i < other->depth; i++)
		if (!same_function(answer, answer_frame(answer, index, i), &other->frames[i]))
			return false;
	return true;
}

static void compare(const struct comparison *comparison)
{
	uint64_t addresses[ADDRESSES];
	struct other_answer *others = calloc(ADDRESSES, sizeof *others);
	struct question question = { .path = comparison->file, .exact = true };
	struct answer answer;
	struct bp_error error = { "" };
	uint32_t different = 0, inlined = 0;
	assert_non_null(others);
	choose_addresses(comparison->file, addresses);
	ask_other(comparison->command, addresses, others);
	if (!ask(&question, addresses, ADDRESSES, &answer, &error))
		fail_msg("%s", error.text);
	for (uint32_t i = 0; i < ADDRESSES; i++) {
		inlined += others[i].depth > 1;
		if (agrees(comparison, &answer, i, &others[i]))
			continue;
		if (different++ < 3)
			report_difference(&answer, i, addresses[i], &others[i]);
	}
	answer_finish(&answer);
	free_other(others);
	print_message("# %s: %u addresses, %" PRIu32 " with inlined frames, %" PRIu32
		      " different\n",
		comparison->file, ADDRESSES, inlined, different);
	assert_true(inlined > ADDRESSES / 3);
	assert_int_equal(different, 0);
}

static const char *llvm_symbolizer(void)
{
	static const char *const names[] = { "llvm-symbolizer-14", "llvm-symbolizer" };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (have_command(names[i]))
			return names[i];
	return NULL;
}

/* Builds the program and compares both copies. */
static void check_build(const char *compiler, const char *options, const char *sources)
{
	const char *llvm = llvm_symbolizer();
	char command[256];
	struct comparison comparison = { .command = command };
	write_source("first.cc", first_source);
	write_source("second.cc", second_source);
	write_source("small.cc", small_source);
	run_command("%s -std=c++17 %s %s -o words", compiler, options, sources);
	run_command("cp words words_nosym && strip -s --keep-section='.debug*' words_nosym");
	comparison.file = "words";
	comparison.llvm = llvm != NULL;
	if (llvm != NULL)
		snprintf(command, sizeof command,
			"%s --inlines --no-demangle -a --output-style=GNU --obj=words", llvm);
	else
		snprintf(command, sizeof command, "addr2line -i -f -a -e words");
	compare(&comparison);
	if (llvm == NULL)
		return;
	comparison.file = "words_nosym";
	comparison.names = true;
	snprintf(command, sizeof command,
		"%s --inlines --no-demangle -a --output-style=GNU --obj=words_nosym", llvm);
	compare(&comparison);
}

static void test_gcc(void **state)
{
	(void)state;
	if (!have_command("g++"))
		skip();
	check_build("g++", "-O2 -g", "first.cc second.cc");
	check_build("g++", "-O2 -gdwarf-4 -no-pie", "small.cc");
}

static void test_clang(void **state)
{
	(void)state;
	if (!have_command("clang++"))
		skip();
	check_build("clang++", "-O2 -g", "small.cc");
	check_build("clang++", "-O2 -gdwarf-4", "small.cc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gcc),
		cmocka_unit_test(test_clang),
	};
	return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
