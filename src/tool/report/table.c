/* SPDX-License-Identifier: MIT */
/*
 * The default report: totals, then the largest rows, each with its interval as a bar on a common
 * scale (so that two rows can be compared by looking whether their bars meet) and in numbers. The
 * layout follows from the width of the terminal: name, bar, bytes, objects, samples. Where there is
 * no room names are shortened first, then samples go, then objects; where even that leaves none for
 * bars they go, and the columns come back. Objects are left out where they tell nothing
 * (objects_column.h).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/views/row_chains.h"
#include "report/parts/bar.h"
#include "report/parts/finer_interval.h"
#include "report/parts/header.h"
#include "report/parts/named_callers.h"
#include "report/parts/objects_column.h"
#include "report/parts/stack_text.h"
#include "report/report.h"
#include "text/chain_text.h"
#include "text/escape.h"

#define NAME_BYTES 4096
#define NAME_COLUMNS_MIN 16
#define BAR_COLUMNS_MAX 60
#define COUNTED_NAME_COLUMNS 40
#define COUNTED_WORTH 1.1 /* the upper limit, of what is counted */

/* A row as text, made before the layout is known. */
struct line {
	char bytes[BP_QUANTITY_BYTES], objects[BP_QUANTITY_BYTES], samples[BP_QUANTITY_BYTES];
	struct bp_row row;
	const char **chain; /* cumulative: functions that are all on the same stacks; NULL: one */
	uint32_t chain_count;
};

struct table {
	struct line *lines;
	uint32_t count;
	bool rest; /* the last line is of what the others leave out */
	char rest_name[64];
	struct bp_row_chains chains;
};

struct layout {
	unsigned name, bar, bytes, objects, samples;
	double scale_bytes; /* at the right end of the bar */
};

static void widen(unsigned *columns, const char *text)
{
	unsigned width = bp_text_columns(text);
	if (width > *columns)
		*columns = width;
}

static unsigned name_columns(const struct line *line, bool utf8)
{
	return line->chain != NULL	? bp_chain_columns(line->chain, line->chain_count, utf8)
	       : line->row.name != NULL ? bp_terminal_columns(line->row.name, utf8)
					: 0;
}

/* The name of a row as it is shown; returns the columns it takes. */
static unsigned name_text(const struct line *line, const struct bp_report_options *options,
	unsigned columns, char *to, size_t bytes)
{
	const struct bp_chain_style style = { .as_recorded = options->names_as_recorded,
		.utf8 = options->utf8 };
	if (line->chain != NULL)
		return bp_chain_text(line->chain, line->chain_count, style, columns, to, bytes);
	return bp_report_name(
		options, line->row.name != NULL ? line->row.name : "", columns, to, bytes);
}

/* Widths that every row fits into. */
static struct layout widths_of(const struct line *lines, uint32_t count, bool has_objects,
	const struct bp_report_options *options)
{
	struct layout layout = {
		.name = NAME_COLUMNS_MIN, .bytes = 5, .objects = has_objects ? 7 : 0, .samples = 7
	};
	for (uint32_t i = 0; i < count; i++) {
		const unsigned columns = name_columns(&lines[i], options->utf8);
		if (columns > layout.name)
			layout.name = columns;
		widen(&layout.bytes, lines[i].bytes);
		if (has_objects)
			widen(&layout.objects, lines[i].objects);
		widen(&layout.samples, lines[i].samples);
		if (isfinite(lines[i].row.bytes.interval.high))
			layout.scale_bytes =
				fmax(layout.scale_bytes, lines[i].row.bytes.interval.high);
	}
	return layout;
}

/* Lets samples go, and objects, until `least` columns are left beside the numbers. Returns how many
 * are: two columns of margin, and two between columns. */
static unsigned make_room(struct layout *layout, unsigned least, unsigned columns)
{
	unsigned numbers = 2 + layout->bytes + layout->samples + 2 * 2;
	if (layout->objects > 0)
		numbers += layout->objects + 2;
	if (numbers + least > columns) {
		numbers -= layout->samples + 2;
		layout->samples = 0;
	}
	if (numbers + least > columns && layout->objects > 0) {
		numbers -= layout->objects + 2;
		layout->objects = 0;
	}
	return columns > numbers ? columns - numbers : 0;
}

