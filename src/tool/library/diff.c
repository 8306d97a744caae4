/* SPDX-License-Identifier: MIT */
/*
 * Differences of profiles, and of two moments of one: every run aggregated by itself, as `bytepoll
 * diff` does it, then compared (diff/diff.h). Everything is Horvitz-Thompson, so that base
 * + change = new; threads alone are counted.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff_moments.h"
#include "library/handles.h"
#include "library/read.h"
#include "policy/defaults.h"
#include "policy/distinct.h"
#include "policy/shown.h"

#define RUNS_MAX 256u /* of a side */

struct bytepoll_difference {
	struct bp_question question;
	struct bytepoll_profile **profiles; /* that are held, base first */
	size_t profile_count;
	struct bp_aggregation *aggregations; /* of each; of moments none */
	size_t aggregation_count;
	struct bp_run *runs;
	struct bp_diff_moments moments; /* or else zeros, and */
	struct bp_diff between;
	bool of_moments;
	uint32_t warnings;
};

static const struct bp_diff *difference_of(const struct bytepoll_difference *handle)
{
	return handle->of_moments ? &handle->moments.diff : &handle->between;
}

static bool read_comparison(const struct bytepoll_comparison *asked,
	struct bytepoll_comparison *ret_known, struct bp_diff_query *ret_query,
	struct bytepoll_error *error)
{
	struct bytepoll_comparison known;
	if (!bp_struct_take(&known, sizeof known, asked, "the comparison", error))
		return false;
	const int sort =
		bp_question_word(known.sort, bp_diff_sort_names, BP_DIFF_SORT_COUNT, "sort", error);
	if (sort < 0)
		return false;
	if ((known.flags & ~(uint32_t)BYTEPOLL_BY_OBJECTS) != 0)
		return bp_call_wrong(
			error, "flags %#x of the comparison are not known", known.flags);
	if (known.false_discoveries != 0 &&
		!(known.false_discoveries >= 1e-12 && known.false_discoveries <= 1 - 1e-12))
		return bp_call_wrong(error, "false_discoveries %g: must be between 0 and 1",
			known.false_discoveries);
	*ret_known = known;
	*ret_query = (struct bp_diff_query){ .objects = known.flags != 0,
		.sort = (enum bp_diff_sort)sort,
		.rate = known.false_discoveries };
	return true;
}

/* Rows are matched by what two runs have in common: lines move, processes have other numbers. */
static bool check_key(const struct bp_query *query, bool moments, struct bytepoll_error *error)
{
	const bool of_source = query->by == BP_KEY_LINE || query->by == BP_KEY_FILE;
	return ((query->by <= BP_KEY_KIND || query->by == BP_KEY_LABEL) &&
		       query->by != BP_KEY_PROCESS && (moments || !of_source)) ||
	       bp_call_wrong(error,
		       "by '%s' cannot be compared: use function, stack, module, thread, size, "
		       "type, kind or label%s",
		       bp_key_names[query->by], moments ? ", line or file" : "");
}

static bool reserve(struct bytepoll_difference *handle, size_t count)
{
	handle->profiles = calloc(count, sizeof *handle->profiles);
	handle->aggregations = calloc(count, sizeof *handle->aggregations);
	handle->runs = calloc(count, sizeof *handle->runs);
	return handle->profiles != NULL && handle->aggregations != NULL && handle->runs != NULL;
}

static void hold(struct bytepoll_difference *handle, struct bytepoll_profile *profile)
{
	bp_profile_hold(profile);
	handle->profiles[handle->profile_count++] = profile;
}

static bool add_run(struct bytepoll_difference *handle, struct bytepoll_profile *profile,
	double scale, struct bytepoll_error *error)
{
	enum bp_metric *metric = &handle->question.query.metric;
	if (!(scale > 0 && scale < 1e300))
		return bp_call_wrong(error, "scale %g: must be above 0", scale);
	handle->runs[handle->profile_count] =
		(struct bp_run){ .scale = scale, .file = profile->file };
	hold(handle, profile);
	if (!handle->question.metric_given)
		*metric = bp_default_metric(&profile->profile, &handle->question.query);
	return true;
}

static void finish_aggregations(struct bytepoll_difference *handle)
{
	while (handle->aggregation_count > 0)
		bp_aggregation_finish(&handle->aggregations[--handle->aggregation_count]);
}

/* Aggregates every run by the metric of the question. */
static bool aggregate(struct bytepoll_difference *handle, struct bytepoll_error *error)
{
	struct bp_error reason;
	struct bp_query query = handle->question.query;
	query.all_cells = query.metric == BP_METRIC_PEAK;
	finish_aggregations(handle);
	for (size_t i = 0; i < handle->profile_count; i++) {
		struct bytepoll_profile *profile = handle->profiles[i];
		struct bp_aggregation *aggregation = &handle->aggregations[i];
		if (!bp_aggregate(&profile->profile, &query, aggregation, &reason))
			return bp_call_failed(error, BYTEPOLL_ERROR_ABSENT, &reason);
		handle->aggregation_count++;
		if (!bp_diff_has_figures(aggregation, profile->file, &reason))
			return bp_call_failed(error, BYTEPOLL_ERROR_ABSENT, &reason);
		if (!bp_read_warn(aggregation, &profile->symbols))
			return bp_call_wrong(error, "out of memory");
		handle->runs[i].shown = handle->runs[i].compared = aggregation;
	}
	return true;
}

