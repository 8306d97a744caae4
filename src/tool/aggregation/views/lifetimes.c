/* SPDX-License-Identifier: MIT */
/*
 * Two walks over the samples: the first counts how many each row has, the second puts them beside
 * each other, row by row. Then each row is sorted by age, and asked for its figures, first in
 * bytes, then in objects. Ages in bytes are two limits, of time/byte_clock.h, and stand in an array
 * of their own.
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
#include "time/byte_clock.h"

const uint64_t bp_lifetime_ages[][BP_LIFETIME_AGES] = {
	[BP_AGE_NS] = { 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
		1000000000000 },
	[BP_AGE_BYTES] = { UINT64_C(1) << 12, UINT64_C(1) << 16, UINT64_C(1) << 20,
		UINT64_C(1) << 24, UINT64_C(1) << 28, UINT64_C(1) << 32, UINT64_C(1) << 36 },
};

/* The samples of the rows, and behind them those of all. */
struct gathered {
	struct bp_lifetime_entry *entries;
	struct bp_known_total *ages; /* of the entries, in bytes; NULL in ns */
	size_t *starts;		     /* by row; rows + 2 of them */
	uint32_t rows;
	bool complete;
	const struct bp_byte_clock *clocks; /* by process; NULL in ns */
	uint64_t resolution_ns;
	uint64_t longest;
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
			.age = until_ns > sample->time_ns ? until_ns - sample->time_ns : 0,
			.value = weight->value,
			.whole = weight->whole,
			.count = bp_sample_count(sample),
			.ended = freed,
		},
		.how = bp_samples_how_freed(&aggregation->profile->samples, number),
	};
}

static void put_at(struct gathered *gathered, size_t place, const struct bp_lifetime_entry *entry,
	const struct bp_known_total *age)
{
	gathered->entries[place] = *entry;
	if (gathered->ages != NULL)
		gathered->ages[place] = *age;
}

struct bp_known_total bp_lifetime_age_in_bytes(const struct bp_byte_clock *clock,
	uint64_t resolution_ns, const struct bp_sample *sample, struct bp_lifetime_entry *entry)
{
	const struct bp_known_total age = bp_byte_clock_between(
		clock, sample->time_ns, sample->time_ns + entry->lifetime.age, resolution_ns);
	entry->lifetime.age = age.high == UINT64_MAX ? age.low : age.low + (age.high - age.low) / 2;
	return age;
}

/* Into each row that the sample counts under, and into all; `places`: how many entries each has so
 * far. */
static void put(const struct bp_aggregation *aggregation, const struct bp_sample *sample,
	struct gathered *gathered, struct bp_lifetime_entry *entry, size_t *places)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const uint32_t number = bp_cell_of_sample(aggregation, sample);
	struct bp_known_total age = { 0 };
	if (gathered->clocks != NULL && gathered->entries != NULL)
		age = bp_lifetime_age_in_bytes(&gathered->clocks[sample->process.i],
			gathered->resolution_ns, sample, entry);
	if (entry->lifetime.age > gathered->longest)
		gathered->longest = entry->lifetime.age;
	for (uint32_t i = 0; number != UINT32_MAX && i < state->cells[number].row_count; i++) {
		const uint32_t row = state->cell_rows[state->cells[number].first_row + i];
		const uint32_t place = state->rows[row].place;
		if (place >= gathered->rows)
			continue;
		if (gathered->entries != NULL)
			put_at(gathered, gathered->starts[place] + places[place], entry, &age);
		places[place]++;
	}
	if (gathered->entries != NULL)
		put_at(gathered, gathered->starts[gathered->rows] + places[gathered->rows], entry,
			&age);
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
		struct bp_lifetime_entry entry =
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
		if (gathered->clocks != NULL)
			gathered->ages =
				calloc(gathered->starts[rows + 1] + 1, sizeof *gathered->ages);
		good = gathered->entries != NULL &&
		       (gathered->clocks == NULL || gathered->ages != NULL);
	}
	gathered->longest = 0;
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

/* The samples of a row, in the unit that is asked for. */
struct row_samples {
	struct bp_lifetime *all; /* sorted by age */
	size_t count;
	struct bp_lifetime *freed; /* whose threads are known; `ended`: by another */
	size_t freed_count;
	struct bp_lifetime *placed; /* whose processors are known; `ended`: on another */
	size_t placed_count;
	struct bp_lifetimes_between between; /* all again, by their ages in bytes; else empty */
};

