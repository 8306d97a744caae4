/* SPDX-License-Identifier: MIT */
/*
 * Inline chains and lines of programs built here: gcc and clang, DWARF 4 and 5, split, compressed,
 * position-independent and not. The program prints return addresses it had itself, so the expected
 * function and line of every frame follow from its source.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "question.h"
#include "workshop.h"

/* The numbers below are lines of this text. `ending` never returns, so the return address of its
 * call lies behind the end of `finish`. */
static const char chain_source[] =
	"#include <link.h>\n"
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"static unsigned long bias;\n"
	"static int look(struct dl_phdr_info *i, size_t n, void *d)\n"
	"{ (void)n; (void)d; bias = i->dlpi_addr; return 1; }\n"
	"__attribute__((noinline)) void record(void)\n"
	"{ printf(\"%lx\\n\", (unsigned long)__builtin_return_address(0) - bias); "
	"fflush(stdout); }\n"
	"__attribute__((noinline, noreturn)) void ending(void)\n"
	"{ printf(\"%lx\\n\", (unsigned long)__builtin_return_address(0) - bias); exit(0); }\n"
	"static inline __attribute__((always_inline)) void inner(void) {\n"
	"	record(); /* line 12 */\n"
	"	__asm__ volatile(\"nop\"); }\n"
	"static inline __attribute__((always_inline)) void middle(void) {\n"
	"	inner(); /* line 15 */\n"
	"	__asm__ volatile(\"nop\"); }\n"
	"__attribute__((noinline)) void outer(void) {\n"
	"	middle(); /* line 18 */\n"
	"	__asm__ volatile(\"nop\"); }\n"
	"__attribute__((noinline, noreturn)) void finish(void) {\n"
	"	ending(); } /* line 21 */\n"
	"__attribute__((noinline)) int behind_finish(int a) { return a + 1; }\n"
	"int main(int count, char **words) {\n"
	"	(void)words;\n"
	"	dl_iterate_phdr(look, 0);\n"
	"	outer(); /* line 26 */\n"
	"	if (behind_finish(count) > 1)\n"
	"		finish(); /* line 28 */\n"
	"	return 0; }\n";

struct expected_frame {
	const char *function;
	uint32_t line;
};

static void check_chain(const struct answer *answer, uint32_t index,
	const struct expected_frame *frames, uint32_t count)
{
	assert_int_equal(answer_depth(answer, index), count);
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_frame *frame = answer_frame(answer, index, i);
		const char *file = answer_text(answer, frame->source_file);
		assert_string_equal(answer_text(answer, frame->function), frames[i].function);
		assert_int_equal(frame->line, frames[i].line);
		assert_true(frame->named);
		assert_int_equal(frame->inlined, i + 1 < count);
		assert_true(strlen(file) > strlen("/chain.c"));
		assert_string_equal(file + strlen(file) - strlen("/chain.c"), "/chain.c");
	}
}

static void check_program(const char *compile)
{
	static const struct expected_frame outer[] = { { "inner", 12 }, { "middle", 15 },
		{ "outer", 18 } };
	static const struct expected_frame finish[] = { { "finish", 21 } };
	char path[PATH_MAX], build_id[128];
	struct question question = { .path = path };
	struct answer answer;
	struct bp_error error = { "" };
	uint64_t addresses[2];
	write_source("chain.c", chain_source);
	run_command("%s -D_GNU_SOURCE chain.c -o chain", compile);
	snprintf(path, sizeof path, "%s/chain", workshop_directory());
	read_build_id("chain", build_id, sizeof build_id);
	question.build_id = build_id;
	read_numbers("./chain", addresses, 2);
	if (!ask(&question, addresses, 2, &answer, &error))
		fail_msg("%s", error.text);
	check_chain(&answer, 0, outer, 3);
	check_chain(&answer, 1, finish, 1);
	assert_int_equal(answer.summary.locations, 2);
	assert_int_equal(answer.summary.named, 2);
	assert_int_equal(answer.summary.modules, 1);
	assert_int_equal(answer.summary.modules_stripped, 0);
	answer_finish(&answer);
}

static void check_compiler(const char *compiler)
{
	static const char *const variants[] = {
		"-g -gdwarf-5",
		"-g -gdwarf-4",
		"-g -fPIE -pie",
		"-g -no-pie -fno-pie",
		"-g -gsplit-dwarf",
		"-g -gdwarf-4 -gsplit-dwarf",
		"-g -gz=zlib",
		"-g -ffunction-sections -Wl,--gc-sections",
		"-g -Wl,--build-id=none",
		"-g -Wl,--build-id=md5",
	};
	char compile[256];
	for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++) {
		snprintf(compile, sizeof compile, "%s -O2 %s", compiler, variants[i]);
		print_message("# %s\n", compile);
		check_program(compile);
	}
}