/* Where the question names no metric: by the rule of `bytepoll diff` (policy/shown.h). */
static bool choose_metric(struct bytepoll_difference *handle, struct bytepoll_error *error)
{
	enum bp_metric *metric = &handle->question.query.metric;
	if (handle->question.metric_given || *metric != BP_METRIC_LIVE)
		return true;
	*metric = bp_shown_metric_of_runs(handle->runs, (uint32_t)handle->profile_count);
	return *metric == BP_METRIC_LIVE || aggregate(handle, error);
}

static bool check_distinct(
	struct bytepoll_profile *const *profiles, size_t count, struct bytepoll_error *error)
{
	struct bp_run_id runs[RUNS_MAX];
	const char *files[RUNS_MAX];
	struct bp_error reason;
	for (size_t i = 0; i < count; i++) {
		runs[i] = bp_run_id_of(&profiles[i]->profile);
		files[i] = profiles[i]->file;
		if (!bp_last_run_is_distinct(runs, files, (uint32_t)i + 1, &reason))
			return bp_call_failed(error, BYTEPOLL_ERROR_CALL, &reason);
	}
	return true;
}

static void count_warnings(struct bytepoll_difference *handle)
{
	const struct bp_diff *diff = difference_of(handle);
	while (diff->warnings[handle->warnings] != NULL)
		handle->warnings++;
}

static bool compare(struct bytepoll_difference *handle, struct bytepoll_profile *const *base,
	size_t base_count, struct bytepoll_profile *const *news, size_t new_count,
	const struct bytepoll_query *query, const struct bytepoll_comparison *comparison,
	struct bytepoll_error *error)
{
	struct bytepoll_comparison known;
	struct bp_diff_query asked;
	struct bp_error reason;
	if (base_count < 1 || new_count < 1 || base_count > RUNS_MAX || new_count > RUNS_MAX)
		return bp_call_wrong(error, "a side has from 1 to %u runs", RUNS_MAX);
	if (!read_comparison(comparison, &known, &asked, error) ||
		!bp_question_read(query, &handle->question, error) ||
		!check_key(&handle->question.query, false, error) ||
		!check_distinct(base, base_count, error) || !check_distinct(news, new_count, error))
		return false;
	if (!reserve(handle, base_count + new_count))
		return bp_call_wrong(error, "out of memory");
	if (handle->question.query.by != BP_KEY_THREAD)
		handle->question.query.estimator = BP_ESTIMATOR_HT;
	for (size_t i = 0; i < base_count + new_count; i++)
		if (!add_run(handle, i < base_count ? base[i] : news[i - base_count],
			    known.scales != NULL ? known.scales[i] : 1, error))
			return false;
	if (!aggregate(handle, error) || !choose_metric(handle, error))
		return false;
	if (!bp_diff_make(&asked, handle->runs, (uint32_t)base_count, handle->runs + base_count,
		    (uint32_t)new_count, &handle->between, &reason))
		return bp_call_failed(error, BYTEPOLL_ERROR_ABSENT, &reason);
	return true;
}

static bool compare_moments(struct bytepoll_difference *handle, struct bytepoll_profile *profile,
	const uint64_t at_ns[BP_SIDES], const struct bytepoll_query *query,
	const struct bytepoll_comparison *comparison, struct bytepoll_error *error)
{
	struct bytepoll_comparison known;
	struct bp_diff_query asked;
	struct bp_error reason;
	if (!read_comparison(comparison, &known, &asked, error) ||
		!bp_question_read(query, &handle->question, error) ||
		!check_key(&handle->question.query, true, error))
		return false;
	if (known.scales != NULL)
		return bp_call_wrong(error, "scales are for different runs, not for two moments");
	if (handle->question.query.metric != BP_METRIC_LIVE)
		return bp_call_wrong(error, "what two moments differ in is what is live");
	if (!reserve(handle, 1))
		return bp_call_wrong(error, "out of memory");
	hold(handle, profile);
	if (!bp_diff_moments_make(&profile->profile, &handle->question.query, at_ns, &asked,
		    profile->file, &handle->moments, &reason))
		return bp_call_failed(error, BYTEPOLL_ERROR_ABSENT, &reason);
	handle->of_moments = true;
	return true;
}

static struct bytepoll_difference *new_handle(struct bytepoll_error *error)
{
	struct bytepoll_difference *handle = calloc(1, sizeof *handle);
	if (handle == NULL)
		bp_call_wrong(error, "out of memory");
	return handle;
}

static struct bytepoll_difference *finished(struct bytepoll_difference *handle, bool good)
{
	if (good) {
		count_warnings(handle);
		return handle;
	}
	bytepoll_difference_close(handle);
	return NULL;
}

