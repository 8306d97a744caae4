/* SPDX-License-Identifier: MIT */
/*
 * A name is read once, from the left: which byte is how deep in brackets, which bracket begins
 * arguments or parameters, where the parts of the qualified name begin. Then it is written with
 * more and more left out until it fits.
 *
 * What makes it harder than counting brackets: operators (`operator<`, `operator()`, `operator->`),
 * types that are part of a name (`operator std::string`), arrows (`fn() -> T`), brackets that are
 * part of a name (`(anonymous namespace)`, `{lambda(int)#1}`, `[abi:cxx11]`, Rust's `<T as
 * Trait>::method`, Python's `f.<locals>.g`, .NET's `Shop+<>c.<Main>b__0`), comparisons in
 * parentheses (`(N > 3)`), types that are returned. A name whose brackets do not match has no
 * shape.
 */
#include "text/name_text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "text/escape.h"

#define LENGTH_MAX 65536 /* longer names are cut as text */
#define DEPTH_MAX 250
#define PARTS_MAX 64 /* of a name that has more, the last ones are looked at */
#define CONTENT_MIN \
	4 /* bytes in brackets that are longer than the mark that would stand for them */
#define HASH_DIGITS 16 /* of Rust's old names: ::h0123456789abcdef */

enum shape { PLAIN, ARGUMENTS, PARAMETERS, CLOSE, SPACE };

struct name {
	const char *text;
	size_t length;
	uint8_t *shape; /* of each byte */
	uint8_t *depth; /* brackets around it, its own included */
	size_t begin;	/* behind the type that is returned */
	size_t parts
		/* where the parts of the qualified name begin, by number % PARTS_MAX */
		[PARTS_MAX];
	size_t part_count;
	bool grouped; /* there is something that can be folded */
};

/* What is left out, by steps that include those before them. */
enum fold { FOLD_NOTHING, FOLD_NESTED, FOLD_PARAMETERS, FOLD_ALL };

