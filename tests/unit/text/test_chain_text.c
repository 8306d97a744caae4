/* SPDX-License-Identifier: MIT */
/* Chains of functions on one line: what goes first where there is little room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "text/chain_text.h"
#include "text/quantity.h"

static const char *const chain[] = { "_start", "main", "run", "serve", "parse_order" };

static void expect(uint32_t count, bool utf8, unsigned columns, const char *expected)
{
	char text[256];
	const unsigned used = bp_chain_text(chain, count,
		(struct bp_chain_style){ .callers = false, .utf8 = utf8 }, columns, text,
		sizeof text);
	assert_string_equal(text, expected);
	assert_int_equal(used, bp_text_columns(text));
	assert_true(used <= columns);
}

static void the_last_stays_longest(void **state)
{
	(void)state;
	expect(1, true, 80, "_start");
	expect(5, true, 80, "_start › main › run › serve › parse_order");
	assert_int_equal(bp_chain_columns(chain, 5, true), 41);
	expect(5, true, 41, "_start › main › run › serve › parse_order");
	expect(5, true, 40, "_start › … › serve › parse_order (5)");
	expect(5, true, 35, "_start › … › parse_order (5)");
	expect(5, true, 27, "… › serve › parse_order (5)");
	expect(5, true, 26, "… › parse_order (5)");
	expect(2, true, 12, "… › main (2)");
	expect(5, false, 40, "_start > ... > serve > parse_order (5)");
}

static void names_are_cut_where_there_is_no_room(void **state)
{
	(void)state;
	for (unsigned columns = 8; columns < 120; columns++) {
		char text[256];
		const unsigned used = bp_chain_text(chain, 5,
			(struct bp_chain_style){ .callers = columns % 2 == 0, .utf8 = true },
			columns / 2, text, sizeof text);
		assert_int_equal(used, bp_text_columns(text));
		assert_true(columns < 16 || used <= columns / 2);
		assert_true(columns / 2 >= 41 || strstr(text, " (5)") != NULL);
	}
}

/* The other way round: what is called stays, and its nearest callers. */
static void callers_stay_near(void **state)
{
	static const char *const callers[] = { "parse_order", "serve", "run", "main", "_start" };
	char text[256];
	(void)state;
	bp_chain_text(callers, 5, (struct bp_chain_style){ .callers = true, .utf8 = true }, 41,
		text, sizeof text);
	assert_string_equal(text, "parse_order ‹ serve ‹ run ‹ main ‹ _start");
	bp_chain_text(callers, 5, (struct bp_chain_style){ .callers = true, .utf8 = true }, 40,
		text, sizeof text);
	assert_string_equal(text, "parse_order ‹ serve ‹ … ‹ _start (5)");
	bp_chain_text(callers, 5, (struct bp_chain_style){ .callers = true, .utf8 = true }, 26,
		text, sizeof text);
	assert_string_equal(text, "parse_order ‹ … (5)");
}

static void what_steers_terminals_is_made_visible(void **state)
{
	static const char *const hostile[] = { "a\033[2J", "b\n" };
	char text[256];
	(void)state;
	bp_chain_text(hostile, 2, (struct bp_chain_style){ .callers = false, .utf8 = true }, 80,
		text, sizeof text);
	assert_null(strpbrk(text, "\033\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_stays_longest),
		cmocka_unit_test(callers_stay_near),
		cmocka_unit_test(names_are_cut_where_there_is_no_room),
		cmocka_unit_test(what_steers_terminals_is_made_visible),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