struct bytepoll_difference *bytepoll_compare(struct bytepoll_profile *const *base,
	size_t base_count, struct bytepoll_profile *const *news, size_t new_count,
	const struct bytepoll_query *query, const struct bytepoll_comparison *comparison,
	struct bytepoll_error *error)
{
	struct bytepoll_difference *handle = new_handle(error);
	if (handle == NULL)
		return NULL;
	const struct bp_plain_locale locale = bp_locale_enter();
	const bool good =
		compare(handle, base, base_count, news, new_count, query, comparison, error);
	bp_locale_leave(locale);
	return finished(handle, good);
}

struct bytepoll_difference *bytepoll_compare_moments(struct bytepoll_profile *profile,
	uint64_t base_ns, uint64_t new_ns, const struct bytepoll_query *query,
	const struct bytepoll_comparison *comparison, struct bytepoll_error *error)
{
	const uint64_t at_ns[BP_SIDES] = { base_ns, new_ns };
	struct bytepoll_difference *handle = new_handle(error);
	if (handle == NULL)
		return NULL;
	const struct bp_plain_locale locale = bp_locale_enter();
	const bool good = compare_moments(handle, profile, at_ns, query, comparison, error);
	bp_locale_leave(locale);
	return finished(handle, good);
}

void bytepoll_difference_close(struct bytepoll_difference *handle)
{
	if (handle == NULL)
		return;
	if (handle->of_moments)
		bp_diff_moments_finish(&handle->moments);
	else
		bp_diff_finish(&handle->between);
	finish_aggregations(handle);
	bp_question_finish(&handle->question);
	for (size_t i = 0; i < handle->profile_count; i++)
		bytepoll_close(handle->profiles[i]);
	free(handle->profiles);
	free(handle->aggregations);
	free(handle->runs);
	free(handle);
}

bool bytepoll_difference_info(
	const struct bytepoll_difference *handle, struct bytepoll_difference_info *ret_info)
{
	const struct bp_diff *d = difference_of(handle);
	const struct bytepoll_difference_info info = { .rows = d->row_count,
		.verdicts = d->verdict_count,
		.tested = d->tested_count,
		.warnings = handle->warnings,
		.confidence = d->runs[BP_NEW][0].shown->query.confidence,
		.false_discoveries = d->query.rate };
	return bp_struct_give(ret_info, &info, sizeof info);
}

const char *bytepoll_difference_warning(const struct bytepoll_difference *handle, uint32_t i)
{
	return i < handle->warnings ? difference_of(handle)->warnings[i] : NULL;
}

static struct bytepoll_change change_given(const struct bp_diff_figure *comparison)
{
	return (struct bytepoll_change){ .base = bp_figure_given(&comparison->side[BP_BASE]),
		.news = bp_figure_given(&comparison->side[BP_NEW]),
		.change = bp_figure_given(&comparison->change),
		.ratio = bp_interval_given(&comparison->ratio),
		.p = comparison->p,
		.base_deviation = comparison->deviation[BP_BASE],
		.new_deviation = comparison->deviation[BP_NEW] };
}

/* The handle of the profile that a row's frames are of. */
static const struct bytepoll_profile *holder_of(
	const struct bytepoll_difference *handle, const struct bp_profile *profile)
{
	for (size_t i = 0; i < handle->profile_count; i++)
		if (&handle->profiles[i]->profile == profile)
			return handle->profiles[i];
	return NULL;
}

static bool give_row(const struct bytepoll_difference *handle, const struct bp_diff_row *row,
	struct bytepoll_difference_row *ret_row)
{
	const struct bytepoll_difference_row given = { .name = row->name,
		.profile = holder_of(handle, row->profile),
		.frames = row->frames != NULL ? &row->frames->i : NULL,
		.frame_count = row->frame_count,
		.tested = row->tested,
		.base_samples = row->samples[BP_BASE],
		.new_samples = row->samples[BP_NEW],
		.verdict = bp_verdict_names[row->verdict],
		.q = row->q,
		.bytes = change_given(&row->bytes),
		.objects = change_given(&row->objects) };
	return bp_struct_give(ret_row, &given, sizeof given);
}

bool bytepoll_difference_row(
	struct bytepoll_difference *handle, uint32_t i, struct bytepoll_difference_row *ret_row)
{
	struct bp_diff_row row;
	if (i >= difference_of(handle)->row_count)
		return false;
	bp_diff_row(difference_of(handle), i, &row);
	return give_row(handle, &row, ret_row);
}

bool bytepoll_difference_total(
	struct bytepoll_difference *handle, struct bytepoll_difference_row *ret_row)
{
	struct bp_diff_row row;
	bp_diff_total(difference_of(handle), &row);
	return give_row(handle, &row, ret_row);
}

bool bytepoll_difference_rest(
	struct bytepoll_difference *handle, uint32_t shown, struct bytepoll_difference_row *ret_row)
{
	const struct bp_diff *d = difference_of(handle);
	struct bp_diff_row row;
	return bp_diff_together(d, shown, d->row_count, &row) && give_row(handle, &row, ret_row);
}
