/* SPDX-License-Identifier: MIT */
/*
 * What the tables of lifetimes and of rounding say of a row, as text: its name, and a share with
 * its interval. Pure.
 */
#ifndef BP_REPORT_PARTS_ROW_TEXT_H
#define BP_REPORT_PARTS_ROW_TEXT_H

#include "report/report.h"

/* A row's name; of a stack its functions, the innermost first. */
void bp_row_text(
	const struct bp_aggregation *aggregation, const struct bp_row *row, char *to, size_t bytes);

/* A share from 0 to 1: "34 % ±5", "97 % [90, 99]", "≤ 3 %", "[12, 88] %"; "?": nothing is known.
 * `cell`: BP_GRID_CELL_BYTES. */
void bp_share_text(
	const struct bp_figure *figure, const struct bp_report_options *options, char *cell);

#endif
