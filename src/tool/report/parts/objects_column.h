/* SPDX-License-Identifier: MIT */
/*
 * Whether a report for people shows objects. Without an assumption on the smallest size an interval
 * of objects may be so wide that it tells nothing: where it spans more than a factor of ten,
 * figures of objects are left out, unless the question is about objects or states a smallest size.
 * Machines get all figures. Called by the reports for people. Pure; safe from any thread.
 */
#ifndef BP_REPORT_PARTS_OBJECTS_COLUMN_H
#define BP_REPORT_PARTS_OBJECTS_COLUMN_H

#include "aggregation/aggregate.h"
#include "report/report.h"

/* Zeroed: no row has been looked at. */
struct bp_objects_column {
	uint32_t narrow, wide;
};

/* Is the question itself about objects: are rows sorted by them, or is a smallest size stated? */
bool bp_objects_are_asked(const struct bp_query *query);

/* Does the interval span more than a factor of ten? */
bool bp_figure_is_wide(const struct bp_figure *figure);

/* Looks at a row that is to be shown. Rows whose bytes are as wide have no say. */
void bp_objects_column_look(struct bp_objects_column *column, const struct bp_row *row);

/* Is there a column of objects? Where they are not asked for, most rows must have narrow ones. */
bool bp_objects_column_is_shown(
	const struct bp_objects_column *column, const struct bp_query *query);

/* Below a table whose objects were left out: why, and how to see them. */
void bp_write_objects_left_out(const struct bp_report_options *options, FILE *out);

#endif
