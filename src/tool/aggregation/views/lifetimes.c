/* SPDX-License-Identifier: MIT */
/*
 * Two walks over the samples: the first counts how many each row has, the second puts them beside
 * each other, row by row. Then each row is sorted by age, and asked for its figures, first in
 * bytes, then in objects.
 *
 * What may be there unseen (docs/statistics.md, "Lifetimes"): of bytes 1/lambda. Of objects 1/pi of
 * the smallest size that can occur. But the row has an upper limit of its objects, which comes from
 * the counted total, and objects like those that were sampled have a lower limit: what is unseen is
 * not taken to be more than lies between the two.
 */
#include "aggregation/views/lifetimes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "aggregation/views/distribution.h"

const uint64_t bp_lifetime_ages_ns[BP_LIFETIME_AGES] = { 1000000, 10000000, 100000000, 1000000000,
	10000000000, 100000000000, 1000000000000 };

/* The samples of the rows, and behind them those of all. */
struct gathered {
	struct bp_lifetime_entry *entries;
	size_t *starts; /* by row; rows + 2 of them */
	uint32_t rows;
	bool complete;
	uint64_t longest_ns;
};

struct bp_lifetime_entry bp_lifetime_entry_of(const struct bp_aggregation *aggregation,
	uint32_t number, const struct bp_sample *sample, const struct bp_sample_weight *weight)
{
	const struct bp_view *view = &aggregation->state->view;
	const struct bp_process_view *process = &view->processes[sample->process.i];
	uint64_t end_ns = process->end_ns;
	if (aggregation->query.has_to && view->to_ns < end_ns - process->base_ns)
		end_ns = process->base_ns + view->to_ns;
	const bool freed = sample->free_time_ns != BP_TIME_NEVER && sample->free_time_ns <= end_ns;
	const uint64_t until_ns = freed ? sample->free_time_ns : end_ns;
	return (struct bp_lifetime_entry){
		.lifetime = {
			.age_ns = until_ns > sample->time_ns ? until_ns - sample->time_ns : 0,
			.value = weight->value,
			.whole = weight->whole,
			.count = bp_sample_count(sample),
			.ended = freed,
		},
		.how = bp_samples_how_freed(&aggregation->profile->samples, number),
	};
}

/* Calls for each row that the sample counts under, and for all; `places`: how many entries each has
 * so far. */
static void put(const struct bp_aggregation *aggregation, const struct bp_sample *sample,
	struct gathered *gathered, const struct bp_lifetime_entry *entry, size_t *places)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const uint32_t number = bp_cell_of_sample(aggregation, sample);
	if (entry->lifetime.age_ns > gathered->longest_ns)
		gathered->longest_ns = entry->lifetime.age_ns;
	for (uint32_t i = 0; number != UINT32_MAX && i < state->cells[number].row_count; i++) {
		const uint32_t row = state->cell_rows[state->cells[number].first_row + i];
		const uint32_t place = state->rows[row].place;
		if (place >= gathered->rows)
			continue;
		if (gathered->entries != NULL)
			gathered->entries[gathered->starts[place] + places[place]] = *entry;
		places[place]++;
	}
	if (gathered->entries != NULL)
		gathered->entries[gathered->starts[gathered->rows] + places[gathered->rows]] =
			*entry;
	places[gathered->rows]++;
}

