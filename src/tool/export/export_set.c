/* SPDX-License-Identifier: MIT */
/* See export_set.h. */
#include "export/export_set.h"

#include "policy/defaults.h"
#include "policy/shown.h"

/* The metrics that the format needs beside, as far as the file tells them. */
static bool aggregate_metrics(const struct bp_export *format, const struct bp_profile *profile,
	struct bp_export_set *set, struct bp_error *error)
{
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		struct bp_query query = set->asked.query;
		if (!(format->metrics & BP_METRIC_BIT(metric)) ||
			set->asked.absent & BP_METRIC_BIT(metric) ||
			(metric == BP_METRIC_PEAK && profile->merged_unrelated) ||
			metric == (int)set->asked.query.metric)
			continue;
		query.metric = (enum bp_metric)metric;
		query.has_at = query.has_at && metric == BP_METRIC_LIVE;
		query.without_peak = true;
		set->has[metric] = bp_aggregate(profile, &query, &set->metrics[metric], error);
		if (!set->has[metric])
			return false;
	}
	return true;
}

bool bp_export_set_make(const struct bp_export *format, const struct bp_profile *profile,
	struct bp_query *query, bool metric_given, struct bp_export_set *ret_set,
	struct bp_error *error)
{
	*ret_set = (struct bp_export_set){ .has_asked = false };
	if (!metric_given && format->live_only && (profile->lacks & BP_LACKS_FREES))
		return bp_error_set(error,
			"--to %s: this file does not tell what was freed, so that nobody "
			"knows what is live",
			format->name);
	if (format->live_only && bp_without_what_lives(query))
		return bp_error_set(error,
			"--to %s is about what is live, and was not freed: leave --filter " BP_FREED_BY
			" out",
			format->name);
	if (!metric_given)
		query->metric = bp_default_metric(profile, query);
	ret_set->has_asked = bp_aggregate_shown(
		profile, query, !metric_given && format->one_moment, &ret_set->asked, error);
	return ret_set->has_asked && aggregate_metrics(format, profile, ret_set, error);
}

void bp_export_set_finish(struct bp_export_set *set)
{
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++)
		if (set->has[metric])
			bp_aggregation_finish(&set->metrics[metric]);
	if (set->has_asked)
		bp_aggregation_finish(&set->asked);
}

struct bp_export_source bp_export_set_source(const struct bp_export_set *set)
{
	struct bp_export_source source = { .profile = set->asked.profile, .asked = &set->asked };
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++)
		if (set->has[metric])
			source.metrics[metric] = &set->metrics[metric];
	source.metrics[set->asked.query.metric] = &set->asked;
	return source;
}
