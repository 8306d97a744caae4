/* SPDX-License-Identifier: MIT */
/*
 * From top to bottom: process, totals, timeline, subject, headings, rows, and one line for what is
 * being typed, said, or can be pressed. On a low terminal the timeline and the subject go first.
 * Columns from the right: samples, change, rate, which part is not resident, the estimate with its
 * interval; the bar takes what the names leave over. A column that does not fit is left out.
 */
#include "cli/live/live_draw.h"

#include <stdlib.h>
#include <string.h>

#include "cli/live/live_head.h"
#include "report/parts/bar.h"
#include "report/parts/header.h"
#include "report/parts/resident_text.h"
#include "text/chain_text.h"
#include "text/escape.h"

#define NAME_BYTES 4096
#define NAME_COLUMNS_MIN 12
#define NAME_COLUMNS_WISHED 30
#define BAR_COLUMNS_MIN 10
#define BAR_COLUMNS_MAX 40
#define ROWS_LOW 12	/* without timeline */
#define ROWS_VERY_LOW 8 /* without subject and headings */
#define INDENT_MAX 30

enum column { SIZE, ABSENT, RATE, CHANGE, SAMPLES, COLUMNS };

/* A row as text. */
struct cells {
	char text[COLUMNS][BP_QUANTITY_BYTES + 16];
};

struct layout {
	unsigned name, bar, width[COLUMNS];
	bool shown[COLUMNS];
};

static unsigned lines_above(const struct bp_live_frame *frame)
{
	if (frame->rows == 0)
		return 5;
	return frame->rows < ROWS_VERY_LOW ? 1 : frame->rows < ROWS_LOW ? 4 : 5;
}

unsigned bp_live_page(const struct bp_live_frame *frame)
{
	const unsigned taken = lines_above(frame) + 1;
	return frame->rows > taken ? frame->rows - taken : 1;
}

static void fill(const struct bp_live_view *view, const struct bp_live_row *row,
	const struct bp_live_frame *frame, struct cells *ret_cells)
{
	const struct bp_quantity_style style = bp_style_of(&frame->options);
	char text[BP_QUANTITY_BYTES];
	static const char *const marks[BP_VERDICT_COUNT] = { "", "^", "v", "new", "gone" };
	static const char *const marks_utf8[BP_VERDICT_COUNT] = { "", "▲", "▼", "new", "gone" };
	memset(ret_cells, 0, sizeof *ret_cells);
	(view->objects ? bp_objects_figure_text : bp_bytes_figure_text)(
		&row->size, style, ret_cells->text[SIZE]);
	const struct bp_residency_row *absent = bp_live_residency_row(&view->residency, row->name);
	if (absent != NULL && view->shows_residency)
		bp_absent_share_text(&absent->absent, &absent->live, ret_cells->text[ABSENT],
			sizeof ret_cells->text[ABSENT]);
	bp_count_text(row->samples, ret_cells->text[SAMPLES]);
	strcpy(ret_cells->text[RATE], "-");
	strcpy(ret_cells->text[CHANGE], "-");
	if (row->has_rate) {
		(view->objects ? bp_objects_estimate_text : bp_bytes_estimate_text)(
			&row->rate, style, text);
		snprintf(ret_cells->text[RATE], sizeof ret_cells->text[RATE], "%s/s", text);
	}
	if (row->has_change) {
		(view->objects ? bp_objects_change_text : bp_bytes_change_text)(
			&row->change, style, "", text);
		const char *mark = (style.utf8 ? marks_utf8 : marks)[row->verdict];
		snprintf(ret_cells->text[CHANGE], sizeof ret_cells->text[CHANGE], "%s%s%s", mark,
			*mark != '\0' ? " " : "", text);
	}
}

static const char *heading(const struct bp_live_view *view, enum column column)
{
	static const char *const names[COLUMNS] = { "", "not resident", "allocated/s", "change",
		"samples" };
	if (column == SIZE)
		return view->objects ? "objects" : "bytes";
	if (column == RATE && view->made && view->aggregation.profile->mapped)
		return "mapped/s";
	return names[column];
}

