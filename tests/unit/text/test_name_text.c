/* SPDX-License-Identifier: MIT */
/* Names of functions made short: what is left of them is the function. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/escape.h"
#include "text/name_text.h"

struct expected {
	const char *name;
	unsigned columns;
	const char *shown;
};

static void assert_shown(const struct expected *cases, size_t count)
{
	char buffer[4096];
	setlocale(LC_CTYPE, "C.UTF-8");
	for (size_t i = 0; i < count; i++) {
		unsigned width = bp_terminal_name(
			cases[i].name, true, cases[i].columns, buffer, sizeof buffer);
		if (strcmp(buffer, cases[i].shown) != 0)
			print_message("# %s in %u\n", cases[i].name, cases[i].columns);
		assert_string_equal(buffer, cases[i].shown);
		assert_int_equal(width, bp_terminal_columns(buffer, true));
		assert_true(width <= cases[i].columns);
	}
}

#define SHOWN(...)                                                      \
	do {                                                            \
		static const struct expected cases[] = { __VA_ARGS__ }; \
		assert_shown(cases, sizeof cases / sizeof *cases);      \
	} while (0)

#define GROW                                                                                     \
	"void std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>(__gnu_cxx::" \
	"__normal_iterator<int*, std::vector<int, std::allocator<int> > >, int const&)"
#define TREE                                                                                     \
	"std::_Rb_tree_node<std::pair<int const, std::string> >* std::_Rb_tree<int, "            \
	"std::pair<int "                                                                         \
	"const, std::string>, std::_Select1st<std::pair<int const, std::string> >, "             \
	"std::less<int>, "                                                                       \
	"std::allocator<std::pair<int const, std::string> > >::_M_create_node<std::piecewise_"   \
	"construct_t const&, std::tuple<int const&>, std::tuple<> >(std::piecewise_construct_t " \
	"const&, std::tuple<int const&>&&, std::tuple<>&&)"

static void steps_follow_one_another(void **state)
{
	(void)state;
	SHOWN({ GROW, 400, GROW },
		{ GROW, 150,
			"void std::vector<int, std::allocator<int> >::_M_realloc_insert<int "
			"const&>(__gnu_cxx::__normal_iterator<…>, int const&)" },
		{ GROW, 80,
			"void std::vector<int, std::allocator<int> >::_M_realloc_insert<int "
			"const&>(…)" },
		{ GROW, 60, "void std::vector<…>::_M_realloc_insert<…>(…)" },
		{ GROW, 44, "void std::vector<…>::_M_realloc_insert<…>(…)" },
		{ GROW, 43, "… std::vector<…>::_M_realloc_insert<…>(…)" },
		{ GROW, 40, "…::vector<…>::_M_realloc_insert<…>(…)" },
		{ GROW, 28, "…::_M_realloc_insert<…>(…)" }, { GROW, 25, "…::_M_realloc_insert" },
		{ GROW, 18, "_M_realloc_insert" }, { GROW, 12, "_M_rea…nsert" });
	SHOWN({ TREE, 80, "std::_Rb_tree_node<…>* std::_Rb_tree<…>::_M_create_node<…>(…)" },
		{ TREE, 48, "… std::_Rb_tree<…>::_M_create_node<…>(…)" },
		{ TREE, 28, "…::_M_create_node<…>(…)" }, { TREE, 20, "…::_M_create_node" });
}

static void operators_are_no_brackets(void **state)
{
	(void)state;
	SHOWN({ "bool ns::operator< <int, std::less<int> >(ns::pair<int> const&, int)", 34,
		      "bool ns::operator< <…>(…)" },
		{ "bool ns::operator< <int, std::less<int> >(ns::pair<int> const&, int)", 18,
			"…::operator<" },
		{ "bool ns::operator<(ns::pair<int> const&, ns::pair<int> const&)", 30,
			"bool ns::operator<(…)" },
		{ "ns::Vector::operator+=(ns::Vector const&)", 26, "ns::Vector::operator+=(…)" },
		{ "std::operator+<char, std::char_traits<char> >(char const*)", 32,
			"std::operator+<…>(…)" },
		{ "ns::Deep::operator<=>(ns::Deep const&) const", 30,
			"ns::Deep::operator<=>(…) const" },
		{ "std::ostream& std::operator<< <std::char_traits<char> >(std::ostream&, char)",
			26, "… std::operator<< <…>(…)" },
		{ "ns::Functor<int, long>::operator()(int, long) const", 36,
			"ns::Functor<…>::operator()(…) const" },
		{ "ns::Functor<int, long>::operator()(int, long) const", 16, "…::operator()" },
		{ "std::unique_ptr<ns::Widget, ns::Freer>::operator->() const", 38,
			"std::unique_ptr<…>::operator->() const" },
		{ "std::unique_ptr<ns::Widget, ns::Freer>::operator->() const", 18,
			"…::operator->" },
		{ "ns::Iterator<int, long>::operator->*(int ns::Widget::*) const", 26,
			"…::operator->*(…) const" },
		{ "std::map<int, std::string>::operator[](int const&)", 26,
			"std::map<…>::operator[](…)" },
		{ "ns::Path<char, long>::operator std::basic_string<char>() const", 40,
			"…::operator std::basic_string<…>() const" },
		{ "ns::Path<char, long>::operator std::basic_string<char>() const", 30,
			"…::operator std::basic_string" },
		{ "ns::Path<char, wchar_t>::operator bool() const", 29,
			"…::operator bool() const" },
		{ "operator new(unsigned long, std::align_val_t)", 20, "operator new(…)" },
		{ "operator new[](unsigned long)", 18, "operator new[](…)" },
		{ "ns::operator\"\"_km(unsigned long long, int)", 24, "ns::operator\"\"_km(…)" });
}

static void closures_keep_what_they_are_in(void **state)
{
	(void)state;
	SHOWN({ "ns::Cache::fill(int, long)::{lambda(int)#1}::operator()(int) const", 64,
		      "ns::Cache::fill(…)::{lambda(int)#1}::operator()(int) const" },
		{ "ns::Cache::fill(int, long)::{lambda(int)#1}::operator()(int) const", 30,
			"…::fill(…)::{lambda(int)#1}" },
		{ "main::{lambda(int, ns::Widget const&)#2}::operator()(int, ns::Widget const&) "
		  "const",
			26, "main::{lambda(…)#2}" },
		{ "<alloc::vec::Vec<T> as core::iter::FromIterator<T>>::from_iter", 16,
			"…::from_iter" },
		{ "<alloc::vec::Vec<u8, Global> as core::iter::FromIterator<T>>::from_iter", 68,
			"<alloc::vec::Vec<…> as core::iter::FromIterator<T>>::from_iter" },
		{ "<server::Pool as core::ops::drop::Drop>::drop", 40, "…::drop" },
		{ "server::accept::run::{{closure}}", 26, "…::run::{{closure}}" },
		{ "server::accept::run::{closure#0}::{closure#1}", 40,
			"…::accept::run::{closure#0}::{closure#1}" },
		{ "server::accept::run::{closure#0}::{closure#1}", 32,
			"…::run::{closure#0}::{closure#1}" },
		{ "server::pool::grow::h0123456789abcdef", 28, "…::grow::h0123456789abcdef" },
		{ "core::ops::function::FnOnce<fn() -> i32, extra>::call_once", 34,
			"…::function::FnOnce<…>::call_once" });
}

static void brackets_that_are_names_stay(void **state)
{
	(void)state;
	/* What stands in brackets in names of Python is no argument of a template. */
	SHOWN({ "frames.make_orders.<locals>.<listcomp>", 38,
		      "frames.make_orders.<locals>.<listcomp>" },
		{ "frames.make_orders.<locals>.<listcomp>", 34,
			"frames.make_order…cals>.<listcomp>" });
	/* Nor are closures and iterators of .NET; methods of one class must not read alike. */
	SHOWN({ "Shop.OrderJson+<>c.<Create_Line>b__7_0", 33, "Shop.OrderJson+<…eate_Line>b__7_0" },
		{ "Shop.OrderJson+<>c.<Create_Order>b__13_0", 33,
			"Shop.OrderJson+<…te_Order>b__13_0" },
		{ "Shop.Cart.System.Collections.Generic.IEnumerable<Item>.GetEnumerator", 33,
			"Shop.Cart.System……>.GetEnumerator" });
	SHOWN({ "(anonymous namespace)::Parser::parse(char const*, unsigned long)", 48,
		      "(anonymous namespace)::Parser::parse(…)" },
		{ "void (anonymous namespace)::parse<int, long>(char const*)", 60,
			"void (anonymous namespace)::parse<int, long>(char const*)" },
		{ "void (anonymous namespace)::parse<int, long>(char const*)", 42,
			"void (anonymous namespace)::parse<…>(…)" },
		{ "void (anonymous namespace)::parse<int, long>(char const*)", 20,
			"…::parse<…>(…)" },
		{ "ns::deep::Text::str[abi:cxx11](int, long) const", 34,
			"…::Text::str[abi:cxx11](…) const" },
		{ "ns::deep::Text::str[abi:cxx11](int, long) const", 22, "…::str[abi:cxx11]" },
		{ "ns::Ring<(unsigned char)3, (8 > 3), (2 < 9)>::push(int, long)", 24,
			"ns::Ring<…>::push(…)" },
		{ "ns::work(int, long) [clone .constprop.0]", 32,
			"ns::work(…) [clone .constprop.0]" },
		{ "ns::work(int, long) [clone .constprop.0]", 14, "…::work" });
}

