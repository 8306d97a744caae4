/* SPDX-License-Identifier: MIT */
/*
 * `report --rounding`: what the allocator gave beyond what was asked for, by row, and by requested
 * size with what could be asked for instead. Both tables begin with what loses most.
 */
#include "report/rounding.h"

#include "aggregation/views/rounding.h"
#include "report/parts/bar.h"
#include "report/parts/grid.h"
#include "report/parts/header.h"
#include "report/parts/row_text.h"

#define NAME_BYTES 1024

enum column { LOST, SHARE, ASKED, OBJECTS };

static void figure_cells(const struct bp_rounding_figures *figures,
	const struct bp_report_options *options, struct bp_grid_row *row)
{
	const struct bp_quantity_style style = bp_style_of(options);
	if (figures->samples == 0 && figures->unknown_samples > 0) {
		snprintf(row->cells[LOST], BP_GRID_CELL_BYTES, "?");
		snprintf(row->cells[SHARE], BP_GRID_CELL_BYTES, "?");
	} else {
		row->bar = figures->lost.interval;
		bp_bytes_figure_text(&figures->lost, style, row->cells[LOST]);
		bp_share_text(&figures->share, options, row->cells[SHARE]);
	}
	bp_bytes_figure_text(&figures->asked, style, row->cells[ASKED]);
	bp_objects_figure_text(&figures->objects, style, row->cells[OBJECTS]);
}

static bool write_rows(const struct bp_aggregation *aggregation, const struct bp_rounding *rounding,
	const struct bp_report_options *options, FILE *out)
{
	struct bp_grid grid = { .headings = { [LOST] = "rounded up by",
					[SHARE] = "of what is given",
					[ASKED] = "asked for",
					[OBJECTS] = "objects" },
		.goes = { OBJECTS, ASKED, SHARE },
		.bars = true };
	char name[NAME_BYTES], heading[NAME_BYTES];
	snprintf(heading, sizeof heading, "%s by %s%s",
		bp_metric_word(aggregation->query.metric, false), bp_query_by(&aggregation->query),
		aggregation->query.cumulative ? ", cumulative" : "");
	grid.name = heading;
	bool good = true;
	for (uint32_t i = 0; good && i < rounding->row_count; i++) {
		struct bp_row row;
		bp_aggregation_row(aggregation, rounding->rows[i].row, &row);
		bp_row_text(aggregation, &row, name, sizeof name);
		struct bp_grid_row *line = bp_grid_add(&grid, name);
		good = line != NULL;
		if (good)
			figure_cells(&rounding->rows[i].figures, options, line);
	}
	struct bp_grid_row *all = good ? bp_grid_add(&grid, "in all") : NULL;
	if (all != NULL)
		figure_cells(&rounding->all, options, all);
	if (all != NULL)
		bp_grid_write(&grid, options, out);
	bp_grid_finish(&grid);
	return all != NULL;
}

/* "1,024: saves 20 %", "perhaps 1,024: saves 20 %", "up to 1,280", "it fits", "?". */
static void advice_text(const struct bp_rounding_size *size, char *cell)
{
	const struct bp_size_advice *advice = &size->advice;
	char instead[BP_QUANTITY_BYTES];
	const double saved =
		advice->usable > 0 ? 100 * (double)advice->saved / (double)advice->usable : 0;
	bp_count_text(advice->instead, instead);
	if (size->several_allocators)
		snprintf(cell, BP_GRID_CELL_BYTES, "several allocators");
	else if (size->aligned)
		snprintf(cell, BP_GRID_CELL_BYTES, "aligned");
	else if (advice->kind == BP_ADVICE_FITS)
		snprintf(cell, BP_GRID_CELL_BYTES, "it fits");
	else if (advice->kind == BP_ADVICE_LESS)
		snprintf(cell, BP_GRID_CELL_BYTES, "%.30s: saves %.0f %%", instead, saved);
	else if (advice->kind == BP_ADVICE_PERHAPS_LESS)
		snprintf(cell, BP_GRID_CELL_BYTES, "perhaps %.30s: saves %.0f %%", instead, saved);
	else if (advice->kind == BP_ADVICE_MORE)
		snprintf(cell, BP_GRID_CELL_BYTES, "up to %.30s", instead);
	else
		snprintf(cell, BP_GRID_CELL_BYTES, "?");
}

