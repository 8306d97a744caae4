/* SPDX-License-Identifier: MIT */
/* See diff_rows.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "diff_rows.h"
#include "small_profile.h"

bool find_difference_row(const struct bp_diff *diff, const char *name, struct bp_diff_row *row)
{
	for (uint32_t i = 0; i < diff->row_count; i++) {
		bp_diff_row(diff, i, row);
		if (row->name != NULL && strcmp(row->name, name) == 0)
			return true;
	}
	return false;
}

struct bp_diff_row difference_row(const struct bp_diff *diff, const char *name)
{
	struct bp_diff_row row;
	if (!find_difference_row(diff, name, &row))
		fail_msg("no row is named %s", name);
	return row;
}

void assert_change(struct bp_diff_figure comparison, double base, double new)
{
	small_assert_exact(comparison.side[BP_BASE], base);
	small_assert_exact(comparison.side[BP_NEW], new);
	small_assert_exact(comparison.change, new - base);
}
