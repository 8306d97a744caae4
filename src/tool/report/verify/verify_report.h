/* SPDX-License-Identifier: MIT */
/*
 * What a check against the exact sums found (verify/verify.h), for people and as JSON (schema
 * bytepoll-verify-1). Called by the command line. The streams' errors are the caller's to find.
 */
#ifndef BP_REPORT_VERIFY_H
#define BP_REPORT_VERIFY_H

#include <stdio.h>

#include "report/report.h"
#include "verify/verify.h"

/* After bp_verify_judge. */
void bp_verify_write_text(
	const struct bp_verify *truth, const struct bp_report_options *options, FILE *out);
void bp_verify_write_json(const struct bp_verify *truth, FILE *out);

#endif
