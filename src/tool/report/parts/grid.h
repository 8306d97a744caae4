/* SPDX-License-Identifier: MIT */
/*
 * A small table for people: a name, perhaps an interval as a bar, and columns of figures, laid out
 * to the width of the terminal. Where there is no room names are shortened first, then columns go,
 * those that say least before the others; where even that leaves none for bars they go, and columns
 * come back.
 */
#ifndef BP_REPORT_PARTS_GRID_H
#define BP_REPORT_PARTS_GRID_H

#include "report/report.h"
#include "text/quantity.h"

#define BP_GRID_COLUMNS 6
#define BP_GRID_CELL_BYTES (BP_QUANTITY_BYTES + 16)

struct bp_grid_row {
	char *name; /* bytes of any kind; owned */
	char cells[BP_GRID_COLUMNS][BP_GRID_CELL_BYTES];
	struct bp_interval bar;
};

/* Zeroed but for headings: empty. */
struct bp_grid {
	const char *name;		       /* heading of the names */
	const char *headings[BP_GRID_COLUMNS]; /* the first NULL ends them */
	unsigned goes
		/* which column goes first, second ...; all 0: from the last on */
		[BP_GRID_COLUMNS];
	bool bars;
	/* of the name: columns go until it has so much, where it is so long; 0: 12. Without bars */
	unsigned name_columns_least;
	/* What stands below a row, whole lines of it; NULL: nothing does. `below` is for it. */
	void (*write_below)(const void *below, uint32_t row,
		const struct bp_report_options *options, FILE *out);
	const void *below;
	struct bp_grid_row *rows;
	uint32_t count;
};

/* A new row with this name, its cells empty; NULL: no memory. Valid until the next one is added. */
struct bp_grid_row *bp_grid_add(struct bp_grid *grid, const char *name);
/* Takes column `number` out, of the heading and of all rows that there are. */
void bp_grid_leave_out(struct bp_grid *grid, unsigned number);
/* Returns whether there was room for the bars. */
bool bp_grid_write(const struct bp_grid *grid, const struct bp_report_options *options, FILE *out);
/* How many columns names have there: longer ones are cut. */
unsigned bp_grid_name_columns(const struct bp_grid *grid, const struct bp_report_options *options);
/* Is there room for that column? */
bool bp_grid_shows(
	const struct bp_grid *grid, const struct bp_report_options *options, unsigned column);
void bp_grid_finish(struct bp_grid *grid);

#endif
