/* SPDX-License-Identifier: MIT */
/*
 * What rows are called. A row is known by two words, (a, b):
 *
 *	function   function's string, 0
 *	line       file's string, line; without a line (0, function's string)
 *	file       file's string, 0; without a file (0, module's path)
 *	module     path's string, 0
 *	thread     its id, 0; so processes
 *	type, kind type key (selection.h), 0
 *	label      string of the value or the set, 1; without one (0, 0)
 *	size       itself, 0
 *	origin     its string, 0
 *
 * row_key.c makes rows with these names, and selection.c holds filters against them: a filter on a
 * key matches what the rows of that key are called. Pure functions.
 */
#ifndef BP_QUERY_ROW_NAME_H
#define BP_QUERY_ROW_NAME_H

#include <stddef.h>
#include <stdint.h>

#include "model/profile.h"
#include "query/query.h"

#define BP_ROW_NO_STACK UINT64_MAX /* a: of samples without a stack, for keys of frames */

/* The words of the row that a frame counts under, by function, line, file or module. */
void bp_frame_row_key(const struct bp_profile *profile, enum bp_key by, struct bp_frame_id id,
	uint64_t *ret_a, uint64_t *ret_b);

/* The name of the row (a, b), of any key but stack (there: BP_ROW_NO_STACK alone). `label`: as in
 * struct bp_query. Points into the profile, into `buffer`, or to a constant. */
const char *bp_row_name(const struct bp_profile *profile, enum bp_key by, const char *label,
	uint64_t a, uint64_t b, char *buffer, size_t bytes);

#endif
