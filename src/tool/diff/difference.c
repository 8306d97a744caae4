/* SPDX-License-Identifier: MIT */
/*
 * The difference from top to bottom: match (difference_keys.c), one p-value for every key that has
 * samples enough, Benjamini and Hochberg over those, verdicts, order. What a row shows is computed
 * when it is asked for.
 *
 * Verdicts. A change is established if its q is at most the rate asked for. It must then point
 * somewhere that losses leave open: with samples lost in base, say, nothing is known to have grown.
 * `new` and `gone` say more: the side that has no sample of the key has its upper limit below the
 * other's lower one, so what it may hold unseen is less than what is there now.
 *
 * The rule which keys are tested looks at both sides together and never at their order, so that it
 * does not bias the p-values of the rest: at least BP_COMPARE_SAMPLES_LEAST samples, or figures
 * worth as much (three objects of 100 MiB each, taken exactly, are only three samples, but say more
 * than eight small ones).
 */
#include "diff/difference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/difference_state.h"
#include "model/stable_name.h"

#define RATE_DEFAULT 0.05

const char *const bp_verdict_names[BP_VERDICT_COUNT] = { "unclear", "grew", "shrank", "new",
	"gone" };
const char *const bp_difference_sort_names[BP_DIFFERENCE_SORT_COUNT] = { "change", "ratio", "q",
	"base", "new", "name" };

static struct bp_cells_of_row cells_of_key(const struct bp_difference *difference, uint32_t key)
{
	const struct bp_difference_keys *keys = &difference->state->keys;
	return (struct bp_cells_of_row){ .cells = bp_difference_key_cell(keys, key, 0),
		.size = keys->keys[key].size };
}

static bool growth_is_open(const struct bp_difference_state *state)
{
	return !state->too_low[BP_BASE] && !state->too_high[BP_NEW];
}

static bool shrinking_is_open(const struct bp_difference_state *state)
{
	return !state->too_high[BP_BASE] && !state->too_low[BP_NEW];
}

/* Nothing of it was seen on a side: neither samples nor counts. */
static bool is_empty(
	const struct bp_difference *difference, const struct bp_cells_of_row *row, int side)
{
	for (uint32_t i = 0; i < difference->run_count[side]; i++) {
		const struct bp_key_cell *cell =
			&row->cells[bp_difference_column(difference, side, i, true)];
		if (cell->tally.sums.samples > 0 || cell->counted_objects > 0)
			return false;
	}
	return true;
}

static enum bp_verdict verdict_of(const struct bp_difference *difference,
	const struct bp_cells_of_row *row, double q, bool grows)
{
	const struct bp_difference_state *state = difference->state;
	int with = grows ? BP_NEW : BP_BASE, without = grows ? BP_BASE : BP_NEW;
	struct bp_comparison comparison;
	if (!(q <= difference->query.rate) ||
		!(grows ? growth_is_open(state) : shrinking_is_open(state)))
		return BP_VERDICT_UNCLEAR;
	if (difference->query.growth && !grows)
		return BP_VERDICT_UNCLEAR;
	if (is_empty(difference, row, without)) {
		bp_difference_compare(difference, row, difference->query.objects, &comparison);
		const struct bp_interval *nothing = &comparison.side[without].interval;
		if (nothing->estimate <= 0 && nothing->high < comparison.side[with].interval.low)
			return grows ? BP_VERDICT_NEW : BP_VERDICT_GONE;
	}
	return grows ? BP_VERDICT_GREW : BP_VERDICT_SHRANK;
}

static void look_at_key(struct bp_difference *difference, uint32_t key)
{
	struct bp_difference_state *state = difference->state;
	struct bp_key_result *result = &state->results[key];
	struct bp_cells_of_row row = cells_of_key(difference, key);
	bool objects = difference->query.objects;
	const uint32_t same = bp_difference_key_same(&state->keys.keys[key]);
	*result = same != 0 ? state->results[same - 1] : (struct bp_key_result){ .p = 1, .q = NAN };
	result->name = bp_difference_key_name(&state->keys, &state->keys.keys[key], 0);
	if (same != 0)
		return;
	for (uint32_t i = 0; i < state->keys.columns; i++)
		result->samples +=
			row.cells[i].tally.sums.samples + (row.cells[i].counted_objects > 0);
	double base = bp_difference_estimate(difference, &row, objects, BP_BASE, false);
	double new = bp_difference_estimate(difference, &row, objects, BP_NEW, false);
	result->change = new - base;
	result->base = bp_difference_estimate(difference, &row, objects, BP_BASE, true);
	result->new = bp_difference_estimate(difference, &row, objects, BP_NEW, true);
	result->ratio = fabs(log(fmax(result->new, 1) / fmax(result->base, 1)));
	result->tested =
		result->samples > 0 && bp_difference_is_worth_a_test(difference, &row, objects);
	if (result->tested)
		result->p = bp_difference_p(difference, &row, objects, &result->grows);
}