/* Names that are shortened rarely take all they may: bars get what is left over. */
static void tighten(struct layout *layout, const struct line *lines, uint32_t count,
	const struct bp_report_options *options)
{
	unsigned most = NAME_COLUMNS_MIN;
	char text[NAME_BYTES];
	for (uint32_t i = 0; i < count; i++) {
		const unsigned columns =
			name_text(&lines[i], options, layout->name, text, sizeof text);
		most = columns > most ? columns : most;
	}
	if (most >= layout->name)
		return;
	if (layout->bar > 0)
		layout->bar += layout->name - most;
	layout->name = most;
}

static struct layout lay_out(const struct line *lines, uint32_t count, bool has_objects,
	const struct bp_report_options *options)
{
	const struct layout whole = widths_of(lines, count, has_objects, options);
	const unsigned least = bp_bar_room_least(whole.name);
	struct layout layout = whole;
	unsigned room = make_room(&layout, least, options->columns);
	layout.bar = bp_bar_columns(whole.name, room, BAR_COLUMNS_MAX);
	if (layout.bar == 0) {
		layout = whole;
		room = make_room(&layout, NAME_COLUMNS_MIN, options->columns);
	}
	layout.name = bp_bar_name_columns(whole.name, room, layout.bar, NAME_COLUMNS_MIN);
	tighten(&layout, lines, count, options);
	if (layout.bar > BAR_COLUMNS_MAX)
		layout.bar = BAR_COLUMNS_MAX;
	return layout;
}

static void write_padded(const char *text, unsigned columns, bool right, FILE *out)
{
	unsigned width = bp_text_columns(text);
	int blanks = (int)(columns > width ? columns - width : 0);
	fprintf(out, "%*s%s%*s", right ? blanks : 0, "", text, right ? 0 : blanks, "");
}

static void write_numbers(const struct layout *layout, const struct line *line, FILE *out)
{
	write_padded(line->bytes, layout->bytes, true, out);
	if (layout->objects > 0) {
		fputs("  ", out);
		write_padded(line->objects, layout->objects, true, out);
	}
	if (layout->samples > 0) {
		fputs("  ", out);
		write_padded(line->samples, layout->samples, true, out);
	}
	putc('\n', out);
}

static void write_name(
	const char *name, unsigned columns, const struct bp_report_options *options, FILE *out)
{
	const struct line line = { .row.name = name };
	char text[NAME_BYTES];
	unsigned width = name_text(&line, options, columns, text, sizeof text);
	fprintf(out, "%s%*s", text, (int)(columns > width ? columns - width : 0), "");
}

static void write_stack(const struct bp_aggregation *aggregation, const struct bp_row *row,
	const struct bp_report_options *options, FILE *out)
{
	bp_write_frames(aggregation->profile, row->frames, row->frame_count, options, out);
	if (row->frame_count == 0)
		fputs("        (no stack recorded)\n", out);
	bp_write_stack_end(row->stack_flags, out);
}

static void fill(struct line *line, const struct bp_report_options *options)
{
	struct bp_quantity_style style = bp_style_of(options);
	struct bp_interval *bytes = &line->row.bytes.interval;
	/* Read at another moment of the peak: there is no sample that an estimate could rest on
	 * here. */
	if (line->row.samples == 0 && !bytes->exact && !(bytes->low > 0))
		bytes->unknown = true;
	bp_bytes_figure_text(&line->row.bytes, style, line->bytes);
	bp_objects_figure_text(&line->row.objects, style, line->objects);
	bp_count_text(line->row.samples, line->samples);
}

/* The scale, 0 at the left end of the bars and the largest limit at the right, where what the rows
 * are by leaves room for it: that may take more than the names do. */
