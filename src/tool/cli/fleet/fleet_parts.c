/* SPDX-License-Identifier: MIT */
/* Recordings of a store that are read and aggregated apart; see fleet_parts.h. */
#include "cli/fleet/fleet_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "cli/command.h"
#include "cli/options/allocator_options.h"
#include "policy/defaults.h"
#include "report/parts/header.h"

/* Takes the profile over; it is finished where there is no memory. */
static bool add(struct bp_profile *profile, const char *name, struct bp_fleet_parts *parts,
	struct bp_error *error)
{
	if (!bp_vec_reserve(
		    &parts->parts, &parts->capacity, parts->count + 1u, sizeof *parts->parts)) {
		bp_profile_finish(profile);
		return bp_error_set(error, "out of memory");
	}
	struct bp_fleet_part *part = &parts->parts[parts->count++];
	*part = (struct bp_fleet_part){ .profile = *profile };
	snprintf(part->name, sizeof part->name, "%s", name);
	memset(profile, 0, sizeof *profile);
	return true;
}

bool bp_fleet_parts_read(const struct bp_fleet_request *request,
	const struct bp_fleet_filter *filter, const char *name, struct bp_fleet_parts *parts,
	struct bp_error *error)
{
	struct bp_profile profile;
	return bp_fleet_profile(request, filter, &profile, error) &&
	       add(&profile, name, parts, error);
}

bool bp_fleet_parts_read_hosts(const struct bp_fleet_request *request,
	const struct bp_fleet_filter *filter, uint32_t least, struct bp_fleet_parts *parts,
	struct bp_error *error)
{
	struct bp_fleet_hosts hosts;
	if (!bp_fleet_read_hosts(&request->store, filter, request->detail, &hosts, error))
		return false;
	parts->left_out = filter->moments != NULL ? filter->moments->left_out : 0;
	bool good =
		hosts.count >= least ||
		bp_error_set(error,
			"--hosts sample: %u host%s no sample of hosts: how much hosts differ is "
			"seen from %u on",
			hosts.count, hosts.count == 1 ? " is" : "s are", least);
	for (uint32_t i = 0; good && i < hosts.count; i++) {
		hosts.data[i].profile.allocators = bp_allocator_options();
		good = add(&hosts.data[i].profile, hosts.data[i].name, parts, error);
	}
	bp_fleet_hosts_finish(&hosts);
	return good;
}

bool bp_fleet_parts_aggregate(const struct bp_fleet_request *request, double scale,
	struct bp_fleet_parts *parts, struct bp_error *error)
{
	struct bp_query query = request->query_options.query;
	if (!bp_option_given(request->arguments, "metric"))
		query.metric = bp_default_metric(&parts->parts[0].profile, &query);
	/* Everything is Horvitz-Thompson, so that base + change = new; threads are counted. */
	if (query.by != BP_KEY_THREAD)
		query.estimator = BP_ESTIMATOR_HT;
	parts->runs = calloc(parts->count, sizeof *parts->runs);
	if (parts->runs == NULL)
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 0; i < parts->count; i++) {
		struct bp_fleet_part *part = &parts->parts[i];
		part->aggregated = bp_aggregate(&part->profile, &query, &part->aggregation, error);
		if (!part->aggregated ||
			!bp_diff_has_figures(&part->aggregation, part->name, error))
			return false;
		parts->runs[i] = (struct bp_run){ .shown = &part->aggregation,
			.compared = &part->aggregation,
			.scale = scale,
			.file = part->name };
	}
	return true;
}

bool bp_fleet_parts_as_recorded(
	const struct bp_fleet_request *request, const struct bp_fleet_parts *parts)
{
	bool as_recorded = true;
	for (uint32_t i = 0; i < parts->count; i++)
		as_recorded &= bp_names_as_recorded(
			&parts->parts[i].profile, request->query_options.query.by);
	return as_recorded;
}

void bp_fleet_parts_finish(struct bp_fleet_parts *parts)
{
	for (uint32_t i = 0; i < parts->count; i++) {
		if (parts->parts[i].aggregated)
			bp_aggregation_finish(&parts->parts[i].aggregation);
		bp_profile_finish(&parts->parts[i].profile);
	}
	free(parts->parts);
	free(parts->runs);
	*parts = (struct bp_fleet_parts){ .count = 0 };
}

bool bp_fleet_host_count(const struct bp_fleet_request *request, uint32_t seen, uint32_t *ret_count,
	struct bp_error *error)
{
	uint64_t count = 0;
	if (!bp_option_number(request->arguments, "host-count", UINT32_MAX, &count, error))
		return false;
	if (count != 0 && count < seen)
		return bp_error_set(error,
			"--host-count %llu: there are recordings of %u hosts already",
			(unsigned long long)count, seen);
	*ret_count = (uint32_t)count;
	return true;
}
