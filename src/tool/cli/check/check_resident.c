/* SPDX-License-Identifier: MIT */
/* See check_resident.h. */
#include "cli/check/check_resident.h"

#include <stdio.h>

#include "cli/process/own_heaps.h"
#include "report/parts/explained_text.h"

static bool warn_of_share(const struct bp_profile *profile, const struct bp_resident *resident,
	const struct bp_query *query, struct bp_quantity_style style, struct bp_warner *warner,
	struct bp_error *error)
{
	char text[BP_EXPLAINED_BYTES], advice[BP_EXPLAINED_BYTES], both[2 * BP_EXPLAINED_BYTES + 3];
	struct bp_query whole = {
		.metric = BP_METRIC_LIVE, .by = BP_KEY_TYPE, .confidence = query->confidence
	};
	struct bp_aggregation aggregation;
	struct bp_explained explained;
	if (!bp_aggregate(profile, &whole, &aggregation, error))
		return false;
	bool good = true;
	if (bp_explain_process(&aggregation, resident, &explained) && explained.little) {
		bp_explained_text(&explained, style, text);
		bp_explained_advice(&explained, style, advice);
		snprintf(both, sizeof both, "%s. %s", text, advice);
		good = warner->add(warner->context, both) || bp_error_set(error, "out of memory");
	}
	bp_aggregation_finish(&aggregation);
	return good;
}

/* The figure of the process that a limit on malloc is easily taken for. */
static enum bp_resident_metric counterpart(const struct bp_limit *limit)
{
	if (limit->resident != BP_RESIDENT_NONE || limit->growth || limit->objects ||
		limit->filter_text != NULL)
		return BP_RESIDENT_NONE;
	return limit->metric == BP_METRIC_PEAK	 ? BP_RESIDENT_MOST
	       : limit->metric == BP_METRIC_LIVE ? BP_RESIDENT_LAST
						 : BP_RESIDENT_NONE;
}

bool bp_check_warn_of_process(const struct bp_profile *profile, const struct bp_resident *resident,
	const struct bp_query *query, const struct bp_limit *limits, uint32_t count,
	struct bp_quantity_style style, struct bp_warner *warner, struct bp_error *error)
{
	char sentence[1024], amount[BP_QUANTITY_BYTES];
	struct bp_known_total found;
	if (resident->count == 0 || query->has_at)
		return true;
	if (!warn_of_share(profile, resident, query, style, warner, error))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const enum bp_resident_metric metric = counterpart(&limits[i]);
		if (metric == BP_RESIDENT_NONE ||
			!bp_resident_figure(metric, resident, profile, &found) ||
			(double)found.low <= limits[i].most)
			continue;
		bp_bytes_text(found.low, style, amount);
		snprintf(sentence, sizeof sentence,
			"%.500s is a limit on what malloc gave; the process itself %s %s resident, "
			"which is beyond it: --limit %s=SIZE is on that",
			limits[i].text, metric == BP_RESIDENT_MOST ? "had up to" : "has", amount,
			bp_resident_metric_names[metric]);
		if (!warner->add(warner->context, sentence))
			return bp_error_set(error, "out of memory");
	}
	return true;
}
