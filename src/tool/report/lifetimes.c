/* SPDX-License-Identifier: MIT */
/*
 * `report --lifetimes`: which share of what each row allocated is freed within some ages, the age
 * by which half of it is, and how much of it another thread freed; a table of bytes and a table of
 * objects. Of the ages that objects were seen to reach three are shown: the first, the middle one
 * and the last.
 */
#include "report/lifetimes.h"

#include <math.h>
#include <string.h>

#include "query/filter.h"
#include "report/pairs.h"
#include "report/parts/grid.h"
#include "report/parts/header.h"
#include "report/parts/row_text.h"
#include "report/parts/stack_text.h"

#define AGES_SHOWN 3
#define NAME_BYTES 1024

static void age_text(
	double age, enum bp_age_unit unit, const struct bp_report_options *options, char *to)
{
	if (unit == BP_AGE_BYTES)
		bp_bytes_text((uint64_t)age, bp_style_of(options), to);
	else if (age >= 1e9 && fmod(age, 1e9) == 0)
		snprintf(to, BP_QUANTITY_BYTES, "%.0f s", age / 1e9);
	else
		bp_time_text((uint64_t)age, to);
}

void bp_lifetime_median_text(const struct bp_interval *median, enum bp_age_unit age_unit,
	const struct bp_report_options *options, char *cell)
{
	char low[BP_QUANTITY_BYTES], high[BP_QUANTITY_BYTES], estimate[BP_QUANTITY_BYTES];
	const char *least = options->utf8 ? "≥" : ">=", *most = options->utf8 ? "≤" : "<=";
	const bool from_below = isfinite(median->low) && median->low > 0;
	age_text(isfinite(median->low) ? median->low : 0, age_unit, options, low);
	age_text(isfinite(median->high) ? median->high : 0, age_unit, options, high);
	age_text(isfinite(median->estimate) ? median->estimate : 0, age_unit, options, estimate);
	const char *unit = strchr(estimate, ' '), *low_unit = strchr(low, ' '),
		   *high_unit = strchr(high, ' ');
	const bool alike = unit != NULL && low_unit != NULL && high_unit != NULL &&
			   strcmp(unit, low_unit) == 0 && strcmp(unit, high_unit) == 0;
	if (median->unknown ||
		(!from_below && !isfinite(median->high) && isfinite(median->estimate)))
		snprintf(cell, BP_GRID_CELL_BYTES, "?");
	else if (!isfinite(median->high) && from_below)
		snprintf(cell, BP_GRID_CELL_BYTES, "%s %.40s", least, low);
	else if (!isfinite(median->high))
		snprintf(cell, BP_GRID_CELL_BYTES, "not reached");
	else if (median->exact || strcmp(low, high) == 0)
		snprintf(cell, BP_GRID_CELL_BYTES, "%.40s", estimate);
	else if (!from_below)
		snprintf(cell, BP_GRID_CELL_BYTES, "%s %.40s", most, high);
	else if (alike)
		snprintf(cell, BP_GRID_CELL_BYTES, "%.30s [%.*s, %.*s]", estimate,
			(int)(low_unit - low), low, (int)(high_unit - high), high);
	else
		snprintf(cell, BP_GRID_CELL_BYTES, "%.30s [%.30s, %.30s]", estimate, low, high);
}

/* Which ages are shown: numbers into bp_lifetime_ages; returns how many. */
static unsigned choose_ages(const struct bp_lifetimes *lifetimes, unsigned *ret_ages)
{
	unsigned reached = 0, count = 0;
	while (reached < BP_LIFETIME_AGES &&
		bp_lifetime_ages[lifetimes->unit][reached] <= lifetimes->longest)
		reached++;
	if (reached == 0)
		reached = 1;
	for (unsigned i = 0; i < AGES_SHOWN && i < reached; i++)
		ret_ages[count++] =
			reached <= AGES_SHOWN ? i : i * (reached - 1) / (AGES_SHOWN - 1);
	return count;
}

/* Which shares of what was freed there was room for. */
struct shares_shown {
	bool another, processor;
};

struct columns {
	enum bp_age_unit unit;
	bool processors;
	unsigned ages[AGES_SHOWN], count;
	char headings[AGES_SHOWN][BP_QUANTITY_BYTES + 8];
};

