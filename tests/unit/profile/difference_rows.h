/* SPDX-License-Identifier: MIT */
/* Rows of a difference by name, for the tests of difference.c and moments.c. */
#ifndef BP_TESTS_DIFFERENCE_ROWS_H
#define BP_TESTS_DIFFERENCE_ROWS_H

#include "diff/difference.h"

/* Is there a row of this name? Then it is in `row`. */
bool find_difference_row(
	const struct bp_difference *difference, const char *name, struct bp_difference_row *row);

/* The same; fails the test if there is none. */
struct bp_difference_row difference_row(const struct bp_difference *difference, const char *name);

/* Are both sides known, and these? */
void assert_change(struct bp_comparison comparison, double base, double new);

#endif
