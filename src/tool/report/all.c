/* SPDX-License-Identifier: MIT */
/* See all.h. Rows of the two aggregations belong together if they are called the same. */
#include "report/all.h"

#include <stdlib.h>
#include <string.h>

#include "aggregation/views/arenas.h"
#include "report/parts/bar.h"
#include "report/parts/grid.h"
#include "report/parts/header.h"
#include "report/parts/row_text.h"

#define NAME_BYTES 8192
#define NONE UINT32_MAX

static int by_name(const void *left, const void *right)
{
	const struct bp_all_row *a = left, *b = right;
	const int order = strcmp(a->name, b->name);
	if (order != 0)
		return order;
	/* What was malloc'ed first. */
	return (a->malloced == NONE) - (b->malloced == NONE);
}

static int by_bytes(const void *left, const void *right)
{
	const struct bp_all_row *a = left, *b = right;
	const double more = a->malloced_bytes.interval.estimate + a->mapped_bytes,
		     less = b->malloced_bytes.interval.estimate + b->mapped_bytes;
	if (more != less)
		return more > less ? -1 : 1;
	return strcmp(a->name, b->name);
}

static void shift(struct bp_figure *figure, double by, const struct bp_all *all)
{
	figure->interval.estimate += by;
	figure->interval.low += by;
	figure->interval.high += by;
	figure->lower_bound = figure->lower_bound || all->lower_bound;
	figure->upper_bound = figure->upper_bound || all->upper_bound;
	figure->interval.exact =
		figure->interval.exact && !figure->lower_bound && !figure->upper_bound;
}

/* Adds what was mapped to a row that has what was malloc'ed, or nothing of which is `unseen`. */
static void add_up(struct bp_all_row *row, const struct bp_row *unseen, const struct bp_all *all)
{
	if (row->malloced == NONE) {
		row->malloced_bytes = unseen->bytes;
		row->objects = unseen->objects;
	}
	row->bytes = row->malloced_bytes;
	shift(&row->bytes, row->mapped_bytes, all);
	shift(&row->objects, row->mapped_objects, all);
}

static bool take_name(
	const struct bp_aggregation *aggregation, const struct bp_row *row, struct bp_all_row *to)
{
	char name[NAME_BYTES];
	bp_row_text(aggregation, row, name, sizeof name);
	to->name = strdup(name);
	return to->name != NULL;
}

static bool take_rows(const struct bp_aggregation *malloced, const struct bp_aggregation *mapped,
	const struct bp_arena_sums *arenas, struct bp_all *all)
{
	struct bp_row row;
	for (uint32_t i = 0; i < malloced->row_count; i++) {
		struct bp_all_row *to = &all->rows[all->row_count];
		bp_aggregation_row(malloced, i, &row);
		*to = (struct bp_all_row){ .malloced = i,
			.mapped = NONE,
			.samples = row.samples,
			.malloced_bytes = row.bytes,
			.objects = row.objects };
		if (!take_name(malloced, &row, to))
			return false;
		all->row_count++;
	}
	for (uint32_t i = 0; i < mapped->row_count; i++) {
		struct bp_all_row *to = &all->rows[all->row_count];
		bp_aggregation_row(mapped, i, &row);
		*to = (struct bp_all_row){ .malloced = NONE,
			.mapped = i,
			.mapped_bytes = row.bytes.interval.estimate - arenas[i].bytes,
			.mapped_objects = row.objects.interval.estimate - arenas[i].objects };
		if (!(to->mapped_bytes > 0))
			continue;
		if (!take_name(mapped, &row, to))
			return false;
		all->row_count++;
	}
	return true;
}

/* Makes one row of those that are called the same: of stacks whose functions are the same there are
 * several. */
static void join_rows(struct bp_all *all)
{
	uint32_t kept = 0;
	qsort(all->rows, all->row_count, sizeof *all->rows, by_name);
	for (uint32_t i = 0; i < all->row_count; i++) {
		struct bp_all_row *row = &all->rows[i];
		struct bp_all_row *last = kept > 0 ? &all->rows[kept - 1] : NULL;
		if (last == NULL || row->malloced != NONE || strcmp(last->name, row->name) != 0) {
			all->rows[kept++] = *row;
			continue;
		}
		last->mapped = last->mapped == NONE ? row->mapped : last->mapped;
		last->mapped_bytes += row->mapped_bytes;
		last->mapped_objects += row->mapped_objects;
		free(row->name);
	}
	all->row_count = kept;
}