static void walk(
	const struct bp_aggregation *aggregation, struct gathered *gathered, size_t *places)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_samples *samples = &profile->samples;
	memset(places, 0, ((size_t)gathered->rows + 1) * sizeof *places);
	for (uint32_t i = 1; i < samples->count; i++) {
		__builtin_prefetch(bp_samples_where(samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_samples_get(samples, i);
		if (!bp_sample_is_meant(state, &sample) ||
			!bp_view_in_window(&state->view, &sample))
			continue;
		const struct bp_sample_weight *weight = bp_sample_weight(&state->weights, &sample,
			profile->processes.data[sample.process.i].charge,
			aggregation->query.usable);
		const struct bp_lifetime_entry entry =
			bp_lifetime_entry_of(aggregation, i, &sample, weight);
		if (entry.lifetime.ended || !gathered->complete)
			put(aggregation, &sample, gathered, &entry, places);
	}
}

static bool gather(
	const struct bp_aggregation *aggregation, struct gathered *gathered, struct bp_error *error)
{
	const uint32_t rows = gathered->rows;
	size_t *places = calloc((size_t)rows + 1, sizeof *places);
	gathered->starts = calloc((size_t)rows + 2, sizeof *gathered->starts);
	bool good = places != NULL && gathered->starts != NULL;
	if (good) {
		walk(aggregation, gathered, places);
		for (uint32_t i = 0; i <= rows; i++)
			gathered->starts[i + 1] = gathered->starts[i] + places[i];
		gathered->entries =
			calloc(gathered->starts[rows + 1] + 1, sizeof *gathered->entries);
		good = gathered->entries != NULL;
	}
	if (good)
		walk(aggregation, gathered, places);
	free(places);
	return good || bp_error_set(error, "out of memory");
}

struct bp_lifetime_unseen bp_lifetime_unseen_of(const struct bp_aggregation *aggregation,
	const struct bp_interval *objects, const struct bp_sums *sums, uint64_t size)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const uint64_t interval = state->interval_unseen;
	const uint64_t size_min = size > state->size_min ? size : state->size_min;
	if (interval <= 1)
		return (struct bp_lifetime_unseen){ 0, 0 };
	struct bp_lifetime_unseen unseen = {
		.bytes = (aggregation->query.usable ? state->ratio_max : 1) / bp_lambda(interval),
		.objects =
			1 / bp_inclusion_probability(bp_trials(size_min, state->charge), interval),
	};
	const struct bp_interval sampled =
		bp_figures_of_sums(aggregation, sums, true, state->alpha);
	/* The unit is the mean of an exponential distribution, whose upper limit is so many times
	 * its mean. */
	const double most = (objects->high - sampled.low) / log(2 / state->alpha);
	if (most < unseen.objects)
		unseen.objects = fmax(most, 1);
	return unseen;
}

static struct bp_figure as_figure(
	const struct bp_aggregation_state *state, struct bp_interval share)
{
	struct bp_figure figure = { .interval = share, .lower_bound = state->lost_frees };
	if (state->lost_frees)
		figure.interval.exact = false;
	return figure;
}

static void take_figures(const struct bp_aggregation *aggregation, const struct bp_lifetime *all,
	size_t count, const struct bp_lifetime *freed, size_t freed_count, double unseen,
	struct bp_lifetime_figures *to)
{
	const struct bp_aggregation_state *state = aggregation->state;
	struct bp_interval shares[BP_LIFETIME_AGES];
	bp_lifetime_shares(
		all, count, unseen, state->alpha, bp_lifetime_ages_ns, BP_LIFETIME_AGES, shares);
	for (unsigned i = 0; i < BP_LIFETIME_AGES; i++)
		to->freed_within[i] = as_figure(state, shares[i]);
	to->median_ns = bp_lifetime_median(all, count, unseen, state->alpha);
	to->by_another =
		as_figure(state, bp_lifetime_ended(freed, freed_count, unseen, state->alpha));
	to->by_another.lower_bound = false;
}

static void to_objects(struct bp_lifetime *lifetimes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		lifetimes[i].value = 1;
}

/* `buffer` has room for twice as many. */
static void take_row(const struct bp_aggregation *aggregation,
	const struct bp_lifetime_entry *entries, size_t count, struct bp_lifetime_unseen unseen,
	struct bp_lifetime *buffer, struct bp_row_lifetimes *ret_row)
{
	struct bp_lifetime *all = buffer, *freed = buffer + count;
	size_t size = 0, freed_size = 0;
	struct bp_row_lifetimes row = { 0 };
	for (size_t i = 0; i < count; i++) {
		const struct bp_lifetime_entry *entry = &entries[i];
		const uint32_t samples = entry->lifetime.count;
		row.samples += samples;
		row.freed += entry->lifetime.ended ? samples : 0;
		/* An object of no bytes has no share of the bytes, and is kept for the objects. */
		all[size++] = entry->lifetime;
		if (!entry->lifetime.ended ||
			!(entry->how & (BP_FREED_BY_ITS_THREAD | BP_FREED_BY_ANOTHER)))
			continue;
		row.threads += samples;
		freed[freed_size] = entry->lifetime;
		freed[freed_size++].ended = (entry->how & BP_FREED_BY_ANOTHER) != 0;
	}
	take_figures(aggregation, all, size, freed, freed_size, unseen.bytes, &row.bytes);
	to_objects(all, size);
	to_objects(freed, freed_size);
	take_figures(aggregation, all, size, freed, freed_size, unseen.objects, &row.objects);
	*ret_row = row;
}

