/* SPDX-License-Identifier: MIT */
/*
 * The difference from top to bottom: match (diff_keys.c), one p-value for every key that has
 * samples enough, Benjamini and Hochberg over those, verdicts, order. What a row shows is computed
 * when it is asked for.
 *
 * Verdicts. A change is established if its q is at most the rate asked for. It must then point
 * somewhere that losses leave open: with samples lost in base, say, nothing is known to have grown.
 * `new` and `gone` say more: the side that has no sample of the key has its upper limit below the
 * other's lower one, so what it may hold unseen is less than what is there now.
 *
 * The rule which keys are tested looks at both sides together and never at their order, so that it
 * does not bias the p-values of the rest: at least BP_DIFF_SAMPLES_LEAST samples, or figures
 * worth as much (three objects of 100 MiB each, taken exactly, are only three samples, but say more
 * than eight small ones).
 */
#include "diff/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff_state.h"
#include "model/names/stable_name.h"

#define RATE_DEFAULT 0.05

const char *const bp_verdict_names[BP_VERDICT_COUNT] = { "unclear", "grew", "shrank", "new",
	"gone" };
const char *const bp_diff_sort_names[BP_DIFF_SORT_COUNT] = { "change", "ratio", "q", "base", "new",
	"name" };

static struct bp_cells_of_row cells_of_key(const struct bp_diff *diff, uint32_t key)
{
	const struct bp_diff_keys *keys = &diff->state->keys;
	return (struct bp_cells_of_row){ .cells = bp_diff_key_cell(keys, key, 0),
		.size = keys->keys[key].size };
}

static bool growth_is_open(const struct bp_diff_state *state)
{
	return !state->too_low[BP_BASE] && !state->too_high[BP_NEW];
}

static bool shrinking_is_open(const struct bp_diff_state *state)
{
	return !state->too_high[BP_BASE] && !state->too_low[BP_NEW];
}

/* Nothing of it was seen on a side: neither samples nor counts. */
static bool is_empty(const struct bp_diff *diff, const struct bp_cells_of_row *row, int side)
{
	for (uint32_t i = 0; i < diff->run_count[side]; i++) {
		const struct bp_key_cell *cell = &row->cells[bp_diff_column(diff, side, i, true)];
		if (cell->tally.sums.samples > 0 || cell->counted_objects > 0)
			return false;
	}
	return true;
}

static enum bp_verdict verdict_of(
	const struct bp_diff *diff, const struct bp_cells_of_row *row, double q, bool grows)
{
	const struct bp_diff_state *state = diff->state;
	int with = grows ? BP_NEW : BP_BASE, without = grows ? BP_BASE : BP_NEW;
	struct bp_diff_figure comparison;
	if (!(q <= diff->query.rate) || !(grows ? growth_is_open(state) : shrinking_is_open(state)))
		return BP_VERDICT_UNCLEAR;
	if (diff->query.growth && !grows)
		return BP_VERDICT_UNCLEAR;
	if (is_empty(diff, row, without)) {
		bp_diff_compare_row(diff, row, diff->query.objects, &comparison);
		const struct bp_interval *nothing = &comparison.side[without].interval;
		if (nothing->estimate <= 0 && nothing->high < comparison.side[with].interval.low)
			return grows ? BP_VERDICT_NEW : BP_VERDICT_GONE;
	}
	return grows ? BP_VERDICT_GREW : BP_VERDICT_SHRANK;
}

static void look_at_key(struct bp_diff *diff, uint32_t key)
{
	struct bp_diff_state *state = diff->state;
	struct bp_key_result *result = &state->results[key];
	struct bp_cells_of_row row = cells_of_key(diff, key);
	bool objects = diff->query.objects;
	const uint32_t same = bp_diff_key_same(&state->keys.keys[key]);
	*result = same != 0 ? state->results[same - 1] : (struct bp_key_result){ .p = 1, .q = NAN };
	result->name = bp_diff_key_name(&state->keys, &state->keys.keys[key], 0);
	if (same != 0)
		return;
	for (uint32_t i = 0; i < state->keys.columns; i++)
		result->samples +=
			row.cells[i].tally.sums.samples + (row.cells[i].counted_objects > 0);
	double base = bp_diff_estimate(diff, &row, objects, BP_BASE, false);
	double new = bp_diff_estimate(diff, &row, objects, BP_NEW, false);
	result->change = new - base;
	result->base = bp_diff_estimate(diff, &row, objects, BP_BASE, true);
	result->new = bp_diff_estimate(diff, &row, objects, BP_NEW, true);
	result->ratio = fabs(log(fmax(result->new, 1) / fmax(result->base, 1)));
	result->tested = result->samples > 0 && bp_diff_is_worth_a_test(diff, &row, objects);
	if (result->tested)
		result->p = bp_diff_p(diff, &row, objects, &result->grows);
}

