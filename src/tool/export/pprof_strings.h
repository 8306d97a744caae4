/* SPDX-License-Identifier: MIT */
/*
 * The string table of a pprof file: numbers are given as strings are met, and written at the end. A
 * string is one of the profile's, or a text of the exporter's own. Called by export_pprof.c.
 */
#ifndef BP_EXPORT_PPROF_STRINGS_H
#define BP_EXPORT_PPROF_STRINGS_H

#include "model/profile.h"

struct bp_pprof_strings {
	const struct bp_profile *profile;
	uint32_t *of_string; /* number by id of the profile; 0: not met, or "" */
	struct bp_pprof_string {
		struct bp_string_id id;
		char *own; /* NULL: `id` tells */
	} * items;
	uint32_t count, capacity;
	bool failed; /* no memory: numbers are wrong */
};

/* False: no memory. Number 0 is "". */
bool bp_pprof_strings_init(struct bp_pprof_strings *strings, const struct bp_profile *profile);
void bp_pprof_strings_finish(struct bp_pprof_strings *strings);

uint32_t bp_pprof_strings_number(struct bp_pprof_strings *strings, struct bp_string_id string);
/* A text of one's own, copied; every call makes a new string. */
uint32_t bp_pprof_strings_add(struct bp_pprof_strings *strings, const char *text);

#endif