static void test_gcc(void **state)
{
	(void)state;
	check_compiler("gcc");
}

static void test_clang(void **state)
{
	(void)state;
	if (!have_command("clang"))
		skip();
	check_compiler("clang");
}

/* From two units, of which the second is asked: with link-time optimisation, without any
 * optimisation, with the least debug information. */
static void test_other_builds(void **state)
{
	(void)state;
	write_source("other.c", "int other_function(int a) { return a * 3; }\n");
	check_program("gcc -O2 -g -flto other.c");
	check_program("gcc -O3 -g other.c");
	check_program("gcc -O0 -g other.c");
	check_program("gcc -O2 -g1 other.c");
}

/* C++: namespaces, overloads, a lambda inlined and one that is not, a constructor. */
static const char cxx_source[] =
	"#include <cstdio>\n"
	"#include <link.h>\n"
	"static unsigned long bias;\n"
	"static int look(dl_phdr_info *i, size_t, void *) { bias = i->dlpi_addr; return 1; }\n"
	"__attribute__((noinline)) static void record()\n"
	"{ std::printf(\"%lx\\n\", (unsigned long)__builtin_return_address(0) - bias); }\n"
	"#define END __asm__ volatile(\"nop\")\n"
	"namespace shop { struct till {\n"
	"	template<typename T> inline __attribute__((always_inline)) void pay(T) { record(); "
	"END; }\n"
	"	__attribute__((noinline)) void open(int) { pay(1.5); END; }\n"
	"	__attribute__((noinline)) void open(const char *) { pay('c'); END; }\n"
	"	__attribute__((noinline)) till() { record(); END; }\n"
	"}; }\n"
	"template<typename F> __attribute__((noinline)) void call(F f) { f(); END; }\n"
	"int main() {\n"
	"	dl_iterate_phdr(look, nullptr);\n"
	"	shop::till till;\n"
	"	till.open(1);\n"
	"	till.open(\"a\");\n"
	"	call([]() __attribute__((noinline)) { record(); END; });\n"
	"	auto here = []() __attribute__((always_inline)) { record(); END; };\n"
	"	here(); END;\n"
	"	return 0; }\n";

static void check_cxx(const char *compiler, const char *lambda)
{
	struct question question = { .path = "./cxx" };
	struct answer answer;
	struct bp_error error = { "" };
	uint64_t addresses[5];
	write_source("cxx.cc", cxx_source);
	run_command("%s -O2 -g -std=c++17 cxx.cc -o cxx", compiler);
	read_numbers("./cxx", addresses, 5);
	if (!ask(&question, addresses, 5, &answer, &error))
		fail_msg("%s", error.text);
	assert_int_equal(answer_depth(&answer, 0), 1);
	assert_string_equal(
		answer_text(&answer, answer_frame(&answer, 0, 0)->function), "shop::till::till()");
	assert_int_equal(answer_frame(&answer, 0, 0)->line, 12);
	assert_int_equal(answer_depth(&answer, 1), 2);
	assert_string_equal(answer_text(&answer, answer_frame(&answer, 1, 0)->function),
		"void shop::till::pay<double>(double)");
	assert_int_equal(answer_frame(&answer, 1, 0)->line, 9);
	assert_string_equal(answer_text(&answer, answer_frame(&answer, 1, 1)->function),
		"shop::till::open(int)");
	assert_string_equal(answer_text(&answer, answer_frame(&answer, 1, 1)->system_name),
		"_ZN4shop4till4openEi");
	assert_int_equal(answer_frame(&answer, 1, 1)->line, 10);
	assert_string_equal(answer_text(&answer, answer_frame(&answer, 2, 1)->function),
		"shop::till::open(char const*)");
	assert_string_equal(answer_text(&answer, answer_frame(&answer, 3, 0)->function), lambda);
	assert_int_equal(answer_frame(&answer, 3, 0)->line, 20);
	assert_int_equal(answer_depth(&answer, 4), 2);
	assert_int_equal(answer_frame(&answer, 4, 0)->line, 21);
	assert_string_equal(answer_text(&answer, answer_frame(&answer, 4, 1)->function), "main");
	assert_int_equal(answer_frame(&answer, 4, 1)->line, 22);
	answer_finish(&answer);
}

static void test_cxx(void **state)
{
	(void)state;
	if (!have_command("g++"))
		skip();
	check_cxx("g++", "main::{lambda()#1}::operator()() const");
	if (have_command("clang++"))
		check_cxx("clang++", "main::$_0::operator()() const");
}