/* Which columns there is room for, in the order of their weight. */
static struct layout lay_out(const struct bp_live_view *view, const struct cells *cells,
	uint32_t count, const struct bp_live_frame *frame)
{
	static const enum column weight[COLUMNS] = { SIZE, CHANGE, RATE, ABSENT, SAMPLES };
	struct layout layout = { 0 };
	unsigned room = frame->options.columns > 2 ? frame->options.columns - 2 : 0;
	for (int c = 0; c < COLUMNS; c++) {
		layout.width[c] = bp_text_columns(heading(view, c));
		for (uint32_t i = 0; i < count; i++) {
			const unsigned columns = bp_text_columns(cells[i].text[c]);
			if (columns > layout.width[c])
				layout.width[c] = columns;
		}
	}
	for (int i = 0; i < COLUMNS; i++) {
		const enum column c = weight[i];
		const unsigned least = i == 0	? 4
				       : i == 1 ? NAME_COLUMNS_MIN
						: NAME_COLUMNS_MIN + 8;
		if ((c == RATE && view->window_ns == 0) ||
			(c == ABSENT && !(view->shows_residency && view->residency.known)) ||
			(c == CHANGE && (view->metric == BP_METRIC_PEAK || frame->rows == 0)))
			continue;
		layout.shown[c] = room >= layout.width[c] + 2 + least;
		room -= layout.shown[c] ? layout.width[c] + 2 : 0;
	}
	layout.name = room;
	if (room >= NAME_COLUMNS_WISHED + 2 + BAR_COLUMNS_MIN) {
		layout.bar = (room - NAME_COLUMNS_WISHED - 2) / 2 + BAR_COLUMNS_MIN / 2;
		layout.bar = layout.bar > BAR_COLUMNS_MAX ? BAR_COLUMNS_MAX : layout.bar;
		layout.name = room - layout.bar - 2;
	}
	return layout;
}

static void write_name(
	const char *name, unsigned columns, const struct bp_report_options *options, FILE *out)
{
	char text[NAME_BYTES];
	const unsigned width = bp_report_name(options, name, columns, text, sizeof text);
	fprintf(out, "%s%*s", width <= columns ? text : "",
		(int)(width <= columns ? columns - width : columns), "");
}

static void write_cells(const struct layout *layout, const struct cells *cells, FILE *out)
{
	for (int c = 0; c < COLUMNS; c++)
		if (layout->shown[c])
			fprintf(out, "  %*s%s",
				(int)(layout->width[c] - bp_text_columns(cells->text[c])), "",
				cells->text[c]);
}

static void write_headings(const struct bp_live_view *view, const struct layout *layout,
	const struct bp_live_frame *frame, FILE *out)
{
	static const enum column sorted[] = { [BP_LIVE_SORT_SIZE] = SIZE,
		[BP_LIVE_SORT_RATE] = RATE,
		[BP_LIVE_SORT_CHANGE] = CHANGE,
		[BP_LIVE_SORT_SAMPLES] = SAMPLES,
		[BP_LIVE_SORT_NAME] = COLUMNS };
	struct cells cells = { 0 };
	for (int c = 0; c < COLUMNS; c++) {
		const bool here = sorted[view->sort] == (enum column)c;
		const bool fits = layout->width[c] > bp_text_columns(heading(view, c));
		snprintf(cells.text[c], sizeof cells.text[c], "%s%s",
			here && fits ? (view->ascending ? "<" : ">") : "", heading(view, c));
	}
	fprintf(out, "%s  ", bp_style_dim(&frame->options));
	write_name(bp_live_view_key(view), layout->name, &frame->options, out);
	if (layout->bar > 0) {
		char scale[BP_QUANTITY_BYTES] = "";
		if (!view->objects)
			bp_bytes_text((uint64_t)view->largest, bp_style_of(&frame->options), scale);
		else
			bp_count_text((uint64_t)view->largest, scale);
		fprintf(out, "  0%*s", (int)layout->bar - 1,
			bp_text_columns(scale) + 1 < layout->bar ? scale : "");
	}
	write_cells(layout, &cells, out);
	fprintf(out, "%s\n", bp_style_end(&frame->options));
}

