/* SPDX-License-Identifier: MIT */
/*
 * One line for each pair of places, "make() → drop()", with what was allocated there and ended
 * there. What still lives, and what was freed by a stack that is not known, have lines of their
 * own.
 */
#include "report/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "aggregation/views/pairs.h"
#include "query/filter.h"
#include "report/lifetimes.h"
#include "report/parts/grid.h"
#include "report/parts/header.h"
#include "report/parts/row_text.h"
#include "report/parts/stack_text.h"
#include "text/escape.h"

#define PLACE_BYTES 1024
#define NAME_BYTES (2 * PLACE_BYTES + 8)
#define NAME_COLUMNS_LEAST 32 /* rather than less, figures are left out */
#define ARROW_COLUMNS 3

enum column { BYTES, OBJECTS, ANOTHER, MEDIAN, PROCESSOR };

/* The place where a pair ended, as a row. */
static struct bp_row place_of_end(const struct bp_pair *pair)
{
	return (struct bp_row){ .name = pair->end == BP_PAIR_LIVE	       ? "(still live)"
					: pair->end == BP_PAIR_FREED_SOMEWHERE ? BP_FREED_SOMEWHERE
									       : pair->freed_name,
		.frames = pair->freed_frames,
		.frame_count = pair->freed_frame_count,
		.stack_flags = pair->freed_stack_flags };
}

/* The two places as one text of at most `columns` columns, of which a short one leaves what it does
 * not need to the other. */
static void pair_text(const struct bp_aggregation *aggregation, const struct bp_pair *pair,
	const struct bp_report_options *options, unsigned columns, char *to, size_t bytes)
{
	const char *arrow = options->utf8 ? " → " : " -> ";
	const unsigned room = columns > ARROW_COLUMNS ? columns - ARROW_COLUMNS : 0;
	char from[PLACE_BYTES], freed[PLACE_BYTES], from_cut[PLACE_BYTES], freed_cut[PLACE_BYTES];
	struct bp_row row;
	bp_aggregation_row(aggregation, pair->row, &row);
	bp_row_text(aggregation, &row, from, sizeof from);
	row = place_of_end(pair);
	bp_row_text(aggregation, &row, freed, sizeof freed);
	const unsigned from_whole = bp_terminal_columns(from, options->utf8);
	const unsigned freed_whole = bp_terminal_columns(freed, options->utf8);
	unsigned from_columns = room / 2;
	if (from_whole < from_columns)
		from_columns = from_whole;
	else if (freed_whole < room - from_columns)
		from_columns = room - freed_whole;
	bp_report_name(options, from, from_columns, from_cut, sizeof from_cut);
	bp_report_name(options, freed, room - from_columns, freed_cut, sizeof freed_cut);
	snprintf(to, bytes, "%s%s%s", from_cut, arrow, freed_cut);
}

/* What the rows of a table by stack are of. */
struct stacks {
	const struct bp_aggregation *aggregation;
	const struct bp_pairs *pairs;
};

static void write_place(const struct bp_aggregation *aggregation, const char *what,
	const struct bp_row *row, const struct bp_report_options *options, FILE *out)
{
	if (row->frame_count == 0)
		what = row->name != NULL ? row->name : "(no stack recorded)";
	fprintf(out, "      %s\n", what);
	bp_write_frames(aggregation->profile, row->frames, row->frame_count, options, out);
	bp_write_stack_end(row->stack_flags, out);
}

/* Both stacks of pair `number`. (Rows behind the pairs are sums.) */
static void write_stacks(
	const void *below, uint32_t number, const struct bp_report_options *options, FILE *out)
{
	const struct stacks *stacks = below;
	struct bp_row row;
	if (number >= stacks->pairs->count)
		return;
	const struct bp_pair *pair = &stacks->pairs->pairs[number];
	bp_aggregation_row(stacks->aggregation, pair->row, &row);
	write_place(stacks->aggregation, "allocated", &row, options, out);
	row = place_of_end(pair);
	write_place(stacks->aggregation, "freed", &row, options, out);
}

/* Cuts the names of pairs, which are the first rows, to what the table leaves them, so that both
 * places of a pair can be read. False: no memory. */
static bool cut_names(const struct bp_aggregation *aggregation, const struct bp_pairs *pairs,
	const struct bp_report_options *options, struct bp_grid *grid)
{
	const unsigned columns = bp_grid_name_columns(grid, options);
	char name[NAME_BYTES];
	for (uint32_t i = 0; i < pairs->count; i++) {
		if (bp_terminal_columns(grid->rows[i].name, options->utf8) <= columns)
			continue;
		pair_text(aggregation, &pairs->pairs[i], options, columns, name, sizeof name);
		char *cut = strdup(name);
		if (cut == NULL)
			return false;
		free(grid->rows[i].name);
		grid->rows[i].name = cut;
	}
	return true;
}

/* `objects`: shares and ages are of objects, else of bytes. */
static bool add_pair(struct bp_grid *grid, const char *name, const struct bp_pair *pair,
	const struct bp_pairs *of, bool objects, const struct bp_report_options *options)
{
	const struct bp_pair_lifetime *lifetime = objects ? &pair->objects : &pair->bytes;
	const bool live = pair->row != UINT32_MAX && pair->end == BP_PAIR_LIVE;
	char median[BP_GRID_CELL_BYTES];
	struct bp_grid_row *row = bp_grid_add(grid, name);
	if (row == NULL)
		return false;
	bp_bytes_figure_text(&pair->figures.bytes, bp_style_of(options), row->cells[BYTES]);
	bp_objects_figure_text(&pair->figures.objects, bp_style_of(options), row->cells[OBJECTS]);
	if (!live)
		bp_share_text(&lifetime->by_another, options, row->cells[ANOTHER]);
	if (!live && of->processors)
		bp_share_text(&lifetime->on_another, options, row->cells[PROCESSOR]);
	bp_lifetime_median_text(&lifetime->median, of->unit, options, median);
	snprintf(row->cells[MEDIAN], BP_GRID_CELL_BYTES, "%s%.*s", live ? "age " : "",
		BP_GRID_CELL_BYTES - 8, median);
	return true;
}