static void take_figures(const struct bp_aggregation *aggregation,
	const struct row_samples *samples, double unseen, struct bp_lifetime_figures *to)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const bool in_bytes = samples->between.by_low != NULL;
	const uint64_t *ages = bp_lifetime_ages[in_bytes ? BP_AGE_BYTES : BP_AGE_NS];
	struct bp_interval shares[BP_LIFETIME_AGES];
	if (in_bytes)
		bp_lifetime_shares_between(
			&samples->between, unseen, state->alpha, ages, BP_LIFETIME_AGES, shares);
	else
		bp_lifetime_shares(samples->all, samples->count, unseen, state->alpha, ages,
			BP_LIFETIME_AGES, shares);
	for (unsigned i = 0; i < BP_LIFETIME_AGES; i++)
		to->freed_within[i] = as_figure(state, shares[i]);
	to->median =
		in_bytes ? bp_lifetime_median_between(&samples->between, unseen, state->alpha)
			 : bp_lifetime_median(samples->all, samples->count, unseen, state->alpha);
	to->by_another = as_figure(state,
		bp_lifetime_ended(samples->freed, samples->freed_count, unseen, state->alpha));
	to->on_another = as_figure(state,
		bp_lifetime_ended(samples->placed, samples->placed_count, unseen, state->alpha));
	to->by_another.lower_bound = to->on_another.lower_bound = false;
}

static void to_objects(struct row_samples *samples)
{
	const struct bp_lifetimes_between *between = &samples->between;
	for (size_t i = 0; i < samples->count; i++)
		samples->all[i].value = 1;
	for (size_t i = 0; i < samples->freed_count; i++)
		samples->freed[i].value = 1;
	for (size_t i = 0; i < samples->placed_count; i++)
		samples->placed[i].value = 1;
	for (size_t i = 0; i < between->count; i++)
		between->by_low[i].lifetime.value = between->by_high[i].lifetime.value = 1;
}

/* Room for the samples of any row. */
struct room {
	/* twice as many, as many again with processors, and as many again in bytes */
	struct bp_lifetime *lifetimes;
	bool processors;
	struct bp_lifetime_between *between; /* twice as many; NULL in ns */
};

static struct bp_lifetimes_between as_between(const struct bp_lifetime_entry *entries,
	const struct bp_known_total *ages, size_t count, const struct room *room)
{
	struct bp_lifetimes_between between = { .by_low = room->between,
		.by_high = room->between + count,
		.buffer = room->lifetimes + (room->processors ? 3 : 2) * count,
		.count = count };
	for (size_t i = 0; i < count; i++)
		between.by_low[i] = between.by_high[i] = (struct bp_lifetime_between){
			.lifetime = entries[i].lifetime, .low = ages[i].low, .high = ages[i].high
		};
	bp_lifetimes_between_sort(&between);
	return between;
}

/* `ages` are those of the entries, in bytes; NULL in ns. */
static void take_row(const struct bp_aggregation *aggregation,
	const struct bp_lifetime_entry *entries, const struct bp_known_total *ages, size_t count,
	struct bp_lifetime_unseen unseen, const struct room *room, struct bp_row_lifetimes *ret_row)
{
	struct row_samples samples = { .all = room->lifetimes,
		.count = count,
		.freed = room->lifetimes + count,
		.placed = room->lifetimes + 2 * count };
	struct bp_row_lifetimes row = { 0 };
	if (ages != NULL)
		samples.between = as_between(entries, ages, count, room);
	for (size_t i = 0; i < count; i++) {
		const struct bp_lifetime_entry *entry = &entries[i];
		const uint32_t alike = entry->lifetime.count;
		row.samples += alike;
		row.freed += entry->lifetime.ended ? alike : 0;
		/* An object of no bytes has no share of the bytes, and is kept for the objects. */
		samples.all[i] = entry->lifetime;
		if (!entry->lifetime.ended)
			continue;
		if (bp_lifetime_threads_known(entry)) {
			row.threads += alike;
			samples.freed[samples.freed_count++] =
				bp_lifetime_as_share(entry, BP_FREED_BY_ANOTHER);
		}
		if (room->processors && bp_lifetime_processors_known(entry))
			samples.placed[samples.placed_count++] =
				bp_lifetime_as_share(entry, BP_FREED_ON_ANOTHER_PROCESSOR);
	}
	take_figures(aggregation, &samples, unseen.bytes, &row.bytes);
	to_objects(&samples);
	take_figures(aggregation, &samples, unseen.objects, &row.objects);
	*ret_row = row;
}