/* The beginning and the end of a line that the cursor is on. */
static void mark(const struct bp_live_frame *frame, bool here, FILE *out)
{
	fputs(here && frame->options.colour ? "\033[7m" : "", out);
	fputs(here && frame->rows > 0 ? "> " : "  ", out);
}

static void write_row(const struct bp_live_view *view, const struct bp_live_row *row, bool here,
	const struct layout *layout, const struct cells *cells, const struct bp_live_frame *frame,
	FILE *out)
{
	struct bp_report_options plain = frame->options;
	plain.colour = plain.colour && !here;
	mark(frame, here, out);
	write_name(row->name, layout->name, &frame->options, out);
	if (layout->bar > 0) {
		fputs("  ", out);
		bp_write_bar(&row->size.interval, view->largest, layout->bar, &plain, out);
	}
	write_cells(layout, cells, out);
	fprintf(out, "%s\n", here ? bp_style_end(&frame->options) : "");
}

/* Keeps the cursor on a line, and that line on the page. */
static void bound_cursor(struct bp_live_view *view, unsigned page)
{
	const uint32_t count = bp_live_view_lines(view);
	if (view->cursor >= count)
		view->cursor = count > 0 ? count - 1 : 0;
	if (view->first > view->cursor)
		view->first = view->cursor;
	if (view->cursor - view->first >= page)
		view->first = view->cursor - page + 1;
	if (count <= page)
		view->first = 0;
	else if (view->first > count - page)
		view->first = count - page;
}

/* (Cumulative rows overlap, so that those left out have no sum.) */
static void write_left_out(
	const struct bp_live_view *view, const struct bp_live_frame *frame, FILE *out)
{
	char figure[BP_QUANTITY_BYTES];
	(view->objects ? bp_objects_figure_text : bp_bytes_figure_text)(
		view->objects ? &view->rest.objects : &view->rest.bytes,
		bp_style_of(&frame->options), figure);
	fprintf(out, "  %u more%s%s\n", view->left_out, view->cumulative ? "" : ", together ",
		view->cumulative ? "" : figure);
}

static bool write_rows(const struct bp_live_view *view, const struct bp_live_frame *frame,
	uint32_t first, uint32_t end, FILE *out)
{
	struct cells *cells = calloc((size_t)(end - first) + 1, sizeof *cells);
	if (cells == NULL)
		return false;
	for (uint32_t i = first; i < end; i++)
		fill(view, &view->rows[i], frame, &cells[i - first]);
	const struct layout layout = lay_out(view, cells, end - first, frame);
	if (frame->rows == 0 || frame->rows >= ROWS_VERY_LOW)
		write_headings(view, &layout, frame, out);
	for (uint32_t i = first; i < end; i++)
		write_row(view, &view->rows[i], frame->rows > 0 && i == view->cursor, &layout,
			&cells[i - first], frame, out);
	if (end == view->count && view->left_out > 0)
		write_left_out(view, frame, out);
	free(cells);
	return true;
}

/* "function  file.c:12" of one frame of a stack. */
static void write_frame(const struct bp_profile *profile, struct bp_frame_id id, bool here,
	const struct bp_live_frame *frame, FILE *out)
{
	const struct bp_frame *of = &profile->frames.data[id.i];
	const char *function = bp_profile_text(profile, of->function);
	const char *file = bp_profile_text(profile, of->source_file);
	const unsigned columns = frame->options.columns > 4 ? frame->options.columns - 4 : 4;
	char text[NAME_BYTES], whole[NAME_BYTES];
	snprintf(whole, sizeof whole, "%s%s%s", *function != '\0' ? function : "(no name)",
		*file != '\0' ? "  " : "", file);
	if (*file != '\0' && of->line > 0 && strlen(whole) + 16 < sizeof whole)
		sprintf(whole + strlen(whole), ":%u", of->line);
	bp_terminal_text(whole, frame->options.utf8, columns, text, sizeof text);
	mark(frame, here, out);
	fprintf(out, "%s%s\n", text, here ? bp_style_end(&frame->options) : "");
}