/* Is a key a question of its own, with samples enough for an answer? */
static bool is_asked(const struct bp_diff_state *state, uint32_t key)
{
	return state->results[key].tested && bp_diff_key_same(&state->keys.keys[key]) == 0;
}

/* q of all tested keys. Growth asks for certainty that no suspect is innocent: Bonferroni. */
static bool adjust(struct bp_diff *diff)
{
	struct bp_diff_state *state = diff->state;
	uint32_t count = state->keys.key_count, tested = 0;
	double *p = calloc((size_t)count + 1, sizeof *p);
	size_t *order = calloc((size_t)count + 1, sizeof *order);
	bool good = p != NULL && order != NULL;
	for (uint32_t i = 0; good && i < count; i++)
		if (is_asked(state, i))
			p[tested++] = state->results[i].p;
	if (good && !diff->query.growth)
		bp_benjamini_hochberg(p, tested, order, p);
	diff->tested_count = tested;
	for (uint32_t i = 0, at = 0; good && i < count; i++)
		if (is_asked(state, i))
			state->results[i].q =
				diff->query.growth ? fmin(1, p[at++] * diff->row_count) : p[at++];
	/* (What goes on from a path has the larger number.) */
	for (uint32_t i = count; good && i-- > 0;) {
		const uint32_t same = bp_diff_key_same(&state->keys.keys[i]);
		if (same != 0)
			state->results[i].q = state->results[same - 1].q;
	}
	free(p);
	free(order);
	return good;
}

static void judge(struct bp_diff *diff)
{
	struct bp_diff_state *state = diff->state;
	diff->verdicts[BP_VERDICT_UNCLEAR] = diff->row_count;
	for (uint32_t i = state->keys.key_count; i-- > 0;) {
		struct bp_key_result *result = &state->results[i];
		struct bp_cells_of_row row = cells_of_key(diff, i);
		const uint32_t same = bp_diff_key_same(&state->keys.keys[i]);
		if (!result->tested)
			continue;
		result->verdict = same != 0 ? state->results[same - 1].verdict
					    : verdict_of(diff, &row, result->q, result->grows);
		if (result->verdict == BP_VERDICT_UNCLEAR)
			continue;
		diff->verdict_count++;
		diff->verdicts[result->verdict]++;
		diff->verdicts[BP_VERDICT_UNCLEAR]--;
		if (diff->query.growth) {
			struct bp_diff_figure comparison;
			bp_diff_compare_row(diff, &row, diff->query.objects, &comparison);
			result->lower = comparison.lower;
		}
	}
}

/* What rows are sorted by, largest first. */
static double order_of(const struct bp_diff *diff, const struct bp_key_result *result)
{
	if (diff->query.growth)
		return result->verdict != BP_VERDICT_UNCLEAR ? result->lower : result->change;
	switch (diff->query.sort) {
	case BP_DIFF_SORT_RATIO:
		return result->ratio;
	case BP_DIFF_SORT_Q:
		return result->tested ? -result->p : -2;
	case BP_DIFF_SORT_BASE:
		return result->base;
	case BP_DIFF_SORT_NEW:
		return result->new;
	case BP_DIFF_SORT_NAME:
		return 0;
	default:
		return fabs(result->change);
	}
}

static int compare_keys(const void *left, const void *right, void *context)
{
	const struct bp_diff *diff = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct bp_key_result *result_a = &diff->state->results[a];
	const struct bp_key_result *result_b = &diff->state->results[b];
	bool clear_a = result_a->verdict != BP_VERDICT_UNCLEAR;
	bool clear_b = result_b->verdict != BP_VERDICT_UNCLEAR;
	if (clear_a != clear_b)
		return clear_a ? -1 : 1;
	double order_a = order_of(diff, result_a), order_b = order_of(diff, result_b);
	if (order_a != order_b)
		return order_a > order_b ? -1 : 1;
	int names = strcmp(result_a->name, result_b->name);
	if (names != 0)
		return names;
	return a < b ? -1 : a > b;
}