static bool add_row(struct bp_grid *grid, const char *name, const struct columns *columns,
	const struct bp_lifetime_figures *figures, const struct bp_report_options *options)
{
	struct bp_grid_row *row = bp_grid_add(grid, name);
	if (row == NULL)
		return false;
	for (unsigned i = 0; i < columns->count; i++)
		bp_share_text(&figures->freed_within[columns->ages[i]], options, row->cells[i]);
	bp_lifetime_median_text(
		&figures->median, columns->unit, options, row->cells[columns->count]);
	bp_share_text(&figures->by_another, options, row->cells[columns->count + 1]);
	if (columns->processors)
		bp_share_text(&figures->on_another, options, row->cells[columns->count + 2]);
	return true;
}

/* What the rows of a table by stack are of. */
struct stacks {
	const struct bp_aggregation *aggregation;
	uint32_t count; /* of rows; the one behind them is their sum */
};

/* The stack of a row, under it. */
static void write_stack(
	const void *below, uint32_t number, const struct bp_report_options *options, FILE *out)
{
	const struct stacks *stacks = below;
	struct bp_row row;
	if (number >= stacks->count)
		return;
	bp_aggregation_row(stacks->aggregation, number, &row);
	bp_write_frames(stacks->aggregation->profile, row.frames, row.frame_count, options, out);
	bp_write_stack_end(row.stack_flags, out);
}

/* Where room is short, first goes the processor, then the age in the middle. */
static void choose_order(const struct columns *columns, struct bp_grid *grid)
{
	static const unsigned goes[] = { AGES_SHOWN + 2, 1, AGES_SHOWN + 1, 0, 2 };
	if (columns->count == AGES_SHOWN)
		for (unsigned i = 0; i < BP_COUNT(goes) - !columns->processors; i++)
			grid->goes[i] = goes[i + !columns->processors];
}

static bool write_table(const struct bp_aggregation *aggregation,
	const struct bp_lifetimes *lifetimes, const struct bp_report_options *options,
	bool of_objects, struct shares_shown *ret_shown, FILE *out)
{
	struct columns columns = { .unit = lifetimes->unit, .processors = lifetimes->processors };
	struct bp_grid grid = { .name = of_objects ? "objects freed" : "bytes freed" };
	char name[NAME_BYTES];
	columns.count = choose_ages(lifetimes, columns.ages);
	for (unsigned i = 0; i < columns.count; i++) {
		char age[BP_QUANTITY_BYTES];
		age_text((double)bp_lifetime_ages[columns.unit][columns.ages[i]], columns.unit,
			options, age);
		snprintf(columns.headings[i], sizeof columns.headings[i], "in %.60s", age);
		grid.headings[i] = columns.headings[i];
	}
	grid.headings[columns.count] = "half after";
	grid.headings[columns.count + 1] = "by another";
	if (columns.processors)
		grid.headings[columns.count + 2] = "other CPU";
	choose_order(&columns, &grid);
	/* The same stacks stand under the rows of the first table. */
	const bool by_stack = aggregation->query.by == BP_KEY_STACK;
	const struct stacks stacks = { aggregation, lifetimes->row_count };
	if (by_stack && !of_objects) {
		grid.write_below = write_stack;
		grid.below = &stacks;
	}
	bool good = true;
	for (uint32_t i = 0; good && i < lifetimes->row_count; i++) {
		struct bp_row row;
		bp_aggregation_row(aggregation, i, &row);
		bp_row_text(aggregation, &row, name, sizeof name);
		if (by_stack && row.frame_count > 0)
			snprintf(name, sizeof name, "#%u", i + 1);
		good = add_row(&grid, name, &columns,
			of_objects ? &lifetimes->rows[i].objects : &lifetimes->rows[i].bytes,
			options);
	}
	good = good &&
	       add_row(&grid, "in all", &columns,
		       of_objects ? &lifetimes->all.objects : &lifetimes->all.bytes, options);
	if (good)
		bp_grid_write(&grid, options, out);
	ret_shown->another |= good && bp_grid_shows(&grid, options, columns.count + 1);
	ret_shown->processor |=
		good && columns.processors && bp_grid_shows(&grid, options, columns.count + 2);
	bp_grid_finish(&grid);
	return good;
}