static void write_stack(const struct bp_live_view *view, const struct bp_live_frame *frame,
	uint32_t first, uint32_t end, FILE *out)
{
	if (frame->rows == 0 || frame->rows >= ROWS_VERY_LOW)
		fprintf(out, "%s  frames, innermost first%s\n", bp_style_dim(&frame->options),
			bp_style_end(&frame->options));
	for (uint32_t i = first; i < end; i++)
		write_frame(
			view->aggregation.profile, view->frames[i], i == view->cursor, frame, out);
}

/* The functions of a line of the tree, with what calls them or what they call. */
static void chain_text(const struct bp_live_view *view, uint32_t first, uint32_t length,
	const struct bp_report_options *options, unsigned columns, char *to, size_t bytes)
{
	const struct bp_chain_style style = { .callers = !view->cumulative,
		.as_recorded = options->names_as_recorded,
		.utf8 = options->utf8 };
	const struct bp_profile *profile = view->stacks.profile;
	const char **names = calloc(length, sizeof *names);
	/* The whole is not named where one function holds all of it. */
	const uint32_t left_out = first == 0 && length > 1;
	*to = '\0';
	for (uint32_t i = 0; names != NULL && i < length; i++) {
		const struct bp_tree_node *node = &view->tree.nodes[first + i];
		const char *function =
			bp_profile_text(profile, profile->frames.data[node->frame.i].function);
		names[i] = node->depth == 0 ? "all" : *function != '\0' ? function : "(no name)";
	}
	if (names != NULL)
		bp_chain_text(&names[left_out], length - left_out, style, columns, to, bytes);
	free(names);
}

static void write_node(const struct bp_live_view *view, uint32_t line, unsigned indent, bool here,
	const struct bp_live_frame *frame, FILE *out)
{
	const uint32_t first = view->tree_lines[line];
	const struct bp_tree_node *node = &view->tree.nodes[first];
	char figure[BP_QUANTITY_BYTES], text[NAME_BYTES];
	(view->objects ? bp_objects_figure_text : bp_bytes_figure_text)(
		view->objects ? &node->row.objects : &node->row.bytes, bp_style_of(&frame->options),
		figure);
	const unsigned width = bp_text_columns(figure) > 16 ? bp_text_columns(figure) : 16;
	const unsigned taken = 2 + width + 2;
	const unsigned room = frame->options.columns > taken ? frame->options.columns - taken : 0;
	if (room < 4)
		indent = 0;
	else if (indent > room - 4)
		indent = room - 4;
	if (node->pruned > 0)
		snprintf(text, sizeof text, "%u small branches", node->pruned);
	else
		chain_text(view, first, bp_call_tree_chain(&view->tree, first), &frame->options,
			room - indent, text, sizeof text);
	mark(frame, here, out);
	fprintf(out, "%*s%s  %*s%s%s\n", (int)(width - bp_text_columns(figure)), "", figure,
		(int)indent, "", text, here ? bp_style_end(&frame->options) : "");
}

static bool write_tree(const struct bp_live_view *view, const struct bp_live_frame *frame,
	uint32_t first, uint32_t end, FILE *out)
{
	const struct bp_call_tree *tree = &view->tree;
	/* Indentation of the children of the node last seen at each depth, as in report/tree.c. */
	unsigned *indents = calloc((size_t)tree->count + 2, sizeof *indents);
	if (indents == NULL)
		return false;
	if (frame->rows == 0 || frame->rows >= ROWS_VERY_LOW)
		fprintf(out, "%s  %16s  %s%s\n", bp_style_dim(&frame->options), heading(view, SIZE),
			view->cumulative ? "functions, outermost first"
					 : "functions, innermost first: each with its callers",
			bp_style_end(&frame->options));
	for (uint32_t i = 0; i < end; i++) {
		const uint32_t node = view->tree_lines[i];
		const uint32_t last = node + bp_call_tree_chain(tree, node) - 1;
		const unsigned wanted = indents[tree->nodes[node].depth];
		if (i >= first)
			write_node(view, i, wanted < INDENT_MAX ? wanted : INDENT_MAX,
				i == view->cursor, frame, out);
		indents[tree->nodes[last].depth + 1] = wanted + 2;
	}
	free(indents);
	return true;
}

