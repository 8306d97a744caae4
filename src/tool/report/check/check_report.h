/* SPDX-License-Identifier: MIT */
/*
 * What `bytepoll check` found, as text for people, JSON (schema bytepoll-check-1), JUnit XML and
 * annotations of GitHub's workflows. All say the same sentences (check_words.c) and decide nothing.
 * File names and filters come from the user, sentences of warnings hold names from profiles: every
 * form escapes them.
 */
#ifndef BP_REPORT_CHECK_H
#define BP_REPORT_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "check/check.h"
#include "report/report.h"
#include "text/quantity.h"

struct bp_check_warning {
	const char *file;
	char *sentence;
	bool first; /* to be said before the limits: it is about all of them */
};

struct bp_check {
	const struct bp_check_result *results; /* one a limit and file; of growth one a limit */
	uint32_t count;			       /* at least 1 */
	enum bp_outcome verdict;	       /* of all together */
	double false_alarm;		       /* of all together; each has false_alarm / count */
	bool undecided_allowed;		       /* does not fail the check */
	char *const *files;		       /* the new ones */
	uint32_t file_count;
	const char *const *base; /* what they are compared with */
	uint32_t base_count;
	const struct bp_check_warning *warnings;
	uint32_t warning_count;
};

/* Each writes all of it; errors of the stream are the caller's to find (ferror). */
void bp_check_write_text(
	const struct bp_check *check, const struct bp_report_options *options, FILE *out);
void bp_check_write_json(const struct bp_check *check, FILE *out);
/* One test case a result: a failure if exceeded; an error if undecided, or skipped where that is
 * allowed. */
void bp_check_write_junit(const struct bp_check *check, FILE *out);
/* ::error for what is exceeded, ::warning for what is undecided or matches nothing. */
void bp_check_write_github(const struct bp_check *check, FILE *out);

/* For these four (check_words.c). */

/* Long enough for any sentence made here. */
#define BP_CHECK_WORDS_BYTES 640

/* "231 MiB ±10 (99 % interval), at least 221 MiB: 10 % over the limit". */
void bp_check_finding(
	const struct bp_check_result *result, struct bp_quantity_style style, char *buffer);
/* Why it is undecided and what would decide; empty if it is decided. */
void bp_check_advice(const struct bp_check_result *result, char *buffer);
/* What else is to be known of it; empty: nothing. */
void bp_check_note(const struct bp_check_result *result, char *buffer);

#endif
