/* SPDX-License-Identifier: MIT */
/*
 * From wishes to a query, from the query to figures. See live_view.h; the rows are in live_rows.c.
 *
 * A view begins at its first reading: changes are since then, until `z` begins anew. The rate of
 * the whole is of counters, between the first and the last reading of the last ten seconds; those
 * of rows are estimates of the same time. (In the first frame, of the ten seconds before it.)
 */
#include "cli/live/live_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "cli/live/live_rows.h"
#include "cli/options/query_options.h"
#include "cli/process/own_heaps.h"
#include "policy/defaults.h"
#include "resident/resident_file.h"

#define SHARE_MIN 0.005 /* branches of the tree below it are one line */
#define SEED_MOMENTS 120

const char *const bp_live_sort_names[BP_LIVE_SORT_COUNT] = { "size", "rate", "change", "samples",
	"name" };

const char *bp_live_view_key(const struct bp_live_view *view)
{
	return view->by == BP_KEY_LABEL && view->label != NULL ? view->label
							       : bp_key_names[view->by];
}

void bp_live_view_drop(struct bp_live_view *view)
{
	if (view->has_tree) {
		bp_call_tree_finish(&view->tree);
		bp_aggregation_finish(&view->stacks);
		free(view->tree_lines);
		view->tree_lines = NULL;
		view->has_tree = false;
	}
	bp_live_rows_finish(view);
	if (view->made)
		bp_aggregation_finish(&view->aggregation);
	view->made = false;
	view->frames = NULL;
	view->frame_count = 0;
}

void bp_live_view_finish(struct bp_live_view *view)
{
	bp_live_view_drop(view);
	free(view->drilled);
	view->drilled = NULL;
	bp_live_residency_finish(&view->residency);
}

/* Counters of the processes together: what was allocated while sampling was on or off. */
static void count(const struct bp_live_view *view, const struct bp_profile *profile,
	uint64_t *ret_low, uint64_t *ret_high)
{
	uint64_t low = 0, high = 0;
	(void)view;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		low += process->bytes_allocated.low + process->bytes_off.low;
		high += process->bytes_allocated.high + process->bytes_off.high;
	}
	*ret_low = low;
	*ret_high = high;
}

/* Remembers what was counted now, and tells the rate since the beginning of the window. */
static void take_count(struct bp_live_view *view, const struct bp_profile *profile, bool fresh)
{
	const uint32_t most = BP_COUNT(view->counted);
	if (fresh) {
		if (view->counted_count == most)
			memmove(view->counted, view->counted + 1,
				(--view->counted_count) * sizeof view->counted[0]);
		view->counted[view->counted_count].time_ns = view->now_ns;
		count(view, profile, &view->counted[view->counted_count].low,
			&view->counted[view->counted_count].high);
		view->counted_count++;
	}
	view->rate = NAN;
	if (view->counted_count < 2 || view->window_ns == 0)
		return;
	uint32_t last = view->counted_count - 1, first = last - 1;
	while (first > 0 &&
		view->counted[last].time_ns - view->counted[first - 1].time_ns <= BP_LIVE_WINDOW_NS)
		first--;
	view->window_ns = view->counted[last].time_ns - view->counted[first].time_ns;
	const double seconds = (double)view->window_ns / 1e9;
	const double before =
		(double)view->counted[first].low / 2 + (double)view->counted[first].high / 2;
	const double now =
		(double)view->counted[last].low / 2 + (double)view->counted[last].high / 2;
	if (seconds > 0)
		view->rate = fmax(now - before, 0) / seconds;
}

static void add_moment(struct bp_live_view *view, uint64_t time_ns, double bytes)
{
	if (view->history_count == BP_LIVE_HISTORY)
		memmove(view->history, view->history + 1,
			(--view->history_count) * sizeof view->history[0]);
	view->history[view->history_count++] =
		(struct bp_live_moment){ .time_ns = time_ns, .bytes = bytes };
}

/* What was before the view began. */
static void seed_history(struct bp_live_view *view)
{
	static struct bp_moment_figures moments[SEED_MOMENTS];
	view->history_count = 0;
	if (view->metric != BP_METRIC_LIVE || view->aggregation.at_ns == 0 ||
		!bp_aggregation_timeline(&view->aggregation, SEED_MOMENTS, moments, NULL))
		return;
	for (uint32_t i = 0; i + 1 < SEED_MOMENTS; i++)
		add_moment(view, moments[i].time_ns, moments[i].bytes.interval.estimate);
}

static void take_history(struct bp_live_view *view, bool fresh)
{
	const struct bp_total *live = &view->aggregation.totals[BP_METRIC_LIVE];
	if (!live->known || !(fresh || view->history_count == 0))
		return;
	if (view->history_count == 0)
		seed_history(view);
	if (isfinite(live->bytes.interval.estimate) && !live->bytes.interval.unknown)
		add_moment(view, view->now_ns, live->bytes.interval.estimate);
}

