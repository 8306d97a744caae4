/* SPDX-License-Identifier: MIT */
/*
 * Questions to a store: which runs are meant, and their samples as a profile. The engine selects
 * and counts: of samples that are alike (process, stack, size, T, live or not ...) there is one row
 * with their number. Numbers add up exactly, and everything that a figure depends on is a function
 * of them and of what is alike; so the figures that aggregation/ makes of such a profile are those
 * of the recordings themselves. What the profile does not have are times: nothing can be asked of
 * it about peaks, and of moments and windows only about those that the engine was told of.
 *
 * Called by cli/fleet. One thread.
 */
#ifndef BP_FLEET_FLEET_H
#define BP_FLEET_FLEET_H

#include "fleet/store.h"
#include "model/profile.h"
#include "query/query.h"

/* Two moments, at both of which every run is looked at. A run that was not recorded at both is left
 * out. */
struct bp_fleet_moments {
	bool of_day;		   /* since 1970; false: since the start of each run */
	int64_t from_ns, until_ns; /* from_ns < until_ns */
	uint32_t left_out;	   /* set by bp_fleet_read: how many runs are left out */
};

/* The moments that a query asks about (struct bp_query), of a day or since the start of each run:
 * of samples only is kept between which of them they began and ended. Zeroed: none. */
/* Two for each of the 64 filters that a command takes, two for the window, one for --at. */
#define BP_FLEET_CUTS_MAX 131u
struct bp_fleet_times {
	uint64_t cuts_ns[BP_FLEET_CUTS_MAX];
	uint32_t cut_count;
	bool has_at; /* what is live is asked of a moment, and not of the end of each run */
	bool window; /* from from_ns to to_ns: the profile has what the counters say of its edges */
	bool of_day; /* since 1970; false: since the start of each run */
	uint64_t from_ns, to_ns; /* to_ns: BP_TIME_NEVER to the end */
};

/* Of a query: --at, --from, --until and filters of time. Pure. */
struct bp_fleet_times bp_fleet_times_of(const struct bp_query *query);

/* Which runs: all that is given must hold; of several values of one kind, one. Texts must be valid
 * UTF-8. */
struct bp_fleet_filter {
	const char *const *services, *const *releases, *const *hosts;
	uint32_t service_count, release_count, host_count;
	const char *const *tags; /* `key=value`, all of which it must have */
	uint32_t tag_count;
	int64_t since_ns,
		until_ns; /* when the run began, since 1970; INT64_MIN and INT64_MAX: any */
	/* NULL: what each run held at its end. Otherwise the profile has what lived at the first
	 * moment, and at the second: since the start of a run, or, of_day, since the first one. */
	struct bp_fleet_moments *moments;
	struct bp_fleet_times times; /* without `moments` */
};

/* What must be kept apart, beside functions, sizes and processes. */
struct bp_fleet_detail {
	bool threads, labels, types;
	/* what becomes the origin of processes: "service", "release", "host" or "tag:KEY"; NULL:
	 * nothing. It must stay. */
	const char *origin;
};

/* The runs of one machine. */
struct bp_fleet_host {
	char *name; /* allocated by itself */
	struct bp_profile profile;
};

struct bp_fleet_hosts {
	struct bp_fleet_host *data;
	uint32_t count;
};

/* The samples of these runs as a profile, finished and with its names; with moments it is set how
 * many runs were not recorded at both. On failure there is nothing to finish. Errors: no run
 * passes; those of the engine; a run that is in the store twice; a window asked of tables that have
 * no readings; memory. */
bool bp_fleet_read(const struct bp_store *store, const struct bp_fleet_filter *filter,
	struct bp_fleet_detail detail, struct bp_profile *ret_profile, struct bp_error *error);

/* The same apart by machine, in the order of their names: one question, however many there are.
 * With moments there are only those that were recorded at both. Who keeps a profile zeroes it
 * here. */
bool bp_fleet_read_hosts(const struct bp_store *store, const struct bp_fleet_filter *filter,
	struct bp_fleet_detail detail, struct bp_fleet_hosts *ret_hosts, struct bp_error *error);
void bp_fleet_hosts_finish(struct bp_fleet_hosts *hosts);

#endif
