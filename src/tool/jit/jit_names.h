/* SPDX-License-Identifier: MIT */
/*
 * Names of code that no file holds, because the program made it at run time: from ranges of
 * addresses, each with a name and, where that is known, since when. Ranges may overlap: memory of
 * code that went is used for other code. One thread for one table; reading it is safe from several.
 */
#ifndef BP_JIT_JIT_NAMES_H
#define BP_JIT_JIT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The longest name, the rest of a longer one is cut; and the most names of one process. */
#define BP_JIT_NAME_BYTES 1024u
#define BP_JIT_NAMES_MAX (1u << 20)
/* Of one that may be two. */
#define BP_JIT_FOUND_BYTES (2 * BP_JIT_NAME_BYTES + 8)

struct bp_jit_name {
	uint64_t start, bytes;
	uint64_t time_ns; /* since when, by the process's CLOCK_MONOTONIC; 0: not known */
	uint32_t text;	  /* where it begins in `texts` */
};

/* Zeroed memory is an empty table. */
struct bp_jit_names {
	struct bp_jit_name *items; /* after bp_jit_names_finish by their starts */
	uint32_t count, capacity;
	char *texts; /* one behind the other, terminated */
	uint32_t text_bytes, text_capacity;
	/* private; after bp_jit_names_finish: */
	uint64_t *ends;	   /* the largest end of an item and all before it */
	uint64_t *changes; /* when an address got another name than it had, ascending */
	uint32_t change_count;
};

/* Adds a name. Control characters become '?'. Ranges of no byte, ranges beyond the end of the
 * address space and empty names are left out, as is what is more than BP_JIT_NAMES_MAX. False: no
 * memory. */
bool bp_jit_names_add(struct bp_jit_names *names, const struct bp_jit_name *range, const char *text,
	size_t bytes, struct bp_error *error);

/* After the last one, before anything is looked up. */
bool bp_jit_names_finish(struct bp_jit_names *names, struct bp_error *error);

/* Writes the name of the code at an address at a time, terminated. Where the times of names are not
 * known and several are of this address: "A or B", or "A or N others". False: it has none. Pure. */
bool bp_jit_names_find(const struct bp_jit_names *names, uint64_t address, uint64_t time_ns,
	char ret_text[BP_JIT_FOUND_BYTES]);

/* How many changes there were until a time: at two moments with the same number all names are the
 * same, or are new where there was none. Pure. */
uint32_t bp_jit_names_epoch(const struct bp_jit_names *names, uint64_t time_ns);

/* A time of that epoch; of the last one UINT64_MAX. Pure. */
uint64_t bp_jit_names_epoch_end(const struct bp_jit_names *names, uint32_t epoch);

void bp_jit_names_free(struct bp_jit_names *names);

#endif
