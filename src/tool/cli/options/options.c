/* SPDX-License-Identifier: MIT */
/*
 * Parsing by table. The table of a command is turned into what getopt_long wants: the long options
 * get the values VALUE_FIRST + index, so that one number names the entry, whichever form was typed;
 * short letters are looked up. getopt's own messages are off: it prints the program's path and
 * knows no near misses.
 */
#include "cli/options/options.h"

#include <assert.h>
#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/attributes.h"
#include "cli/say.h"

#define VALUE_FIRST 1000 /* above every letter */
#define VALUE_HELP 999
#define OPTIONS_MAX 64	   /* entries of one table */
#define GIVEN_MAX 256	   /* options on one command line */
#define NAME_MAX_LENGTH 40 /* longest word that near misses are looked for */

static int table_size(const struct bp_option *options)
{
	int count = 0;
	while (options != NULL && (options[count].name != NULL || options[count].summary != NULL))
		count++;
	assert(count <= OPTIONS_MAX);
	return count;
}

/* Fills the two forms getopt_long wants. */
static void getopt_tables(
	const struct bp_command *command, struct option *ret_long, char *ret_short)
{
	int long_count = 0, at = 0;
	if (command->stops_at_operand)
		ret_short[at++] = '+';
	ret_short[at++] = ':';
	ret_short[at++] = 'h';
	for (int i = 0; i < table_size(command->options); i++) {
		const struct bp_option *option = &command->options[i];
		int has = option->argument != NULL ? required_argument : no_argument;
		if (option->name == NULL)
			continue;
		ret_long[long_count++] =
			(struct option){ option->name, has, NULL, VALUE_FIRST + i };
		if (option->also != NULL)
			ret_long[long_count++] =
				(struct option){ option->also, has, NULL, VALUE_FIRST + i };
		if (option->letter == 0)
			continue;
		ret_short[at++] = option->letter;
		if (has)
			ret_short[at++] = ':';
	}
	ret_long[long_count++] = (struct option){ "help", no_argument, NULL, VALUE_HELP };
	ret_long[long_count] = (struct option){ 0 };
	ret_short[at] = '\0';
}

static const struct bp_option *entry_of(const struct bp_command *command, int value)
{
	for (int i = 0; i < table_size(command->options); i++) {
		const struct bp_option *option = &command->options[i];
		if (option->name != NULL && (value == VALUE_FIRST + i || value == option->letter))
			return option;
	}
	return NULL;
}

/* Levenshtein distance of two short words. */
static size_t distance(const char *a, const char *b)
{
	size_t row[NAME_MAX_LENGTH + 1];
	size_t length = strlen(b);
	for (size_t j = 0; j <= length; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1] != '\0'; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= length; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);
			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[length];
}

const char *bp_near_miss(const char *word, const char *const *candidates)
{
	const char *nearest = NULL;
	size_t length = strlen(word), smallest = length > 5 ? 3 : length > 2 ? 2 : 1;
	if (length == 0 || length > NAME_MAX_LENGTH)
		return NULL;
	smallest++; /* strictly fewer slips than this */
	for (; *candidates != NULL; candidates++) {
		if (strlen(*candidates) > NAME_MAX_LENGTH)
			continue;
		size_t slips = distance(word, *candidates);
		/* A word typed in part ("inter") is near however much is missing. */
		if (length >= 3 && strncmp(word, *candidates, length) == 0)
			slips = 1;
		if (slips < smallest) {
			smallest = slips;
			nearest = *candidates;
		}
	}
	return nearest;
}

/* Is `value` one of the words in "a|b|c"? */
static bool is_choice(const char *choices, const char *value)
{
	size_t length = strlen(value);
	while (*choices != '\0') {
		size_t word = strcspn(choices, "|");
		if (word == length && strncmp(choices, value, length) == 0)
			return true;
		/* "label:KEY": whatever comes behind the colon. */
		const char *colon = memchr(choices, ':', word);
		const size_t prefix = colon == NULL ? 0 : (size_t)(colon - choices) + 1;
		if (prefix != 0 && length > prefix && strncmp(choices, value, prefix) == 0)
			return true;
		choices += word + (choices[word] == '|');
	}
	return false;
}

static const struct bp_option *entry_named(const struct bp_command *command, const char *name)
{
	for (int i = 0; i < table_size(command->options); i++)
		if (command->options[i].name != NULL && strcmp(command->options[i].name, name) == 0)
			return &command->options[i];
	return NULL;
}