void bp_write_age_bytes_note(uint64_t width, const struct bp_report_options *options, FILE *out)
{
	char text[512], width_text[BP_QUANTITY_BYTES] = "";
	if (width != UINT64_MAX)
		bp_bytes_text(width, bp_style_of(options), width_text);
	if (width == 0)
		snprintf(text, sizeof text,
			"Ages are bytes that all threads of the process allocated in the meantime; those of "
			"nine in ten samples, or more, are counted.");
	else if (width == UINT64_MAX)
		snprintf(text, sizeof text,
			"Ages are bytes that all threads of the process allocated in the meantime. Of many "
			"samples it is not known how many they are at most: what some thread allocated by "
			"its end was not recorded.");
	else
		snprintf(text, sizeof text,
			"Ages are bytes that all threads of the process allocated in the meantime. What "
			"threads allocate between their records is not known: those of nine in ten samples "
			"are known to within %.60s or less. Limits hold all of it.",
			width_text);
	bp_write_note(options, text, out);
}

static void write_notes(const struct bp_aggregation *aggregation,
	const struct bp_lifetimes *lifetimes, const struct bp_report_options *options,
	struct shares_shown shown, FILE *out)
{
	char text[512], time[BP_QUANTITY_BYTES];
	if (options->complete)
		bp_write_warning(options,
			"--complete: objects that were not freed are left out, as in profiles of complete pairs. "
			"What lives long is missing more often than what dies soon, so that lifetimes come out too short.",
			out);
	else if (bp_query_filters_frees(&aggregation->query))
		bp_write_warning(options,
			"--filter " BP_FREED_BY
			": objects that were not freed by the end of the recording are left out. What lives "
			"long is missing more often than what dies soon, so that lifetimes come out too short.",
			out);
	else
		bp_write_note(options,
			"Objects that were not freed count as long as they were seen, and nothing is assumed of them "
			"afterwards (Kaplan-Meier). ?: too few samples to say anything.",
			out);
	if (shown.another)
		bp_write_note(options,
			"By another: of what was freed, the part that another thread freed than the one that had allocated it.",
			out);
	if (shown.processor)
		bp_write_note(options, BP_OTHER_CPU_NOTE, out);
	if (!shown.another || shown.processor != lifetimes->processors)
		bp_write_note(options, "A wider terminal has more columns.", out);
	if (lifetimes->unit == BP_AGE_BYTES)
		bp_write_age_bytes_note(lifetimes->width, options, out);
	if (lifetimes->resolution_ns == 0)
		return;
	bp_time_text(lifetimes->resolution_ns, time);
	snprintf(text, sizeof text,
		"This trace was folded: %s %.60s, either way, and of its folded part it is "
		"not known which thread freed an object.",
		lifetimes->unit == BP_AGE_BYTES ? "limits hold times that may be off by"
						: "lifetimes may be off by",
		time);
	bp_write_note(options, text, out);
}

static bool write_lifetimes(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	const uint32_t shown =
		aggregation->row_count < options->rows ? aggregation->row_count : options->rows;
	struct bp_lifetimes lifetimes;
	struct shares_shown seen = { false, false };
	bool good = true;
	if (options->pairs)
		return bp_write_pairs(aggregation, options, out, error);
	if (!bp_lifetimes_make(aggregation, shown, options->complete,
		    options->age_bytes ? BP_AGE_BYTES : BP_AGE_NS, &lifetimes, error))
		return false;
	bp_write_header(aggregation, options, out);
	if (!lifetimes.known || lifetimes.all.samples == 0)
		putc('\n', out);
	if (!lifetimes.known)
		bp_write_note(options,
			options->age_bytes
				? "Lifetimes in bytes are not known: this file does not tell them."
				: "Lifetimes are not known: this file does not tell them.",
			out);
	else if (lifetimes.all.samples == 0)
		bp_write_note(options, "There is no sample whose lifetime could be told.", out);
	else
		good = write_table(aggregation, &lifetimes, options, false, &seen, out) &&
		       write_table(aggregation, &lifetimes, options, true, &seen, out);
	if (good && lifetimes.known && lifetimes.all.samples > 0) {
		putc('\n', out);
		write_notes(aggregation, &lifetimes, options, seen, out);
	}
	bp_lifetimes_finish(&lifetimes);
	return good || bp_error_set(error, "out of memory");
}

const struct bp_report bp_report_lifetimes = {
	.name = "lifetimes", .for_eyes = true, .rows = 10, .write = write_lifetimes
};
