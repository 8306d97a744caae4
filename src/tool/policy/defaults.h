/* SPDX-License-Identifier: MIT */
/*
 * What a question means where it leaves something out, the same for the commands and for
 * libbytepoll. The metric that is shown to people by default is another matter: shown.h.
 */
#ifndef BP_POLICY_DEFAULTS_H
#define BP_POLICY_DEFAULTS_H

#include "model/profile.h"
#include "query/filter.h"

/* The false-alarm rate of a whole check; divided over its limits. */
#define BP_FALSE_ALARM_DEFAULT 0.01

/* The metric of a question that names none: that of the query, or what was allocated where a file
 * does not tell what was freed, or where only what was freed is asked for. */
static inline enum bp_metric bp_default_metric(
	const struct bp_profile *profile, const struct bp_query *query)
{
	const bool none_lives = query->metric == BP_METRIC_LIVE && bp_without_what_lives(query);
	return profile->lacks & BP_LACKS_FREES || none_lives ? BP_METRIC_ALLOCATED : query->metric;
}

#endif