/* When the program began, CLOCK_MONOTONIC. */
static uint64_t began_ns(const struct bp_profile *profile)
{
	return profile->processes.data[profile->root.i].start_time_ns;
}

static void take_times(struct bp_live_view *view, const struct bp_live_source *source)
{
	const struct bp_process *root = &source->profile.processes.data[source->profile.root.i];
	const uint64_t began = began_ns(&source->profile);
	uint64_t at_ns = source->state == BP_LIVE_RUNS ? source->read_at_ns : root->end_time_ns;
	view->now_ns = at_ns > began ? at_ns - began : 0;
	view->window_ns = source->state != BP_LIVE_RUNS	     ? 0
			  : view->now_ns > BP_LIVE_WINDOW_NS ? BP_LIVE_WINDOW_NS
							     : view->now_ns;
}

/* Text for a glob that matches it and nothing else. */
static bool glob_of(const char *text, char *buffer, size_t bytes)
{
	size_t used = 0;
	for (; *text != '\0'; text++) {
		if (used + 3 > bytes)
			return false;
		if (strchr("*?[]|\\", *text) != NULL)
			buffer[used++] = '\\';
		buffer[used++] = *text;
	}
	buffer[used] = '\0';
	return true;
}

/* The filter that selects what is under a row of that name. */
static bool make_drill_filter(struct bp_live_view *view, struct bp_error *error)
{
	const char *number = strstr(view->drilled, view->by == BP_KEY_THREAD ? " (tid " : " (pid ");
	/* Where no source is known, the row of a line goes by its function. */
	const char *colon = strrchr(view->drilled, ':');
	const bool line = colon != NULL && colon[1] >= '0' && colon[1] <= '9';
	/* A cumulative function is anywhere on the stack. */
	const bool anywhere = view->cumulative && view->by == BP_KEY_FUNCTION;
	const enum bp_key key = anywhere			   ? BP_KEY_STACK
				: view->by == BP_KEY_LINE && !line ? BP_KEY_FUNCTION
								   : view->by;
	const int used = snprintf(view->drill_filter, sizeof view->drill_filter,
		"%s=", key == BP_KEY_LABEL ? bp_live_view_key(view) : bp_key_names[key]);
	char *glob = view->drill_filter + used;
	const size_t left = sizeof view->drill_filter - (size_t)used;
	for (const char *next = number; next != NULL; next = strstr(next + 1, " (tid "))
		number = next;
	if (view->by == BP_KEY_LABEL && view->label == NULL)
		return bp_error_set(error,
			"no tree below a whole set of labels: Esc goes back, --by label:KEY shows "
			"one label");
	if (view->by == BP_KEY_LABEL && strcmp(view->drilled, "(empty)") == 0)
		*glob = '\0';
	else if ((view->by == BP_KEY_THREAD || view->by == BP_KEY_PROCESS) && number != NULL)
		snprintf(glob, left, "%lu", strtoul(number + 6, NULL, 10));
	else if (strncmp(view->drilled, "(no ", 4) == 0)
		return bp_error_set(
			error, "%s: there is no name to look for: Esc goes back", view->drilled);
	else if (!glob_of(view->drilled, glob, left))
		return bp_error_set(error, "the name is too long to look into");
	return bp_filter_parse(view->drill_filter, &view->filters[view->filter_count], error);
}

/* Chains of functions as lines; false: no memory. */
static bool make_tree_lines(struct bp_live_view *view)
{
	const struct bp_call_tree *tree = &view->tree;
	view->tree_line_count = 0;
	view->tree_lines = calloc((size_t)tree->count + 1, sizeof *view->tree_lines);
	if (view->tree_lines == NULL)
		return false;
	for (uint32_t i = 0; i < tree->count; i += bp_call_tree_chain(tree, i))
		view->tree_lines[view->tree_line_count++] = i;
	return true;
}

/* The tree of what is under the row: who allocates, and who calls that; cumulative rows are
 * somewhere on a stack, so that theirs begins at main. (Of a stack there is none: it is listed.) */
static bool make_tree(struct bp_live_view *view, const struct bp_profile *profile,
	const struct bp_query *asked, struct bp_error *error)
{
	struct bp_query query = *asked;
	if (!make_drill_filter(view, error))
		return false;
	query.by = BP_KEY_STACK;
	query.cumulative = false;
	query.sort = view->objects ? BP_SORT_OBJECTS : BP_SORT_BYTES;
	query.filter_count = view->filter_count + 1;
	if (!bp_aggregate(profile, &query, &view->stacks, error))
		return false;
	if (!bp_call_tree_build(&view->stacks, SHARE_MIN, !view->cumulative, &view->tree, error)) {
		bp_aggregation_finish(&view->stacks);
		return false;
	}
	if (!make_tree_lines(view)) {
		bp_call_tree_finish(&view->tree);
		bp_aggregation_finish(&view->stacks);
		return bp_error_set(error, "out of memory");
	}
	view->has_tree = true;
	return true;
}

