/* SPDX-License-Identifier: MIT */
/*
 * The three questions are three aggregations (the third a difference of two moments), whose rows
 * are joined by a key: the name, in the form that differences give it (stable_name.h). Where
 * several rows have one key, as threads of one name have, none of them shows a change.
 *
 * Where no sample of a row came or went there is no change to show. (What was not sampled may have:
 * the interval of nothing seen is the same for every row, some T wide to both sides, and says
 * nothing of this one.)
 *
 * Differences go by names; a row that has only shrunk to nothing is not in the first question any
 * more. It is shown all the same if that is established.
 */
#include "cli/live/live_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "diff/diff_moments.h"
#include "model/names/stable_name.h"

#define NOBODY UINT32_MAX

/* A row of another question. */
struct answer {
	char *key;
	struct bp_figure figure, size;
	enum bp_verdict verdict;
	bool unseen; /* no sample of it came or went, and more than nothing may have */
	bool used;
	char *name;
};

struct answers {
	struct answer *items;
	uint32_t count, capacity;
};

static void finish_answers(struct answers *answers)
{
	for (uint32_t i = 0; i < answers->count; i++) {
		free(answers->items[i].key);
		free(answers->items[i].name);
	}
	free(answers->items);
	*answers = (struct answers){ 0 };
}

/* Functions as differences call them, innermost first. */
static char *stable_stack(
	const struct bp_profile *profile, const struct bp_frame_id *frames, uint32_t count)
{
	char *text = NULL, name[BP_STABLE_NAME_BYTES];
	size_t bytes = 0;
	FILE *out = open_memstream(&text, &bytes);
	if (out == NULL)
		return NULL;
	if (count == 0)
		fputs("(no stack recorded)", out);
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_frame *frame = &profile->frames.data[frames[i].i];
		if (frame->named)
			bp_stable_function_name(
				bp_profile_text(profile, frame->function), name, sizeof name);
		fprintf(out, "%s%s", i > 0 ? " < " : "", frame->named ? name : "?");
	}
	fclose(out);
	return text;
}

/* What stands for a row in a difference. */
static char *stable_key(const struct bp_profile *profile, enum bp_key by, const char *name,
	const struct bp_frame_id *frames, uint32_t frame_count)
{
	char buffer[BP_STABLE_NAME_BYTES];
	const char *tid;
	if (name == NULL)
		return stable_stack(profile, frames, frame_count);
	switch (by) {
	case BP_KEY_FUNCTION:
		bp_stable_function_name(name, buffer, sizeof buffer);
		return strdup(buffer);
	case BP_KEY_MODULE:
		bp_stable_module_name(name, buffer, sizeof buffer);
		return strdup(buffer);
	case BP_KEY_THREAD:
		tid = strstr(name, " (tid ");
		return tid != NULL ? strndup(name, (size_t)(tid - name)) : strdup(name);
	default:
		return strdup(name);
	}
}

static int compare_answers(const void *left, const void *right)
{
	const struct answer *a = left, *b = right;
	return strcmp(a->key, b->key);
}

static struct answer *find_answer(const struct answers *answers, const char *key)
{
	const struct answer wanted = { .key = (char *)key };
	return answers->count == 0 ? NULL
				   : bsearch(&wanted, answers->items, answers->count,
					     sizeof *answers->items, compare_answers);
}

static bool add_answer(struct answers *answers, const struct answer *answer)
{
	if (answer->key == NULL || !bp_vec_reserve(&answers->items, &answers->capacity,
					   answers->count + (uint64_t)1, sizeof *answers->items))
		return false;
	answers->items[answers->count++] = *answer;
	return true;
}

static struct bp_figure scaled(struct bp_figure figure, double factor)
{
	figure.interval.estimate *= factor;
	figure.interval.low *= factor;
	figure.interval.high *= factor;
	return figure;
}