/* Code that stands inside types inside a function that is itself only inlined: the way to it leads
 * through entries without addresses. */
static const char local_source[] =
	"struct base { virtual int go(int) = 0; };\n"
	"static inline __attribute__((always_inline)) base *make() {\n"
	"	struct local : base { __attribute__((noinline)) int go(int a) override {\n"
	"		__asm__ volatile(\".globl here1\\nhere1: nop\"); return a + 1; } };\n"
	"	static local one;\n"
	"	return &one; }\n"
	"int (*pointer)(int);\n"
	"static inline __attribute__((always_inline)) void set() {\n"
	"	pointer = [](int a) { __asm__ volatile(\".globl here2\\nhere2: nop\");\n"
	"		return a * 5; }; }\n"
	"int main(int count, char **) { set(); return make()->go(count) + pointer(count); }\n";

static void check_local(const char *compiler)
{
	struct question question = { .path = "local", .exact = true };
	struct answer answer;
	struct bp_error error = { "" };
	uint64_t addresses[2];
	const char *outer = NULL;
	write_source("local.cc", local_source);
	run_command("%s -O2 -g local.cc -o local", compiler);
	addresses[0] = symbol_value("local", "here1");
	addresses[1] = symbol_value("local", "here2");
	if (!ask(&question, addresses, 2, &answer, &error))
		fail_msg("%s", error.text);
	assert_int_equal(answer_depth(&answer, 0), 1);
	assert_string_equal(answer_text(&answer, answer_frame(&answer, 0, 0)->function),
		"make()::local::go(int)");
	assert_int_equal(answer_frame(&answer, 0, 0)->line, 4);
	/* The body of the lambda, inlined into the static function that a pointer can point to; the
	 * compilers give that one different names. */
	assert_int_equal(answer_depth(&answer, 1), 2);
	assert_non_null(
		strstr(answer_text(&answer, answer_frame(&answer, 1, 0)->function), "operator()"));
	assert_int_equal(answer_frame(&answer, 1, 0)->line, 9);
	outer = answer_text(&answer, answer_frame(&answer, 1, 1)->function);
	assert_true(strcmp(outer, "set()::{lambda(int)#1}::_FUN(int)") == 0 ||
		    strcmp(outer, "set()::{lambda(int)#1}::__invoke(int)") == 0);
	answer_finish(&answer);
}

static void test_local_types(void **state)
{
	(void)state;
	if (!have_command("g++"))
		skip();
	check_local("g++");
	if (have_command("clang++"))
		check_local("clang++");
}

/* A template function of 8000 bytes in two units, one byte longer in the second, whose copy is
 * discarded: its debug information is left behind at address 0 and covers the start of the program,
 * where functions of its own unit and of another stand. Neither its lines nor its names nor its
 * unit may show there. */
static void write_fat_template(void)
{
	FILE *file = fopen("fat.h", "w");
	assert_non_null(file);
	fputs("template<typename T> __attribute__((noinline)) int fat(T a) {\n", file);
	for (int i = 0; i < 400; i++)
		fputs("	__asm__ volatile(\".rept 20\\n nop\\n .endr\");\n", file);
	fputs("#ifdef LONGER\n	__asm__ volatile(\"nop\");\n#endif\n	return a + 1; }\n", file);
	assert_int_equal(fclose(file), 0);
}

/* In sections that linkers put first; on both sides of the template in its own unit. */
static const char ghost_source[] =
	"#include \"fat.h\"\n"
	"#define EARLY __attribute__((noinline, section(\".text.unlikely.early\")))\n"
	"EARLY int before(int a) {\n"
	"	__asm__ volatile(\".globl here0\\nhere0: .rept 40\\n nop\\n .endr\"); return a; }\n"
	"int use(int a) { return fat<int>(a); }\n"
	"EARLY int after(int a) {\n"
	"	__asm__ volatile(\".globl here1\\nhere1: .rept 40\\n nop\\n .endr\"); return a; }\n";

static const char ghost_main_source[] =
	"int kept(int), use(int), before(int), after(int);\n"
	"__attribute__((noinline, section(\".text.unlikely.early\"))) int other(int a) {\n"
	"	__asm__ volatile(\".globl here2\\nhere2: .rept 40\\n nop\\n .endr\"); return a; }\n"
	"int main(int count, char **) {\n"
	"	return kept(count) + use(count) + before(1) + after(2) + other(3); }\n";