/* The figures of row `i`, or of all where `i` is the number of rows. */
static void take(const struct bp_aggregation *aggregation, const struct gathered *gathered,
	uint32_t i, const struct room *room, struct bp_row_lifetimes *ret_row)
{
	const bool is_row = i < gathered->rows;
	struct bp_lifetime_entry *entries = gathered->entries + gathered->starts[i];
	const struct bp_known_total *ages =
		gathered->ages != NULL ? gathered->ages + gathered->starts[i] : NULL;
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
	if (ages == NULL)
		qsort(entries, count, sizeof *entries, bp_lifetime_compare);
	take_row(aggregation, entries, ages, count,
		bp_lifetime_unseen_of(aggregation, &objects, sums, size), room, ret_row);
}

static bool take_all(const struct bp_aggregation *aggregation, const struct gathered *gathered,
	struct bp_lifetimes *to, struct bp_error *error)
{
	size_t most = 0;
	for (uint32_t i = 0; i <= gathered->rows; i++)
		if (gathered->starts[i + 1] - gathered->starts[i] > most)
			most = gathered->starts[i + 1] - gathered->starts[i];
	const bool in_bytes = gathered->ages != NULL;
	const size_t times = 2u + to->processors + in_bytes;
	struct room room = { .lifetimes = calloc(times * most + 1, sizeof *room.lifetimes),
		.processors = to->processors,
		.between = in_bytes ? calloc(2 * most + 1, sizeof *room.between) : NULL };
	to->rows = calloc((size_t)gathered->rows + 1, sizeof *to->rows);
	to->row_count = gathered->rows;
	to->longest = gathered->longest;
	const bool good =
		room.lifetimes != NULL && (!in_bytes || room.between != NULL) && to->rows != NULL;
	for (uint32_t i = 0; good && i < gathered->rows; i++)
		take(aggregation, gathered, i, &room, &to->rows[i]);
	if (good)
		take(aggregation, gathered, gathered->rows, &room, &to->all);
	free(room.lifetimes);
	free(room.between);
	return good || bp_error_set(error, "out of memory");
}

static int compare_widths(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

uint64_t bp_lifetime_width(uint64_t *widths, size_t count)
{
	if (count == 0)
		return 0;
	qsort(widths, count, sizeof *widths, compare_widths);
	return widths[count * 9 / 10];
}

/* How exactly ages in bytes are known, of all samples that are selected: the .9-quantile. */
static bool take_width(
	const struct gathered *gathered, struct bp_lifetimes *to, struct bp_error *error)
{
	const size_t first = gathered->starts[gathered->rows];
	const size_t count = gathered->starts[gathered->rows + 1] - first;
	uint64_t *widths = calloc(count + 1, sizeof *widths);
	if (widths == NULL)
		return bp_error_set(error, "out of memory");
	for (size_t i = 0; i < count; i++) {
		widths[i] = bp_lifetime_width_of(&gathered->ages[first + i]);
	}
	to->width = bp_lifetime_width(widths, count);
	free(widths);
	return true;
}

bool bp_lifetimes_make(const struct bp_aggregation *aggregation, uint32_t rows, bool complete,
	enum bp_age_unit unit, struct bp_lifetimes *ret_lifetimes, struct bp_error *error)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_view *view = &aggregation->state->view;
	struct bp_lifetimes made = { .unit = unit,
		.processors = profile->samples.freed_on != NULL,
		.resolution_ns = bp_age_resolution_ns(aggregation) };
	struct gathered gathered = {
		.rows = rows, .complete = complete, .resolution_ns = made.resolution_ns
	};
	struct bp_byte_clock *clocks = NULL;
	if (aggregation->state->lacks & BP_LACKS_TIMES || aggregation->lacks & BP_LACKS_FREES ||
		(unit == BP_AGE_BYTES && profile->readings.count == 0)) {
		*ret_lifetimes = made;
		return true;
	}
	made.known = true;
	if (unit == BP_AGE_BYTES)
		gathered.clocks = clocks = bp_byte_clocks_make(view, error);
	const bool good = (unit == BP_AGE_NS || clocks != NULL) &&
			  gather(aggregation, &gathered, error) &&
			  take_all(aggregation, &gathered, &made, error) &&
			  (clocks == NULL || take_width(&gathered, &made, error));
	bp_byte_clocks_finish(clocks, view);
	free(gathered.entries);
	free(gathered.ages);
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
