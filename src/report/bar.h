/* SPDX-License-Identifier: MIT */
/*
 * An interval as a bar of characters: on a scale that several bars share, two rows can be compared by
 * looking whether their bars meet. Called by the reports for terminals.
 */
#ifndef BP_REPORT_BAR_H
#define BP_REPORT_BAR_H

#include "report/report.h"

/* Writes `columns` >= 2 characters; the scale goes from 0 at the left end to `scale_end` at the right. */
void bp_write_bar(const struct bp_interval *interval, double scale_end, unsigned columns,
	const struct bp_report_options *options, FILE *out);

/* Writes what the marks mean, a line. */
void bp_write_bar_legend(const struct bp_report_options *options, FILE *out);

#endif
