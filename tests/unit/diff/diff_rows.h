/* SPDX-License-Identifier: MIT */
/* Rows of a difference by name, for the tests of diff.c and diff_moments.c. */
#ifndef BP_TESTS_DIFFERENCE_ROWS_H
#define BP_TESTS_DIFFERENCE_ROWS_H

#include "diff/diff.h"

/* Is there a row of this name? Then it is in `row`. */
bool find_difference_row(const struct bp_diff *diff, const char *name, struct bp_diff_row *row);

/* The same; fails the test if there is none. */
struct bp_diff_row difference_row(const struct bp_diff *diff, const char *name);

/* Are both sides known, and these? */
void assert_change(struct bp_diff_figure comparison, double base, double new);

#endif
