/* SPDX-License-Identifier: MIT */
/*
 * What `bytepoll fleet` was asked: what to do, which recordings of which folders, and the question
 * itself. Made by fleet.c and fleet_moments.c; fleet_show.c, fleet_hosts.c, fleet_html.c,
 * fleet_growth.c, fleet_diff.c and fleet_check.c answer. One thread.
 */
#ifndef BP_CLI_FLEET_FLEET_REQUEST_H
#define BP_CLI_FLEET_FLEET_REQUEST_H

#include "cli/options/query_options.h"
#include "fleet/fleet.h"
#include "report/report.h"

#define BP_FLEET_VALUES_MAX 64

enum bp_fleet_word {
	BP_FLEET_TOP,
	BP_FLEET_TREE,
	BP_FLEET_GROWTH,
	BP_FLEET_DIFF,
	BP_FLEET_CHECK,
	BP_FLEET_HTML,
	BP_FLEET_WORDS
};

struct bp_fleet_request {
	const struct bp_arguments *arguments;
	enum bp_fleet_word word;
	struct bp_query_options query_options;
	struct bp_store store;
	struct bp_fleet_filter filter;
	struct bp_fleet_moments moments;	    /* growth: the filter's */
	const char *values[4][BP_FLEET_VALUES_MAX]; /* behind the filter's lists */
	struct bp_fleet_detail detail;
};

/* Are the runs, or hosts, taken for a sample of more (--hosts sample)? */
bool bp_fleet_is_sample(const struct bp_fleet_request *request);

/* A moment in UTC: a date, and after a T hours, minutes and seconds. False: it is none. */
bool bp_fleet_date_read(const char *text, int64_t *ret_ns);

/* The moments of --from and --until. Errors: of usage. */
bool bp_fleet_moments_read(const struct bp_arguments *arguments,
	struct bp_fleet_moments *ret_moments, struct bp_error *error);

/* The window of --from and --until, and --at, into the query: times of a day, or since the start of
 * each run. Errors: of usage. */
bool bp_fleet_window_read(
	const struct bp_arguments *arguments, struct bp_query *query, struct bp_error *error);

/* The recordings that pass `filter` as a profile, with the options about names; as bp_fleet_read.
 */
bool bp_fleet_profile(const struct bp_fleet_request *request, const struct bp_fleet_filter *filter,
	struct bp_profile *ret_profile, struct bp_error *error);

/* top and tree; both of a sample of hosts; html; growth; diff; check. They return the exit status,
 * 0 for well, and set `error` where it failed. */
int bp_fleet_show(const struct bp_fleet_request *request, struct bp_error *error);
int bp_fleet_hosts(const struct bp_fleet_request *request, struct bp_error *error);
int bp_fleet_html(const struct bp_fleet_request *request, struct bp_error *error);
int bp_fleet_growth(const struct bp_fleet_request *request, struct bp_error *error);
int bp_fleet_diff(const struct bp_fleet_request *request, struct bp_error *error);
int bp_fleet_check(const struct bp_fleet_request *request, struct bp_error *error);

#endif
