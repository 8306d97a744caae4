/* SPDX-License-Identifier: MIT */
/*
 * Differences and growth written out: as text for people, whose layout is no contract, and as JSON
 * (schemas bytepoll-diff-1 and bytepoll-growth-1; the fields are listed in diff_json.c). Called by
 * cli/diff.c and cli/report.c. Errors of the stream are the caller's to find (ferror).
 */
#ifndef BP_REPORT_DIFF_H
#define BP_REPORT_DIFF_H

#include "diff/diff.h"
#include "diff/diff_moments.h"
#include "policy/work.h"
#include "report/report.h"
#include "text/json_writer.h"

struct bp_diff_options {
	struct bp_report_options report;
	bool all;		      /* rows without a verdict too */
	enum bp_work_unit normalize;  /* what figures were scaled by */
	const double *work[BP_SIDES]; /* of each run: bytes, seconds, or units of work */
	double work_reference;	      /* what they were scaled to: the mean of the new side's */
};

void bp_write_diff_text(
	const struct bp_diff *diff, const struct bp_diff_options *options, FILE *out);
void bp_write_diff_json(
	const struct bp_diff *diff, const struct bp_diff_options *options, FILE *out);

/* Of that JSON: one row without its name, and how many rows got each verdict. */
void bp_json_diff_row(struct bp_json *json, const char *key, const struct bp_diff *diff,
	const struct bp_diff_row *row);
void bp_json_verdicts(struct bp_json *json, const struct bp_diff *diff, enum bp_json_layout layout);

/* The call paths (bytepoll-diff-paths-1) of a comparison made with `paths`. False: no memory. */
bool bp_write_diff_paths(const struct bp_diff *diff, FILE *out);

/* `moments` was compared with `growth`. */
void bp_write_growth_text(
	const struct bp_diff_moments *moments, const struct bp_report_options *options, FILE *out);
void bp_write_growth_json(
	const struct bp_diff_moments *moments, const struct bp_report_options *options, FILE *out);

/* Red for what grew, green for what shrank; "" without colour. */
const char *bp_style_verdict(const struct bp_report_options *options, enum bp_verdict verdict);

#endif