static void check_discarded(const char *compiler)
{
	static const struct expected_frame expected[] = { { "before(int)", 4 }, { "after(int)", 7 },
		{ "other(int)", 3 } };
	struct question question = { .path = "ghost", .exact = true };
	struct answer answer;
	struct bp_error error = { "" };
	uint64_t addresses[3 * 40];
	char label[16];
	write_fat_template();
	write_source("kept.cc", "#include \"fat.h\"\nint kept(int a) { return fat<int>(a); }\n");
	write_source("ghost.cc", ghost_source);
	write_source("ghost_main.cc", ghost_main_source);
	run_command("for f in kept ghost ghost_main; do %s -O1 -g -fPIE -c $f.cc $([ $f = ghost "
		    "] && echo -DLONGER) || exit 1; done; %s -pie kept.o ghost.o ghost_main.o -o "
		    "ghost",
		compiler, compiler);
	for (uint32_t i = 0; i < 3 * 40; i++) {
		snprintf(label, sizeof label, "here%u", (unsigned)(i / 40));
		addresses[i] = i % 40 == 0 ? symbol_value("ghost", label) : addresses[i - 1] + 1;
		assert_true(addresses[i] < 8000);
	}
	if (!ask(&question, addresses, 3 * 40, &answer, &error))
		fail_msg("%s", error.text);
	for (uint32_t i = 0; i < 3 * 40; i++) {
		const struct bp_frame *frame = answer_frame(&answer, i, 0);
		assert_int_equal(answer_depth(&answer, i), 1);
		assert_string_equal(
			answer_text(&answer, frame->function), expected[i / 40].function);
		assert_int_equal(frame->line, expected[i / 40].line);
	}
	answer_finish(&answer);
}

static void test_discarded(void **state)
{
	(void)state;
	if (!have_command("g++"))
		skip();
	check_discarded("g++");
	if (have_command("clang++"))
		check_discarded("clang++");
}

/* Inlined functions without a name for the linker: of a lambda, of one in it, of a local class, of
 * one in a namespace without a name. */
static const char nameless_source[] =
	"#define HERE(label) __asm__ volatile(\".globl \" label \"\\n\" label \": nop\")\n"
	"namespace { struct functor { int a; int operator()(int n) const {\n"
	"	HERE(\"here0\"); return n * a; } }; }\n"
	"namespace shop { __attribute__((noinline)) int serve(int c) {\n"
	"	struct local { int operator()(int n) const { HERE(\"here1\"); return n * 3; } };\n"
	"	auto outer = [&](int k) {\n"
	"		auto inner = [=](long m) { HERE(\"here2\"); return (int)m + k; };\n"
	"		HERE(\"here3\"); return inner(c) + k; };\n"
	"	return outer(c) + local()(c) + functor{c}(c); } }\n"
	"int main(int count, char **) { return shop::serve(count); }\n";

static void check_nameless(const char *compiler, const char *const *names)
{
	struct question question = { .path = "nameless", .exact = true };
	struct answer answer;
	struct bp_error error = { "" };
	uint64_t addresses[4];
	char label[16];
	write_source("nameless.cc", nameless_source);
	run_command("%s -std=c++17 -O2 -g nameless.cc -o nameless", compiler);
	for (uint32_t i = 0; i < 4; i++) {
		snprintf(label, sizeof label, "here%u", (unsigned)i);
		addresses[i] = symbol_value("nameless", label);
	}
	if (!ask(&question, addresses, 4, &answer, &error))
		fail_msg("%s", error.text);
	for (uint32_t i = 0; i < 4; i++) {
		assert_string_equal(
			answer_text(&answer, answer_frame(&answer, i, 0)->function), names[i]);
		assert_string_equal(
			answer_text(&answer,
				answer_frame(&answer, i, answer_depth(&answer, i) - 1)->function),
			"shop::serve(int)");
	}
	answer_finish(&answer);
}

static void test_nameless(void **state)
{
	static const char *const gcc[] = { "(anonymous namespace)::functor::operator()",
		"shop::serve(int)::local::operator()",
		"shop::serve(int)::{lambda}::operator()::{lambda}::operator()",
		"shop::serve(int)::{lambda}::operator()" };
	static const char *const clang[] = {
		"(anonymous namespace)::functor::operator()(int) const",
		"shop::serve(int)::local::operator()(int) const",
		("shop::serve(int)::$_0::operator()(int) const::{lambda(long)#1}::operator()(long) "
		 "const"),
		"shop::serve(int)::$_0::operator()(int) const"
	};
	(void)state;
	if (!have_command("g++"))
		skip();
	check_nameless("g++", gcc);
	if (have_command("clang++"))
		check_nameless("clang++", clang);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gcc),
		cmocka_unit_test(test_clang),
		cmocka_unit_test(test_other_builds),
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_local_types),
		cmocka_unit_test(test_discarded),
		cmocka_unit_test(test_nameless),
	};
	return cmocka_run_group_tests(tests, workshop_open, workshop_close);
}