/* Text of ours, cut to the width. */
static void write_cut(const char *text, const struct bp_live_frame *frame, FILE *out)
{
	char cut[NAME_BYTES];
	bp_terminal_text(text, frame->options.utf8, frame->options.columns, cut, sizeof cut);
	fprintf(out, "%s\n", cut);
}

static bool write_body(struct bp_live_view *view, const struct bp_live_frame *frame, FILE *out)
{
	const unsigned page = frame->rows == 0 ? UINT32_MAX : bp_live_page(frame);
	bound_cursor(view, page);
	const uint32_t count = bp_live_view_lines(view);
	uint32_t end = count - view->first > page ? view->first + page : count;
	if (!view->made) {
		write_cut(view->failure.text, frame, out);
		return true;
	}
	if (count == 0) {
		write_cut(view->drilled != NULL	  ? "  nothing is under it any more: Esc goes back"
			  : *view->filter != '\0' ? "  nothing passes the filter"
			  : view->aggregation.profile->mapped ? "  nothing is mapped"
							      : "  no samples of this metric",
			frame, out);
		return true;
	}
	if (frame->rows == 0 && frame->options.rows < end)
		end = frame->options.rows;
	if (view->has_tree)
		return write_tree(view, frame, view->first, end, out);
	if (view->drilled != NULL) {
		write_stack(view, frame, view->first, end, out);
		return true;
	}
	return write_rows(view, frame, view->first, end, out);
}

static const char *const help_lines[] = {
	"up down, PgUp PgDn, Home End   move; Enter looks into a row, Esc comes back",
	"m  metric: live, allocated, temporary, peak    b  bytes or objects",
	"M  what the program mapped itself (run --mapped)",
	"   m  then: mapped, mapped-ever, mapped-peak    M  back",
	"k K  key: function, stack, line, file, module, thread, type ... and back",
	"s S  order: size, rate, change, samples, name  r  reversed",
	"c  cumulative: under every function on the stack",
	"/  filter: a name or a glob, or KEY=GLOB; empty: none",
	"z  changes since now    space  pause    + -  more or less often",
	"q  quit                 h ?  this",
	"",
};

static const char help_text[] =
	"Each figure is an estimate with its 95 % interval (see --confidence); what is allocated "
	"in all is counted. A change has a mark (up, down, new, gone) where it is established at "
	"a false discovery rate of 5 %, at each look by itself: who looks often enough will see "
	"one that is not. allocated/s is of the last 10 s. What a program mapped itself "
	"is counted, and exact.";

static void write_help(
	const struct bp_live_view *view, const struct bp_live_frame *frame, FILE *out)
{
	for (size_t i = 0; i < BP_COUNT(help_lines); i++)
		write_cut(help_lines[i], frame, out);
	bp_write_wrapped(&frame->options, " ", help_text, out);
	for (uint32_t i = 0; view->made && view->aggregation.warnings[i] != NULL; i++)
		bp_write_wrapped(&frame->options, "!", view->aggregation.warnings[i], out);
}

/* The lines so far, filled up to where the last one begins. */
static void fill_up(const char *text, const struct bp_live_frame *frame, FILE *out)
{
	unsigned lines = 0;
	for (; *text != '\0'; text++)
		lines += *text == '\n';
	for (; lines + 1 < frame->rows; lines++)
		putc('\n', out);
}

char *bp_live_draw(struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_live_frame *frame)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	bool good = out != NULL;
	if (!good)
		return NULL;
	bp_live_write_process(view, source, frame, out);
	if (lines_above(frame) > 1)
		bp_live_write_totals(view, source, frame, out);
	if (frame->help && frame->rows > 0) {
		write_help(view, frame, out);
	} else {
		if (lines_above(frame) > 4)
			bp_live_write_timeline(view, frame, out);
		if (lines_above(frame) > 1)
			bp_live_write_subject(view, frame, out);
		good = write_body(view, frame, out);
	}
	fflush(out);
	if (frame->rows > 0) {
		fill_up(text, frame, out);
		bp_live_write_foot(view, source, frame, out);
	}
	if (fclose(out) == 0 && good)
		return text;
	free(text);
	return NULL;
}
