/* SPDX-License-Identifier: MIT */
/*
 * A chain of functions, each of which is only called by the one before it, on one line:
 * `main › run › serve`. Where there is no room for all of them the middle goes, and their number is
 * said: `_start › … › compile › parse (18)`. The last one, where the chain branches or allocates,
 * stays longest, then the first, then those before the last. A chain of callers reads the other way
 * round, `parse ‹ compile ‹ … ‹ _start (18)`: there the first one, which is what they call, and
 * those next to it stay.
 *
 * A pure function on names of any kind, safe from any thread; called by the reports for people.
 */
#ifndef BP_TEXT_CHAIN_TEXT_H
#define BP_TEXT_CHAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bp_chain_style {
	bool callers;	  /* names are innermost first */
	bool as_recorded; /* names are cut in the middle, and not shortened as those of C++ */
	bool utf8;
};

/* Writes `count` > 0 names, outermost first unless the style says otherwise, for a terminal,
 * terminated, into `buffer`, in at most `columns` columns where they are enough for a mark. Returns
 * the columns it takes. */
unsigned bp_chain_text(const char *const *names, uint32_t count, struct bp_chain_style style,
	unsigned columns, char *buffer, size_t buffer_bytes);

/* The columns that it takes when nothing is left out. */
unsigned bp_chain_columns(const char *const *names, uint32_t count, bool utf8);

#endif