/* The figures of row `i`, or of all where `i` is the number of rows. */
static void take(const struct bp_aggregation *aggregation, const struct gathered *gathered,
	uint32_t i, struct bp_lifetime *buffer, struct bp_row_lifetimes *ret_row)
{
	const bool is_row = i < gathered->rows;
	struct bp_lifetime_entry *entries = gathered->entries + gathered->starts[i];
	const size_t count = gathered->starts[i + 1] - gathered->starts[i];
	struct bp_interval objects = aggregation->totals[BP_METRIC_ALLOCATED].objects.interval;
	const struct bp_sums *sums = bp_aggregation_total_sums(aggregation, BP_METRIC_ALLOCATED);
	uint64_t size = 0;
	if (is_row) {
		struct bp_row row;
		bp_aggregation_row(aggregation, i, &row);
		objects = row.objects.interval;
		const struct bp_row_sums *kept =
			&aggregation->state->rows[aggregation->state->order[i]];
		sums = &kept->tally.sums;
		if (aggregation->query.by == BP_KEY_SIZE)
			size = kept->a;
	}
	qsort(entries, count, sizeof *entries, bp_lifetime_compare);
	take_row(aggregation, entries, count,
		bp_lifetime_unseen_of(aggregation, &objects, sums, size), buffer, ret_row);
}

static bool take_all(const struct bp_aggregation *aggregation, const struct gathered *gathered,
	struct bp_lifetimes *to, struct bp_error *error)
{
	size_t most = 0;
	for (uint32_t i = 0; i <= gathered->rows; i++)
		if (gathered->starts[i + 1] - gathered->starts[i] > most)
			most = gathered->starts[i + 1] - gathered->starts[i];
	struct bp_lifetime *buffer = calloc(2 * most + 1, sizeof *buffer);
	to->rows = calloc((size_t)gathered->rows + 1, sizeof *to->rows);
	to->row_count = gathered->rows;
	to->longest_ns = gathered->longest_ns;
	const bool good = buffer != NULL && to->rows != NULL;
	for (uint32_t i = 0; good && i < gathered->rows; i++)
		take(aggregation, gathered, i, buffer, &to->rows[i]);
	if (good)
		take(aggregation, gathered, gathered->rows, buffer, &to->all);
	free(buffer);
	return good || bp_error_set(error, "out of memory");
}

bool bp_lifetimes_make(const struct bp_aggregation *aggregation, uint32_t rows, bool complete,
	struct bp_lifetimes *ret_lifetimes, struct bp_error *error)
{
	struct bp_lifetimes made = { 0 };
	struct gathered gathered = { .rows = rows, .complete = complete };
	made.resolution_ns = bp_age_resolution_ns(aggregation);
	if (aggregation->state->lacks & BP_LACKS_TIMES || aggregation->lacks & BP_LACKS_FREES) {
		*ret_lifetimes = made;
		return true;
	}
	made.known = true;
	const bool good = gather(aggregation, &gathered, error) &&
			  take_all(aggregation, &gathered, &made, error);
	free(gathered.entries);
	free(gathered.starts);
	if (good)
		*ret_lifetimes = made;
	else
		bp_lifetimes_finish(&made);
	return good;
}

void bp_lifetimes_finish(struct bp_lifetimes *lifetimes)
{
	free(lifetimes->rows);
	memset(lifetimes, 0, sizeof *lifetimes);
}