/* One name for the program's own file, which may have been renamed between the runs. */
static void name_program(struct bp_diff *diff)
{
	char first[sizeof diff->state->program] = "", *name = diff->state->program;
	for (int side = 0; side < BP_SIDES; side++)
		for (uint32_t i = 0; i < diff->run_count[side]; i++) {
			const struct bp_aggregation *a = diff->runs[side][i].compared;
			const struct bp_process *subject =
				&a->profile->processes.data[a->subject.i];
			bp_stable_module_name(
				bp_profile_text(a->profile, subject->program), name, sizeof first);
			if (*first == '\0')
				memcpy(first, name, sizeof first);
			if (strcmp(first, name) != 0) {
				strcpy(name, "(program)");
				return;
			}
		}
	*name = '\0';
}

/* The pairs of the column that was added last. */
static void take_pairs(struct bp_diff_state *state, int side)
{
	state->pairs[side] = state->keys.pairs;
	state->pair_count[side] = state->keys.pair_count;
	state->keys.pairs = NULL;
	state->keys.pair_count = state->keys.pair_capacity = 0;
}

static bool match(struct bp_diff *diff, struct bp_error *error)
{
	struct bp_diff_state *state = diff->state;
	uint32_t runs = diff->run_count[BP_BASE] + diff->run_count[BP_NEW];
	state->keys.columns = diff->query.moments ? 2 * runs : runs;
	state->keys.same_run = diff->query.moments;
	state->keys.paths = diff->query.paths;
	state->keys.until_charged = diff->query.until_charged;
	state->keys.keeps_pairs = state->peak;
	name_program(diff);
	for (int shown = 0; shown <= diff->query.moments; shown++)
		for (int side = 0; side < BP_SIDES; side++)
			for (uint32_t i = 0; i < diff->run_count[side]; i++) {
				const struct bp_run *run = &diff->runs[side][i];
				uint32_t column = bp_diff_column(diff, side, i, shown != 0);
				if (!bp_diff_keys_add(&state->keys, column,
					    shown ? run->shown : run->compared, state->program,
					    error))
					return false;
				if (state->peak)
					take_pairs(state, side);
			}
	return true;
}

/* What a side of the comparison has lost. An object whose free was lost seems to live on. */
static void look_at_losses(struct bp_diff *diff)
{
	struct bp_diff_state *state = diff->state;
	for (int side = 0; side < BP_SIDES; side++)
		for (uint32_t i = 0; i < diff->run_count[side]; i++) {
			const struct bp_aggregation *a = diff->runs[side][i].compared;
			enum bp_metric metric = a->query.metric;
			bool not_gone = a->state->lost_frees && a->query.has_gone_by;
			state->too_low[side] |= a->state->lost_samples || not_gone ||
						bp_lost_frees_lower(a->state, metric);
			state->too_high[side] |= bp_lost_frees_raise(a->state, metric);
		}
}

/* Memory whose size is known once the keys are matched. */
static bool reserve(struct bp_diff *diff)
{
	struct bp_diff_state *state = diff->state;
	size_t keys = (size_t)state->keys.key_count + 1, columns = state->keys.columns;
	state->results = calloc(keys, sizeof *state->results);
	state->order = calloc(keys, sizeof *state->order);
	state->totals = calloc(columns, sizeof *state->totals);
	state->scratch = calloc(columns, sizeof *state->scratch);
	state->sides = calloc(columns, sizeof *state->sides);
	return state->results != NULL && state->order != NULL && state->totals != NULL &&
	       state->scratch != NULL && state->sides != NULL;
}

static void fill_totals(struct bp_diff *diff)
{
	struct bp_diff_state *state = diff->state;
	for (int shown = 0; shown <= diff->query.moments; shown++)
		for (int side = 0; side < BP_SIDES; side++)
			for (uint32_t i = 0; i < diff->run_count[side]; i++) {
				const struct bp_run *run = &diff->runs[side][i];
				const struct bp_aggregation *a = shown ? run->shown : run->compared;
				uint32_t column = bp_diff_column(diff, side, i, shown != 0);
				state->totals[column].tally = a->state->totals[a->query.metric];
			}
}