bool bp_all_make(const struct bp_aggregation *malloced, const struct bp_aggregation *mapped,
	struct bp_all *ret_all, struct bp_error *error)
{
	const struct bp_total *live = &malloced->totals[BP_METRIC_LIVE];
	const struct bp_total *ranges = &mapped->totals[BP_METRIC_LIVE];
	struct bp_all all = { .lower_bound = ranges->bytes.lower_bound,
		.upper_bound = ranges->bytes.upper_bound };
	struct bp_arena_sums *arenas = NULL;
	struct bp_row unseen;
	all.rows = calloc((size_t)malloced->row_count + mapped->row_count + 1, sizeof *all.rows);
	if (all.rows == NULL || !bp_arenas_of_rows(mapped, &arenas) ||
		!take_rows(malloced, mapped, arenas, &all)) {
		free(arenas);
		bp_all_finish(&all);
		return bp_error_set(error, "out of memory");
	}
	join_rows(&all);
	bp_row_without_samples(malloced, &unseen);
	for (uint32_t i = 0; i < all.row_count; i++)
		add_up(&all.rows[i], &unseen, &all);
	qsort(all.rows, all.row_count, sizeof *all.rows, by_bytes);
	all.arena_bytes = arenas[mapped->row_count].bytes;
	all.total = (struct bp_all_row){ .samples = live->samples,
		.malloced_bytes = live->bytes,
		.objects = live->objects,
		.mapped_bytes = ranges->bytes.interval.estimate - all.arena_bytes,
		.mapped_objects =
			ranges->objects.interval.estimate - arenas[mapped->row_count].objects };
	add_up(&all.total, &unseen, &all);
	free(arenas);
	*ret_all = all;
	return true;
}

void bp_all_finish(struct bp_all *all)
{
	for (uint32_t i = 0; all->rows != NULL && i < all->row_count; i++)
		free(all->rows[i].name);
	free(all->rows);
	memset(all, 0, sizeof *all);
}

/* ---- as text ---- */

static bool add_row(struct bp_grid *grid, const char *name, const struct bp_all_row *from,
	const struct bp_report_options *options)
{
	struct bp_grid_row *row = bp_grid_add(grid, name);
	if (row == NULL)
		return false;
	row->bar = from->bytes.interval;
	bp_bytes_figure_text(&from->bytes, bp_style_of(options), row->cells[0]);
	bp_bytes_figure_text(&from->malloced_bytes, bp_style_of(options), row->cells[1]);
	bp_bytes_text((uint64_t)from->mapped_bytes, bp_style_of(options), row->cells[2]);
	return true;
}

static void write_notes(
	const struct bp_all *all, const struct bp_report_options *options, FILE *out)
{
	char text[512], bytes[BP_QUANTITY_BYTES];
	bp_write_note(options,
		"Mapped: by the program itself, exactly; address space, whether it was touched or not. The "
		"intervals are those of what was malloc'ed.",
		out);
	if (all->upper_bound)
		bp_write_warning(options,
			"Calls that map or unmap memory were lost: what is mapped may be more, or less "
			"(--metric mapped says more).",
			out);
	else if (all->lower_bound)
		bp_write_warning(options,
			"Calls that map memory were lost: there is at least so much (--metric mapped says more).",
			out);
	if (!(all->arena_bytes > 0))
		return;
	bp_bytes_text((uint64_t)all->arena_bytes, bp_style_of(options), bytes);
	snprintf(text, sizeof text,
		"%.60s that the allocator itself mapped are not in it: what was malloc'ed lies there, and counts "
		"once.",
		bytes);
	bp_write_note(options, text, out);
}

static bool write_all(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error)
{
	struct bp_grid grid = {
		.headings = { "bytes", "malloc'ed", "mapped" }, .goes = { 1, 2 }, .bars = true
	};
	char heading[128], text[512];
	struct bp_all all;
	if (!bp_all_make(aggregation, options->mapped, &all, error))
		return false;
	snprintf(heading, sizeof heading, "all by %.100s", bp_query_by(&aggregation->query));
	grid.name = heading;
	bool good = true;
	for (uint32_t i = 0; good && i < all.row_count && i < options->rows; i++)
		good = add_row(&grid, all.rows[i].name, &all.rows[i], options);
	good = good && add_row(&grid, "in all", &all.total, options);
	bp_write_header(aggregation, options, out);
	if (good)
		bp_grid_write(&grid, options, out);
	bp_grid_finish(&grid);
	putc('\n', out);
	if (all.row_count > options->rows) {
		snprintf(
			text, sizeof text, "%u more rows (--rows).", all.row_count - options->rows);
		bp_write_note(options, text, out);
	}
	write_notes(&all, options, out);
	bp_write_bar_legend(options, out);
	bp_all_finish(&all);
	return good || bp_error_set(error, "out of memory");
}

const struct bp_report bp_report_all = {
	.name = "metric all", .for_eyes = true, .rows = 20, .write = write_all
};
