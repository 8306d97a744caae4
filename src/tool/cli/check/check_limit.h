/* SPDX-License-Identifier: MIT */
/*
 * The small language of limits, for `bytepoll check`:
 *
 *	METRIC[.objects][:FILTER]=SIZE		live=200MiB  live.objects=10000  allocated:parse_*=10M
 *	METRIC[.objects][:FILTER]=N%		of growth: allocated=5%
 *
 * FILTER is a function's name, with * ? [...], as in `--filter function=`; or KEY=GLOB with a key
 * of --filter: `live:stack=load_*=1M`. The last = ends it, so that it may hold some itself
 * (`allocated:operator==*=1M`). Pure functions.
 */
#ifndef BP_CLI_CHECK_CHECK_LIMIT_H
#define BP_CLI_CHECK_CHECK_LIMIT_H

#include "base/error.h"
#include "check/check.h"

/* Errors: the text is no limit. */
bool bp_check_limit_parse(const char *text, struct bp_limit *ret_limit, struct bp_error *error);

/* `text` may also be N% alone: of all of `metric`. */
bool bp_check_growth_parse(const char *text, enum bp_metric metric, struct bp_limit *ret_limit,
	struct bp_error *error);

void bp_check_limit_finish(struct bp_limit *limit);

#endif
