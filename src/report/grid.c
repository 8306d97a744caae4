/* SPDX-License-Identifier: MIT */
/* See grid.h. */
#include "report/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/bar.h"
#include "report/escape.h"
#include "report/header.h"

#define NAME_BYTES 4096
#define NAME_COLUMNS_MIN 12
#define NAME_COLUMNS_MAX 60
#define BAR_COLUMNS_MIN 12
#define BAR_COLUMNS_MAX 40

struct layout {
	unsigned name, bar, widths[BP_GRID_COLUMNS], columns;
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
	char text[NAME_BYTES];
	while (layout.columns < BP_GRID_COLUMNS && grid->headings[layout.columns] != NULL) {
		layout.widths[layout.columns] = bp_text_columns(grid->headings[layout.columns]);
		layout.columns++;
	}
	for (uint32_t i = 0; i < grid->count; i++) {
		const struct bp_grid_row *row = &grid->rows[i];
		layout.name = wider(layout.name, bp_terminal_text(row->name, options->utf8,
							 NAME_COLUMNS_MAX, text, sizeof text));
		for (unsigned c = 0; c < layout.columns; c++)
			layout.widths[c] = wider(layout.widths[c], bp_text_columns(row->cells[c]));
		if (isfinite(row->bar.high))
			layout.scale = fmax(layout.scale, row->bar.high);
	}
	return layout;
}

static struct layout lay_out(const struct bp_grid *grid, const struct bp_report_options *options)
{
	struct layout layout = widths_of(grid, options);
	const unsigned name = layout.name;
	unsigned used = 2 + name;
	for (unsigned c = 0; c < layout.columns; c++)
		used += 2 + layout.widths[c];
	if (grid->bars && used + 2 + BAR_COLUMNS_MIN <= options->columns)
		layout.bar = options->columns - used - 2;
	if (layout.bar > BAR_COLUMNS_MAX)
		layout.bar = BAR_COLUMNS_MAX;
	/* Names give way down to their least width, then columns go. */
	while (used > options->columns && layout.name > NAME_COLUMNS_MIN) {
		layout.name--;
		used--;
	}
	while (used > options->columns && layout.columns > 1)
		used -= 2 + layout.widths[--layout.columns];
	/* ... and names take what a column that went has left over. */
	while (used < options->columns && layout.name < name) {
		layout.name++;
		used++;
	}
	return layout;
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
		unsigned width =
			bp_terminal_text(row->name, options->utf8, layout.name, name, sizeof name);
		fprintf(out, "  %s%*s", name, (int)(layout.name > width ? layout.name - width : 0),
			"");
		if (layout.bar > 0) {
			fputs("  ", out);
			bp_write_bar(&row->bar, layout.scale, layout.bar, options, out);
		}
		for (unsigned c = 0; c < layout.columns; c++)
			fprintf(out, "  %*s%s",
				(int)(layout.widths[c] - bp_text_columns(row->cells[c])), "",
				row->cells[c]);
		putc('\n', out);
	}
	return layout.bar > 0;
}