/* Columns that a note explains, where there is room for them. */
struct shown {
	bool another, median, processor;
};

static bool write_table(const struct bp_aggregation *aggregation, const struct bp_pairs *pairs,
	const struct bp_report_options *options, struct shown *ret_shown, FILE *out)
{
	struct bp_grid grid = { .headings = { [BYTES] = "bytes",
					[OBJECTS] = "objects",
					[ANOTHER] = "by another",
					[MEDIAN] = "half after" },
		.goes = { ANOTHER, OBJECTS, MEDIAN, BYTES },
		.name_columns_least = NAME_COLUMNS_LEAST };
	const struct stacks stacks = { aggregation, pairs };
	const bool by_stack = aggregation->query.by == BP_KEY_STACK;
	const bool objects = aggregation->query.sort == BP_SORT_OBJECTS;
	char name[NAME_BYTES], heading[PLACE_BYTES];
	snprintf(heading, sizeof heading, "allocated %s freed, by %s", options->utf8 ? "→" : "->",
		bp_query_by(&aggregation->query));
	grid.name = by_stack ? "pairs by stack" : heading;
	if (by_stack) {
		grid.name_columns_least = 0;
		grid.write_below = write_stacks;
		grid.below = &stacks;
	}
	if (pairs->processors) {
		static const unsigned goes[] = { PROCESSOR, ANOTHER, OBJECTS, MEDIAN, BYTES };
		grid.headings[PROCESSOR] = "other CPU";
		memcpy(grid.goes, goes, sizeof goes);
	}
	bool good = true;
	for (uint32_t i = 0; good && i < pairs->count; i++) {
		if (by_stack)
			snprintf(name, sizeof name, "#%u", i + 1);
		else
			pair_text(aggregation, &pairs->pairs[i], options, PLACE_BYTES, name,
				sizeof name);
		good = add_pair(&grid, name, &pairs->pairs[i], pairs, objects, options);
	}
	if (good && pairs->left_out > 0) {
		snprintf(name, sizeof name, "%u more pair%s", pairs->left_out,
			pairs->left_out == 1 ? "" : "s");
		good = add_pair(&grid, name, &pairs->rest, pairs, objects, options);
		if (good) {
			struct bp_grid_row *rest = &grid.rows[grid.count - 1];
			rest->cells[ANOTHER][0] = rest->cells[MEDIAN][0] =
				rest->cells[PROCESSOR][0] = '\0';
		}
	}
	good = good && add_pair(&grid, "in all", &pairs->all, pairs, objects, options);
	good = good && (by_stack || cut_names(aggregation, pairs, options, &grid));
	if (good)
		bp_grid_write(&grid, options, out);
	*ret_shown = (struct shown){ good && bp_grid_shows(&grid, options, ANOTHER),
		good && bp_grid_shows(&grid, options, MEDIAN),
		good && pairs->processors && bp_grid_shows(&grid, options, PROCESSOR) };
	bp_grid_finish(&grid);
	return good;
}

static void write_notes(const struct bp_aggregation *aggregation, const struct bp_pairs *pairs,
	const struct bp_report_options *options, struct shown shown, FILE *out)
{
	char text[512];
	if (options->complete)
		bp_write_warning(options,
			"--complete: objects that were not freed are left out, as in profiles of complete pairs. "
			"What lives long is missing more often than what dies soon, so that a pair may hold too "
			"little, and lifetimes come out too short.",
			out);
	else if (bp_query_filters_frees(&aggregation->query))
		bp_write_note(options,
			"Objects that were not freed by the end of the recording are left out, as --filter " BP_FREED_BY
			" says.",
			out);
	snprintf(text, sizeof text,
		"Half after: the age by which half of the %s of the pair had been freed there; of what is still "
		"live, the age that half of it has at the end. ?: too few samples to say anything.",
		aggregation->query.sort == BP_SORT_OBJECTS ? "objects" : "bytes");
	if (shown.median)
		bp_write_note(options, text, out);
	if (shown.median && pairs->unit == BP_AGE_BYTES)
		bp_write_age_bytes_note(pairs->width, options, out);
	if (shown.another)
		bp_write_note(options,
			"By another: the part that another thread freed than the one that had allocated it.",
			out);
	if (shown.processor)
		bp_write_note(options, BP_OTHER_CPU_NOTE, out);
	if (!shown.median || !shown.another || shown.processor != pairs->processors)
		bp_write_note(options, "A wider terminal has more columns.", out);
}

bool bp_write_pairs(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_pairs pairs;
	bool good = true;
	if (!bp_pairs_make(aggregation, options->rows, options->complete,
		    options->age_bytes ? BP_AGE_BYTES : BP_AGE_NS, &pairs, error))
		return false;
	bp_write_header(aggregation, options, out);
	if (!pairs.known || pairs.all.figures.samples == 0) {
		putc('\n', out);
		bp_write_note(options,
			options->age_bytes && !pairs.known
				? "Lifetimes in bytes are not known: this file does not tell them."
				: "There is no sample whose lifetime could be told.",
			out);
	} else {
		struct shown shown;
		good = write_table(aggregation, &pairs, options, &shown, out);
		putc('\n', out);
		write_notes(aggregation, &pairs, options, shown, out);
	}
	bp_pairs_finish(&pairs);
	return good || bp_error_set(error, "out of memory");
}
