/* SPDX-License-Identifier: MIT */
/* See grid.h. */
#include "report/parts/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts/bar.h"
#include "report/parts/header.h"
#include "text/escape.h"

#define NAME_BYTES 4096
#define NAME_COLUMNS_MIN 12
#define BAR_COLUMNS_MAX 40

struct layout {
	unsigned name, bar, columns;
	unsigned widths[BP_GRID_COLUMNS]; /* 0: the column has gone */
	double scale;
};

struct bp_grid_row *bp_grid_add(struct bp_grid *grid, const char *name)
{
	struct bp_grid_row *rows = realloc(grid->rows, (grid->count + 1) * sizeof *rows);
	char *copy = strdup(name);
	if (rows != NULL)
		grid->rows = rows;
	if (rows == NULL || copy == NULL) {
		free(copy);
		return NULL;
	}
	struct bp_grid_row *row = &rows[grid->count++];
	*row = (struct bp_grid_row){ .name = copy };
	return row;
}

void bp_grid_leave_out(struct bp_grid *grid, unsigned number)
{
	const unsigned behind = BP_GRID_COLUMNS - 1 - number;
	memmove(&grid->headings[number], &grid->headings[number + 1],
		behind * sizeof grid->headings[0]);
	grid->headings[BP_GRID_COLUMNS - 1] = NULL;
	for (uint32_t i = 0; i < grid->count; i++)
		memmove(grid->rows[i].cells[number], grid->rows[i].cells[number + 1],
			behind * sizeof grid->rows[i].cells[0]);
}

void bp_grid_finish(struct bp_grid *grid)
{
	for (uint32_t i = 0; i < grid->count; i++)
		free(grid->rows[i].name);
	free(grid->rows);
	grid->rows = NULL;
	grid->count = 0;
}

static unsigned wider(unsigned columns, unsigned width)
{
	return width > columns ? width : columns;
}

static struct layout widths_of(const struct bp_grid *grid, const struct bp_report_options *options)
{
	struct layout layout = { .name = bp_text_columns(grid->name) };
	while (layout.columns < BP_GRID_COLUMNS && grid->headings[layout.columns] != NULL) {
		layout.widths[layout.columns] = bp_text_columns(grid->headings[layout.columns]);
		layout.columns++;
	}
	for (uint32_t i = 0; i < grid->count; i++) {
		const struct bp_grid_row *row = &grid->rows[i];
		layout.name = wider(layout.name, bp_terminal_columns(row->name, options->utf8));
		for (unsigned c = 0; c < layout.columns; c++)
			layout.widths[c] = wider(layout.widths[c], bp_text_columns(row->cells[c]));
		if (isfinite(row->bar.high))
			layout.scale = fmax(layout.scale, row->bar.high);
	}
	return layout;
}

static unsigned numbers_of(const struct layout *layout)
{
	unsigned used = 2;
	for (unsigned c = 0; c < layout->columns; c++)
		used += layout->widths[c] > 0 ? 2 + layout->widths[c] : 0;
	return used;
}

/* Lets columns go until `least` are left beside the others, but the one that goes last; returns how
 * many are left. */
static unsigned make_room(
	const struct bp_grid *grid, struct layout *layout, unsigned least, unsigned columns)
{
	const bool told = grid->goes[0] != 0 || grid->goes[1] != 0;
	for (unsigned i = 0; i + 1 < layout->columns && numbers_of(layout) + least > columns; i++)
		layout->widths[told ? grid->goes[i] : layout->columns - 1 - i] = 0;
	const unsigned used = numbers_of(layout);
	return columns > used ? columns - used : 0;
}

static struct layout lay_out(const struct bp_grid *grid, const struct bp_report_options *options)
{
	const struct layout whole = widths_of(grid, options);
	const unsigned least = bp_bar_room_least(whole.name);
	struct layout layout = whole;
	unsigned room = grid->bars ? make_room(grid, &layout, least, options->columns) : 0;
	layout.bar = bp_bar_columns(whole.name, room, BAR_COLUMNS_MAX);
	if (layout.bar == 0) {
		layout = whole;
		const unsigned wanted = grid->name_columns_least < whole.name
						? grid->name_columns_least
						: whole.name;
		room = make_room(grid, &layout, wider(NAME_COLUMNS_MIN, wanted), options->columns);
	}
	layout.name = bp_bar_name_columns(whole.name, room, layout.bar, NAME_COLUMNS_MIN);
	return layout;
}

unsigned bp_grid_name_columns(const struct bp_grid *grid, const struct bp_report_options *options)
{
	return lay_out(grid, options).name;
}

bool bp_grid_shows(
	const struct bp_grid *grid, const struct bp_report_options *options, unsigned column)
{
	return lay_out(grid, options).widths[column] != 0;
}

static void write_heading(const struct bp_grid *grid, const struct layout *layout,
	const struct bp_report_options *options, FILE *out)
{
	char name[NAME_BYTES];
	unsigned width =
		bp_terminal_text(grid->name, options->utf8, layout->name, name, sizeof name);
	fprintf(out, "\n  %s%s%*s", bp_style_bold(options), name,
		(int)(layout->name > width ? layout->name - width : 0), "");
	if (layout->bar > 0)
		fprintf(out, "%*s", (int)layout->bar + 2, "");
	for (unsigned c = 0; c < layout->columns; c++)
		if (layout->widths[c] > 0)
			fprintf(out, "  %*s%s",
				(int)(layout->widths[c] - bp_text_columns(grid->headings[c])), "",
				grid->headings[c]);
	fprintf(out, "%s\n", bp_style_end(options));
}

bool bp_grid_write(const struct bp_grid *grid, const struct bp_report_options *options, FILE *out)
{
	const struct layout layout = lay_out(grid, options);
	char name[NAME_BYTES];
	write_heading(grid, &layout, options, out);
	for (uint32_t i = 0; i < grid->count; i++) {
		const struct bp_grid_row *row = &grid->rows[i];
		unsigned width = bp_report_name(options, row->name, layout.name, name, sizeof name);
		fprintf(out, "  %s%*s", name, (int)(layout.name > width ? layout.name - width : 0),
			"");
		if (layout.bar > 0) {
			fputs("  ", out);
			bp_write_bar(&row->bar, layout.scale, layout.bar, options, out);
		}
		for (unsigned c = 0; c < layout.columns; c++)
			if (layout.widths[c] > 0)
				fprintf(out, "  %*s%s",
					(int)(layout.widths[c] - bp_text_columns(row->cells[c])),
					"", row->cells[c]);
		putc('\n', out);
		if (grid->write_below != NULL)
			grid->write_below(grid->below, i, options, out);
	}
	return layout.bar > 0;
}
