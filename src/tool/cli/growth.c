/* SPDX-License-Identifier: MIT */
/*
 * Growth is a difference of two moments, asked one-sidedly; see growth.h. By default the time from
 * half to nine tenths of the run is looked at: before, much is built up that is then used for long,
 * and at the end many programs free what they have. A run that was ended from outside (killed, or
 * still running) has no such end, and is looked at until then.
 */
#include "cli/growth.h"

#include "query/filter.h"
#include "report/diff/diff_report.h"

#define ERROR_OF_SUSPECTS 0.05 /* chance of any false suspect */
#define ROWS_FOR_EYES 20
#define NAMED(name_, summary_) #name_,

bool bp_growth_check(
	const struct bp_arguments *arguments, const struct bp_query *query, struct bp_error *error)
{
	static const char *const others[] = { BP_REPORTS_TO_READ(NAMED) "csv", "timeline", "sort",
		"at", "metric", "estimator", "interval-method" };
	for (size_t i = 0; i < BP_COUNT(others); i++)
		if (bp_option_given(arguments, others[i]))
			return bp_error_set(error, "--growth and --%s: choose one", others[i]);
	if (query->by == BP_KEY_PROCESS)
		return bp_error_set(error, "--growth --by process: use --growth --pid PID");
	if (bp_query_filters_frees(query))
		return bp_error_set(error,
			"--growth is about what is not freed: leave --filter " BP_FREED_BY " out");
	return arguments->operand_count == 1 ||
	       bp_error_set(error, "--growth is about one run: give one file");
}

/* The end of the run, which is known after aggregating, and whether the program ended by itself. */
static bool find_end(const struct bp_profile *profile, const struct bp_query *query,
	uint64_t *ret_end_ns, bool *ret_by_itself, struct bp_error *error)
{
	struct bp_aggregation whole;
	struct bp_query at_exit = *query;
	at_exit.metric = BP_METRIC_LIVE;
	at_exit.without_peak = true;
	at_exit.has_from = at_exit.has_to = at_exit.has_at = false;
	if (!bp_aggregate(profile, &at_exit, &whole, error))
		return false;
	*ret_end_ns = whole.at_ns;
	*ret_by_itself = profile->processes.data[whole.subject.i].ended;
	bp_aggregation_finish(&whole);
	return true;
}

static bool find_moments(const struct bp_profile *profile, const struct bp_query *query,
	uint64_t *ret_at_ns, struct bp_error *error)
{
	uint64_t end_ns;
	bool by_itself;
	if (!find_end(profile, query, &end_ns, &by_itself, error))
		return false;
	uint64_t last_ns = by_itself ? end_ns / 10 * 9 : end_ns;
	if (query->has_from && query->from_ns >= last_ns)
		last_ns = end_ns;
	ret_at_ns[BP_NEW] = query->has_to ? query->to_ns : last_ns;
	ret_at_ns[BP_BASE] = query->has_from ? query->from_ns
			     : query->has_to ? query->to_ns / 2
					     : end_ns / 2;
	if (end_ns == 0 && (profile->lacks & BP_LACKS_TIMES) != 0)
		return bp_error_set(error,
			"--growth: this file is a snapshot, which does not tell when anything was "
			"allocated: bytepoll diff compares two of them");
	if (end_ns == 0)
		return bp_error_set(error, "--growth: the recording is empty: bytepoll report "
					   "without --growth says why");
	if (ret_at_ns[BP_NEW] > end_ns)
		return bp_error_set(error, "--until %.6g s: the recording ends at %.6g s",
			(double)ret_at_ns[BP_NEW] / 1e9, (double)end_ns / 1e9);
	return ret_at_ns[BP_BASE] < ret_at_ns[BP_NEW] ||
	       bp_error_set(error,
		       "--from %.6g s: must be before --until, or the end of the recording at "
		       "%.6g s",
		       (double)ret_at_ns[BP_BASE] / 1e9, (double)end_ns / 1e9);
}

bool bp_growth_write(const struct bp_arguments *arguments, const struct bp_profile *profile,
	const struct bp_query *query, const struct bp_report_options *options,
	const struct bp_symbol_summary *symbols, struct bp_error *error)
{
	struct bp_diff_query asked = { .growth = true, .rate = ERROR_OF_SUSPECTS };
	struct bp_report_options shown = *options;
	struct bp_diff_moments moments;
	uint64_t at_ns[BP_SIDES], rows;
	bool json = bp_option_given(arguments, "json");
	rows = json ? BP_ROWS_ALL : ROWS_FOR_EYES;
	if (!bp_option_number(arguments, "rows", UINT32_MAX, &rows, error) ||
		!find_moments(profile, query, at_ns, error) ||
		!bp_diff_moments_make(
			profile, query, at_ns, &asked, arguments->operands[0], &moments, error))
		return false;
	shown.rows = (uint32_t)rows;
	if (symbols->modules_missing + symbols->modules_replaced > 0)
		bp_diff_warn(&moments.diff, "%u files of the program cannot be read for names",
			symbols->modules_missing + symbols->modules_replaced);
	(json ? bp_write_growth_json : bp_write_growth_text)(&moments, &shown, stdout);
	bp_diff_moments_finish(&moments);
	return true;
}