/* Is a key a question of its own, with samples enough for an answer? */
static bool is_asked(const struct bp_difference_state *state, uint32_t key)
{
	return state->results[key].tested && bp_difference_key_same(&state->keys.keys[key]) == 0;
}

/* q of all tested keys. Growth asks for certainty that no suspect is innocent: Bonferroni. */
static bool adjust(struct bp_difference *difference)
{
	struct bp_difference_state *state = difference->state;
	uint32_t count = state->keys.key_count, tested = 0;
	double *p = calloc((size_t)count + 1, sizeof *p);
	size_t *order = calloc((size_t)count + 1, sizeof *order);
	bool good = p != NULL && order != NULL;
	for (uint32_t i = 0; good && i < count; i++)
		if (is_asked(state, i))
			p[tested++] = state->results[i].p;
	if (good && !difference->query.growth)
		bp_benjamini_hochberg(p, tested, order, p);
	difference->tested_count = tested;
	for (uint32_t i = 0, at = 0; good && i < count; i++)
		if (is_asked(state, i))
			state->results[i].q = difference->query.growth
						      ? fmin(1, p[at++] * difference->row_count)
						      : p[at++];
	/* (What goes on from a path has the larger number.) */
	for (uint32_t i = count; good && i-- > 0;) {
		const uint32_t same = bp_difference_key_same(&state->keys.keys[i]);
		if (same != 0)
			state->results[i].q = state->results[same - 1].q;
	}
	free(p);
	free(order);
	return good;
}

static void judge(struct bp_difference *difference)
{
	struct bp_difference_state *state = difference->state;
	difference->verdicts[BP_VERDICT_UNCLEAR] = difference->row_count;
	for (uint32_t i = state->keys.key_count; i-- > 0;) {
		struct bp_key_result *result = &state->results[i];
		struct bp_cells_of_row row = cells_of_key(difference, i);
		const uint32_t same = bp_difference_key_same(&state->keys.keys[i]);
		if (!result->tested)
			continue;
		result->verdict = same != 0
					  ? state->results[same - 1].verdict
					  : verdict_of(difference, &row, result->q, result->grows);
		if (result->verdict == BP_VERDICT_UNCLEAR)
			continue;
		difference->verdict_count++;
		difference->verdicts[result->verdict]++;
		difference->verdicts[BP_VERDICT_UNCLEAR]--;
		if (difference->query.growth) {
			struct bp_comparison comparison;
			bp_difference_compare(
				difference, &row, difference->query.objects, &comparison);
			result->lower = comparison.lower;
		}
	}
}

/* What rows are sorted by, largest first. */
static double order_of(const struct bp_difference *difference, const struct bp_key_result *result)
{
	if (difference->query.growth)
		return result->verdict != BP_VERDICT_UNCLEAR ? result->lower : result->change;
	switch (difference->query.sort) {
	case BP_DIFFERENCE_SORT_RATIO:
		return result->ratio;
	case BP_DIFFERENCE_SORT_Q:
		return result->tested ? -result->p : -2;
	case BP_DIFFERENCE_SORT_BASE:
		return result->base;
	case BP_DIFFERENCE_SORT_NEW:
		return result->new;
	case BP_DIFFERENCE_SORT_NAME:
		return 0;
	default:
		return fabs(result->change);
	}
}

static int compare_keys(const void *left, const void *right, void *context)
{
	const struct bp_difference *difference = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct bp_key_result *result_a = &difference->state->results[a];
	const struct bp_key_result *result_b = &difference->state->results[b];
	bool clear_a = result_a->verdict != BP_VERDICT_UNCLEAR;
	bool clear_b = result_b->verdict != BP_VERDICT_UNCLEAR;
	if (clear_a != clear_b)
		return clear_a ? -1 : 1;
	double order_a = order_of(difference, result_a), order_b = order_of(difference, result_b);
	if (order_a != order_b)
		return order_a > order_b ? -1 : 1;
	int names = strcmp(result_a->name, result_b->name);
	if (names != 0)
		return names;
	return a < b ? -1 : a > b;
}

