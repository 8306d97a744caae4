/* SPDX-License-Identifier: MIT */
/*
 * The command line as data: what a table accepts, what it refuses and in which words, sizes and
 * numbers, near misses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/options/options.h"

static const struct bp_option table[] = {
	{ .summary = "A heading" },
	{ .name = "output", .letter = 'o', .argument = "FILE" },
	{ .name = "quiet", .letter = 'q' },
	{ .name = "filter", .argument = "GLOB", .repeatable = true },
	{ .name = "until", .also = "before", .argument = "TIME" },
	{ .name = "metric", .letter = 'm', .argument = "METRIC", .choices = "live|peak" },
	{ 0 },
};
static const struct bp_command command = { .name = "test", .options = table, .usage_status = 2 };
static const struct bp_command wrapper = {
	.name = "wrap", .options = table, .usage_status = 125, .stops_at_operand = true
};

struct parsed {
	struct bp_arguments arguments;
	struct bp_error error;
	bool good, help;
	char *words[16];
};

/* Parses the words up to NULL. */
static void parse(struct parsed *parsed, const struct bp_command *by, const char *const *words)
{
	int count = 1;
	memset(parsed, 0, sizeof *parsed);
	parsed->words[0] = (char *)(uintptr_t)by->name;
	for (; words[count - 1] != NULL; count++)
		parsed->words[count] = (char *)(uintptr_t)words[count - 1];
	parsed->good = bp_options_parse(
		by, count, parsed->words, &parsed->arguments, &parsed->help, &parsed->error);
}

#define WORDS(...) ((const char *const[]){ __VA_ARGS__, NULL })

static void accepts_every_form(void **state)
{
	const char *const *const forms[] = { WORDS("-o", "x", "a", "b"), WORDS("-ox", "a", "b"),
		WORDS("--output=x", "a", "b"), WORDS("a", "--output", "x", "b"),
		WORDS("a", "b", "-qo", "x"), WORDS("-o", "x", "-o", "x", "--", "a", "b") };
	struct parsed parsed;
	(void)state;
	for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
		parse(&parsed, &command, forms[i]);
		assert_true(parsed.good);
		assert_false(parsed.help);
		assert_string_equal(bp_option_value(&parsed.arguments, "output"), "x");
		assert_int_equal(bp_option_given(&parsed.arguments, "quiet"), i == 4);
		assert_null(bp_option_value(&parsed.arguments, "metric"));
		assert_string_equal(
			bp_option_value_or(&parsed.arguments, "metric", "live"), "live");
		assert_int_equal(parsed.arguments.operand_count, 2);
		assert_string_equal(parsed.arguments.operands[0], "a");
		assert_string_equal(parsed.arguments.operands[1], "b");
		assert_null(parsed.arguments.operands[2]);
		bp_options_finish(&parsed.arguments);
	}
}

static void keeps_repeated_options_in_order(void **state)
{
	struct parsed parsed;
	(void)state;
	parse(&parsed, &command, WORDS("--filter", "a", "-q", "--filter=b"));
	assert_true(parsed.good);
	assert_int_equal(parsed.arguments.given_count, 3);
	assert_string_equal(parsed.arguments.given[0].value, "a");
	assert_string_equal(parsed.arguments.given[1].option->name, "quiet");
	assert_null(parsed.arguments.given[1].value);
	assert_string_equal(parsed.arguments.given[2].value, "b");
	bp_options_finish(&parsed.arguments);
}

static void knows_where_an_option_stood(void **state)
{
	struct parsed parsed;
	(void)state;
	parse(&parsed, &command, WORDS("a", "--filter", "x", "b", "-q", "c", "--filter=y"));
	assert_true(parsed.good);
	assert_int_equal(parsed.arguments.operand_count, 3);
	assert_int_equal(parsed.arguments.given[0].operands_before, 1);
	assert_int_equal(parsed.arguments.given[1].operands_before, 2);
	assert_int_equal(parsed.arguments.given[2].operands_before, 3);
	bp_options_finish(&parsed.arguments);
	parse(&parsed, &command, WORDS("-q", "--", "a", "--filter"));
	assert_true(parsed.good);
	assert_int_equal(parsed.arguments.operand_count, 2);
	assert_int_equal(parsed.arguments.given[0].operands_before, 0);
	bp_options_finish(&parsed.arguments);
}