/* Options of heaptrack, memray, massif and pprof, and what they are here. */
static const struct {
	const char *word, *here;
} foreign_options[] = {
	{ "p", "a process is named without an option: bytepoll attach PID" },
	{ "pid", "a process is named without an option: bytepoll attach PID" },
	{ "leaks",
		"bytepoll report --metric live shows what is live at the end, --growth what grows" },
	{ "flamegraph", "bytepoll html FILE" },
	{ "base", "bytepoll diff BASE FILE" },
	{ "diff", "bytepoll diff BASE FILE" },
	{ "diff_base", "bytepoll diff BASE FILE" },
	{ "top", "bytepoll report --rows N" },
	{ "native", "C functions are always recorded; bytepoll report --frames native" },
	{ "trace-children", "children are always recorded" },
	{ "inuse_space", "bytepoll report --metric live" },
	{ "inuse_objects", "bytepoll report --metric live --sort objects" },
	{ "alloc_space", "bytepoll report --metric allocated" },
	{ "alloc_objects", "bytepoll report --metric allocated --sort objects" },
};

/* What an option that was typed with one dash or two is here; NULL: no tool is known to have it. */
static const char *of_another_tool(const char *typed)
{
	const char *word = typed + 1 + (typed[1] == '-');
	const size_t length = strcspn(word, "=");
	for (size_t i = 0; i < BP_COUNT(foreign_options); i++)
		if (strlen(foreign_options[i].word) == length &&
			strncmp(foreign_options[i].word, word, length) == 0)
			return foreign_options[i].here;
	return NULL;
}

/* The message for an option that is not in the table, or has an argument too many. */
static bool refuse_option(
	const struct bp_command *command, const char *typed, struct bp_error *error)
{
	const char *names[2 * OPTIONS_MAX + 2];
	const struct bp_option *known = optopt != 0 ? entry_of(command, optopt) : NULL;
	int count = 0;
	if (known != NULL || optopt == VALUE_HELP)
		return bp_error_set(error, "--%s takes no argument", known ? known->name : "help");
	if (of_another_tool(typed) != NULL)
		return bp_error_set(error, "%s has no option %.*s: %s", command->name,
			(int)strcspn(typed, "="), typed, of_another_tool(typed));
	if (optopt != 0)
		return bp_error_set(error, "%s has no option -%c", command->name, optopt);
	for (int i = 0; i < table_size(command->options); i++) {
		if (command->options[i].name != NULL)
			names[count++] = command->options[i].name;
		if (command->options[i].also != NULL)
			names[count++] = command->options[i].also;
	}
	names[count++] = "help";
	names[count] = NULL;
	char word[NAME_MAX_LENGTH + 2];
	size_t length = strcspn(typed + 2, "=");
	snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1),
		typed + 2);
	if (entry_named(command, "metric") != NULL &&
		is_choice(entry_named(command, "metric")->choices, word))
		return bp_error_set(error, "%s has no option --%s: did you mean --metric %s?",
			command->name, word, word);
	const char *near = bp_near_miss(word, names);
	if (near != NULL)
		return bp_error_set(error, "%s has no option --%s: did you mean --%s?",
			command->name, word, near);
	return bp_error_set(error, "%s has no option --%s", command->name, word);
}

/* Appends one parsed option. */
static bool take(struct bp_arguments *arguments, const struct bp_option *option, const char *value,
	struct bp_error *error)
{
	if (option->choices != NULL && !is_choice(option->choices, value))
		return bp_error_set(
			error, "--%s %s: must be one of %s", option->name, value, option->choices);
	if (arguments->given_count >= GIVEN_MAX)
		return bp_error_set(error, "more than %d options given", GIVEN_MAX);
	for (int i = 0; value != NULL && !option->repeatable && i < arguments->given_count; i++)
		if (arguments->given[i].option == option &&
			strcmp(arguments->given[i].value, value) != 0)
			return bp_error_set(error, "--%s %s and --%s %s: choose one", option->name,
				arguments->given[i].value, option->name, value);
	arguments->given[arguments->given_count].option = option;
	arguments->given[arguments->given_count].value = value;
	arguments->given_count++;
	return true;
}