/* Nothing to go by: as any text. */
static void other_names_are_cut_in_the_middle(void **state)
{
	(void)state;
	SHOWN({ "sqlite3VdbeSorterWriteLongName", 20, "sqlite3Vdb…eLongName" },
		{ "libsqlite3.so.0+0xb786c", 14, "libsqli…xb786c" },
		{ "/usr/include/a<b>/c::d(e)/file.h", 20, "/usr/inclu…e)/file.h" },
		{ "a::b<c<d::e(f", 10, "a::b<…:e(f" },
		{ "stray)name::of<some>", 12, "stray)…some>" });
}

static uint64_t random_state = 20240531;

static unsigned random_below(unsigned limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % limit;
}

/* Pieces in any order, cut off anywhere: what comes out fits, is harmless, and is marked where it
 * is less. */
static void hostile_names_do_no_harm(void **state)
{
	static const char *const pieces[] = { "<", ">", "(", ")", "[", "]", "{", "}", "::", " ",
		"operator", "->", "a", "Ab", "const", "\xc3\xa9", "\xe2\x82", "\033[2J", "…", "&",
		",", "operator<", "operator()", "{lambda(int)#1}", "h0123456789abcdef", "/" };
	char name[512], buffer[4096];
	(void)state;
	setlocale(LC_CTYPE, "C.UTF-8");
	for (unsigned round = 0; round < 20000; round++) {
		const unsigned count = random_below(40), columns = 3 + random_below(60);
		const bool utf8 = random_below(2) == 0;
		size_t used = 0;
		for (unsigned i = 0; i < count; i++)
			used += (size_t)snprintf(name + used, sizeof name - used, "%s",
				pieces[random_below(sizeof pieces / sizeof *pieces)]);
		name[used] = '\0';
		const unsigned width = bp_terminal_name(name, utf8, columns, buffer, sizeof buffer);
		assert_true(width <= columns);
		assert_int_equal(width, bp_terminal_columns(buffer, true));
		assert_null(strchr(buffer, '\033'));
		if (bp_terminal_columns(name, utf8) <= columns)
			assert_null(utf8 && strstr(name, "…") == NULL ? strstr(buffer, "…") : NULL);
	}
}

