/* SPDX-License-Identifier: MIT */
/* See row_text.h. */
#include "report/parts/row_text.h"

#include <math.h>

#include "report/parts/grid.h"

#define VAGUE .5	/* as wide as this a share says little: its limits alone are shown */
#define SAYS_NOTHING .9 /* and as wide as this nothing */

/* As many digits as the half width of the interval supports. */
static int decimals_of(double half_width)
{
	return half_width >= .02 ? 0 : half_width >= .002 ? 1 : 2;
}

void bp_share_text(
	const struct bp_figure *figure, const struct bp_report_options *options, char *cell)
{
	const struct bp_interval *share = &figure->interval;
	const double low = 100 * share->low, high = 100 * share->high,
		     estimate = 100 * share->estimate;
	const int decimals = decimals_of((share->high - share->low) / 2);
	const char *least = options->utf8 ? "≥" : ">=", *most = options->utf8 ? "≤" : "<=";
	const double above = high - estimate, below = estimate - low;
	if (share->high - share->low > SAYS_NOTHING)
		snprintf(cell, BP_GRID_CELL_BYTES, "?");
	else if (share->exact)
		snprintf(cell, BP_GRID_CELL_BYTES, "%.4g %%", estimate);
	else if (figure->lower_bound || share->high >= 1)
		snprintf(cell, BP_GRID_CELL_BYTES, "%s %.*f %%", least, decimals, low);
	else if (!(share->low > 0))
		snprintf(cell, BP_GRID_CELL_BYTES, "%s %.*f %%", most, decimals, high);
	else if (share->unknown || share->high - share->low > VAGUE)
		snprintf(
			cell, BP_GRID_CELL_BYTES, "[%.*f, %.*f] %%", decimals, low, decimals, high);
	else if (fmax(above, below) <= 1.25 * fmin(above, below))
		snprintf(cell, BP_GRID_CELL_BYTES, "%.*f %% %s%.*f", decimals, estimate,
			options->utf8 ? "±" : "+-", decimals, fmax(above, below));
	else
		snprintf(cell, BP_GRID_CELL_BYTES, "%.*f %% [%.*f, %.*f]", decimals, estimate,
			decimals, low, decimals, high);
}

void bp_row_text(
	const struct bp_aggregation *aggregation, const struct bp_row *row, char *to, size_t bytes)
{
	const struct bp_profile *profile = aggregation->profile;
	size_t used = 0;
	to[0] = '\0';
	if (row->name != NULL || row->frame_count == 0) {
		snprintf(to, bytes, "%s", row->name != NULL ? row->name : "(no stack)");
		return;
	}
	for (uint32_t i = 0; i < row->frame_count && used < bytes; i++) {
		const struct bp_frame *frame = &profile->frames.data[row->frames[i].i];
		const int length = snprintf(to + used, bytes - used, "%s%s", i > 0 ? " < " : "",
			bp_profile_text(profile, frame->function));
		used += length > 0 ? (size_t)length : bytes;
	}
}
