/* SPDX-License-Identifier: MIT */
/*
 * Names from symbol tables to names for people.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "name_examples.h"
#include "symbols/demangle/demangle.h"

static void test_plain_names_stay(void **state)
{
	static const struct name_example examples[] = {
		{ "main", NULL },
		{ "", NULL },
		{ "_Z", NULL },
		{ "_Znonsense", NULL },
		{ "operator()", NULL },
		{ "_ZN", NULL },
		{ "a.b", NULL },
		{ "cold", NULL },
		{ ".cold", NULL },
		{ "x.0", NULL },
		{ "_Rust", NULL },
	};
	(void)state;
	check_names(examples, sizeof examples / sizeof examples[0]);
}

static void test_clones(void **state)
{
	static const struct name_example examples[] = {
		{ "parse.cold", "parse" },
		{ "parse.part.0", "parse" },
		{ "parse.constprop.12", "parse" },
		{ "parse.isra.0.cold", "parse" },
		{ "parse.lto_priv.3", "parse" },
		{ "parse.llvm.1234567890", "parse" },
		{ "parse.other.0", NULL },
		{ "_ZN4shop4openEi.part.0.cold", "shop::open(int)" },
		{ "_Znonsense.cold", "_Znonsense" },
	};
	(void)state;
	check_names(examples, sizeof examples / sizeof examples[0]);
}

static void test_cxx(void **state)
{
	static const struct name_example examples[] = {
		{ "_ZN4shop4openEi", "shop::open(int)" },
		{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
			"std::vector<int, std::allocator<int> >::push_back(int&&)" },
		{ "_ZN3fooC4Ev", "foo::foo()" },
		{ "_Znwm", "operator new(unsigned long)" },
	};
	(void)state;
	check_names(examples, sizeof examples / sizeof examples[0]);
}

/* Expected texts as rustc's own demangler gives them without the hash. */
static void test_rust_legacy(void **state)
{
	static const struct name_example examples[] = {
		{ "_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE",
			"core::fmt::Write::write_fmt" },
		{ "_ZN3std2rt10lang_start28_$u7b$$u7b$closure$u7d$$u7d$17h0123456789abcdefE",
			"std::rt::lang_start::{{closure}}" },
		{ "_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar"
		  "17h930b740aa94f1d3aE",
			"<Test + 'static as foo::Bar<Test>>::bar" },
		{ "_ZN6a$RF$BP3baz17h0123456789abcdefE", NULL },
		{ "_ZN15_$RF$mut$C$$BP$3baz17h0123456789abcdefE", "&mut,*::baz" },
		{ "_ZN3foo3bar17h0123456789abcdefE.llvm.123456", "foo::bar" },
		{ "_ZN3foo17h0123456789abcdefE", "foo" },
	};
	(void)state;
	assert_true(bp_is_rust_legacy_name("_ZN3foo3bar17h0123456789abcdefE"));
	assert_false(bp_is_rust_legacy_name("_ZN3foo3bar17h0123456789abcdeXE"));
	assert_false(bp_is_rust_legacy_name("_ZN3foo3bar17h0123456789ABCDEFE"));
	assert_false(bp_is_rust_legacy_name("_ZN3foo3bar17h0123456789abcdef"));
	assert_false(bp_is_rust_legacy_name("_ZN3foo3barEi"));
	assert_false(bp_is_rust_legacy_name("_ZN17h0123456789abcdefE"));
	check_names(examples, sizeof examples / sizeof examples[0]);
}

/* A part that claims more bytes than there are, a number beyond all sizes, an escape without an
 * end, a code that is no character. */
static void test_damaged_rust(void **state)
{
	static const struct name_example examples[] = {
		{ "_ZN99foo17h0123456789abcdefE", NULL },
		{ "_ZN99999999999999999999999999foo17h0123456789abcdefE", NULL },
		{ "_ZN5a$LT$17h0123456789abcdefE", "a<" },
		{ "_ZN4a$LT17h0123456789abcdefE", "a$LT" },
		{ "_ZN4$u0$17h0123456789abcdefE", "$u0$" },
		{ "_ZN9$uffffff$17h0123456789abcdefE", "$uffffff$" },
		{ "_ZN6$ud8f$17h0123456789abcdefE", "\xe0\xb6\x8f" },
		{ "_ZN7$ud800$17h0123456789abcdefE", "$ud800$" },
	};
	(void)state;
	check_names(examples, sizeof examples / sizeof examples[0]);
}

/* A megabyte of name is neither demangled nor copied. */
static void test_huge_names(void **state)
{
	static const char *const heads[] = { "_ZN", "_ZN4core", "_Z1f", "plain" };
	size_t bytes = 1u << 20;
	char *name = malloc(bytes + 1);
	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
		memset(name, 'P', bytes);
		memcpy(name, heads[i], strlen(heads[i]));
		memcpy(name + bytes - 5, ".cold", 5);
		name[bytes] = '\0';
		assert_null(bp_demangle(name));
		assert_false(bp_is_rust_legacy_name(name));
	}
	free(name);
}

/* Names just below the bound that nest as deep as their length allows: an answer or none, but no
 * crash. */
static void test_deep_names(void **state)
{
	static const char *const letters[] = { "P", "K", "N", "I", "S", "F", "1", "T_", "S_",
		"XL" };
	char name[4097];
	(void)state;
	for (size_t i = 0; i < sizeof letters / sizeof letters[0]; i++) {
		size_t bytes = 4, step = strlen(letters[i]);
		strcpy(name, "_Z1f");
		while (bytes + step < sizeof name - 1) {
			memcpy(name + bytes, letters[i], step);
			bytes += step;
		}
		name[bytes] = '\0';
		free(bp_demangle(name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_names_stay),
		cmocka_unit_test(test_clones),
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_rust_legacy),
		cmocka_unit_test(test_damaged_rust),
		cmocka_unit_test(test_huge_names),
		cmocka_unit_test(test_deep_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
