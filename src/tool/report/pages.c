/* SPDX-License-Identifier: MIT */
/*
 * `report --pages`: whose objects keep pages of the heap resident (resident/pages/keepers.h): a
 * table by what each row keeps, what is known of all, and a picture of the heap.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts/grid.h"
#include "report/parts/header.h"
#include "report/parts/heap_picture.h"
#include "text/chain_text.h"

#define STACK_NAMES_MOST 64u
#define NAME_BYTES 4096
/* With fewer samples than this of all that is kept, a smaller T is advised. */
#define SAMPLES_FEW 30u

enum { IN_PICTURE, KEPT, OWN, RATIO, ALONE, FREES };

static void bytes_text(
	const struct bp_interval *bytes, const struct bp_report_options *options, char *to)
{
	const struct bp_figure figure = { .interval = *bytes };
	bp_bytes_figure_text(&figure, bp_style_of(options), to);
}

/* What is kept for each byte of the objects, limits at their worst: "63 [40, 96]". */
static void ratio_text(const struct bp_keeper_figures *figures, char *to, size_t bytes)
{
	const struct bp_interval *kept = &figures->kept, *own = &figures->own;
	const double ratio = own->estimate > 0 ? kept->estimate / own->estimate : 0;
	if (!(own->low > 0) || !(own->estimate > 0))
		snprintf(to, bytes, "-");
	else if (kept->exact && own->exact)
		snprintf(to, bytes, "%.3g", ratio);
	else
		snprintf(to, bytes, "%.3g [%.3g, %.3g]", ratio, kept->low / own->high,
			kept->high / own->low);
}

/* What would be free without the row, between two limits. */
static void frees_text(
	const struct bp_keeper_figures *figures, const struct bp_report_options *options, char *to)
{
	struct bp_interval limits = { .estimate = NAN,
		.low = figures->free_least,
		.high = figures->free_most,
		.unknown = true };
	if (limits.low == limits.high) {
		limits.estimate = limits.low;
		limits.unknown = false;
		limits.exact = true;
	}
	bytes_text(&limits, options, to);
}

/* The name of row `number` of the aggregation, in the table `place` + 1; a stack has a number. */
static void name_of(
	const struct bp_aggregation *aggregation, uint32_t number, uint32_t place, char *to)
{
	struct bp_row row;
	bp_aggregation_row(aggregation, number, &row);
	if (row.name != NULL)
		snprintf(to, NAME_BYTES, "%s", *row.name != '\0' ? row.name : "(no name)");
	else
		snprintf(to, NAME_BYTES, "#%u", place + 1);
}

/* Of stacks what their numbers mean, a line each: as many functions as there is room for. */
static void write_stacks(const struct bp_keepers *keepers, uint32_t shown,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_profile *profile = keepers->aggregation.profile;
	const struct bp_chain_style style = {
		.callers = true, .as_recorded = options->names_as_recorded, .utf8 = options->utf8
	};
	const char *names[STACK_NAMES_MOST];
	char text[NAME_BYTES] = "(no stack recorded)";
	const unsigned room = options->columns > 30 ? options->columns - 10 : 20;
	putc('\n', out);
	for (uint32_t i = 0; i < shown; i++) {
		struct bp_row row;
		uint32_t count = 0;
		bp_aggregation_row(&keepers->aggregation, keepers->keepers[i].row, &row);
		for (; count < row.frame_count && count < STACK_NAMES_MOST; count++)
			names[count] = bp_profile_text(
				profile, profile->frames.data[row.frames[count].i].function);
		if (count > 0)
			bp_chain_text(names, count, style, room, text, sizeof text);
		fprintf(out, "  #%-4u  %s\n", i + 1, text);
	}
}

static bool add_row(struct bp_grid *grid, const char *name, char letter,
	const struct bp_keeper_figures *figures, const struct bp_report_options *options)
{
	struct bp_grid_row *row = bp_grid_add(grid, name);
	if (row == NULL)
		return false;
	snprintf(row->cells[IN_PICTURE], sizeof row->cells[0], "%c", letter);
	bytes_text(&figures->kept, options, row->cells[KEPT]);
	bytes_text(&figures->own, options, row->cells[OWN]);
	ratio_text(figures, row->cells[RATIO], sizeof row->cells[0]);
	bytes_text(&figures->alone, options, row->cells[ALONE]);
	frees_text(figures, options, row->cells[FREES]);
	row->bar = figures->kept;
	return true;
}

