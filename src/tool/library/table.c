/* SPDX-License-Identifier: MIT */
/* Tables: an aggregation (aggregation/aggregate.h) with the question it answers, read row by
 * row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "library/handles.h"
#include "library/read.h"
#include "policy/defaults.h"

struct bytepoll_figure bp_interval_given(const struct bp_interval *interval)
{
	return (struct bytepoll_figure){ .estimate = interval->unknown ? NAN : interval->estimate,
		.low = interval->low,
		.high = interval->high,
		.flags = (interval->exact ? BYTEPOLL_EXACT : 0u) |
			 (interval->unknown ? BYTEPOLL_UNKNOWN : 0u) };
}

struct bytepoll_figure bp_figure_given(const struct bp_figure *figure)
{
	struct bytepoll_figure given = bp_interval_given(&figure->interval);
	given.flags |= (figure->lower_bound ? BYTEPOLL_LOWER_BOUND : 0u) |
		       (figure->upper_bound ? BYTEPOLL_UPPER_BOUND : 0u);
	return given;
}

static bool aggregate(struct bytepoll_table *table, const struct bytepoll_query *query,
	struct bytepoll_error *error)
{
	struct bp_error reason;
	if (!bp_question_read(query, &table->question, error))
		return false;
	if (!table->question.metric_given)
		table->question.query.metric =
			bp_default_metric(&table->profile->profile, &table->question.query);
	if (!bp_aggregate(
		    &table->profile->profile, &table->question.query, &table->aggregation, &reason))
		return bp_call_failed(error, BYTEPOLL_ERROR_ABSENT, &reason);
	if (!bp_read_warn_alone(&table->aggregation, &table->profile->symbols))
		return bp_call_wrong(error, "out of memory");
	while (table->aggregation.warnings[table->warnings] != NULL)
		table->warnings++;
	return true;
}

static void free_table(struct bytepoll_table *table)
{
	if (table->aggregation.state != NULL)
		bp_aggregation_finish(&table->aggregation);
	bp_question_finish(&table->question);
	free(table);
}

struct bytepoll_table *bytepoll_aggregate(struct bytepoll_profile *profile,
	const struct bytepoll_query *query, struct bytepoll_error *error)
{
	struct bytepoll_table *table = calloc(1, sizeof *table);
	if (table == NULL) {
		bp_call_wrong(error, "out of memory");
		return NULL;
	}
	table->profile = profile;
	const struct bp_plain_locale locale = bp_locale_enter();
	const bool good = aggregate(table, query, error);
	bp_locale_leave(locale);
	if (!good) {
		free_table(table);
		return NULL;
	}
	bp_profile_hold(profile);
	return table;
}

void bytepoll_table_close(struct bytepoll_table *table)
{
	if (table == NULL)
		return;
	struct bytepoll_profile *profile = table->profile;
	free_table(table);
	bytepoll_close(profile);
}

bool bytepoll_table_info(const struct bytepoll_table *table, struct bytepoll_table_info *ret_info)
{
	const struct bp_aggregation *a = &table->aggregation;
	struct bytepoll_table_info info = { .rows = a->row_count,
		.warnings = table->warnings,
		.intervals = a->sampling.interval_count,
		.process = a->subject.i,
		.samples = a->samples,
		.lost_samples = a->lost_samples,
		.duration_ns = a->duration_ns,
		.at_ns = a->at_ns,
		.peak_at_ns = a->peak_at_ns,
		.size_min = a->size_min,
		.confidence = a->query.confidence,
		.bytes_off = bp_count_given(a->sampling.bytes_off),
		.objects_off = bp_count_given(a->sampling.objects_off) };
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
		info.lost += a->lost[reason];
	return bp_struct_give(ret_info, &info, sizeof info);
}

const char *bytepoll_table_warning(const struct bytepoll_table *table, uint32_t i)
{
	return i < table->warnings ? table->aggregation.warnings[i] : NULL;
}

uint64_t bytepoll_table_interval(const struct bytepoll_table *table, uint32_t i)
{
	const struct bp_sampling *sampling = &table->aggregation.sampling;
	return i < sampling->interval_count ? sampling->intervals[i] : 0;
}

bool bytepoll_table_total(
	const struct bytepoll_table *table, const char *metric, struct bytepoll_total *ret_total)
{
	const int number = bp_question_word(metric, bp_metric_names, BP_METRIC_COUNT, "", NULL);
	if (number < 0 || !table->aggregation.totals[number].known)
		return false;
	const struct bp_total *known = &table->aggregation.totals[number];
	const struct bytepoll_total total = { .samples = known->samples,
		.bytes = bp_figure_given(&known->bytes),
		.objects = bp_figure_given(&known->objects) };
	return bp_struct_give(ret_total, &total, sizeof total);
}

static bool give_row(const struct bp_row *row, struct bytepoll_row *ret_row)
{
	const struct bytepoll_row given = { .name = row->name,
		.frames = row->frames != NULL ? &row->frames->i : NULL,
		.frame_count = row->frame_count,
		.stack_flags = row->stack_flags,
		.samples = row->samples,
		.bytes = bp_figure_given(&row->bytes),
		.objects = bp_figure_given(&row->objects) };
	return bp_struct_give(ret_row, &given, sizeof given);
}

bool bytepoll_table_row(
	const struct bytepoll_table *table, uint32_t i, struct bytepoll_row *ret_row)
{
	struct bp_row row;
	if (i >= table->aggregation.row_count)
		return false;
	bp_aggregation_row(&table->aggregation, i, &row);
	return give_row(&row, ret_row);
}

bool bytepoll_table_rest(
	const struct bytepoll_table *table, uint32_t shown, struct bytepoll_row *ret_row)
{
	struct bp_row row = { 0 };
	return bp_aggregation_rest(&table->aggregation, shown, &row) && give_row(&row, ret_row);
}

bool bytepoll_table_timeline(const struct bytepoll_table *table, uint32_t count,
	struct bytepoll_moment *ret_moments, struct bytepoll_error *error)
{
	const struct bp_query *query = &table->aggregation.query;
	struct bp_error reason;
	if (query->metric != BP_METRIC_LIVE || query->has_at)
		return bp_call_wrong(error,
			"a timeline shows what was live, moment by moment: it takes a table of "
			"metric live without `at`");
	if (count < 2)
		return bp_call_wrong(error, "a timeline has at least 2 moments");
	struct bp_moment_figures *moments = calloc(count, sizeof *moments);
	if (moments == NULL)
		return bp_call_wrong(error, "out of memory");
	const struct bp_plain_locale locale = bp_locale_enter();
	const bool good = bp_aggregation_timeline(&table->aggregation, count, moments, &reason) ||
			  bp_call_failed(error, BYTEPOLL_ERROR_ABSENT, &reason);
	bp_locale_leave(locale);
	for (uint32_t i = 0; good && i < count; i++)
		ret_moments[i] = (struct bytepoll_moment){ .time_ns = moments[i].time_ns,
			.samples = moments[i].samples,
			.bytes = bp_figure_given(&moments[i].bytes),
			.objects = bp_figure_given(&moments[i].objects),
			.off = moments[i].off };
	free(moments);
	return good;
}
