/* SPDX-License-Identifier: MIT */
/*
 * An interval as a bar of characters: on a scale that several bars share, two rows can be compared
 * by looking whether their bars meet. Called by the reports for terminals.
 */
#ifndef BP_REPORT_PARTS_BAR_H
#define BP_REPORT_PARTS_BAR_H

#include "report/report.h"

/* Writes `columns` >= 2 characters; the scale goes from 0 at the left end to `scale_end` at the
 * right. */
void bp_write_bar(const struct bp_interval *interval, double scale_end, unsigned columns,
	const struct bp_report_options *options, FILE *out);

/* How a line is divided between a name and a bar, in columns; two lie between them. A name that is
 * longer is shortened before the bar goes, but not below 28 columns. */

/* The least that a name of so many columns wants together with a bar. */
unsigned bp_bar_room_least(unsigned name_columns);
/* The bar beside it where there is `room`, at most `columns_max`; 0: not enough for one. */
unsigned bp_bar_columns(unsigned name_columns, unsigned room, unsigned columns_max);
/* What is left for the name beside a bar of `bar_columns` (0: none), at least `columns_min`. */
unsigned bp_bar_name_columns(
	unsigned name_columns, unsigned room, unsigned bar_columns, unsigned columns_min);

/* Writes what the marks mean, a line. */
void bp_write_bar_legend(const struct bp_report_options *options, FILE *out);

#endif
