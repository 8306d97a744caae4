/* SPDX-License-Identifier: MIT */
/*
 * The list of reports: a new one is a file of its own, with its `struct bp_report`, and one line
 * here. X(NAME, SUMMARY): bp_report_NAME is chosen by the option --NAME, whose help is the summary.
 */
#ifndef BP_REPORT_REPORTS_H
#define BP_REPORT_REPORTS_H

/* clang-format off */
/* For people. */
#define BP_REPORTS_TO_READ(X) \
	X(summary, "one screen: totals, the largest, suspects, what to run next") \
	X(tree, "the call tree from the outermost function on") \
	X(stats, "distributions over sizes, lifetimes and time") \
	X(lifetimes, "how long objects live, by row, and which thread frees them") \
	X(rounding, "what the allocator gives beyond what is asked for, and better sizes") \
	X(resident, "what every resident byte is: objects, free memory, code, stacks") \
	X(pages, "whose objects keep pages of the heap resident, and a picture of it")

/* For programs. */
#define BP_REPORTS_AS_DATA(X) \
	X(json, "everything as JSON (schema bytepoll-report-1)") \
	X(csv, "rows as comma-separated values")
/* clang-format on */

#endif