static void put_type(char *to, size_t bytes, unsigned depth)
{
	static const char *const words[] = { "int", "ns::Widget", "std::string const&", "long*" };
	char inner[2][200];
	if (depth == 0 || random_below(3) == 0) {
		snprintf(to, bytes, "%s", words[random_below(4)]);
		return;
	}
	put_type(inner[0], sizeof inner[0], depth - 1);
	put_type(inner[1], sizeof inner[1], depth - 1);
	snprintf(to, bytes, "std::map<%.190s, %.190s >", inner[0], inner[1]);
}

/* Whatever is around it, the last part of the name is there if it fits by itself. */
static void the_last_part_stays(void **state)
{
	static const char *const lasts[] = { "_M_realloc_insert", "find", "operator<", "operator()",
		"operator[]", "push_back", "~Widget" };
	char name[2048], types[4][400], buffer[4096];
	(void)state;
	for (unsigned round = 0; round < 5000; round++) {
		const char *last = lasts[random_below(sizeof lasts / sizeof *lasts)];
		const unsigned columns = 18 + random_below(100);
		for (unsigned i = 0; i < 4; i++)
			put_type(types[i], sizeof types[i], random_below(3));
		const bool returns = random_below(2) == 0;
		snprintf(name, sizeof name, "%s%sns::Outer<%s>::%s%s%s>(%s)%s",
			returns ? types[0] : "", returns ? " " : "", types[1], last,
			strcmp(last, "operator<") == 0 ? " <" : "<", types[2], types[3],
			random_below(2) ? " const" : "");
		bp_terminal_name(name, true, columns, buffer, sizeof buffer);
		if (strstr(buffer, last) == NULL)
			print_message("# %s in %u: %s\n", name, columns, buffer);
		assert_non_null(strstr(buffer, last));
	}
}

static void large_names_are_cut(void **state)
{
	const size_t bytes = 1 << 20;
	char *name = malloc(bytes + 1), buffer[4096];
	(void)state;
	for (unsigned shape = 0; shape < 3; shape++)
		for (size_t length = 60000; length <= bytes;
			length = length == 60000 ? bytes : bytes + 1) {
			for (size_t i = 0; i < length; i++)
				name[i] = shape == 0 ? '<' : "a::"[i % 3];
			if (shape == 2)
				memcpy(name, "f<g<h(", 6);
			name[length] = '\0';
			assert_true(bp_terminal_name(name, true, 40, buffer, sizeof buffer) <= 40);
			assert_non_null(strstr(buffer, "…"));
		}
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(steps_follow_one_another),
		cmocka_unit_test(operators_are_no_brackets),
		cmocka_unit_test(closures_keep_what_they_are_in),
		cmocka_unit_test(brackets_that_are_names_stay),
		cmocka_unit_test(other_names_are_cut_in_the_middle),
		cmocka_unit_test(hostile_names_do_no_harm), cmocka_unit_test(the_last_part_stays),
		cmocka_unit_test(large_names_are_cut) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