bool bp_diff_collect(struct bp_diff *diff, struct bp_error *error)
{
	if (!match(diff, error))
		return false;
	if (!reserve(diff))
		return bp_error_set(error, "out of memory");
	fill_totals(diff);
	look_at_losses(diff);
	return true;
}

static bool compare_all(struct bp_diff *diff, struct bp_error *error)
{
	struct bp_diff_state *state = diff->state;
	uint32_t keys;
	if (!bp_diff_collect(diff, error))
		return false;
	if (state->peak && !bp_diff_find_rivals(diff, error))
		return false;
	keys = state->keys.key_count;
	for (uint32_t i = keys; i-- > 0;)
		look_at_key(diff, i);
	for (uint32_t i = 0; i < keys; i++)
		if (state->results[i].samples > 0)
			state->order[diff->row_count++] = i;
	if (!adjust(diff))
		return bp_error_set(error, "out of memory");
	judge(diff);
	qsort_r(state->order, diff->row_count, sizeof *state->order, compare_keys, diff);
	return bp_diff_make_warnings(diff) || bp_error_set(error, "out of memory");
}

bool bp_diff_has_figures(
	const struct bp_aggregation *aggregation, const char *file, struct bp_error *error)
{
	return aggregation->totals[BP_METRIC_ALLOCATED].known ||
	       aggregation->totals[aggregation->query.metric].known ||
	       bp_error_set(
		       error, "%s: nothing was profiled, so there is nothing to compare", file);
}

bool bp_diff_make(const struct bp_diff_query *query, const struct bp_run *base, uint32_t base_count,
	const struct bp_run *new, uint32_t new_count, struct bp_diff *ret_diff,
	struct bp_error *error)
{
	struct bp_diff diff = {
		.query = *query, .runs = { base, new }, .run_count = { base_count, new_count }
	};
	const struct bp_query *asked = &base[0].compared->query;
	if (diff.query.rate == 0)
		diff.query.rate = RATE_DEFAULT;
	if (asked->metric == BP_METRIC_PEAK && base_count + new_count > BP_SIDES)
		return bp_error_set(error,
			"--metric peak compares one run with one: every run has its peak at a "
			"moment of its own; use --metric live --at TIME, or allocated");
	if (asked->metric == BP_METRIC_PEAK &&
		!(asked->all_cells && new[0].compared->query.all_cells))
		return bp_error_set(
			error, "--metric peak: what lived at other moments is not known");
	diff.state = calloc(1, sizeof *diff.state);
	diff.warnings = calloc(1, sizeof *diff.warnings);
	if (diff.state == NULL || diff.warnings == NULL) {
		bp_diff_finish(&diff);
		return bp_error_set(error, "out of memory");
	}
	diff.state->alpha = 1 - asked->confidence;
	diff.state->peak = asked->metric == BP_METRIC_PEAK;
	if (!compare_all(&diff, error)) {
		bp_diff_finish(&diff);
		return false;
	}
	*ret_diff = diff;
	return true;
}

void bp_diff_finish(struct bp_diff *diff)
{
	struct bp_diff_state *state = diff->state;
	if (state != NULL) {
		bp_diff_keys_finish(&state->keys);
		free(state->results);
		free(state->order);
		free(state->totals);
		free(state->scratch);
		free(state->sides);
		for (int side = 0; side < BP_SIDES; side++) {
			free(state->pairs[side]);
			free(state->rivals[side]);
		}
		free(state);
	}
	for (char **w = diff->warnings; w != NULL && *w != NULL; w++)
		free(*w);
	free(diff->warnings);
	*diff = (struct bp_diff){ 0 };
}

/* Figures and samples of a set of cells. */
static void fill_row(
	const struct bp_diff *diff, const struct bp_cells_of_row *row, struct bp_diff_row *ret_row)
{
	for (int side = 0; side < BP_SIDES; side++)
		for (uint32_t i = 0; i < diff->run_count[side]; i++)
			ret_row->samples[side] +=
				row->cells[bp_diff_column(diff, side, i, false)].tally.sums.samples;
	bp_diff_compare_row(diff, row, false, &ret_row->bytes);
	bp_diff_compare_row(diff, row, true, &ret_row->objects);
}