static bool write_sizes(
	const struct bp_rounding *rounding, const struct bp_report_options *options, FILE *out)
{
	enum { GIVEN = 1, OF_SIZE, INSTEAD };
	struct bp_grid grid = { .name = "requests of",
		.headings = { [LOST] = "rounded up by",
			[GIVEN] = "to",
			[OF_SIZE] = "objects",
			[INSTEAD] = "better" },
		.goes = { OF_SIZE, GIVEN, LOST } };
	bool good = true;
	for (uint32_t i = 0; good && i < rounding->size_count; i++) {
		const struct bp_rounding_size *size = &rounding->sizes[i];
		char name[BP_QUANTITY_BYTES], count[BP_QUANTITY_BYTES];
		bp_count_text(size->size, count);
		snprintf(name, sizeof name, "%.60s bytes", count);
		struct bp_grid_row *row = bp_grid_add(&grid, name);
		good = row != NULL;
		if (!good)
			break;
		figure_cells(&size->figures, options, row);
		snprintf(row->cells[OF_SIZE], BP_GRID_CELL_BYTES, "%s", row->cells[OBJECTS]);
		snprintf(row->cells[GIVEN], BP_GRID_CELL_BYTES, "?");
		if (size->advice.usable > 0)
			bp_count_text(size->advice.usable, row->cells[GIVEN]);
		advice_text(size, row->cells[INSTEAD]);
	}
	if (good && rounding->size_count > 0)
		bp_grid_write(&grid, options, out);
	bp_grid_finish(&grid);
	return good;
}

static void write_notes(
	const struct bp_rounding *rounding, const struct bp_report_options *options, FILE *out)
{
	char text[512], count[BP_QUANTITY_BYTES];
	bp_write_note(options,
		"Better: what to ask for, learned from this recording alone. \"1,024: saves 20 %\": requests of so "
		"many bytes were given a smaller piece; perhaps: a smaller piece has so many bytes, but nobody asked "
		"for exactly that; up to: so many were given the same piece. ?: too little was seen.",
		out);
	if (rounding->in_slots)
		bp_write_note(options,
			"Of small objects it is what the allocator gives for a request by itself: remainders of free "
			"blocks that it adds are not in it, nor in the intervals (run --in-place records them).",
			out);
	if (!(rounding->all.lost.interval.estimate > 0))
		bp_write_note(options,
			"No sampled object was given more than was asked for. A file of .NET or Go tells what "
			"objects take, and not what was asked for.",
			out);
	if (rounding->all.unknown_samples == 0)
		return;
	bp_count_text(rounding->all.unknown_samples, count);
	snprintf(text, sizeof text,
		"Of %.60s samples it is not known what they were given, and nothing of them is in what was rounded up.",
		count);
	bp_write_note(options, text, out);
}

static bool write_rounding(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_rounding rounding;
	bool good = true;
	if (!bp_rounding_make(aggregation, options->rows, &rounding, error))
		return false;
	bp_write_header(aggregation, options, out);
	if (rounding.all.samples == 0) {
		putc('\n', out);
		bp_write_note(options,
			rounding.all.unknown_samples > 0
				? "Rounding is not known: this file does not tell what was given."
				: "There is no sample whose rounding could be told.",
			out);
	} else {
		good = write_rows(aggregation, &rounding, options, out) &&
		       write_sizes(&rounding, options, out);
		putc('\n', out);
		write_notes(&rounding, options, out);
		bp_write_bar_legend(options, out);
	}
	bp_rounding_finish(&rounding);
	return good || bp_error_set(error, "out of memory");
}

const struct bp_report bp_report_rounding = {
	.name = "rounding", .for_eyes = true, .rows = 10, .write = write_rounding
};
