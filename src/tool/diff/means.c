/* SPDX-License-Identifier: MIT */
/*
 * The matching is that of a difference, whose new side are the hosts and whose base side has no
 * run; see means.h and diff_state.h.
 */
#include "diff/means.h"

#include <stdlib.h>
#include <string.h>

#include "diff/diff_state.h"

static struct bp_cells_of_row cells_of_key(const struct bp_diff *diff, uint32_t key)
{
	const struct bp_diff_keys *keys = &diff->state->keys;
	return (struct bp_cells_of_row){ .cells = bp_diff_key_cell(keys, key, 0),
		.size = keys->keys[key].size };
}

static void count_samples(const struct bp_diff *diff, const struct bp_cells_of_row *row,
	uint64_t *ret_samples, uint32_t *ret_hosts)
{
	*ret_samples = 0;
	*ret_hosts = 0;
	for (uint32_t i = 0; i < diff->run_count[BP_NEW]; i++) {
		const struct bp_key_cell *cell = &row->cells[i];
		*ret_samples += cell->tally.sums.samples;
		*ret_hosts += cell->tally.sums.samples > 0 || cell->counted_objects > 0;
	}
}

/* What rows are sorted by, largest first. */
static double order_of(
	const struct bp_diff *diff, const struct bp_cells_of_row *row, const struct bp_query *query)
{
	uint64_t samples;
	uint32_t hosts;
	if (query->sort == BP_SORT_NAME)
		return 0;
	if (query->sort == BP_SORT_SAMPLES) {
		count_samples(diff, row, &samples, &hosts);
		return (double)samples;
	}
	return bp_diff_estimate(diff, row, query->sort == BP_SORT_OBJECTS, BP_NEW, false);
}

static int compare_keys(const void *left, const void *right, void *context)
{
	const struct bp_key_result *results = context;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const int order = bp_figures_compare_order(results[a].new, results[b].new);
	const int names = order != 0 ? 0 : strcmp(results[a].name, results[b].name);
	return order != 0 ? order : names != 0 ? names : a < b ? -1 : a > b;
}

static void sort(struct bp_means *means)
{
	struct bp_diff_state *state = means->diff.state;
	for (uint32_t i = 0; i < state->keys.key_count; i++) {
		const struct bp_cells_of_row cells = cells_of_key(&means->diff, i);
		uint64_t samples;
		uint32_t hosts;
		count_samples(&means->diff, &cells, &samples, &hosts);
		state->results[i].name = bp_diff_key_name(&state->keys, &state->keys.keys[i], 0);
		state->results[i].new =
			order_of(&means->diff, &cells, &means->hosts[0].compared->query);
		if (hosts > 0)
			state->order[means->row_count++] = i;
	}
	qsort_r(state->order, means->row_count, sizeof *state->order, compare_keys, state->results);
	means->order = state->order;
}

static bool warns(const struct bp_run *host, const char *sentence)
{
	for (char **w = host->compared->warnings; *w != NULL; w++)
		if (strcmp(*w, sentence) == 0)
			return true;
	return false;
}

/* What hosts warn of: each sentence once, with the host's name or the number of hosts. */
static bool pass_on(struct bp_means *means, uint32_t host, const char *sentence)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < means->host_count; i++) {
		const bool same = warns(&means->hosts[i], sentence);
		if (same && i < host)
			return true;
		count += same;
	}
	return count == 1 ? bp_diff_warn(&means->diff, "%s: %s", means->hosts[host].file, sentence)
			  : bp_diff_warn(&means->diff, "%u of %u hosts: %s", count,
				    means->host_count, sentence);
}

static bool pass_warnings_on(struct bp_means *means)
{
	for (uint32_t i = 0; i < means->host_count; i++)
		for (char **w = means->hosts[i].compared->warnings; *w != NULL; w++)
			if (!pass_on(means, i, *w))
				return false;
	return true;
}

bool bp_means_make(const struct bp_run *hosts, uint32_t count, bool paths,
	struct bp_means *ret_means, struct bp_error *error)
{
	struct bp_means means = { .hosts = hosts,
		.host_count = count,
		.diff = { .query = { .paths = paths, .until_charged = paths },
			.runs = { hosts, hosts },
			.run_count = { 0, count } } };
	means.diff.state = calloc(1, sizeof *means.diff.state);
	means.diff.warnings = calloc(1, sizeof *means.diff.warnings);
	if (means.diff.state == NULL || means.diff.warnings == NULL) {
		bp_diff_finish(&means.diff);
		return bp_error_set(error, "out of memory");
	}
	means.diff.state->alpha = 1 - hosts[0].compared->query.confidence;
	if (!bp_diff_collect(&means.diff, error)) {
		bp_diff_finish(&means.diff);
		return false;
	}
	sort(&means);
	if (!pass_warnings_on(&means)) {
		bp_diff_finish(&means.diff);
		return bp_error_set(error, "out of memory");
	}
	means.warnings = means.diff.warnings;
	*ret_means = means;
	return true;
}

void bp_means_finish(struct bp_means *means)
{
	bp_diff_finish(&means->diff);
	*means = (struct bp_means){ .hosts = NULL };
}

void bp_means_fill(
	const struct bp_diff *diff, const struct bp_cells_of_row *cells, struct bp_means_row *row)
{
	count_samples(diff, cells, &row->samples, &row->seen_hosts);
	bp_diff_mean(diff, cells, false, BP_NEW, &row->bytes.figure, &row->bytes.deviation);
	bp_diff_mean(diff, cells, true, BP_NEW, &row->objects.figure, &row->objects.deviation);
	row->bytes.deviation /= diff->runs[BP_NEW][0].scale;
	row->objects.deviation /= diff->runs[BP_NEW][0].scale;
}

void bp_means_row(const struct bp_means *means, uint32_t i, struct bp_means_row *ret_row)
{
	const struct bp_diff_state *state = means->diff.state;
	const struct bp_diff_key *key = &state->keys.keys[means->order[i]];
	const struct bp_cells_of_row cells = cells_of_key(&means->diff, means->order[i]);
	struct bp_means_row row = { .name = state->results[means->order[i]].name };
	if (key->stack.i != 0) {
		row.name = NULL;
		row.profile = key->seen_in->profile;
		row.frames = bp_attribution_frames(
			&key->seen_in->state->attribution, key->stack, &row.frame_count);
	}
	bp_means_fill(&means->diff, &cells, &row);
	*ret_row = row;
}

void bp_means_total(const struct bp_means *means, struct bp_means_row *ret_row)
{
	const struct bp_cells_of_row cells = { .cells = means->diff.state->totals, .whole = true };
	struct bp_means_row row = { .name = "total" };
	bp_means_fill(&means->diff, &cells, &row);
	*ret_row = row;
}