static void fill_key(const struct bp_diff *diff, uint32_t number, struct bp_diff_row *ret_row)
{
	const struct bp_diff_state *state = diff->state;
	const struct bp_diff_key *key = &state->keys.keys[number];
	const struct bp_key_result *result = &state->results[number];
	struct bp_cells_of_row cells = cells_of_key(diff, number);
	struct bp_diff_row row = { .name = result->name,
		.verdict = result->verdict,
		.tested = result->tested,
		.q = result->q };
	if (key->stack.i != 0) {
		row.name = NULL;
		row.profile = key->seen_in->profile;
		row.frames = bp_attribution_frames(
			&key->seen_in->state->attribution, key->stack, &row.frame_count);
	}
	fill_row(diff, &cells, &row);
	*ret_row = row;
}

void bp_diff_row(const struct bp_diff *diff, uint32_t i, struct bp_diff_row *ret_row)
{
	fill_key(diff, diff->state->order[i], ret_row);
}

uint32_t bp_diff_path_count(const struct bp_diff *diff)
{
	return diff->state->keys.key_count;
}

void bp_diff_path(const struct bp_diff *diff, uint32_t number, struct bp_diff_path *ret_path)
{
	const struct bp_diff_state *state = diff->state;
	const struct bp_diff_key *key = &state->keys.keys[number - 1];
	const struct bp_cells_of_row cells = cells_of_key(diff, number - 1);
	*ret_path = (struct bp_diff_path){ .name = state->results[number - 1].name,
		.caller = key->caller,
		.same = bp_diff_key_same(key),
		.verdict = state->results[number - 1].verdict };
	for (int side = 0; side < BP_SIDES; side++) {
		ret_path->bytes[side] = bp_diff_estimate(diff, &cells, false, side, true);
		ret_path->objects[side] = bp_diff_estimate(diff, &cells, true, side, true);
	}
}

void bp_diff_path_row(const struct bp_diff *diff, uint32_t number, struct bp_diff_row *ret_row)
{
	fill_key(diff, number - 1, ret_row);
}

void bp_diff_total(const struct bp_diff *diff, struct bp_diff_row *ret_row)
{
	struct bp_cells_of_row cells = { .cells = diff->state->totals, .whole = true };
	struct bp_diff_row row = { .name = "total" };
	fill_row(diff, &cells, &row);
	const struct bp_diff_figure *asked = diff->query.objects ? &row.objects : &row.bytes;
	bool grows = asked->change.interval.estimate > 0;
	row.tested = bp_diff_is_worth_a_test(diff, &cells, diff->query.objects);
	row.q = row.tested ? asked->p : NAN;
	row.verdict = verdict_of(diff, &cells, row.q, grows);
	*ret_row = row;
}

bool bp_diff_together(
	const struct bp_diff *diff, uint32_t first, uint32_t end, struct bp_diff_row *ret_row)
{
	struct bp_diff_state *state = diff->state;
	struct bp_cells_of_row cells = { .cells = state->scratch };
	struct bp_diff_row row = { .name = "rest", .q = NAN };
	bool good = true;
	if (first >= end || diff->query.paths || diff->runs[BP_NEW][0].compared->query.cumulative)
		return false;
	for (uint32_t i = first; i < end; i++)
		for (uint32_t column = 0; column < state->keys.columns; column++) {
			const struct bp_key_cell *from =
				bp_diff_key_cell(&state->keys, state->order[i], column);
			struct bp_key_cell *to = &state->scratch[column];
			good = good && bp_tally_merge(&to->tally, &from->tally);
			to->counted_bytes += from->counted_bytes;
			to->counted_objects += from->counted_objects;
			to->uncounted = to->uncounted || from->uncounted;
		}
	if (good) {
		fill_row(diff, &cells, &row);
		*ret_row = row;
	}
	for (uint32_t column = 0; column < state->keys.columns; column++) {
		bp_tally_finish(&state->scratch[column].tally);
		state->scratch[column] = (struct bp_key_cell){ 0 };
	}
	return good;
}

bool bp_diff_warn(struct bp_diff *diff, const char *format, ...)
{
	size_t count = 0;
	char text[2048], **grown;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	while (diff->warnings[count] != NULL)
		if (strcmp(diff->warnings[count++], text) == 0)
			return true;
	grown = realloc(diff->warnings, (count + 2) * sizeof *grown);
	if (grown == NULL)
		return false;
	diff->warnings = grown;
	grown[count] = strdup(text);
	grown[count + 1] = NULL;
	return grown[count] != NULL;
}
