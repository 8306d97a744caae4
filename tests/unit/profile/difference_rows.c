/* SPDX-License-Identifier: MIT */
/* See difference_rows.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "difference_rows.h"
#include "small_profile.h"

bool find_difference_row(
	const struct bp_difference *difference, const char *name, struct bp_difference_row *row)
{
	for (uint32_t i = 0; i < difference->row_count; i++) {
		bp_difference_row(difference, i, row);
		if (row->name != NULL && strcmp(row->name, name) == 0)
			return true;
	}
	return false;
}

struct bp_difference_row difference_row(const struct bp_difference *difference, const char *name)
{
	struct bp_difference_row row;
	if (!find_difference_row(difference, name, &row))
		fail_msg("no row is named %s", name);
	return row;
}

void assert_change(struct bp_comparison comparison, double base, double new)
{
	small_assert_exact(comparison.side[BP_BASE], base);
	small_assert_exact(comparison.side[BP_NEW], new);
	small_assert_exact(comparison.change, new - base);
}