static void write_heading(const char *subject, const struct layout *layout,
	const struct bp_report_options *options, FILE *out)
{
	char right[BP_QUANTITY_BYTES];
	const bool longer = bp_text_columns(subject) > layout->name && layout->bar > 0;
	fprintf(out, "\n  %s", bp_style_bold(options));
	write_name(subject, layout->name + (longer ? layout->bar + 2 : 0), options, out);
	bp_bytes_text((uint64_t)layout->scale_bytes, bp_style_of(options), right);
	if (!longer && layout->bar > bp_text_columns(right) + 2)
		fprintf(out, "  0%*s", (int)(layout->bar - 1), right);
	else if (!longer && layout->bar > 0)
		fprintf(out, "%*s", (int)(layout->bar + 2), "");
	fprintf(out, "  %*s", (int)layout->bytes, "bytes");
	if (layout->objects > 0)
		fprintf(out, "  %*s", (int)layout->objects, "objects");
	if (layout->samples > 0)
		fprintf(out, "  %*s", (int)layout->samples, "samples");
	fprintf(out, "%s\n", bp_style_end(options));
}

/* The name of row `number`; of a stack its place in the order. `rest`: the last line, which is no
 * stack. */
static void write_row_name(const struct line *line, uint32_t number, bool rest,
	const struct layout *layout, const struct bp_report_options *options, FILE *out)
{
	char text[NAME_BYTES];
	if (line->row.name == NULL) {
		snprintf(text, sizeof text, rest ? "rest" : "#%u", number + 1);
		write_padded(text, layout->name, false, out);
		return;
	}
	name_text(line, options, layout->name, text, sizeof text);
	write_padded(text, layout->name, false, out);
}

/* Returns whether there was room for the bars. */
static bool write_lines(const struct bp_aggregation *aggregation, const struct table *table,
	bool has_objects, const struct bp_report_options *options, FILE *out)
{
	bool by_stack = aggregation->query.by == BP_KEY_STACK;
	char subject[128] = "";
	FILE *text = fmemopen(subject, sizeof subject, "w");
	if (text != NULL) {
		bp_write_subject(aggregation, text);
		fclose(text);
	}
	struct layout layout = lay_out(table->lines, table->count, has_objects, options);
	write_heading(subject, &layout, options, out);
	for (uint32_t i = 0; i < table->count; i++) {
		const struct bp_row *row = &table->lines[i].row;
		const bool rest = table->rest && i + 1 == table->count;
		fputs("  ", out);
		write_row_name(&table->lines[i], i, rest, &layout, options, out);
		fputs("  ", out);
		if (layout.bar > 0) {
			bp_write_bar(
				&row->bytes.interval, layout.scale_bytes, layout.bar, options, out);
			fputs("  ", out);
		}
		write_numbers(&layout, &table->lines[i], out);
		if (by_stack && !rest)
			write_stack(aggregation, row, options, out);
	}
	return layout.bar > 0;
}

static void finish_table(struct table *table)
{
	for (uint32_t i = 0; table->lines != NULL && i < table->count; i++)
		free(table->lines[i].chain);
	free(table->lines);
	bp_row_chains_finish(&table->chains);
}

/* The functions of a chain, outermost first; false: no memory. */
static bool name_chain(const struct bp_aggregation *aggregation, const struct table *table,
	const struct bp_row_chain *chain, struct line *line)
{
	if (chain->count == 1)
		return true;
	line->chain = calloc(chain->count, sizeof *line->chain);
	line->chain_count = chain->count;
	for (uint32_t i = 0; line->chain != NULL && i < chain->count; i++) {
		struct bp_row row;
		bp_aggregation_row(aggregation, table->chains.rows[chain->first + i], &row);
		line->chain[i] = row.name;
	}
	return line->chain != NULL;
}

/* The line behind those shown. Cumulative rows overlap and have no sum: the largest is shown. */
static void fill_rest(const struct bp_aggregation *aggregation, uint32_t rows_shown,
	const struct bp_report_options *options, struct table *table)
{
	struct line *line = &table->lines[table->count];
	const uint32_t left_out = aggregation->row_count - rows_shown;
	if (aggregation->query.cumulative && left_out > 0) {
		const struct bp_row_chain *next = &table->chains.chains[table->count];
		bp_aggregation_row(aggregation, table->chains.rows[next->first], &line->row);
		snprintf(table->rest_name, sizeof table->rest_name, "%u more, the largest",
			left_out);
		table->rest = true;
	} else {
		table->rest = bp_aggregation_rest(aggregation, rows_shown, &line->row);
		snprintf(table->rest_name, sizeof table->rest_name,
			left_out > 0 ? "%u more, together" : "in no row", left_out);
	}
	line->row.name = aggregation->query.by == BP_KEY_STACK ? NULL : table->rest_name;
	if (table->rest) {
		fill(line, options);
		table->count++;
	}
}

