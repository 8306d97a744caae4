/* SPDX-License-Identifier: MIT */
/*
 * In a program that was stripped one row, "libfoo.so.1+0x1234", may hold nearly everything, and its
 * name says nothing. What says more is who calls it. Called by table.c and summary.c.
 */
#ifndef BP_REPORT_PARTS_NAMED_CALLERS_H
#define BP_REPORT_PARTS_NAMED_CALLERS_H

#include "report/report.h"

/* Where the first row is a function without a name that holds more than half: the largest rows
 * where what has no name counts under the nearest caller that has one. Nothing where these say as
 * little, being the C library's start of every program. Returns false on an error. */
bool bp_write_named_callers(const struct bp_aggregation *aggregation,
	const struct bp_report_options *options, FILE *out, struct bp_error *error);

#endif
