/* SPDX-License-Identifier: MIT */
/*
 * Asking the symboliser about one file, for tests and for the tool resolve_addresses: addresses in,
 * frames of a profile out.
 */
#ifndef TESTS_UNIT_SYMBOLS_QUESTION_H
#define TESTS_UNIT_SYMBOLS_QUESTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "symbols/symbols.h"

struct question {
	const char *path;
	const char *build_id;		    /* NULL or "": by size and time */
	uint64_t file_bytes, file_mtime_ns; /* 0 and 0: of the file as it is now */
	bool unknown_file;		    /* leave size and time unknown */
	const char *debug_directory;
	const char *debuginfod_urls; /* NULL: nobody is asked */
	bool cache;		     /* in $XDG_CACHE_HOME */
	bool exact;		     /* the addresses are no return addresses */
	bool verbose;
};

struct answer {
	struct bp_profile profile;
	struct bp_symbol_summary summary;
	struct bp_location_id *locations; /* of the addresses, in their order */
	uint32_t count;
};

/* Resolves; false with a text in `error`. Finish in any case. */
bool ask(const struct question *question, const uint64_t *addresses, uint32_t count,
	struct answer *answer, struct bp_error *error);
void answer_finish(struct answer *answer);

/* Frame `frame` (0 is the innermost) of address number `index`; NULL beyond the last. */
const struct bp_frame *answer_frame(const struct answer *answer, uint32_t index, uint32_t frame);
uint32_t answer_depth(const struct answer *answer, uint32_t index);
const char *answer_text(const struct answer *answer, struct bp_string_id string);

#endif
