/* SPDX-License-Identifier: MIT */
/*
 * Entries are made in one walk over the samples for each aggregation, with the weights that the
 * aggregation itself has used, calibrated as its figures are. Then each is scaled by its row: the
 * row's estimate over the sum of what the entries of that row weigh. The factor is 1, but where
 * that estimate is less than what was sampled. See entries.h.
 */
#include "aggregation/views/entries.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "base/vec.h"

/* What one sample stands for in the metric of an aggregation; false: nothing. */
struct share {
	double bytes, objects;
	struct bp_sums sums;
};

static bool share_of(const struct bp_aggregation *aggregation, const struct bp_sample *sample,
	bool whole, struct share *ret_share)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	if (!bp_sample_is_meant(state, sample))
		return false;
	uint32_t charge = aggregation->profile->processes.data[sample->process.i].charge;
	struct bp_sample_weight all;
	struct bp_other_sums buffer;
	const struct bp_sample_weight *weight = bp_sample_weight_of_all(
		bp_sample_weight(&state->weights, sample, charge, query->usable), sample, &all);
	bool counted = whole || (bp_sample_metrics(state, sample) & 1u << query->metric) != 0;
	*ret_share = (struct share){ .bytes = weight->sums.bytes + weight->sums.c1,
		.objects = (double)weight->sums.samples + weight->sums.n1,
		.sums = weight->sums };
	if (bp_estimator_is_other(query->estimator)) {
		const struct bp_other_sums *other =
			bp_look_at_offset(query, sample, weight, &buffer);
		ret_share->bytes = other->bytes;
		ret_share->objects = other->objects;
	} else {
		ret_share->bytes += bp_figures_shift(aggregation, &weight->sums, false);
		ret_share->objects += bp_figures_shift(aggregation, &weight->sums, true);
	}
	return counted;
}

/* ---- entries ---- */

struct builder {
	struct bp_entry_options options;
	struct bp_entries entries;
	struct bp_id_index index;
};

static struct bp_entry *entry_of(struct builder *builder, const struct bp_sample *sample)
{
	struct bp_entries *entries = &builder->entries;
	const struct bp_entry wanted = { .stack = sample->stack,
		.thread = { builder->options.by_thread ? sample->thread.i : 0 },
		.size = builder->options.by_size ? sample->size : 0 };
	uint64_t key = (uint64_t)wanted.stack.i << 32 | wanted.thread.i;
	uint32_t hash = bp_hash_fold(bp_hash_word(bp_hash_word(11, key), wanted.size));
	uint32_t position = hash, number;
	while ((number = bp_id_index_next(&builder->index, hash, &position)) != 0) {
		struct bp_entry *entry = &entries->items[number - 1];
		if (entry->stack.i == wanted.stack.i && entry->thread.i == wanted.thread.i &&
			entry->size == wanted.size)
			return entry;
	}
	if (!bp_id_index_reserve(&builder->index) ||
		!bp_vec_reserve(&entries->items, &entries->capacity, entries->count + 1ull,
			sizeof *entries->items))
		return NULL;
	entries->items[entries->count++] = wanted;
	bp_id_index_add(&builder->index, hash, entries->count);
	return &entries->items[entries->count - 1];
}

static double lifetime_of(
	const struct bp_aggregation *aggregation, const struct bp_sample *sample, double objects)
{
	uint64_t death_ns = bp_view_death(&aggregation->state->view, sample).time_ns;
	return death_ns > sample->time_ns ? (double)(death_ns - sample->time_ns) * objects : 0;
}