static bool fill_table(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, struct bp_objects_column *column,
	struct table *table)
{
	uint32_t rows_shown = 0;
	if (!bp_row_chains_make(aggregation, &table->chains))
		return false;
	const uint32_t shown =
		table->chains.count < options->rows ? table->chains.count : options->rows;
	table->lines = calloc((size_t)shown + 1, sizeof *table->lines);
	if (table->lines == NULL)
		return false;
	for (; table->count < shown; table->count++) {
		const struct bp_row_chain *chain = &table->chains.chains[table->count];
		struct line *line = &table->lines[table->count];
		bp_aggregation_row(aggregation, table->chains.rows[chain->first], &line->row);
		bp_objects_column_look(column, &line->row);
		fill(line, options);
		if (!name_chain(aggregation, table, chain, line))
			return false;
		rows_shown += chain->count;
	}
	fill_rest(aggregation, rows_shown, options, table);
	return true;
}

/* Is so much of the row counted, and is there room for more above it that is worth a word? Objects
 * of `from_bytes` and more are all recorded. */
static bool is_counted(const struct bp_figure *bytes, double from_bytes)
{
	const struct bp_interval *interval = &bytes->interval;
	return !interval->exact && !interval->unknown && !bytes->lower_bound &&
	       !bytes->upper_bound && interval->low >= from_bytes &&
	       interval->low >= interval->estimate && isfinite(interval->high) &&
	       interval->high > COUNTED_WORTH * interval->low;
}

/* What an estimate at the left end of its line means, said of the first such row. */
static void write_counted(const struct bp_aggregation *aggregation, const struct table *table,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_sampling *sampling = &aggregation->sampling;
	const struct bp_process *subject =
		&aggregation->profile->processes.data[aggregation->subject.i];
	const struct bp_quantity_style style = bp_style_of(options);
	char counted[BP_QUANTITY_BYTES], more[BP_QUANTITY_BYTES];
	char text[512], name[NAME_BYTES];
	if (subject->law == BP_PROFILE_BERNOULLI || sampling->interval_count == 0 ||
		aggregation->query.by == BP_KEY_STACK)
		return;
	for (uint32_t i = 0; i < table->count - table->rest; i++) {
		const struct bp_interval *interval = &table->lines[i].row.bytes.interval;
		if (!is_counted(&table->lines[i].row.bytes, (double)sampling->intervals[0]))
			continue;
		bp_bytes_text((uint64_t)interval->low, style, counted);
		bp_bytes_text((uint64_t)(interval->high - interval->low), style, more);
		name_text(&table->lines[i], options, COUNTED_NAME_COLUMNS, name, sizeof name);
		snprintf(text, sizeof text,
			"%.160s: %.32s of it are counted, since every object above the sampling "
			"interval is recorded; smaller ones add at most %.32s.",
			name, counted, more);
		bp_write_note(options, text, out);
		return;
	}
}

static bool write_table(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_objects_column column = { 0 };
	struct table table = { 0 };
	bool good = true;
	if (!fill_table(aggregation, options, &column, &table)) {
		finish_table(&table);
		return bp_error_set(error, "out of memory");
	}
	bp_write_header(aggregation, options, out);
	const bool has_objects = bp_objects_column_is_shown(&column, &aggregation->query);
	if (table.count > 0) {
		const bool bars = write_lines(aggregation, &table, has_objects, options, out);
		good = bp_write_named_callers(aggregation, options, out, error);
		putc('\n', out);
		if (bars)
			bp_write_bar_legend(options, out);
		if (bars)
			write_counted(aggregation, &table, options, out);
		if (table.count > table.rest)
			bp_write_finer_interval(aggregation, &table.lines[0].row, options, out);
		if (!has_objects)
			bp_write_objects_left_out(options, out);
		bp_write_charged(aggregation, options, out);
	} else if (aggregation->query.filter_count == 0) {
		fputs("\n  no samples of this metric\n", out);
	}
	finish_table(&table);
	return good;
}

const struct bp_report bp_report_table = {
	.name = "table", .for_eyes = true, .rows = 20, .write = write_table
};
