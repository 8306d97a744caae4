/* SPDX-License-Identifier: MIT */
/*
 * What the hosts of a sample hold on average (diff/means.h), written out: as text for people, whose
 * layout is no contract, and as JSON (schema bytepoll-hosts-1). Called by cli/fleet. Errors of the
 * stream are the caller's to find (ferror).
 */
#ifndef BP_REPORT_MEANS_REPORT_H
#define BP_REPORT_MEANS_REPORT_H

#include "diff/means.h"
#include "report/report.h"

struct bp_means_options {
	struct bp_report_options report;
	uint32_t all_hosts; /* how many hosts there are, and figures are of all; 0: not known, and
			     * figures are of one host on average */
};

void bp_write_means_text(
	const struct bp_means *means, const struct bp_means_options *options, FILE *out);
/* Of means with `paths`, as a call tree. Errors: memory. */
bool bp_write_means_tree(const struct bp_means *means, const struct bp_means_options *options,
	FILE *out, struct bp_error *error);
void bp_write_means_json(
	const struct bp_means *means, const struct bp_means_options *options, FILE *out);

#endif
