/* SPDX-License-Identifier: MIT */
/*
 * Rust's newer names: two thousand real ones (rust_names.txt, named by the environment) against
 * another demangler, the rules of the grammar one by one, and names made to hurt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "name_examples.h"
#include "symbols/demangle/demangle.h"
#include "symbols/demangle/rust_v0.h"

static void test_real_names(void **state)
{
	const char *path = getenv("RUST_NAMES");
	FILE *file = path != NULL ? fopen(path, "re") : NULL;
	char line[8192];
	unsigned names = 0, different = 0;
	(void)state;
	if (file == NULL)
		fail_msg("RUST_NAMES must name rust_names.txt");
	while (fgets(line, sizeof line, file) != NULL) {
		char *expected = strchr(line, '\t'), *shown = NULL;
		if (line[0] == '#' || expected == NULL)
			continue;
		*expected++ = '\0';
		expected[strcspn(expected, "\n")] = '\0';
		shown = bp_demangle(line);
		names++;
		if (shown == NULL || strcmp(shown, expected) != 0) {
			different++;
			print_message("# %s\n#  ours   %s\n#  theirs %s\n", line,
				shown != NULL ? shown : "-", expected);
		}
		free(shown);
	}
	fclose(file);
	print_message("# %u names, %u different\n", names, different);
	assert_true(names >= 1900);
	assert_int_equal(different, 0);
}

/* The examples of "v0 Symbol Format" in The rustc book, and what they leave out. */
static void test_grammar(void **state)
{
	static const struct name_example examples[] = {
		{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
		{ "_RNvC7mycrate3foo.llvm.1234", "mycrate::foo" },
		{ "_RNvC7mycrate3foo$x", "mycrate::foo" },
		{ "_RNvC7mycrate3fooC5other", "mycrate::foo" },
		{ "_RNCNvCs1234_7mycrate4main0B3_", "mycrate::main::{closure#0}" },
		{ "_RNCNvCs1234_7mycrate4mains_0B3_", "mycrate::main::{closure#1}" },
		{ "_RNSNvC1a1b5thing", "a::b::{shim:thing#0}" },
		{ "_RNZNvC1a1b0", "a::b::{Z#0}" },
		{ "_RINvCs7qp2U7fqm6G_7mycrate7exampleKy12345678_EB2_",
			"mycrate::example::<305419896>" },
		{ "_RNvNvMCsd9PVOYlP1UU_7mycrateINtB4_7ExamplepKpE3foo14EXAMPLE_STATIC",
			"<mycrate::Example<_, _>>::foo::EXAMPLE_STATIC" },
		{ "_RINvC1a1bKln5_Kb1_Kb0_E", "a::b::<-5, true, false>" },
		{ "_RINvC1a1bKc61_Kca_Kc27_Kc0_Kce9_E",
			"a::b::<'a', '\\n', '\\'', '\\0', '\xc3\xa9'>" },
		{ "_RINvC1a1bKo123456789abcdef01_E", "a::b::<0x123456789abcdef01>" },
		{ "_RINvC1a1bKj_E", "a::b::<0>" },
		{ "_RINvC1a1bhRhQhPhOhShAhKpE", NULL },
		{ "_RINvC1a1bhRhQhPhOhShAhj3_E",
			"a::b::<u8, &u8, &mut u8, *const u8, *mut u8, [u8], [u8; 3]>" },
		{ "_RINvC1a1bTETaETabEE", "a::b::<(), (i8,), (i8, bool)>" },
		{ "_RINvC1a1bFEuFUaEbFKCEuFK8C_unwindEzE",
			"a::b::<fn(), unsafe fn(i8) -> bool, extern \"C\" fn(), extern "
			"\"C-unwind\" fn() -> !>" },
		{ "_RINvC1a1bFG0_RL0_aRL1_bEuE", "a::b::<for<'a, 'b> fn(&'b i8, &'a bool)>" },
		{ "_RINvC1a1bRL_aE", "a::b::<&i8>" },
		{ "_RINvC1a1bL_E", "a::b::<'_>" },
		{ "_RINvC1a1bDNtC1c1dp4ItemaEL_E", "a::b::<dyn c::d<Item = i8>>" },
		{ "_RINvC1a1bDINtC1c1dhEp4ItemaNtC1c4SendEL_E",
			"a::b::<dyn c::d<u8, Item = i8> + c::Send>" },
		{ "_RINvC1a1bWhRh1_hff_E", "a::b::<u8 is 1..=255>" },
		{ "_RINvC1a1bWhORh1_h2_Rh4_h5_EE", "a::b::<u8 is 1..=2 | 4..=5>" },
		{ "_RNvYNtC1a1bNtC1c1d1e", "<a::b as c::d>::e" },
		{ "_RNvXC1xNtC1a1bNtC1c1d1e", "<a::b as c::d>::e" },
	};
	(void)state;
	check_names(examples, sizeof examples / sizeof examples[0]);
}

/* Encoded with Python's codec. What is no Punycode is shown as it stands; a decoded control
 * character makes the name one that nobody wrote. */
static void test_punycode(void **state)
{
	static const struct name_example examples[] = {
		{ "_RNvC1au8gdel_5qa", "a::"
				       "g\xc3"
				       "\xb6"
				       "del" },
		{ "_RNvC1au9bcher_kva", "a::"
					"b\xc3"
					"\xbc"
					"cher" },
		{ "_RNvC1au13ncd_dma1a7bzb", "a::"
					     "\xc3"
					     "\xbc"
					     "n\xc3"
					     "\xaf"
					     "c\xc3"
					     "\xb6"
					     "d\xc3"
					     "\xa9"
					     "" },
		{ "_RNvC1au7_1lqs71d", "a::"
				       "\xe6"
				       "\x9d"
				       "\xb1"
				       "\xe4"
				       "\xba"
				       "\xac"
				       "" },
		{ "_RNvC1au15___gtblchpbk4lsa", "a::"
						"\xd1"
						"\x8e"
						"\xd0"
						"\xbd"
						"\xd0"
						"\xb8"
						"\xd0"
						"\xba"
						"\xd0"
						"\xbe"
						"\xd0"
						"\xb4"
						"_\xd0"
						"\xb8"
						"\xd0"
						"\xbc"
						"\xd1"
						"\x8f"
						"" },
		{ "_RNvC1au10nave_5_jwa", "a::"
					  "na\xc3"
					  "\xaf"
					  "ve_5" },
		{ "_RNvC1au3zca", "a::"
				  "\xc3"
				  "\x9f"
				  "" },
		{ "_RNvC1au6a_iv3s", "a::"
				     "\xf0"
				     "\x9f"
				     "\x98"
				     "\x80"
				     "a" },
		{ "_RNvC1au5abc_A", "a::punycode{abc-A}" },
		{ "_RNvC1au4zzzz", "a::punycode{zzzz}" },
		{ "_RNvC1au1_", NULL },
		{ "_RNvC1au4abc_", NULL },
		{ "_RNvC1au4a_la", NULL },
	};
	(void)state;
	check_names(examples, sizeof examples / sizeof examples[0]);
}

static void test_damaged(void **state)
{
	static const struct name_example examples[] = {
		{ "_R", NULL },
		{ "_RN", NULL },
		{ "_RC", NULL },
		{ "_R1NvC1a1b", NULL }, /* a later version */
		{ "_RNvC1a2b", NULL },	/* beyond the end */
		{ "_RNvC1a99999999999999999999999999b", NULL },
		{ "_RNvC1as", NULL },
		{ "_RNvC1aszzzzzzzzzzzzzzzzzzz_1b", NULL },
		{ "_RNvB_1b", NULL },	    /* refers to itself */
		{ "_RNvB9_1b", NULL },	    /* refers ahead */
		{ "_RINvC1a1bB7_E", NULL }, /* itself, as a type */
		{ "_RINvC1a1bL0_E", NULL }, /* a lifetime nobody bound */
		{ "_RINvC1a1bRL5_aE", NULL },
		{ "_RINvC1a1bFGzzzz_EuE", NULL }, /* binds a million lifetimes */
		{ "_RINvC1a1bKh1g_E", NULL },
		{ "_RINvC1a1bKf1_E", NULL },
		{ "_RINvC1a1bKb2_E", NULL },
		{ "_RINvC1a1bKcd800_E", NULL },
		{ "_RINvC1a1bKc110000_E", NULL },
		{ "_RINvC1a1bKhn5_E", NULL },
		{ "_RINvC1a1bDNtC1c1dE_", NULL },
		{ "_RINvC1a1b", NULL },
		{ "_RNvC1a1bx", NULL },
		{ "_R0", NULL },
		{ "_Rust", NULL },
	};
	(void)state;
	check_names(examples, sizeof examples / sizeof examples[0]);
}

/* Deep names, names whose back-references unfold to 2^n parts, shown and silent. */
static void test_bombs(void **state)
{
	static const char *const steps[] = { "P", "R", "S", "T", "W", "A", "I", "D", "F", "NvN",
		"FE", "Nv", "M", "X", "Y", "INv" };
	char name[4096];
	clock_t start = clock();
	(void)state;
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		size_t bytes = (size_t)snprintf(name, sizeof name, "_RINvC1a1b");
		while (bytes + strlen(steps[i]) < sizeof name)
			bytes +=
				(size_t)snprintf(name + bytes, sizeof name - bytes, "%s", steps[i]);
		assert_null(bp_demangle(name));
	}
	/* T(B B) E, each pair naming the tuple before it: 2^40 parts. */
	for (int silent = 0; silent < 2; silent++) {
		size_t bytes = (size_t)snprintf(
			name, sizeof name, "%s", silent ? "_RNvMINvC1a1b" : "_RINvC1a1b");
		size_t last = bytes - 2;
		bytes += (size_t)snprintf(name + bytes, sizeof name - bytes, "Taa");
		for (int i = 0; i < 40; i++) {
			static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHI"
						     "JKLMNOPQRSTUVWXYZ";
			size_t here = 0;
			char place[8];
			bytes += (size_t)snprintf(name + bytes, sizeof name - bytes, "E");
			here = bytes - 2;
			if (last - 1 < 62)
				snprintf(place, sizeof place, "B%c_", digits[last - 1]);
			else
				snprintf(place, sizeof place, "B%c%c_", digits[(last - 1) / 62],
					digits[(last - 1) % 62]);
			bytes += (size_t)snprintf(
				name + bytes, sizeof name - bytes, "T%s%s", place, place);
			last = here;
		}
		snprintf(name + bytes, sizeof name - bytes, "EE%s", silent ? "a1c" : "");
		assert_null(bp_demangle(name));
	}
	assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 2);
}

/* Every prefix of real names, and every change of one byte to some: an answer or none. The copies
 * have no byte to spare, so that a sanitizer sees a read beyond them. */
static void test_cut_and_changed(void **state)
{
	static const char name[] =
		"_RNCNvXs_NtCs1JQOru_4core4iterINtB4_7ExampleDNtB2_5TraitG_p4ItemRL0_aEL_"
		"FUK8C_unwindTabEEuKln5_E3foo0Cs_1x";
	static const char letters[] = "_09azAZBCDEGIKLMNRSTXY\x80";
	(void)state;
	for (size_t bytes = 0; bytes < sizeof name; bytes++) {
		char *copy = strndup(name, bytes);
		assert_non_null(copy);
		free(bp_demangle(copy));
		free(copy);
	}
	for (size_t at = 2; at < sizeof name - 1; at++)
		for (size_t i = 0; i < sizeof letters - 1; i++) {
			char *copy = strdup(name);
			assert_non_null(copy);
			copy[at] = letters[i];
			free(bp_demangle(copy));
			free(copy);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_names),
		cmocka_unit_test(test_grammar),
		cmocka_unit_test(test_punycode),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_cut_and_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