/* The frames of the stack that is looked into. */
static void find_frames(struct bp_live_view *view)
{
	for (uint32_t i = 0; i < view->count; i++) {
		struct bp_row row;
		if (view->rows[i].number == UINT32_MAX ||
			strcmp(view->rows[i].name, view->drilled) != 0)
			continue;
		bp_aggregation_row(&view->aggregation, view->rows[i].number, &row);
		view->frames = row.frames;
		view->frame_count = row.frame_count;
		return;
	}
}

static bool make_query(
	struct bp_live_view *view, struct bp_query *ret_query, struct bp_error *error)
{
	view->filter_count = 0;
	if (view->filter[0] != '\0') {
		if (!bp_filter_parse(view->filter, &view->filters[0], error))
			return false;
		view->filter_count = 1;
	}
	*ret_query = (struct bp_query){ .metric = view->metric,
		.by = view->by,
		.label = view->label,
		.sort = view->objects ? BP_SORT_OBJECTS : BP_SORT_BYTES,
		.cumulative = view->cumulative,
		.usable = view->usable,
		.confidence = view->confidence,
		.filters = view->filters,
		.filter_count = view->filter_count };
	return true;
}

/* How much of a process that has ended malloc explained when it was largest, as `run` saw it. */
static void explain_ended(struct bp_live_view *view, const struct bp_live_source *source)
{
	struct bp_resident resident;
	if (!bp_resident_read(source->path, &source->profile, &resident, NULL))
		return;
	(void)bp_explain_process(&view->aggregation, &resident, &view->explained);
	bp_resident_finish(&resident);
}

/* How much of the processes that run malloc explains, now. What heaps they have beside it is looked
 * for once. */
static void explain(struct bp_live_view *view, const struct bp_live_source *source)
{
	const struct bp_profile *profile = &source->profile;
	const struct bp_total *live = &view->aggregation.totals[BP_METRIC_LIVE];
	uint64_t recorder_bytes = 0;
	view->explained = (struct bp_explained){ 0 };
	if (profile->mapped) /* of malloc nothing is known here */
		return;
	if (view->filter_count == 0 && source->state == BP_LIVE_ENDED)
		explain_ended(view, source);
	if (source->resident_bytes == 0 || view->filter_count > 0 || !live->known ||
		(view->aggregation.absent & 1u << BP_METRIC_LIVE) != 0)
		return;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		recorder_bytes += profile->processes.data[i].recorder_bytes;
	view->explained.malloc_live = live->bytes;
	view->explained.resident_bytes = source->resident_bytes;
	view->explained.since_attached = bp_profile_is_attached(profile, 0);
	view->explained.little =
		bp_explains_little(&live->bytes.interval, source->resident_bytes, recorder_bytes);
	if (view->explained.since_attached) /* what else it has is not the first thing to say */
		return;
	if (view->explained.little && !view->heaps_known) {
		view->heaps = bp_own_heaps_of_process(profile, 0);
		view->heaps_known = true;
	}
	view->explained.heaps = view->heaps;
}

static bool make(struct bp_live_view *view, const struct bp_live_source *source, bool fresh,
	struct bp_error *error)
{
	const struct bp_profile *profile = &source->profile;
	struct bp_query query;
	take_times(view, source);
	if (!make_query(view, &query, error))
		return false;
	query.metric = view->metric = bp_default_metric(profile, &query);
	if (!bp_aggregate(profile, &query, &view->aggregation, error))
		return false;
	view->made = true;
	if (!view->has_base) {
		view->has_base = true;
		view->base_ns = view->aggregation.at_ns;
	}
	explain(view, source);
	view->shows_residency = view->metric == BP_METRIC_LIVE && view->filter_count == 0 &&
				!view->cumulative && !view->usable && !profile->mapped;
	if (view->shows_residency)
		bp_live_residency_read(&view->residency, source, &query);
	take_count(view, profile, fresh);
	take_history(view, fresh);
	if (!bp_live_rows_make(view, source, &query, error))
		return false;
	if (view->drilled != NULL && view->by != BP_KEY_STACK)
		return make_tree(view, profile, &query, error);
	if (view->drilled != NULL)
		find_frames(view);
	return true;
}

