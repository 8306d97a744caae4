/* SPDX-License-Identifier: MIT */
/* One character a column: the interval as a line, the estimate as a mark on it. See bar.h. */
#include "report/bar.h"

#include <math.h>

#include "report/header.h"
#include "report/quantity.h"

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
	const char *text =
		options->utf8 ? "● estimate   ━ interval   ■ exact   ○ too few samples to tell"
			      : "* estimate   - interval   # exact   o too few samples to tell";
	if (2 + bp_text_columns(text) > options->columns)
		bp_write_note(options, text, out);
	else
		fprintf(out, "  %s%s%s\n", bp_style_dim(options), text, bp_style_end(options));
}
