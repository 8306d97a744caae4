/* SPDX-License-Identifier: MIT */
/* Whether a report for people shows objects; see objects_column.h. */
#include "report/parts/objects_column.h"

#include "report/parts/header.h"

static const double factor_most = 10;

bool bp_objects_are_asked(const struct bp_query *query)
{
	return query->sort == BP_SORT_OBJECTS || query->has_size_min;
}

bool bp_figure_is_wide(const struct bp_figure *figure)
{
	const struct bp_interval *interval = &figure->interval;
	return !interval->exact && !(interval->high <= factor_most * interval->low);
}

void bp_objects_column_look(struct bp_objects_column *column, const struct bp_row *row)
{
	if (bp_figure_is_wide(&row->bytes))
		return;
	if (bp_figure_is_wide(&row->objects))
		column->wide++;
	else
		column->narrow++;
}

bool bp_objects_column_is_shown(
	const struct bp_objects_column *column, const struct bp_query *query)
{
	return bp_objects_are_asked(query) ||
	       (column->narrow > 0 && column->narrow >= column->wide);
}

void bp_write_objects_left_out(const struct bp_report_options *options, FILE *out)
{
	bp_write_note(options,
		"Objects are left out, because most of their intervals span more than a factor of "
		"ten: --sort objects shows them.",
		out);
}
