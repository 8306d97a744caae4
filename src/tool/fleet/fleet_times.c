/* SPDX-License-Identifier: MIT */
/*
 * The moments of a query, at which the lives of samples are cut into pieces. Every comparison that
 * a query makes of a sample's time is with one of these cuts (query/view.h, query/selection.h), so
 * that the last cut before the time may stand in its place. What is live at a moment was allocated
 * by then, and was not freed until after it: there the cut is a nanosecond later.
 */
#include "fleet/fleet.h"

#include "query/filter.h"

static void add(struct bp_fleet_times *times, uint64_t cut_ns)
{
	if (cut_ns > 0 && cut_ns < UINT64_C(1) << 62 && times->cut_count < BP_FLEET_CUTS_MAX)
		times->cuts_ns[times->cut_count++] = cut_ns;
}

struct bp_fleet_times bp_fleet_times_of(const struct bp_query *query)
{
	struct bp_fleet_times times = { .has_at = query->has_at,
		.of_day = query->of_day,
		.window = query->has_from || query->has_to,
		.from_ns = query->has_from ? query->from_ns : 0,
		.to_ns = query->has_to ? query->to_ns : BP_TIME_NEVER };
	if (query->has_at)
		add(&times, query->at_ns + 1);
	if (times.window) {
		add(&times, times.from_ns);
		add(&times, times.to_ns);
	}
	for (uint32_t i = 0; i < query->filter_count; i++)
		if (query->filters[i].of_time) {
			add(&times, query->filters[i].from_ns);
			add(&times, query->filters[i].to_ns);
		}
	return times;
}