static void an_older_name_is_the_same_option(void **state)
{
	struct parsed parsed;
	(void)state;
	parse(&parsed, &command, WORDS("--before=3", "a"));
	assert_true(parsed.good);
	assert_string_equal(bp_option_value(&parsed.arguments, "until"), "3");
	assert_string_equal(parsed.arguments.given[0].option->name, "until");
	bp_options_finish(&parsed.arguments);
	parse(&parsed, &command, WORDS("--before", "3", "--until", "4")); /* which is meant? */
	assert_false(parsed.good);
	assert_string_equal(parsed.error.text, "--until 3 and --until 4: choose one");
	parse(&parsed, &command, WORDS("--befor3", "3"));
	assert_false(parsed.good);
	assert_non_null(strstr(parsed.error.text, "--before"));
}

/* Beside an option that takes away its effect an option is refused, in whatever order. */
static void refuses_what_changes_nothing(void **state)
{
	static const struct bp_option options[] = {
		{ .name = "si", .without_effect_in = "json|csv" },
		{ .name = "json" },
		{ .name = "csv" },
		{ .name = "cs" },
		{ 0 },
	};
	static const struct bp_command by = { .name = "test", .options = options };
	struct parsed parsed;
	(void)state;
	for (int i = 0; i < 4; i++) {
		static const char *const other[] = { "--json", "--csv", "--cs", "--si" };
		parse(&parsed, &by, i % 2 ? WORDS("--si", other[i]) : WORDS(other[i], "--si"));
		assert_true(parsed.good);
		assert_int_equal(bp_options_check(&parsed.arguments, &parsed.error), i >= 2);
		if (i < 2)
			assert_non_null(strstr(parsed.error.text, other[i]));
		bp_options_finish(&parsed.arguments);
	}
}

static void stops_at_the_program(void **state)
{
	struct parsed parsed;
	(void)state;
	parse(&parsed, &wrapper, WORDS("-q", "ls", "-o", "--help", "--nonsense"));
	assert_true(parsed.good);
	assert_false(parsed.help);
	assert_null(bp_option_value(&parsed.arguments, "output"));
	assert_int_equal(parsed.arguments.operand_count, 4);
	assert_string_equal(parsed.arguments.operands[3], "--nonsense");
	bp_options_finish(&parsed.arguments);
}

static void help_is_always_an_option(void **state)
{
	struct parsed parsed;
	(void)state;
	parse(&parsed, &command, WORDS("-h"));
	assert_true(parsed.good && parsed.help);
	bp_options_finish(&parsed.arguments);
	parse(&parsed, &wrapper, WORDS("--help"));
	assert_true(parsed.good && parsed.help);
	bp_options_finish(&parsed.arguments);
}

static void refuses_with_one_clear_line(void **state)
{
	static const struct {
		const char *const words[3];
		const char *text;
	} wrong[] = {
		{ { "--ouptut", "x" }, "test has no option --ouptut: did you mean --output?" },
		{ { "--ouptut=x" }, "test has no option --ouptut: did you mean --output?" },
		{ { "a", "--bananas" }, "test has no option --bananas" },
		{ { "-z" }, "test has no option -z" },
		{ { "-qz" }, "test has no option -z" },
		{ { "--output" }, "--output needs an argument: --output FILE" },
		{ { "-o" }, "--output needs an argument: --output FILE" },
		{ { "--quiet=1" }, "--quiet takes no argument" },
		{ { "--help=1" }, "--help takes no argument" },
		{ { "-m", "pig" }, "--metric pig: must be one of live|peak" },
		{ { "--metric=liv" }, "--metric liv: must be one of live|peak" },
		{ { "--metric=" }, "--metric : must be one of live|peak" },
	};
	struct parsed parsed;
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		parse(&parsed, &command, wrong[i].words);
		assert_false(parsed.good);
		assert_string_equal(parsed.error.text, wrong[i].text);
	}
}

