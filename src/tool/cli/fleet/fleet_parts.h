/* SPDX-License-Identifier: MIT */
/*
 * Recordings of a store that are read and aggregated apart from each other: the sides of `fleet
 * diff`, or the hosts of a sample. One thread.
 */
#ifndef BP_CLI_FLEET_FLEET_PARTS_H
#define BP_CLI_FLEET_FLEET_PARTS_H

#include "cli/fleet/fleet_request.h"
#include "diff/diff.h"

/* The fewest hosts that are a sample: two have one degree of freedom, with which limits are 12.7
 * standard errors away. */
#define BP_FLEET_HOSTS_LEAST 3

struct bp_fleet_part {
	struct bp_profile profile;
	struct bp_aggregation aggregation;
	bool aggregated;
	char name[256]; /* of the release or the host */
};

/* Zeroed: none. */
struct bp_fleet_parts {
	struct bp_fleet_part *parts;
	struct bp_run *runs; /* one for each part, once they are aggregated */
	uint32_t count, capacity;
	uint32_t left_out; /* runs of all hosts that were not recorded at both moments */
};

/* One part more: the recordings that pass `filter`. Errors: those of bp_fleet_profile; memory. */
bool bp_fleet_parts_read(const struct bp_fleet_request *request,
	const struct bp_fleet_filter *filter, const char *name, struct bp_fleet_parts *parts,
	struct bp_error *error);

/* One part more for each host of the recordings that pass `filter`; with moments, of those that
 * were recorded at both. Errors: fewer hosts than `least`; those of the store. */
bool bp_fleet_parts_read_hosts(const struct bp_fleet_request *request,
	const struct bp_fleet_filter *filter, uint32_t least, struct bp_fleet_parts *parts,
	struct bp_error *error);

/* Aggregates each by the query of the request, every figure of it times `scale` > 0. Errors: a part
 * of which nothing is known; memory. */
bool bp_fleet_parts_aggregate(const struct bp_fleet_request *request, double scale,
	struct bp_fleet_parts *parts, struct bp_error *error);

/* Are the names of the rows of all parts shown as they were recorded (report/parts/header.h)? */
bool bp_fleet_parts_as_recorded(
	const struct bp_fleet_request *request, const struct bp_fleet_parts *parts);

void bp_fleet_parts_finish(struct bp_fleet_parts *parts);

/* How many hosts there are, by --host-count; 0: nobody said so. Errors: it is no number, or is
 * smaller than `seen`, the number of hosts that were recorded. */
bool bp_fleet_host_count(const struct bp_fleet_request *request, uint32_t seen, uint32_t *ret_count,
	struct bp_error *error);

#endif
