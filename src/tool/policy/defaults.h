/* SPDX-License-Identifier: MIT */
/*
 * What a question means where it leaves something out, the same for the commands and for
 * libbytepoll. The metric that is shown to people by default is another matter: shown.h.
 */
#ifndef BP_POLICY_DEFAULTS_H
#define BP_POLICY_DEFAULTS_H

#include "model/profile.h"
#include "query/query.h"

/* The false-alarm rate of a whole check; divided over its limits. */
#define BP_FALSE_ALARM_DEFAULT 0.01

/* The metric of a question that names none: `usual`, or what was allocated where a file does not
 * tell what was freed. */
static inline enum bp_metric bp_default_metric(
	const struct bp_profile *profile, enum bp_metric usual)
{
	return profile->lacks & BP_LACKS_FREES ? BP_METRIC_ALLOCATED : usual;
}

#endif