static void survives_too_many_options(void **state)
{
	char *words[400];
	struct bp_arguments arguments;
	struct bp_error error = { 0 };
	bool help;
	(void)state;
	for (size_t i = 0; i < 399; i++)
		words[i] = (char *)(uintptr_t) "-q";
	words[399] = NULL;
	assert_false(bp_options_parse(&command, 399, words, &arguments, &help, &error));
	assert_string_equal(error.text, "more than 256 options given");
}

static void reads_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} right[] = { { "0", 0 }, { "1", 1 }, { "4096", 4096 }, { "512K", 524288 },
		{ "512k", 524288 }, { "2M", 2097152 }, { "2MiB", 2097152 }, { "1G", 1073741824 },
		{ "1.5M", 1572864 }, { "1T", 1099511627776 }, { "7B", 7 }, { "2GB", 2000000000 },
		{ "64kb", 64000 }, { "1KB", 1000 }, { "64kib", 65536 }, { ".5M", 524288 },
		{ "1.5kB", 1500 } };
	static const char *const wrong[] = { "", "K", "-1", "+1", " 1", "1 K", "12Q", "1KBi", ".",
		".K", "0x10", "1e400", "9999999T", "0.3", "nan", "inf", "1K ", "1Kiblet" };
	struct bp_error error;
	uint64_t bytes;
	(void)state;
	for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
		assert_true(bp_parse_size(right[i].text, &bytes, &error));
		assert_int_equal(bytes, right[i].bytes);
	}
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		error.text[0] = '\0';
		bytes = 77;
		assert_false(bp_parse_size(wrong[i], &bytes, &error));
		assert_int_equal(bytes, 77);
		assert_true(error.text[0] != '\0');
	}
}

static void reads_numbers(void **state)
{
	static const char *const wrong[] = { "", "-1", "1x", "0x", "0xg", "0x:", "0x;;",
		"1:", "18446744073709551616", "0x10000000000000000", "a" };
	struct bp_error error;
	uint64_t number;
	(void)state;
	assert_true(bp_parse_number("0", &number, &error) && number == 0);
	assert_true(bp_parse_number("18446744073709551615", &number, &error));
	assert_true(number == UINT64_MAX);
	assert_true(bp_parse_number("0xfF", &number, &error) && number == 255);
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		assert_false(bp_parse_number(wrong[i], &number, &error));
}

static void finds_near_misses(void **state)
{
	static const char *const names[] = { "run", "report", "doctor", "help", "interval", NULL };
	(void)state;
	assert_string_equal(bp_near_miss("reprot", names), "report");
	assert_string_equal(bp_near_miss("Report", names), "report");
	assert_string_equal(bp_near_miss("rn", names), "run");
	assert_string_equal(bp_near_miss("int", names), "interval");
	assert_string_equal(bp_near_miss("doctr", names), "doctor");
	assert_null(bp_near_miss("", names));
	assert_null(bp_near_miss("zebra", names));
	assert_null(bp_near_miss("x", names));
	assert_null(bp_near_miss(
		"a word that is far longer than anything that could be a name here", names));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepts_every_form),
		cmocka_unit_test(keeps_repeated_options_in_order),
		cmocka_unit_test(knows_where_an_option_stood),
		cmocka_unit_test(an_older_name_is_the_same_option),
		cmocka_unit_test(refuses_what_changes_nothing),
		cmocka_unit_test(stops_at_the_program),
		cmocka_unit_test(help_is_always_an_option),
		cmocka_unit_test(refuses_with_one_clear_line),
		cmocka_unit_test(survives_too_many_options),
		cmocka_unit_test(reads_sizes),
		cmocka_unit_test(reads_numbers),
		cmocka_unit_test(finds_near_misses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
