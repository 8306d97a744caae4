/* SPDX-License-Identifier: MIT */
/*
 * A report read back by Python's own parsers (read_report.py), for the tests of this folder.
 * Everything asserts success.
 */
#ifndef BP_TESTS_READ_REPORT_H
#define BP_TESTS_READ_REPORT_H

#include "report/report.h"

/* The report of this name; a name that no report has fails the test. */
const struct bp_report *report_named(const char *name);

/* What stands at `place` ("rows.1.name") of `text`, a report of this kind ("json", "csv"), as JSON.
 * `reader` is the path of read_report.py. */
void assert_place(const char *reader, const char *kind, const char *text, const char *place,
	const char *expected);

#endif
