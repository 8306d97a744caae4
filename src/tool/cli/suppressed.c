/* SPDX-License-Identifier: MIT */
/* See suppressed.h. What is hidden is aggregated once more, with the filter turned round, so that
 * it has an interval of its own: intervals cannot be subtracted. */
#include "cli/suppressed.h"

#include <string.h>

#include "text/quantity.h"

/* As reports print filters: "only ...". */
#define BP_SUPPRESSED_TEXT "what is not suppressed by "

bool bp_suppressed_read(const struct bp_arguments *arguments, struct bp_suppressed *suppressed,
	struct bp_query_options *options, struct bp_error *error)
{
	const char *path = bp_option_value(arguments, "suppressions");
	struct bp_query *query = &options->query;
	if (path == NULL)
		return true;
	if (query->metric != BP_METRIC_LIVE)
		return bp_error_set(error, "--suppressions hides what is live: leave --metric out");
	if (query->filter_count == BP_FILTERS_MAX)
		return bp_error_set(error, "too many filters");
	if (!bp_suppressions_read(path, &suppressed->suppressions, error))
		return false;
	snprintf(suppressed->text, sizeof suppressed->text, BP_SUPPRESSED_TEXT "%s", path);
	options->filters[query->filter_count++] = (struct bp_filter){ .key = BP_KEY_STACK,
		.text = suppressed->text,
		.glob = suppressed->text + strlen(BP_SUPPRESSED_TEXT),
		.suppressions = &suppressed->suppressions };
	query->filters = options->filters;
	return true;
}

void bp_suppressed_finish(struct bp_suppressed *suppressed)
{
	bp_suppressions_finish(&suppressed->suppressions);
}

bool bp_suppressed_tell(struct bp_aggregation *aggregation, struct bp_error *error)
{
	struct bp_query query = aggregation->query;
	struct bp_filter filters[BP_FILTERS_MAX];
	struct bp_aggregation hidden;
	const struct bp_quantity_style style = { 0 };
	char bytes[BP_QUANTITY_BYTES], objects[BP_QUANTITY_BYTES];
	bool any = false;
	for (uint32_t i = 0; i < query.filter_count; i++) {
		filters[i] = query.filters[i];
		filters[i].suppressed = filters[i].suppressions != NULL;
		any = any || filters[i].suppressed;
	}
	if (!any)
		return true;
	query.filters = filters;
	query.without_peak = true;
	if (!bp_aggregate(aggregation->profile, &query, &hidden, error)) {
		bp_aggregation_finish(aggregation);
		return false;
	}
	const struct bp_total *total = &hidden.totals[BP_METRIC_LIVE];
	bp_bytes_figure_text(&total->bytes, style, bytes);
	bp_objects_figure_text(&total->objects, style, objects);
	if (total->samples > 0)
		bp_aggregation_warn(aggregation,
			"hidden by suppressions: %s in %s objects, %llu sample%s (bytes %.0f "
			"[%.0f, %.0f])",
			bytes, objects, (unsigned long long)total->samples,
			total->samples == 1 ? "" : "s", total->bytes.interval.estimate,
			total->bytes.interval.low, total->bytes.interval.high);
	else
		bp_aggregation_warn(
			aggregation, "suppressions match nothing that was sampled live");
	bp_aggregation_finish(&hidden);
	return true;
}