/* Rows of one aggregation, each figure times `factor`; their keys are names as they are. */
static bool ask(const struct bp_live_view *view, const struct bp_profile *profile,
	const struct bp_query *query, double factor, struct answers *ret_answers,
	struct bp_error *error)
{
	struct bp_aggregation aggregation;
	bool good = true;
	if (!bp_aggregate(profile, query, &aggregation, error))
		return false;
	for (uint32_t i = 0; good && i < aggregation.row_count && i < BP_LIVE_ROWS_MAX; i++) {
		struct answer answer = { 0 };
		struct bp_row row;
		bp_aggregation_row(&aggregation, i, &row);
		answer.key =
			bp_row_label(aggregation.profile, row.name, row.frames, row.frame_count);
		answer.figure = scaled(view->objects ? row.objects : row.bytes, factor);
		good = add_answer(ret_answers, &answer);
	}
	bp_aggregation_finish(&aggregation);
	if (!good)
		return bp_error_set(error, "out of memory");
	if (ret_answers->count > 1)
		qsort(ret_answers->items, ret_answers->count, sizeof *ret_answers->items,
			compare_answers);
	return true;
}

static bool take_difference(
	const struct bp_live_view *view, const struct bp_diff *diff, struct answers *ret_answers)
{
	for (uint32_t i = 0; i < diff->row_count && i < BP_LIVE_ROWS_MAX; i++) {
		struct bp_diff_row row;
		struct answer answer = { 0 };
		bp_diff_row(diff, i, &row);
		const struct bp_diff_figure *what = view->objects ? &row.objects : &row.bytes;
		answer.key =
			stable_key(row.profile, view->by, row.name, row.frames, row.frame_count);
		answer.name = bp_row_label(row.profile, row.name, row.frames, row.frame_count);
		answer.figure = what->change;
		answer.unseen = row.samples[BP_BASE] + row.samples[BP_NEW] == 0 &&
				what->change.interval.low < what->change.interval.high;
		answer.size = what->side[BP_NEW];
		answer.verdict = row.verdict;
		if (answer.name == NULL || !add_answer(ret_answers, &answer))
			return false;
	}
	if (ret_answers->count > 1)
		qsort(ret_answers->items, ret_answers->count, sizeof *ret_answers->items,
			compare_answers);
	return true;
}

/* What lives now and did not at the base, less what has gone since. */
static bool ask_change(const struct bp_live_view *view, const struct bp_profile *profile,
	const struct bp_query *query, struct answers *ret_answers, struct bp_error *error)
{
	const uint64_t at_ns[BP_SIDES] = { view->base_ns, view->aggregation.at_ns };
	const struct bp_diff_query asked = { .objects = view->objects };
	struct bp_diff_moments moments;
	if (!bp_diff_moments_make(profile, query, at_ns, &asked, "", &moments, error))
		return false;
	const bool good = take_difference(view, &moments.diff, ret_answers);
	bp_diff_moments_finish(&moments);
	return good || bp_error_set(error, "out of memory");
}

static struct bp_live_row *add_row(struct bp_live_view *view, uint32_t *capacity)
{
	if (!bp_vec_reserve(&view->rows, capacity, view->count + (uint64_t)1, sizeof *view->rows))
		return NULL;
	view->rows[view->count] = (struct bp_live_row){ .number = NOBODY };
	return &view->rows[view->count++];
}

static bool fill_row(struct bp_live_view *view, struct bp_live_row *row, uint32_t number)
{
	const struct bp_aggregation *aggregation = &view->aggregation;
	struct bp_row from;
	bp_aggregation_row(aggregation, number, &from);
	row->number = number;
	row->samples = from.samples;
	row->size = view->objects ? from.objects : from.bytes;
	row->name = bp_row_label(aggregation->profile, from.name, from.frames, from.frame_count);
	row->key = stable_key(
		aggregation->profile, view->by, from.name, from.frames, from.frame_count);
	if (isfinite(row->size.interval.high))
		view->largest = fmax(view->largest, row->size.interval.high);
	return row->name != NULL && row->key != NULL;
}

static void join_rate(struct bp_live_view *view, const struct answers *rates)
{
	for (uint32_t i = 0; i < view->count && view->window_ns > 0; i++) {
		struct bp_live_row *row = &view->rows[i];
		const struct answer *rate = find_answer(rates, row->name);
		row->has_rate = true;
		if (rate != NULL)
			row->rate = rate->figure;
		else
			row->has_rate = false;
	}
}

