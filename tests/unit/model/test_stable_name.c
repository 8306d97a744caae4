/* SPDX-License-Identifier: MIT */
/* What of a name is left to match by: every suffix that compilers add, and what must stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "base/attributes.h"
#include "model/names/stable_name.h"

struct example {
	const char *name, *stable;
};

static void functions(void **state)
{
	static const struct example examples[] = {
		{ "parse", "parse" },
		{ "", "" },
		/* Copies and pieces. */
		{ "parse.constprop.0", "parse" },
		{ "parse.isra.12", "parse" },
		{ "parse.part.0", "parse" },
		{ "parse.part.0.constprop.1.isra.2", "parse" },
		{ "parse.cold", "parse" },
		{ "parse.part.0.cold", "parse" },
		{ "parse.cold.17", "parse" },
		{ "parse.unlikely", "parse" },
		{ "parse.llvm.1234567890123456789", "parse" },
		{ "parse.__uniq.98765.llvm.4321", "parse" },
		{ "parse.lto_priv.3", "parse" },
		{ "parse.lto_priv.3.constprop.0.cold", "parse" },
		{ "parse.localalias", "parse" },
		{ "parse(int) [clone .constprop.0]", "parse(int)" },
		{ "parse(int) [clone .isra.0] [clone .cold]", "parse(int)" },
		{ "a::b<c>::parse(int const*) const [clone .part.3]",
			"a::b<c>::parse(int const*) const" },
		/* What only looks like it. */
		{ ".cold", ".cold" },
		{ "parse.7", "parse.7" },
		{ "parse_cold", "parse_cold" },
		{ "parse.colder", "parse.colder" },
		{ "parse._omp_fn.0", "parse._omp_fn.0" },
		{ "operator new[]", "operator new[]" },
		{ "f(int (&) [12345678])", "f(int (&) [12345678])" },
		{ "f[abi:cxx11](int)", "f[abi:cxx11](int)" },
		{ "main::{lambda(int)#2}::operator()(int) const",
			"main::{lambda(int)#2}::operator()(int) const" },
		/* Rust. */
		{ "core::fmt::write::h0123456789abcdef", "core::fmt::write" },
		{ "core::fmt::write::h0123456789abcdeg", "core::fmt::write::h0123456789abcdeg" },
		{ "core::fmt::write::h0123", "core::fmt::write::h0123" },
		{ "::h0123456789abcdef", "::h0123456789abcdef" },
		{ "a::b::h0123456789abcdef.llvm.77", "a::b" },
		{ "core[846817f741e54dfd]::slice::sort", "core::slice::sort" },
		{ "_RNvCs1234_7mycrate3foo", "_RNvC7mycrate3foo" },
		{ "_RNvNtCsaBc9_4core3fmt5write", "_RNvNtC4core3fmt5write" },
		/* Versions of symbols. */
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		{ "memcpy@GLIBC_2.2.5", "memcpy" },
		{ "malloc@plt", "malloc@plt" },
		{ "in@", "in@" },
	};
	char buffer[BP_STABLE_NAME_BYTES];
	(void)state;
	for (size_t i = 0; i < BP_COUNT(examples); i++) {
		bp_stable_function_name(examples[i].name, buffer, sizeof buffer);
		assert_string_equal(buffer, examples[i].stable);
		/* Once is enough. */
		bp_stable_function_name(examples[i].stable, buffer, sizeof buffer);
		assert_string_equal(buffer, examples[i].stable);
	}
}

static void modules(void **state)
{
	static const struct example examples[] = {
		{ "/usr/lib/x86_64-linux-gnu/libc.so.6", "libc.so" },
		{ "/lib/libc-2.31.so", "libc.so" },
		{ "/opt/old/libfoo.so.1.2.3", "libfoo.so" },
		{ "libfoo.so", "libfoo.so" },
		{ "/x/libfoo-bar.so.2", "libfoo-bar.so" },
		{ "/usr/bin/python3.11", "python3.11" },
		{ "/usr/bin/tool-2", "tool-2" },
		{ "/tmp/build/app (deleted)", "app" },
		{ "/tmp/libx.so.9 (deleted)", "libx.so" },
		{ "-1.so", "-1.so" },
		{ "1.so", "1.so" },
		{ ".so.1", ".so.1" },
		{ "/a/", "/a/" },
		{ "[vdso]", "[vdso]" },
		{ "", "" },
	};
	char buffer[256];
	(void)state;
	for (size_t i = 0; i < BP_COUNT(examples); i++) {
		bp_stable_module_name(examples[i].name, buffer, sizeof buffer);
		assert_string_equal(buffer, examples[i].stable);
	}
}

static void nameless(void **state)
{
	char buffer[64];
	(void)state;
	bp_stable_nameless("libfoo.so", buffer, sizeof buffer);
	assert_string_equal(buffer, "libfoo.so (no name)");
	bp_stable_nameless("", buffer, sizeof buffer);
	assert_string_equal(buffer, "(no name)");
}

static void fits_its_buffer(void **state)
{
	char buffer[8];
	(void)state;
	memset(buffer, 'x', sizeof buffer);
	bp_stable_function_name("parse_everything.cold", buffer, 5);
	assert_string_equal(buffer, "pars");
	assert_int_equal(buffer[5], 'x');
	bp_stable_function_name("p", buffer, 1);
	assert_string_equal(buffer, "");
	bp_stable_module_name("/usr/lib/libfoo.so.1", buffer, sizeof buffer);
	assert_string_equal(buffer, "libfoo.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(modules),
		cmocka_unit_test(nameless),
		cmocka_unit_test(fits_its_buffer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
