/* SPDX-License-Identifier: MIT */
/* One character a column: the interval as a line, the estimate as a mark on it. See bar.h. */
#include "report/parts/bar.h"

#include <math.h>

#include "report/parts/header.h"
#include "text/quantity.h"

#define BAR_COLUMNS_MIN 10
#define NAME_COLUMNS_KEPT 28 /* so much of a name no bar takes away */

unsigned bp_bar_room_least(unsigned name_columns)
{
	const unsigned kept = name_columns < NAME_COLUMNS_KEPT ? name_columns : NAME_COLUMNS_KEPT;
	return kept + 2 + BAR_COLUMNS_MIN;
}

unsigned bp_bar_columns(unsigned name_columns, unsigned room, unsigned columns_max)
{
	const unsigned least = bp_bar_room_least(name_columns);
	unsigned columns;
	if (room < least)
		return 0;
	if (room >= name_columns + 2 + BAR_COLUMNS_MIN)
		columns = room - name_columns - 2;
	else /* of what is over, most goes to the name */
		columns = BAR_COLUMNS_MIN + (room - least) / 4;
	return columns < columns_max ? columns : columns_max;
}

unsigned bp_bar_name_columns(
	unsigned name_columns, unsigned room, unsigned bar_columns, unsigned columns_min)
{
	const unsigned left = room - (bar_columns > 0 ? bar_columns + 2 : 0);
	if (name_columns <= left)
		return name_columns;
	return left > columns_min ? left : columns_min;
}

void bp_write_bar(const struct bp_interval *interval, double scale_end, unsigned columns,
	const struct bp_report_options *options, FILE *out)
{
	bool utf8 = options->utf8, dim = false;
	double scale = scale_end > 0 ? (columns - 1) / scale_end : 0;
	unsigned low = (unsigned)lround(interval->low * scale);
	unsigned high = (unsigned)lround(fmin(interval->high, scale_end) * scale);
	unsigned at = interval->unknown ? UINT32_MAX : (unsigned)lround(interval->estimate * scale);
	const char *mark = interval->exact	   ? (utf8 ? "■" : "#")
			   : bp_is_vague(interval) ? (utf8 ? "○" : "o")
						   : (utf8 ? "●" : "*");
	for (unsigned i = 0; i < columns; i++) {
		bool outside = (i < low || i > high) && i != at;
		if (outside != dim) {
			fputs(outside ? bp_style_dim(options) : bp_style_end(options), out);
			dim = outside;
		}
		fputs(i == at ? mark : outside ? (utf8 ? "·" : ".") : (utf8 ? "━" : "-"), out);
	}
	if (dim)
		fputs(bp_style_end(options), out);
}

void bp_write_bar_legend(const struct bp_report_options *options, FILE *out)
{
	const char *text = options->utf8
				   ? "● estimate   ━ interval   ■ exact   ○ no single best value"
				   : "* estimate   - interval   # exact   o no single best value";
	if (2 + bp_text_columns(text) > options->columns)
		bp_write_note(options, text, out);
	else
		fprintf(out, "  %s%s%s\n", bp_style_dim(options), text, bp_style_end(options));
}
