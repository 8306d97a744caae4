/* SPDX-License-Identifier: MIT */
/* Which --interval the next run should have; see finer_interval.h. */
#include "report/parts/finer_interval.h"

#include "estimate/plan.h"
#include "report/parts/header.h"
#include "text/quantity.h"

/* From here on the order of rows says little, and a reader needs the advice. */
static const double accuracy_poor = .5;
/* What `bytepoll plan` aims at without options. */
static const double accuracy_wanted = .1, power = .8;

static bool is_ours(const struct bp_aggregation *aggregation)
{
	const struct bp_process *subject =
		&aggregation->profile->processes.data[aggregation->subject.i];
	return aggregation->subject.i > 0 && aggregation->lacks == 0 && !subject->host;
}

void bp_write_finer_interval(const struct bp_aggregation *aggregation, const struct bp_row *first,
	const struct bp_report_options *options, FILE *out)
{
	const struct bp_plan_aim aim = { accuracy_wanted, power,
		1 - aggregation->query.confidence };
	const struct bp_assumptions assumed = bp_aggregation_assumptions(aggregation);
	const uint64_t now = bp_mean_interval(
		bp_aggregation_total_sums(aggregation, BP_METRIC_ALLOCATED), &assumed);
	struct bp_plan_next next;
	char text[512], known[64], interval[BP_QUANTITY_BYTES];
	const char *plus_minus = options->utf8 ? "±" : "+-";
	if (!is_ours(aggregation) || first->bytes.lower_bound || first->bytes.upper_bound ||
		!bp_plan_next(&first->bytes.interval, now, (double)bp_plan_samples(0, 0, aim), aim,
			&next) ||
		next.accuracy < accuracy_poor || next.interval >= now)
		return;
	bp_interval_text(bp_plan_round_interval(next.interval), interval);
	if (next.accuracy < 1)
		snprintf(known, sizeof known, "to %s%.0f %%", plus_minus, 100 * next.accuracy);
	else
		snprintf(known, sizeof known, "to no better than a factor of two");
	snprintf(text, sizeof text,
		"Few samples: the first row is known %s. Recorded with --interval %s it would be "
		"known to %s%.0f %% (bytepoll plan FILE has the other rows).",
		known, interval, plus_minus, 100 * accuracy_wanted);
	bp_write_note(options, text, out);
}