struct scan {
	struct name *name;
	char open[DEPTH_MAX + 1];
	unsigned depth;
	size_t operator_end; /* behind the last symbol of an operator; 0: none */
	size_t last_space;   /* behind the last blank outside of brackets; 0: none */
	bool had_parameters; /* outside of brackets */
	bool in_conversion;  /* behind `operator`, in the name of a type */
	bool part_begins;    /* the next byte is the first of a part */
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Bytes of the operator at `text`, its symbol included; 0: it is none. */
static size_t operator_bytes(const char *text, bool *ret_conversion)
{
	static const char *const symbols[] = { "()", "[]", "<=>", "<<=", "<<", "<=", "<",
		">>=", ">>", ">=", ">", "->*", "->" };
	const size_t word = strlen("operator");
	*ret_conversion = false;
	if (!begins(text, "operator") || is_word(text[word]))
		return 0;
	for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
		if (begins(text + word, symbols[i])) {
			size_t bytes = word + strlen(symbols[i]);
			/* "operator<< <char>": the blank only parts two symbols. */
			return bytes + (begins(text + bytes, " <") ? 1 : 0);
		}
	*ret_conversion = text[word] == ' ';
	return word + (*ret_conversion ? 1 : strspn(text + word, "+-*/%^&|~!=,\""));
}

static void put_part(struct name *name, size_t at)
{
	name->parts[name->part_count++ % PARTS_MAX] = at;
}

static bool open_bracket(struct scan *scan, size_t at, char close)
{
	struct name *name = scan->name;
	const char c = name->text[at], before = at > 0 ? name->text[at - 1] : '\0';
	if (scan->depth == DEPTH_MAX)
		return false;
	scan->open[scan->depth++] = close;
	name->depth[at] = (uint8_t)scan->depth;
	if (c == '<' && !scan->part_begins && before != '.' &&
		(before != '+' || at == scan->operator_end))
		name->shape[at] = ARGUMENTS;
	else if (c == '(' && at > 0 &&
		 (is_word(before) || strchr(">)]}", before) != NULL || at == scan->operator_end))
		name->shape[at] = PARAMETERS;
	name->grouped = name->grouped || name->shape[at] != PLAIN;
	if (scan->depth == 1 && name->shape[at] == PARAMETERS) {
		if (!scan->had_parameters)
			name->begin = scan->last_space;
		scan->had_parameters = true;
		scan->in_conversion = false;
	}
	return true;
}

/* A parenthesis closes comparisons that were taken for arguments, too. */
static bool close_bracket(struct scan *scan, size_t at)
{
	struct name *name = scan->name;
	const char c = name->text[at];
	while (scan->depth > 0 && scan->open[scan->depth - 1] != c &&
		scan->open[scan->depth - 1] == '>')
		scan->depth--;
	if (scan->depth == 0 || scan->open[scan->depth - 1] != c)
		return false;
	name->depth[at] = (uint8_t)scan->depth--;
	name->shape[at] = CLOSE;
	return true;
}

/* Takes one byte outside of operators; false: the name has no shape. */
static bool take_byte(struct scan *scan, size_t at)
{
	static const char opening[] = "<([{", closing[] = ">)]}";
	struct name *name = scan->name;
	const char c = name->text[at];
	const char *bracket = strchr(opening, c);
	name->depth[at] = (uint8_t)scan->depth;
	if (bracket != NULL)
		return open_bracket(scan, at, closing[bracket - opening]);
	if (c == '>' && ((at > 0 && name->text[at - 1] == '-') || scan->depth == 0 ||
				scan->open[scan->depth - 1] != '>'))
		return true; /* an arrow, a comparison */
	if (strchr(closing, c) != NULL)
		return close_bracket(scan, at);
	if (scan->depth == 0 && c == ' ' && !scan->in_conversion) {
		name->shape[at] = SPACE;
		scan->last_space = at + 1;
		scan->part_begins = true;
		return true;
	}
	scan->part_begins = false;
	return true;
}

static bool read_name(struct name *name)
{
	struct scan scan = { .name = name, .part_begins = true };
	bool conversion = false;
	for (size_t at = 0; at < name->length;) {
		const char *text = name->text + at;
		const bool word_begins = at == 0 || !is_word(text[-1]);
		const size_t bytes = word_begins ? operator_bytes(text, &conversion) : 0;
		if (bytes > 0) {
			memset(name->depth + at, (int)scan.depth, bytes);
			scan.in_conversion = scan.in_conversion || (conversion && scan.depth == 0);
			scan.part_begins = false;
			at += bytes;
			scan.operator_end = conversion ? 0 : at;
		} else if (scan.depth == 0 && !scan.in_conversion && begins(text, "::")) {
			at += 2;
			put_part(name, at);
			scan.part_begins = true;
		} else if (!take_byte(&scan, at++)) {
			return false;
		} else if (scan.depth > 0) {
			scan.part_begins = false;
		}
	}
	return scan.depth == 0;
}

/* The parts that are left of `begin` belong to the type that is returned. */
static size_t first_part(const struct name *name)
{
	size_t first = name->part_count > PARTS_MAX ? name->part_count - PARTS_MAX : 0;
	while (first < name->part_count && name->parts[first % PARTS_MAX] <= name->begin)
		first++;
	return first;
}

static size_t part_at(const struct name *name, size_t part)
{
	return name->parts[part % PARTS_MAX];
}

static bool is_folded(const struct name *name, size_t at, enum fold fold)
{
	const unsigned depth = name->depth[at];
	if (name->shape[at] == ARGUMENTS)
		return fold == FOLD_ALL || (fold != FOLD_NOTHING && depth > 1);
	return name->shape[at] == PARAMETERS &&
	       (fold == FOLD_ALL || (fold == FOLD_PARAMETERS && depth == 1));
}

/* Where the bracket at `at` closes. */
static size_t closing_of(const struct name *name, size_t at)
{
	const uint8_t depth = name->depth[at];
	size_t end = at + 1;
	while (end < name->length && !(name->shape[end] == CLOSE && name->depth[end] <= depth))
		end++;
	return end;
}

struct writer {
	char *to;
	size_t used;
	const char *mark;
};

static void put(struct writer *writer, const char *text, size_t bytes)
{
	memcpy(writer->to + writer->used, text, bytes);
	writer->used += bytes;
	writer->to[writer->used] = '\0';
}

static void put_range(
	struct writer *writer, const struct name *name, size_t from, size_t to, enum fold fold)
{
	for (size_t at = from; at < to; at++) {
		put(writer, name->text + at, 1);
		if (!is_folded(name, at, fold))
			continue;
		const size_t end = closing_of(name, at);
		if (end < to && end - at - 1 >= CONTENT_MIN) {
			put(writer, writer->mark, strlen(writer->mark));
			at = end - 1;
		}
	}
}

/* Has the part nothing to say without the one before it? */
static bool leans(const struct name *name, size_t part)
{
	const char *text = name->text + part_at(name, part);
	if (*text == '{')
		return true;
	if (part > 0 && begins(text, "operator()"))
		return name->text[part_at(name, part - 1)] == '{';
	return *text == 'h' && strspn(text + 1, "0123456789abcdef") == HASH_DIGITS &&
	       text[1 + HASH_DIGITS] == '\0';
}

/* Does the name go on behind the bracket at `at`, as that of a method whose type has arguments
 * ("List<T>.Add")? */
static bool goes_on(const struct name *name, size_t at)
{
	const size_t end = closing_of(name, at);
	return end + 1 < name->length &&
	       (name->text[end + 1] == '.' || is_word(name->text[end + 1]));
}

/* Where the last name ends: before its arguments, its parameters, or a blank. */
static size_t bare_end(const struct name *name, size_t from)
{
	size_t end = from;
	while (end < name->length &&
		!(name->depth[end] <= 1 &&
			(name->shape[end] == SPACE || ((name->shape[end] == ARGUMENTS ||
							       name->shape[end] == PARAMETERS) &&
							      !goes_on(name, end)))))
		end++;
	if (end > from && name->text[end - 1] == ' ') /* "operator< <int>" */
		end--;
	return end > from ? end : name->length;
}

struct attempt {
	const struct name *name;
	bool utf8;
	unsigned columns;
	struct writer writer;
};

static bool fits(const struct attempt *attempt)
{
	return bp_terminal_columns(attempt->writer.to, attempt->utf8) <= attempt->columns;
}

/* Marks what went, then `from` to `to`. */
static bool try_range(struct attempt *attempt, const char *before, size_t from, size_t to)
{
	struct writer *writer = &attempt->writer;
	writer->used = 0;
	put(writer, writer->mark, strlen(writer->mark));
	put(writer, before, strlen(before));
	put_range(writer, attempt->name, from, to, FOLD_ALL);
	return fits(attempt);
}

/* A closure that ends the name, with what it is in; false: it ends otherwise, or that does not
 * fit. */
static bool try_closure(struct attempt *attempt, size_t first, size_t last)
{
	const struct name *name = attempt->name;
	const size_t from = part_at(name, last);
	const bool call = begins(name->text + from, "operator()");
	size_t least = last;
	while (least > first && leans(name, least))
		least--;
	if (!leans(name, last))
		return false;
	const size_t to = call ? from - 2 : bare_end(name, from);
	if (!leans(name, least))
		return try_range(attempt, "::", part_at(name, least), to);
	if (name->begin > 0)
		return try_range(attempt, " ", name->begin, to);
	attempt->writer.used = 0;
	put_range(&attempt->writer, name, 0, to, FOLD_ALL);
	return fits(attempt);
}

/* Without what stands around the last part: its arguments, parameters, what it is in. */
static bool try_last(struct attempt *attempt, size_t first, size_t last)
{
	const struct name *name = attempt->name;
	const size_t from = part_at(name, last), end = bare_end(name, from);
	if (try_closure(attempt, first, last) || try_range(attempt, "::", from, end))
		return true;
	attempt->writer.used = 0;
	put_range(&attempt->writer, name, from, end, FOLD_ALL);
	return fits(attempt);
}

/* Leaves out more and more; whatever `writer` holds at the end is then cut, where it still must
 * be. */
static void shorten(struct attempt *attempt)
{
	const struct name *name = attempt->name;
	struct writer *writer = &attempt->writer;
	for (enum fold fold = FOLD_NESTED; fold <= FOLD_ALL; fold++) {
		writer->used = 0;
		put_range(writer, name, 0, name->length, fold);
		if (fits(attempt))
			return;
	}
	if (name->begin > 0 && try_range(attempt, " ", name->begin, name->length))
		return;
	size_t first = first_part(name), part = first;
	if (first == name->part_count) { /* one part only */
		writer->used = 0;
		put_range(writer, name, name->begin, bare_end(name, name->begin), FOLD_ALL);
		return;
	}
	for (; part < name->part_count; part++) {
		/* A closure is not left alone as long as there is something else to leave out. */
		if (leans(name, part))
			break;
		if (try_range(attempt, "::", part_at(name, part), name->length))
			return;
	}
	(void)try_last(attempt, first, name->part_count - 1);
}

unsigned bp_terminal_name(
	const char *text, bool utf8, unsigned columns, char *buffer, size_t buffer_bytes)
{
	struct name name = { .text = text, .length = strlen(text) };
	if (*text == '/' || name.length > LENGTH_MAX || bp_terminal_columns(text, utf8) <= columns)
		return bp_terminal_text(text, utf8, columns, buffer, buffer_bytes);
	uint8_t *marks = calloc(name.length + 1, 3);
	if (marks == NULL)
		return bp_terminal_text(text, utf8, columns, buffer, buffer_bytes);
	char *shorter = malloc(name.length + 32);
	name.shape = marks;
	name.depth = marks + name.length + 1;
	struct attempt attempt = { .name = &name,
		.utf8 = utf8,
		.columns = columns,
		.writer = { .to = shorter, .mark = utf8 ? "…" : "..." } };
	const bool shaped =
		shorter != NULL && read_name(&name) && (name.grouped || name.part_count > 0);
	if (shaped)
		shorten(&attempt);
	const unsigned width =
		bp_terminal_text(shaped ? shorter : text, utf8, columns, buffer, buffer_bytes);
	free(shorter);
	free(marks);
	return width;
}