static bool walk(struct builder *builder, const struct bp_aggregation *aggregation, unsigned number)
{
	const struct bp_profile *profile = aggregation->profile;
	struct share share;
	for (uint32_t i = 1; i < profile->samples.count; i++) {
		__builtin_prefetch(bp_samples_where(&profile->samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_profile_sample(profile, i);
		if (!share_of(aggregation, &sample, false, &share))
			continue;
		struct bp_entry *entry = entry_of(builder, &sample);
		if (entry == NULL)
			return false;
		struct bp_entry_figures *figures = &entry->metrics[number];
		figures->bytes += share.bytes;
		figures->objects += share.objects;
		if (number == 0)
			entry->lifetime_ns += lifetime_of(aggregation, &sample, share.objects);
		figures->samples += share.sums.samples;
		figures->bytes_variance += share.sums.c2;
		figures->objects_variance += share.sums.n2;
	}
	return true;
}

/* ---- scaling by rows ---- */

struct factor {
	double bytes, objects; /* first the sums of the entries, then what to multiply them by */
};

static uint32_t row_of(const struct bp_aggregation_state *state, struct bp_stack_id stack)
{
	return state->cell_rows[state->cells[state->cell_of[stack.i] - 1].first_row];
}

/* What to multiply a row's entries by, which weigh `sum` together. The report's estimate without
 * its limits, which take far longer and are not asked for; no less than what was sampled. */
static double factor_of(const struct bp_aggregation *aggregation, const struct bp_row_sums *row,
	enum bp_sort unit, double sum)
{
	struct bp_aggregation view = *aggregation; /* sorted by the unit */
	const struct bp_sums *sums = &row->tally.sums;
	view.query.sort = unit;
	const double estimate = bp_figures_order(&view, row);
	const double sampled = unit == BP_SORT_BYTES ? sums->bytes : (double)sums->samples;
	const bool bounded = !bp_estimator_is_other(aggregation->query.estimator);
	return sum > 0 ? (bounded ? fmax(estimate, sampled) : estimate) / sum : 1;
}

static bool scale(
	struct bp_entries *entries, const struct bp_aggregation *aggregation, unsigned number)
{
	const struct bp_aggregation_state *state = aggregation->state;
	struct factor *factors = calloc((size_t)state->row_count + 1, sizeof *factors);
	if (factors == NULL)
		return false;
	for (uint32_t i = 0; i < entries->count; i++) {
		const struct bp_entry_figures *figures = &entries->items[i].metrics[number];
		if (state->cell_of[entries->items[i].stack.i] == 0)
			continue;
		struct factor *factor = &factors[row_of(state, entries->items[i].stack)];
		factor->bytes += figures->bytes;
		factor->objects += figures->objects;
	}
	for (uint32_t i = 0; i < state->row_count; i++) {
		struct factor *factor = &factors[i];
		factor->bytes =
			factor_of(aggregation, &state->rows[i], BP_SORT_BYTES, factor->bytes);
		factor->objects =
			factor_of(aggregation, &state->rows[i], BP_SORT_OBJECTS, factor->objects);
	}
	for (uint32_t i = 0; i < entries->count; i++) {
		struct bp_entry_figures *figures = &entries->items[i].metrics[number];
		if (state->cell_of[entries->items[i].stack.i] == 0)
			continue;
		const struct factor *factor = &factors[row_of(state, entries->items[i].stack)];
		figures->bytes *= factor->bytes;
		figures->objects *= factor->objects;
	}
	free(factors);
	return true;
}

bool bp_entries_build(const struct bp_aggregation *const *aggregations, unsigned count,
	struct bp_entry_options options, struct bp_entries *ret_entries, struct bp_error *error)
{
	struct builder builder = { .options = options };
	bool good = true;
	for (unsigned i = 0; good && i < count && i < BP_ENTRY_METRICS; i++)
		good = aggregations[i] == NULL || walk(&builder, aggregations[i], i);
	for (unsigned i = 0; good && i < count && i < BP_ENTRY_METRICS; i++)
		good = aggregations[i] == NULL || scale(&builder.entries, aggregations[i], i);
	bp_id_index_finish(&builder.index);
	if (!good) {
		bp_entries_finish(&builder.entries);
		return bp_error_set(error, "out of memory");
	}
	*ret_entries = builder.entries;
	return true;
}

void bp_entries_finish(struct bp_entries *entries)
{
	free(entries->items);
	memset(entries, 0, sizeof *entries);
}

const struct bp_frame_id *bp_entry_frames(
	const struct bp_aggregation *aggregation, struct bp_stack_id stack, uint32_t *ret_count)
{
	return bp_attribution_frames(&aggregation->state->attribution, stack, ret_count);
}

/* ---- samples by themselves ---- */

bool bp_each_weighted_sample(const struct bp_aggregation *aggregation, bool whole,
	bool (*take)(void *context, const struct bp_weighted_sample *sample), void *context)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_view *view = &aggregation->state->view;
	struct share share;
	for (uint32_t i = 1; i < profile->samples.count; i++) {
		__builtin_prefetch(bp_samples_where(&profile->samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_profile_sample(profile, i);
		if (!share_of(aggregation, &sample, whole, &share))
			continue;
		if (whole && !bp_view_in_window(view, &sample))
			continue;
		const struct bp_process_view *process = &view->processes[sample.process.i];
		const struct bp_moment death = bp_view_death(view, &sample);
		/* What lives until its process ends was not freed, if that is when the run
		 * ended. */
		bool lived_on = bp_view_is_live(view, &sample, &process->live);
		struct bp_weighted_sample weighted = { .sample = &sample,
			.bytes = share.bytes,
			.objects = share.objects,
			.birth_ns = sample.time_ns > process->base_ns
					    ? sample.time_ns - process->base_ns
					    : 0,
			.death_ns = lived_on ? BP_TIME_NEVER
				    : death.time_ns > process->base_ns
					    ? death.time_ns - process->base_ns
					    : 0 };
		if (!take(context, &weighted))
			return false;
	}
	return true;
}

int64_t bp_round_next(struct bp_rounding *rounding, double value)
{
	rounding->exact += value > 0 ? value : 0;
	const double rounded = nearbyint(rounding->exact);
	const int64_t all = rounded < 0x1p63 ? (int64_t)rounded : INT64_MAX;
	const int64_t next = all - rounding->given;
	rounding->given = all;
	return next;
}
