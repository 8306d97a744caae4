/* SPDX-License-Identifier: MIT */
/*
 * The moments that `bytepoll fleet` is asked about: the part of the time of top, tree and check
 * (--from, --until, --at), and the two moments of growth. All that are given are dates, or all are
 * times since the start of each run.
 */
#include "base/attributes.h"
#include "cli/command.h"
#include "cli/fleet/fleet_request.h"
#include "query/time_text.h"

/* A date, or a time since the start of each run. */
static bool read_moment(const char *name, const char *text, bool *ret_of_day, int64_t *ret_ns,
	struct bp_error *error)
{
	struct bp_error ignored;
	uint64_t since_start_ns;
	*ret_of_day = bp_fleet_date_read(text, ret_ns);
	if (*ret_of_day)
		return true;
	if (!bp_time_read(text, &since_start_ns, &ignored))
		return bp_error_set(error,
			"--%s %.200s: write a time since the start of each run, as 600 or 2h, or a "
			"date and a time in UTC: 2026-01-31T23:59",
			name, text);
	*ret_ns = (int64_t)since_start_ns;
	return true;
}

/* The error of two options of which one is a date and the other is none. */
static bool differ(const char *name, const char *text, const char *other_name, const char *other,
	struct bp_error *error)
{
	return bp_error_set(error,
		"--%s %.200s and --%s %.200s: give both as dates, or both as times since the start of "
		"each run",
		name, text, other_name, other);
}

bool bp_fleet_window_read(
	const struct bp_arguments *arguments, struct bp_query *query, struct bp_error *error)
{
	const struct {
		const char *name;
		bool *has;
		uint64_t *ns;
	} moments[] = { { "from", &query->has_from, &query->from_ns },
		{ "until", &query->has_to, &query->to_ns },
		{ "at", &query->has_at, &query->at_ns } };
	const char *first = NULL, *first_name = NULL;
	for (size_t i = 0; i < BP_COUNT(moments); i++) {
		const char *text = bp_option_value(arguments, moments[i].name);
		int64_t ns;
		bool of_day;
		if (text == NULL)
			continue;
		if (!read_moment(moments[i].name, text, &of_day, &ns, error))
			return false;
		if (first != NULL && of_day != query->of_day)
			return differ(first_name, first, moments[i].name, text, error);
		first = text;
		first_name = moments[i].name;
		query->of_day = of_day;
		*moments[i].has = true;
		*moments[i].ns = ns > 0 ? (uint64_t)ns : 0;
	}
	return bp_query_check(query, error);
}

bool bp_fleet_moments_read(const struct bp_arguments *arguments,
	struct bp_fleet_moments *ret_moments, struct bp_error *error)
{
	const char *from = bp_option_value(arguments, "from");
	const char *until = bp_option_value(arguments, "until");
	struct bp_fleet_moments moments = { .of_day = false };
	bool of_day;
	if (from == NULL || until == NULL)
		return bp_error_set(error,
			"growth is between two moments: --from 600 --until 3600, since the start of "
			"each run, or of a day, in UTC: --from 2026-01-31T10:00 --until "
			"2026-01-31T12:00");
	if (!read_moment("from", from, &moments.of_day, &moments.from_ns, error) ||
		!read_moment("until", until, &of_day, &moments.until_ns, error))
		return false;
	if (of_day != moments.of_day)
		return differ("from", from, "until", until, error);
	if (moments.from_ns >= moments.until_ns)
		return bp_error_set(
			error, "--from %.200s: must be before --until %.200s", from, until);
	*ret_moments = moments;
	return true;
}
