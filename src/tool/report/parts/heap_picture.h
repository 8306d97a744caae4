/* SPDX-License-Identifier: MIT */
/*
 * A picture of the heap for a terminal: its addresses in rows of cells, each a range of pages, with
 * how much of the range is live, and below it whose samples keep most of it. Called by pages.c.
 */
#ifndef BP_REPORT_PARTS_HEAP_PICTURE_H
#define BP_REPORT_PARTS_HEAP_PICTURE_H

#include "report/report.h"

/* The first keepers have letters, from A on. */
#define BP_PICTURE_LETTERS 8u

/* Fits into options->columns, ASCII alone without options->utf8. Blocks that malloc mapped by
 * themselves are left out: each is its object's alone. */
void bp_write_heap_picture(
	const struct bp_keepers *keepers, const struct bp_report_options *options, FILE *out);

#endif