/* One name for the program's own file, which may have been renamed between the runs. */
static void name_program(struct bp_difference *difference)
{
	char first[sizeof difference->state->program] = "", *name = difference->state->program;
	for (int side = 0; side < BP_SIDES; side++)
		for (uint32_t i = 0; i < difference->run_count[side]; i++) {
			const struct bp_aggregation *a = difference->runs[side][i].compared;
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
static void take_pairs(struct bp_difference_state *state, int side)
{
	state->pairs[side] = state->keys.pairs;
	state->pair_count[side] = state->keys.pair_count;
	state->keys.pairs = NULL;
	state->keys.pair_count = state->keys.pair_capacity = 0;
}

static bool match(struct bp_difference *difference, struct bp_error *error)
{
	struct bp_difference_state *state = difference->state;
	uint32_t runs = difference->run_count[BP_BASE] + difference->run_count[BP_NEW];
	state->keys.columns = difference->query.moments ? 2 * runs : runs;
	state->keys.same_run = difference->query.moments;
	state->keys.paths = difference->query.paths;
	state->keys.keeps_pairs = state->peak;
	name_program(difference);
	for (int shown = 0; shown <= difference->query.moments; shown++)
		for (int side = 0; side < BP_SIDES; side++)
			for (uint32_t i = 0; i < difference->run_count[side]; i++) {
				const struct bp_run *run = &difference->runs[side][i];
				uint32_t column =
					bp_difference_column(difference, side, i, shown != 0);
				if (!bp_difference_keys_add(&state->keys, column,
					    shown ? run->shown : run->compared, state->program,
					    error))
					return false;
				if (state->peak)
					take_pairs(state, side);
			}
	return true;
}

/* What a side of the comparison has lost. An object whose free was lost seems to live on. */
static void look_at_losses(struct bp_difference *difference)
{
	struct bp_difference_state *state = difference->state;
	for (int side = 0; side < BP_SIDES; side++)
		for (uint32_t i = 0; i < difference->run_count[side]; i++) {
			const struct bp_aggregation *a = difference->runs[side][i].compared;
			enum bp_metric metric = a->query.metric;
			bool frees = a->state->lost_frees;
			bool seems_live = metric == BP_METRIC_LIVE || metric == BP_METRIC_PEAK;
			bool freed = metric == BP_METRIC_TEMPORARY || a->query.has_gone_by;
			state->too_low[side] |= a->state->lost_samples || (frees && freed);
			state->too_high[side] |= frees && seems_live;
		}
}

/* Memory whose size is known once the keys are matched. */
static bool reserve(struct bp_difference *difference)
{
	struct bp_difference_state *state = difference->state;
	size_t keys = (size_t)state->keys.key_count + 1, columns = state->keys.columns;
	state->results = calloc(keys, sizeof *state->results);
	state->order = calloc(keys, sizeof *state->order);
	state->totals = calloc(columns, sizeof *state->totals);
	state->scratch = calloc(columns, sizeof *state->scratch);
	state->sides = calloc(columns, sizeof *state->sides);
	state->nothing = calloc(columns, sizeof *state->nothing);
	return state->results != NULL && state->order != NULL && state->totals != NULL &&
	       state->scratch != NULL && state->sides != NULL && state->nothing != NULL;
}

static void fill_totals(struct bp_difference *difference)
{
	struct bp_difference_state *state = difference->state;
	for (int shown = 0; shown <= difference->query.moments; shown++)
		for (int side = 0; side < BP_SIDES; side++)
			for (uint32_t i = 0; i < difference->run_count[side]; i++) {
				const struct bp_run *run = &difference->runs[side][i];
				const struct bp_aggregation *a = shown ? run->shown : run->compared;
				uint32_t column =
					bp_difference_column(difference, side, i, shown != 0);
				state->totals[column].tally = a->state->totals[a->query.metric];
			}
	for (uint32_t i = 0; i < state->keys.columns; i++)
		state->nothing[i] = bp_side_of_count(0);
}

static bool compare_all(struct bp_difference *difference, struct bp_error *error)
{
	struct bp_difference_state *state = difference->state;
	uint32_t keys;
	if (!match(difference, error))
		return false;
	if (!reserve(difference))
		return bp_error_set(error, "out of memory");
	fill_totals(difference);
	look_at_losses(difference);
	if (state->peak && !bp_difference_find_rivals(difference, error))
		return false;
	keys = state->keys.key_count;
	for (uint32_t i = keys; i-- > 0;)
		look_at_key(difference, i);
	for (uint32_t i = 0; i < keys; i++)
		if (state->results[i].samples > 0)
			state->order[difference->row_count++] = i;
	if (!adjust(difference))
		return bp_error_set(error, "out of memory");
	judge(difference);
	qsort_r(state->order, difference->row_count, sizeof *state->order, compare_keys,
		difference);
	return bp_difference_make_warnings(difference) || bp_error_set(error, "out of memory");
}

bool bp_difference_has_figures(
	const struct bp_aggregation *aggregation, const char *file, struct bp_error *error)
{
	return aggregation->totals[BP_METRIC_ALLOCATED].known ||
	       aggregation->totals[aggregation->query.metric].known ||
	       bp_error_set(
		       error, "%s: nothing was profiled, so there is nothing to compare", file);
}

bool bp_difference_make(const struct bp_difference_query *query, const struct bp_run *base,
	uint32_t base_count, const struct bp_run *new, uint32_t new_count,
	struct bp_difference *ret_difference, struct bp_error *error)
{
	struct bp_difference difference = {
		.query = *query, .runs = { base, new }, .run_count = { base_count, new_count }
	};
	const struct bp_query *asked = &base[0].compared->query;
	if (difference.query.rate == 0)
		difference.query.rate = RATE_DEFAULT;
	if (asked->metric == BP_METRIC_PEAK && base_count + new_count > BP_SIDES)
		return bp_error_set(error,
			"--metric peak compares one run with one: every run has its peak at a "
			"moment of its own; use --metric live --at TIME, or allocated");
	if (asked->metric == BP_METRIC_PEAK &&
		!(asked->all_cells && new[0].compared->query.all_cells))
		return bp_error_set(error, "--metric peak: what lived at other moments is not known");
	difference.state = calloc(1, sizeof *difference.state);
	difference.warnings = calloc(1, sizeof *difference.warnings);
	if (difference.state == NULL || difference.warnings == NULL) {
		bp_difference_finish(&difference);
		return bp_error_set(error, "out of memory");
	}
	difference.state->alpha = 1 - asked->confidence;
	difference.state->peak = asked->metric == BP_METRIC_PEAK;
	if (!compare_all(&difference, error)) {
		bp_difference_finish(&difference);
		return false;
	}
	*ret_difference = difference;
	return true;
}

void bp_difference_finish(struct bp_difference *difference)
{
	struct bp_difference_state *state = difference->state;
	if (state != NULL) {
		bp_difference_keys_finish(&state->keys);
		free(state->results);
		free(state->order);
		free(state->totals);
		free(state->scratch);
		free(state->sides);
		free(state->nothing);
		for (int side = 0; side < BP_SIDES; side++) {
			free(state->pairs[side]);
			free(state->rivals[side]);
		}
		free(state);
	}
	for (char **w = difference->warnings; w != NULL && *w != NULL; w++)
		free(*w);
	free(difference->warnings);
	*difference = (struct bp_difference){ 0 };
}

/* Figures and samples of a set of cells. */
static void fill_row(const struct bp_difference *difference, const struct bp_cells_of_row *row,
	struct bp_difference_row *ret_row)
{
	for (int side = 0; side < BP_SIDES; side++)
		for (uint32_t i = 0; i < difference->run_count[side]; i++)
			ret_row->samples[side] +=
				row->cells[bp_difference_column(difference, side, i, false)]
					.tally.sums.samples;
	bp_difference_compare(difference, row, false, &ret_row->bytes);
	bp_difference_compare(difference, row, true, &ret_row->objects);
}

static void fill_key(
	const struct bp_difference *difference, uint32_t number, struct bp_difference_row *ret_row)
{
	const struct bp_difference_state *state = difference->state;
	const struct bp_difference_key *key = &state->keys.keys[number];
	const struct bp_key_result *result = &state->results[number];
	struct bp_cells_of_row cells = cells_of_key(difference, number);
	struct bp_difference_row row = { .name = result->name,
		.verdict = result->verdict,
		.tested = result->tested,
		.q = result->q };
	if (key->stack.i != 0) {
		row.name = NULL;
		row.profile = key->seen_in->profile;
		row.frames = bp_attribution_frames(
			&key->seen_in->state->attribution, key->stack, &row.frame_count);
	}
	fill_row(difference, &cells, &row);
	*ret_row = row;
}

void bp_difference_row(
	const struct bp_difference *difference, uint32_t i, struct bp_difference_row *ret_row)
{
	fill_key(difference, difference->state->order[i], ret_row);
}

uint32_t bp_difference_path_count(const struct bp_difference *difference)
{
	return difference->state->keys.key_count;
}

void bp_difference_path(const struct bp_difference *difference, uint32_t number,
	struct bp_difference_path *ret_path)
{
	const struct bp_difference_state *state = difference->state;
	const struct bp_difference_key *key = &state->keys.keys[number - 1];
	const struct bp_cells_of_row cells = cells_of_key(difference, number - 1);
	*ret_path = (struct bp_difference_path){ .name = state->results[number - 1].name,
		.caller = key->caller,
		.same = bp_difference_key_same(key),
		.verdict = state->results[number - 1].verdict };
	for (int side = 0; side < BP_SIDES; side++) {
		ret_path->bytes[side] =
			bp_difference_estimate(difference, &cells, false, side, true);
		ret_path->objects[side] =
			bp_difference_estimate(difference, &cells, true, side, true);
	}
}

void bp_difference_path_row(
	const struct bp_difference *difference, uint32_t number, struct bp_difference_row *ret_row)
{
	fill_key(difference, number - 1, ret_row);
}

void bp_difference_total(const struct bp_difference *difference, struct bp_difference_row *ret_row)
{
	struct bp_cells_of_row cells = { .cells = difference->state->totals, .whole = true };
	struct bp_difference_row row = { .name = "total" };
	fill_row(difference, &cells, &row);
	const struct bp_comparison *asked = difference->query.objects ? &row.objects : &row.bytes;
	bool grows = asked->change.interval.estimate > 0;
	row.tested = bp_difference_is_worth_a_test(difference, &cells, difference->query.objects);
	row.q = row.tested ? asked->p : NAN;
	row.verdict = verdict_of(difference, &cells, row.q, grows);
	*ret_row = row;
}

bool bp_difference_together(const struct bp_difference *difference, uint32_t first, uint32_t end,
	struct bp_difference_row *ret_row)
{
	struct bp_difference_state *state = difference->state;
	struct bp_cells_of_row cells = { .cells = state->scratch };
	struct bp_difference_row row = { .name = "rest", .q = NAN };
	bool good = true;
	if (first >= end || difference->query.paths ||
		difference->runs[BP_NEW][0].compared->query.cumulative)
		return false;
	for (uint32_t i = first; i < end; i++)
		for (uint32_t column = 0; column < state->keys.columns; column++) {
			const struct bp_key_cell *from =
				bp_difference_key_cell(&state->keys, state->order[i], column);
			struct bp_key_cell *to = &state->scratch[column];
			good = good && bp_tally_merge(&to->tally, &from->tally);
			to->counted_bytes += from->counted_bytes;
			to->counted_objects += from->counted_objects;
			to->uncounted = to->uncounted || from->uncounted;
		}
	if (good) {
		fill_row(difference, &cells, &row);
		*ret_row = row;
	}
	for (uint32_t column = 0; column < state->keys.columns; column++) {
		bp_tally_finish(&state->scratch[column].tally);
		state->scratch[column] = (struct bp_key_cell){ 0 };
	}
	return good;
}

bool bp_difference_warn(struct bp_difference *difference, const char *format, ...)
{
	size_t count = 0;
	char text[2048], **grown;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	while (difference->warnings[count] != NULL)
		if (strcmp(difference->warnings[count++], text) == 0)
			return true;
	grown = realloc(difference->warnings, (count + 2) * sizeof *grown);
	if (grown == NULL)
		return false;
	difference->warnings = grown;
	grown[count] = strdup(text);
	grown[count + 1] = NULL;
	return grown[count] != NULL;
}