void bp_live_view_make(struct bp_live_view *view, const struct bp_live_source *source, bool fresh)
{
	char *name = NULL;
	if (view->drilled == NULL && view->cursor < view->count && view->cursor > 0)
		name = strdup(view->rows[view->cursor].name);
	bp_live_view_drop(view);
	view->failure.text[0] = '\0';
	if (!make(view, source, fresh, &view->failure))
		bp_live_view_drop(view);
	bp_live_view_sort(view);
	bp_live_view_find(view, name);
	free(name);
}

void bp_live_view_find(struct bp_live_view *view, const char *name)
{
	const uint32_t above = view->cursor >= view->first ? view->cursor - view->first : 0;
	for (uint32_t i = 0; name != NULL && i < view->count; i++) {
		if (strcmp(view->rows[i].name, name) != 0)
			continue;
		view->cursor = i;
		view->first = i > above ? i - above : 0;
		return;
	}
}

/* What a row is sorted by; larger first. */
static double order_of(const struct bp_live_view *view, const struct bp_live_row *row)
{
	const struct bp_interval *interval = &row->size.interval;
	if (view->sort == BP_LIVE_SORT_SAMPLES)
		return (double)row->samples;
	if (view->sort == BP_LIVE_SORT_RATE)
		interval = &row->rate.interval;
	else if (view->sort == BP_LIVE_SORT_CHANGE)
		interval = &row->change.interval;
	if ((view->sort == BP_LIVE_SORT_RATE && !row->has_rate) ||
		(view->sort == BP_LIVE_SORT_CHANGE && !row->has_change))
		return -HUGE_VAL;
	if (isnan(interval->estimate))
		return isnan(interval->low) ? -HUGE_VAL : interval->low;
	/* What is established to have changed is of more interest, either way. */
	return view->sort == BP_LIVE_SORT_CHANGE ? fabs(interval->estimate) : interval->estimate;
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct bp_live_view *view = context;
	const struct bp_live_row *a = left, *b = right;
	int order = 0;
	if (view->sort == BP_LIVE_SORT_NAME) {
		order = strcmp(a->name, b->name);
	} else {
		const double x = order_of(view, a), y = order_of(view, b);
		order = x > y ? -1 : x < y;
	}
	if (view->sort == BP_LIVE_SORT_CHANGE) {
		const bool x = a->has_change && a->verdict != BP_VERDICT_UNCLEAR;
		const bool y = b->has_change && b->verdict != BP_VERDICT_UNCLEAR;
		if (x != y)
			order = x ? -1 : 1;
	}
	if (order == 0)
		order = a->number < b->number ? -1 : a->number > b->number;
	return view->ascending ? -order : order;
}

void bp_live_view_sort(struct bp_live_view *view)
{
	if (view->count > 1)
		qsort_r(view->rows, view->count, sizeof *view->rows, compare_rows, view);
}

uint32_t bp_live_view_lines(const struct bp_live_view *view)
{
	if (view->drilled == NULL)
		return view->count;
	return view->has_tree ? view->tree_line_count : view->frame_count;
}

bool bp_live_view_filter(struct bp_live_view *view, const char *text, struct bp_error *error)
{
	char filter[BP_LIVE_FILTER_BYTES];
	struct bp_filter parsed;
	int length;
	if (*text == '\0')
		length = snprintf(filter, sizeof filter, "%s", "");
	else if (bp_filter_has_key(text, strlen(text)) ||
		 strncmp(text, BP_LABEL_PREFIX, strlen(BP_LABEL_PREFIX)) == 0)
		length = snprintf(filter, sizeof filter, "%s", text);
	else if (view->by == BP_KEY_SIZE || strpbrk(text, "*?[|") != NULL)
		length = snprintf(filter, sizeof filter, "%s=%s", bp_live_view_key(view), text);
	else
		length = snprintf(filter, sizeof filter, "%s=*%s*", bp_live_view_key(view), text);
	if (length < 0 || (size_t)length >= sizeof filter)
		return bp_error_set(error, "the filter is too long");
	if (*text != '\0' && !bp_filter_parse(filter, &parsed, error))
		return false;
	strcpy(view->filter, filter);
	view->history_count = 0;
	return true;
}

void bp_live_view_drill(struct bp_live_view *view)
{
	if (view->drilled != NULL || view->cursor >= view->count ||
		view->rows[view->cursor].number == UINT32_MAX)
		return;
	view->drilled = strdup(view->rows[view->cursor].name);
	view->cursor = view->first = 0;
}

void bp_live_view_back(struct bp_live_view *view)
{
	const char *name = view->drilled;
	uint32_t row = 0;
	for (uint32_t i = 0; name != NULL && i < view->count; i++)
		if (strcmp(view->rows[i].name, name) == 0)
			row = i;
	free(view->drilled);
	view->drilled = NULL;
	view->cursor = row;
	view->first = 0;
}

void bp_live_view_rebase(struct bp_live_view *view)
{
	if (view->made)
		view->base_ns = view->aggregation.at_ns;
}