static bool write_table(const struct bp_keepers *keepers, const struct bp_report_options *options,
	FILE *out, struct bp_error *error)
{
	struct bp_grid grid = { .name = "kept resident by",
		.headings = { "", "kept", "own bytes", "ratio", "alone", "without it free" },
		.goes = { RATIO, ALONE, OWN, IN_PICTURE, FREES } };
	const uint32_t shown = keepers->count < options->rows ? keepers->count : options->rows;
	char name[NAME_BYTES];
	bool good = true;
	for (uint32_t i = 0; good && i < shown; i++) {
		name_of(&keepers->aggregation, keepers->keepers[i].row, i, name);
		good = add_row(&grid, name, i < BP_PICTURE_LETTERS ? (char)('A' + i) : '-',
			&keepers->keepers[i].figures, options);
	}
	good = good && (keepers->count < 2 || add_row(&grid, "all", ' ', &keepers->all, options));
	if (good)
		bp_grid_write(&grid, options, out);
	if (good && keepers->aggregation.query.by == BP_KEY_STACK)
		write_stacks(keepers, shown, options, out);
	bp_grid_finish(&grid);
	return good || bp_error_set(error, "out of memory");
}

static void write_notes(
	const struct bp_keepers *keepers, const struct bp_report_options *options, FILE *out)
{
	const struct bp_quantity_style style = bp_style_of(options);
	char held[BP_QUANTITY_BYTES], all[BP_QUANTITY_BYTES], resident[BP_QUANTITY_BYTES];
	char unused[BP_QUANTITY_BYTES], text[1024];
	bp_bytes_text(keepers->heap.beside, style, unused);
	bp_bytes_text(keepers->heap.held, style, held);
	bp_bytes_text(keepers->heap.resident, style, resident);
	bytes_text(&keepers->all.kept, options, all);
	snprintf(text, sizeof text,
		"%.90s lie free on pages that hold a live object. Counted: %.90s are on such pages, "
		"of %.90s resident; all rows together, estimated: %.90s.",
		unused, held, resident, all);
	bp_write_wrapped(options, " ", text, out);
	bp_write_note(options,
		"Kept: each resident page is shared equally among the live objects that touch it. "
		"Alone: pages on which an object of the row is the only one. Without it free: at "
		"least these, by their lower limit; at most what the row touches, and what no object "
		"of another row has alone.",
		out);
	if (keepers->elsewhere > 0) {
		snprintf(text, sizeof text,
			"%llu live samples do not lie on pages of the heap and are in no row: "
			"objects in memory that was mapped otherwise (Python's), or made right after "
			"the look.",
			(unsigned long long)keepers->elsewhere);
		bp_write_note(options, text, out);
	}
	if (keepers->all.samples < SAMPLES_FEW)
		bp_write_note(options,
			"Few samples live. Small objects that keep whole pages are rarely sampled: "
			"record with a smaller interval (-i 16K, or a quarter of what this one had).",
			out);
}

static bool write_pages(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_report_options head = *options;
	const struct bp_keepers *keepers = options->keepers;
	char time[BP_QUANTITY_BYTES], text[BP_QUANTITY_BYTES + 128];
	if (keepers == NULL)
		return bp_error_set(error, "pages of the heap are not known");
	head.resident = NULL;
	bp_write_header(aggregation, &head, out);
	bp_time_text(keepers->at_ns, time);
	snprintf(text, sizeof text, "pages of the heap at %s, pid %u, by %.40s", time, keepers->pid,
		bp_query_by(&keepers->aggregation.query));
	fprintf(out, "\n  %s%s%s\n", bp_style_bold(options), text, bp_style_end(options));
	if (!write_table(keepers, options, out, error))
		return false;
	putc('\n', out);
	write_notes(keepers, options, out);
	bp_write_heap_picture(keepers, options, out);
	return true;
}

const struct bp_report bp_report_pages = {
	.name = "pages", .for_eyes = true, .rows = 20, .write = write_pages
};
