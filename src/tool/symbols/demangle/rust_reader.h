/* SPDX-License-Identifier: MIT */
/*
 * What rust_v0.c is written in: a cursor over a mangled name and a bounded output, with the
 * smallest parts of the grammar (numbers, identifiers, back-references). After the first failure
 * every function does nothing and returns zero, so that a rule asks at its end or in its loops
 * only.
 */
#ifndef BP_SYMBOLS_DEMANGLE_RUST_READER_H
#define BP_SYMBOLS_DEMANGLE_RUST_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `output` holds BP_RUST_TEXT_BYTES_MAX bytes. */
struct bp_rust_demangler {
	const char *text; /* behind _R */
	size_t bytes, at;
	uint32_t depth, steps;
	uint64_t bound_lifetimes; /* of all binders around */
	bool failed;
	bool silent; /* reads, shows nothing */
	char *output;
	size_t written;
};

struct bp_rust_identifier {
	const char *ascii, *punycode; /* the latter NULL: none */
	size_t ascii_bytes, punycode_bytes;
	uint64_t disambiguator;
};

/* Output; nothing where `silent`. */
void bp_rust_put_bytes(struct bp_rust_demangler *demangler, const char *text, size_t bytes);
void bp_rust_put(struct bp_rust_demangler *demangler, const char *text);
void bp_rust_put_number(struct bp_rust_demangler *demangler, uint64_t number);
void bp_rust_put_identifier(
	struct bp_rust_demangler *demangler, const struct bp_rust_identifier *name);

/* The next character, without and with taking it; '\0' at the end. `eat` takes only the one that
 * is wanted. */
char bp_rust_peek(const struct bp_rust_demangler *demangler);
char bp_rust_next(struct bp_rust_demangler *demangler);
bool bp_rust_eat(struct bp_rust_demangler *demangler, char wanted);

/* Is the list at its end (whose E is then taken), or the name damaged? */
bool bp_rust_list_ends(struct bp_rust_demangler *demangler);

/* One level deeper, one step more; false (failed) where that is too many. The caller counts
 * `depth` down again. */
bool bp_rust_enter(struct bp_rust_demangler *demangler);

/* 0 to 61, -1 for what is none. */
int bp_rust_digit(char c);
uint64_t bp_rust_base_62(struct bp_rust_demangler *demangler);
/* A number that may be missing with its tag: then 0, else one more than it says. */
uint64_t bp_rust_tagged(struct bp_rust_demangler *demangler, char tag);

struct bp_rust_identifier bp_rust_bare_identifier(struct bp_rust_demangler *demangler);
struct bp_rust_identifier bp_rust_identifier(struct bp_rust_demangler *demangler);

/* Behind a B: goes to where it refers to. The caller sets `at` to `*ret_back` afterwards. */
bool bp_rust_follow(struct bp_rust_demangler *demangler, size_t *ret_back);

#endif