/* Where a word stood before getopt moved it behind the options. */
static int place_of(char *const *words, int count, const char *word)
{
	int i = 0;
	while (i < count && words[i] != word)
		i++;
	return i;
}

/* For options whose place among the operands means something. `places` holds where each option
 * stood. */
static void count_operands_before(
	struct bp_arguments *arguments, char *const *words, int count, const int *places)
{
	for (int j = 0; j < arguments->operand_count; j++) {
		int place = place_of(words, count, arguments->operands[j]);
		for (int i = 0; i < arguments->given_count; i++)
			arguments->given[i].operands_before += place < places[i];
	}
}

/* One result of getopt_long. */
static bool handle(struct bp_arguments *arguments, int value, const char *typed, bool *ret_help,
	struct bp_error *error)
{
	const struct bp_option *option;
	if (value == 'h' || value == VALUE_HELP) {
		*ret_help = true;
		return true;
	}
	if (value == '?')
		return refuse_option(arguments->command, typed, error);
	option = entry_of(arguments->command, value == ':' ? optopt : value);
	if (option == NULL)
		return bp_error_set(
			error, "%s: option %s cannot be read", arguments->command->name, typed);
	if (value == ':')
		return bp_error_set(error, "--%s needs an argument: --%s %s", option->name,
			option->name, option->argument);
	return take(arguments, option, optarg, error);
}

bool bp_options_parse(const struct bp_command *command, int argc, char **argv,
	struct bp_arguments *ret_arguments, bool *ret_help, struct bp_error *error)
{
	struct option long_options[2 * OPTIONS_MAX + 2]; /* each may have two names */
	char short_options[2 * OPTIONS_MAX + 4];
	struct bp_arguments arguments = { .command = command };
	int places[GIVEN_MAX], value;
	bool help = false;
	arguments.given = calloc(GIVEN_MAX, sizeof *arguments.given);
	char **words = calloc((size_t)argc + 1, sizeof *words);
	if (arguments.given == NULL || words == NULL) {
		free(arguments.given);
		free(words);
		return bp_error_set(error, "out of memory");
	}
	memcpy(words, argv, (size_t)argc * sizeof *words);
	getopt_tables(command, long_options, short_options);
	optind = 0; /* glibc: start over */
	opterr = 0;
	for (;;) {
		int index = optind > 0 ? optind : 1;
		optopt = 0;
		value = getopt_long(argc, argv, short_options, long_options, NULL);
		if (value == -1)
			break;
		/* With permuted operands the word just read stands before optind. */
		const char *typed = argv[optind > index ? optind - 1 : index];
		int before = arguments.given_count;
		if (!handle(&arguments, value, typed, &help, error)) {
			free(arguments.given);
			free(words);
			return false;
		}
		if (arguments.given_count > before)
			places[before] = place_of(words, argc, typed);
	}
	arguments.operands = argv + optind;
	arguments.operand_count = argc - optind;
	count_operands_before(&arguments, words, argc, places);
	free(words);
	*ret_arguments = arguments;
	*ret_help = help;
	return true;
}

/* Was the option of this name given? It need not stand in the command's table. */
static bool is_given(const struct bp_arguments *arguments, const char *name, size_t length)
{
	for (int i = 0; i < arguments->given_count; i++) {
		const char *given = arguments->given[i].option->name;
		if (strlen(given) == length && strncmp(given, name, length) == 0)
			return true;
	}
	return false;
}

bool bp_options_check(const struct bp_arguments *arguments, struct bp_error *error)
{
	for (int i = 0; i < arguments->given_count; i++) {
		const struct bp_option *option = arguments->given[i].option;
		const char *other = option->without_effect_in;
		while (other != NULL && *other != '\0') {
			const size_t length = strcspn(other, "|");
			if (is_given(arguments, other, length))
				return bp_error_set(error,
					"--%s changes nothing with --%.*s: leave one of them out",
					option->name, (int)length, other);
			other += length + (other[length] == '|');
		}
	}
	return true;
}

void bp_options_finish(struct bp_arguments *arguments)
{
	free(arguments->given);
	*arguments = (struct bp_arguments){ 0 };
}

static const struct bp_given *last_given(const struct bp_arguments *arguments, const char *name)
{
	assert(entry_named(arguments->command, name) != NULL);
	for (int i = arguments->given_count - 1; i >= 0; i--)
		if (strcmp(arguments->given[i].option->name, name) == 0)
			return &arguments->given[i];
	return NULL;
}

