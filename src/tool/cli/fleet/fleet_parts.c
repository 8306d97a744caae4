/* SPDX-License-Identifier: MIT */
/* Recordings of a store that are read and aggregated apart; see fleet_parts.h. */
#include "cli/fleet/fleet_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"
#include "cli/command.h"
#include "policy/defaults.h"
#include "report/parts/header.h"

bool bp_fleet_parts_read(const struct bp_fleet_request *request,
	const struct bp_fleet_filter *filter, const char *name, struct bp_fleet_parts *parts,
	struct bp_error *error)
{
	struct bp_fleet_part *grown =
		realloc(parts->parts, (size_t)(parts->count + 1) * sizeof *grown);
	if (grown == NULL)
		return bp_error_set(error, "out of memory");
	parts->parts = grown;
	struct bp_fleet_part *part = &grown[parts->count];
	memset(part, 0, sizeof *part);
	snprintf(part->name, sizeof part->name, "%s", name);
	if (!bp_fleet_profile(request, filter, &part->profile, error))
		return false;
	parts->count++;
	return true;
}

static bool are_sample(uint32_t count, uint32_t least, struct bp_error *error)
{
	if (count < least)
		return bp_error_set(error,
			"--hosts sample: %u host%s no sample of hosts: how much hosts differ is seen "
			"from %u on",
			count, count == 1 ? " is" : "s are", least);
	return count <= BP_RUNS_MAX ||
	       bp_error_set(error, "--hosts sample: %u hosts are more than %d", count, BP_RUNS_MAX);
}

bool bp_fleet_parts_read_hosts(const struct bp_fleet_request *request,
	const struct bp_fleet_filter *filter, uint32_t least, struct bp_fleet_parts *parts,
	struct bp_error *error)
{
	struct bp_fleet_filter of_host = *filter;
	struct bp_fleet_hosts hosts;
	if (!bp_fleet_list_hosts(&request->store, filter, &hosts, error))
		return false;
	parts->left_out = filter->moments != NULL ? filter->moments->left_out : 0;
	bool good = are_sample(hosts.count, least, error);
	for (uint32_t i = 0; good && i < hosts.count; i++) {
		const char *const name = hosts.names[i];
		of_host.hosts = &name;
		of_host.host_count = 1;
		good = bp_fleet_parts_read(request, &of_host, name, parts, error);
	}
	bp_fleet_hosts_finish(&hosts);
	return good;
}

bool bp_fleet_parts_aggregate(const struct bp_fleet_request *request, double scale,
	struct bp_fleet_parts *parts, struct bp_error *error)
{
	struct bp_query query = request->query_options.query;
	if (!bp_option_given(request->arguments, "metric"))
		query.metric = bp_default_metric(&parts->parts[0].profile, query.metric);
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
