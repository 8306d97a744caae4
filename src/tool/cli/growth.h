/* SPDX-License-Identifier: MIT */
/*
 * `bytepoll report --growth`: what grew between two moments of one run. Called by report.c, which
 * owns the option table.
 */
#ifndef BP_CLI_GROWTH_H
#define BP_CLI_GROWTH_H

#include "cli/input.h"
#include "cli/options/query_options.h"
#include "report/report.h"

/* Do the other options go with --growth? For errors of usage. --from and
 * --until are the moments. */
bool bp_growth_check(
	const struct bp_arguments *arguments, const struct bp_query *query, struct bp_error *error);

/* Writes growth to standard output, as text or with --json as JSON. The moments are the query's
 * window; by default the second half of the run. */
bool bp_growth_write(const struct bp_arguments *arguments, const struct bp_profile *profile,
	const struct bp_query *query, const struct bp_report_options *options,
	const struct bp_symbol_summary *symbols, struct bp_error *error);

#endif