bool bp_option_given(const struct bp_arguments *arguments, const char *name)
{
	return last_given(arguments, name) != NULL;
}

const char *bp_option_value(const struct bp_arguments *arguments, const char *name)
{
	return bp_option_value_or(arguments, name, NULL);
}

const char *bp_option_value_or(
	const struct bp_arguments *arguments, const char *name, const char *otherwise)
{
	const struct bp_given *given = last_given(arguments, name);
	return given != NULL ? given->value : otherwise;
}

/* The factor of a suffix: 1024 for "K", "Ki" or "KiB", 1000 for "kB", and so on, in letters of any
 * case; 0 for anything else. */
static double suffix_factor(const char *suffix)
{
	static const char letters[] = "kmgt";
	const char letter = (char)tolower((unsigned char)suffix[0]);
	if (letter == '\0' || strcasecmp(suffix, "b") == 0)
		return 1;
	const char *power = strchr(letters, letter);
	if (power == NULL)
		return 0;
	const int steps = (int)(power - letters) + 1;
	const char *unit = suffix + 1;
	if (*unit == '\0' || strcasecmp(unit, "i") == 0 || strcasecmp(unit, "ib") == 0)
		return ldexp(1, 10 * steps);
	return strcasecmp(unit, "b") == 0 ? pow(1000, steps) : 0;
}

bool bp_parse_size(const char *text, uint64_t *ret_bytes, struct bp_error *error)
{
	char *end;
	const bool digit = isdigit((unsigned char)text[*text == '.']);
	if (!digit || text[1] == 'x' || text[1] == 'X')
		return bp_error_set(error, "%s is no size: write 4096, 512K, 2M or 1G", text);
	const double number = strtod(text, &end), factor = suffix_factor(end);
	if (factor == 0)
		return bp_error_set(error, "%s is no size: write 4096, 512K, 2M or 1G", text);
	const double bytes = number * factor;
	/* Below 2^53 a double holds every whole number. */
	if (!(bytes < 0x1p53))
		return bp_error_set(error, "%s is too large a size", text);
	if (bytes != floor(bytes))
		return bp_error_set(error, "%s is no whole number of bytes", text);
	*ret_bytes = (uint64_t)bytes;
	return true;
}

bool bp_parse_number(const char *text, uint64_t *ret_number, struct bp_error *error)
{
	bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	unsigned base = hexadecimal ? 16 : 10;
	const char *digit = text + (hexadecimal ? 2 : 0);
	uint64_t number = 0;
	if (*digit == '\0')
		return bp_error_set(error, "'%s' is no number", text);
	for (; *digit != '\0'; digit++) {
		const char lower = (char)tolower((unsigned char)*digit);
		const unsigned value = lower >= '0' && lower <= '9'   ? (unsigned)(lower - '0')
				       : lower >= 'a' && lower <= 'f' ? (unsigned)(lower - 'a' + 10)
								      : base;
		if (value >= base)
			return bp_error_set(error, "'%s' is no number", text);
		if (__builtin_mul_overflow(number, base, &number) ||
			__builtin_add_overflow(number, value, &number))
			return bp_error_set(error, "%s does not fit in 64 bits", text);
	}
	*ret_number = number;
	return true;
}

int bp_command_fail(int status, const struct bp_error *error)
{
	fflush(stdout);
	bp_say(stderr, "bytepoll: %s", error->text);
	return status;
}

/* Formats into an error, for the control characters it removes. */
static void format_error(struct bp_error *error, const char *format, va_list arguments)
{
	char text[sizeof error->text];
	vsnprintf(text, sizeof text, format, arguments);
	bp_error_set(error, "%s", text);
}

int bp_command_fail_with(int status, const char *format, ...)
{
	struct bp_error error;
	va_list arguments;
	va_start(arguments, format);
	format_error(&error, format, arguments);
	va_end(arguments);
	return bp_command_fail(status, &error);
}

int bp_command_fail_usage(const struct bp_command *command, const char *format, ...)
{
	struct bp_error error, line;
	va_list arguments;
	va_start(arguments, format);
	format_error(&error, format, arguments);
	va_end(arguments);
	bp_error_set(&line, "%.900s (see bytepoll %s --help)", error.text, command->name);
	return bp_command_fail(command->usage_status, &line);
}