static void join_change(struct bp_live_view *view, const struct answers *changes)
{
	for (uint32_t i = 0; i < view->count; i++) {
		struct bp_live_row *row = &view->rows[i];
		struct answer *change = find_answer(changes, row->key);
		if (change == NULL)
			continue;
		row->has_change = !change->used && !change->unseen;
		row->change = change->figure;
		row->verdict = change->verdict;
		/* A second row of that key takes it from the first, too. */
		for (uint32_t j = 0; change->used && j < i; j++)
			if (strcmp(view->rows[j].key, row->key) == 0)
				view->rows[j].has_change = false;
		change->used = true;
	}
}

/* What is established to have gone. */
static bool add_gone(struct bp_live_view *view, const struct answers *changes, uint32_t *capacity)
{
	for (uint32_t i = 0; i < changes->count && view->left_out == 0; i++) {
		const struct answer *change = &changes->items[i];
		if (change->used || change->verdict == BP_VERDICT_UNCLEAR)
			continue;
		struct bp_live_row *row = add_row(view, capacity);
		if (row == NULL)
			return false;
		row->name = strdup(change->name);
		row->key = strdup(change->key);
		row->size = change->size;
		row->change = change->figure;
		row->has_change = true;
		row->verdict = change->verdict;
		if (row->name == NULL || row->key == NULL)
			return false;
	}
	return true;
}

/* The question about lately, and that about the time since the base. */
static bool join(struct bp_live_view *view, const struct bp_profile *profile,
	const struct bp_query *query, uint32_t *capacity, struct bp_error *error)
{
	struct answers rates = { 0 }, changes = { 0 };
	struct bp_query lately = *query;
	bool good = true, moments = query->metric == BP_METRIC_LIVE && query->by != BP_KEY_PROCESS;
	lately.metric = BP_METRIC_ALLOCATED;
	lately.has_from = true;
	lately.from_ns = view->now_ns - view->window_ns;
	lately.sort = view->objects ? BP_SORT_OBJECTS : BP_SORT_BYTES;
	lately.without_peak = true;
	if (view->window_ns > 0)
		good = ask(view, profile, &lately, 1e9 / (double)view->window_ns, &rates, error);
	lately.metric = query->metric;
	lately.from_ns = view->base_ns;
	if (good && view->has_base && view->aggregation.at_ns > view->base_ns) {
		if (moments)
			good = ask_change(view, profile, query, &changes, error);
		else if (query->metric == BP_METRIC_ALLOCATED ||
			 query->metric == BP_METRIC_TEMPORARY)
			good = ask(view, profile, &lately, 1, &changes, error);
	}
	if (good) {
		join_rate(view, &rates);
		if (moments)
			join_change(view, &changes);
		good = !moments || add_gone(view, &changes, capacity) ||
		       bp_error_set(error, "out of memory");
		for (uint32_t i = 0; !moments && i < view->count; i++) {
			struct bp_live_row *row = &view->rows[i];
			const struct answer *change = find_answer(&changes, row->name);
			row->has_change = change != NULL;
			if (change != NULL)
				row->change = change->figure;
		}
	}
	finish_answers(&rates);
	finish_answers(&changes);
	return good;
}

bool bp_live_rows_make(struct bp_live_view *view, const struct bp_live_source *source,
	const struct bp_query *query, struct bp_error *error)
{
	const struct bp_aggregation *aggregation = &view->aggregation;
	uint32_t capacity = 0;
	view->largest = 0;
	for (uint32_t i = 0; i < aggregation->row_count && i < BP_LIVE_ROWS_MAX; i++) {
		struct bp_live_row *row = add_row(view, &capacity);
		if (row == NULL || !fill_row(view, row, i))
			return bp_error_set(error, "out of memory");
	}
	view->left_out = aggregation->row_count - view->count;
	if (view->left_out > 0 && !bp_aggregation_rest(aggregation, BP_LIVE_ROWS_MAX, &view->rest))
		view->left_out = 0;
	return join(view, &source->profile, query, &capacity, error);
}

void bp_live_rows_finish(struct bp_live_view *view)
{
	for (uint32_t i = 0; i < view->count; i++) {
		free(view->rows[i].name);
		free(view->rows[i].key);
	}
	free(view->rows);
	view->rows = NULL;
	view->count = view->left_out = 0;
}
