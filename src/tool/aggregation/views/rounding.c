/* SPDX-License-Identifier: MIT */
/*
 * Two walks over the samples for each of the two tables: the first one estimates what each row
 * loses, which is what rows are chosen by, and the second one sums up all that figures are made of.
 *
 * The interval of what is lost is N3's of a value other than the size. Its unseen unit is that of
 * an object of no bytes, of which glibc gives 24, for one trial: small objects of which none was
 * sampled would make the upper limit as wide as 24 T. But the number of objects has an upper limit
 * that comes from the counted total. So the limit is the less of N3's and
 *
 *	24 N - sum of (24 - w) over objects that lose less than 24 bytes
 *	     + sum of (w - 24) over those that lose more
 *
 * with the upper limit of N, the lower limit of the first sum, which needs no unseen unit, and the
 * upper limit of the last one, whose unseen unit has few bytes for each trial: what loses more than
 * 24 bytes is large (docs/statistics.md, "Rounding").
 */
#include "aggregation/views/rounding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "base/path.h"
#include "base/vec.h"

/* The most that a small object loses: glibc gives 24 bytes for none. */
#define LOST_SMALL 24
/* And the most that any object in glibc's heap loses: the remainder of a free block that is too
 * small to be one is added, 16 bytes. Of an object in a slot the remainder is not seen. */
#define LOST_IN_HEAP 40
/* What loses more loses at most this part of its size: jemalloc has four classes for each power of
 * two, and most have more. Aligned objects may lose more than that; the largest part that was seen
 * is taken, where it is larger. */
static const double lost_part = 0.25;

/* What figures are made of. */
struct sums {
	struct bp_tally asked, lost, below, above;
	uint64_t samples, unknown;
	uint32_t allocator; /* of the samples that were not aligned */
	bool has_allocator, several_allocators, aligned;
};

/* The rows that are shown, and behind them all. */
struct groups {
	const struct bp_aggregation *aggregation;
	double *order;	    /* by place: what is lost, estimated */
	uint32_t *places;   /* of the aggregation; once chosen, those that are shown, most first */
	uint32_t *group_of; /* by place: number of the group and 1; 0: not shown */
	uint32_t shown;
	struct sums *sums; /* shown + 1 */
	uint64_t small;	   /* the most that a small object loses */
	bool failed;	   /* no memory */
};

/* A way to ask the aggregation for figures of other values than sizes. */
struct lens {
	struct bp_aggregation aggregation;
	struct bp_aggregation_state *state; /* a copy that borrows everything */
	double small;			    /* the most that a small object loses */
	double part;			    /* what an object loses that loses more, by trial */
};

static bool is_glibc(const char *allocator)
{
	const char *name = bp_last_part(allocator);
	return strncmp(name, "libc.", 5) == 0 || strncmp(name, "libc-", 5) == 0;
}

/* The most that a small object loses in the processes that are looked at. */
static uint64_t small_of(const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (aggregation->state->view.processes[i].included && !process->samples_in_slots &&
			is_glibc(bp_profile_text(profile, process->allocator)))
			return LOST_IN_HEAP;
	}
	return LOST_SMALL;
}

static uint64_t lost_of(uint64_t size, uint64_t usable)
{
	return usable > size ? usable - size : 0;
}

/* ---- walks ---- */

/* Calls `take` for each row that a selected sample counts under, by its place, and for all, whose
 * place is the number of rows. */
static void walk(struct groups *groups,
	void (*take)(struct groups *groups, uint32_t place, const struct bp_sample *sample))
{
	const struct bp_aggregation *aggregation = groups->aggregation;
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_samples *samples = &aggregation->profile->samples;
	for (uint32_t i = 1; i < samples->count; i++) {
		__builtin_prefetch(bp_samples_where(samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_samples_get(samples, i);
		if (!bp_sample_is_meant(state, &sample) ||
			!(bp_sample_metrics(state, &sample) & 1u << aggregation->query.metric))
			continue;
		const uint32_t number = bp_cell_of_sample(aggregation, &sample);
		for (uint32_t j = 0; number != UINT32_MAX && j < state->cells[number].row_count;
			j++) {
			const uint32_t row = state->cell_rows[state->cells[number].first_row + j];
			if (state->rows[row].place < aggregation->row_count)
				take(groups, state->rows[row].place, &sample);
		}
		take(groups, aggregation->row_count, &sample);
	}
}

static uint32_t charge_of(const struct groups *groups, const struct bp_sample *sample)
{
	return groups->aggregation->profile->processes.data[sample->process.i].charge;
}

static void take_order(struct groups *groups, uint32_t place, const struct bp_sample *sample)
{
	const struct bp_sample_weight *weight = bp_sample_weight(
		&groups->aggregation->state->weights, sample, charge_of(groups, sample), false);
	if (sample->usable != 0)
		groups->order[place] += (double)lost_of(sample->size, sample->usable) *
					weight->whole * bp_sample_count(sample);
}

static bool add(struct groups *groups, struct bp_tally *tally, const struct bp_sample *sample,
	uint64_t value, unsigned size_class)
{
	struct bp_sums one = { 0 };
	bp_sums_add(&one, (double)value, sample->size, charge_of(groups, sample), sample->interval,
		sample->exact);
	one = bp_sums_times(&one, bp_sample_count(sample));
	/* (The aggregation says better what T bounds what may be there unseen.) */
	one.interval_max = 0;
	return bp_tally_add(tally, &one, size_class);
}

static void note_allocator(
	const struct groups *groups, struct sums *sums, const struct bp_sample *sample)
{
	const uint32_t allocator =
		groups->aggregation->profile->processes.data[sample->process.i].allocator.i;
	if (sample->kind == BP_PROFILE_KIND_ALIGNED) {
		sums->aligned = true;
		return;
	}
	sums->several_allocators =
		sums->several_allocators || (sums->has_allocator && sums->allocator != allocator);
	sums->allocator = allocator;
	sums->has_allocator = true;
}

static void take_sums(struct groups *groups, uint32_t place, const struct bp_sample *sample)
{
	const uint32_t number = groups->group_of[place];
	if (number == 0)
		return;
	struct sums *sums = &groups->sums[number - 1];
	if (sample->usable == 0) {
		sums->unknown += bp_sample_count(sample);
		return;
	}
	const uint64_t lost = lost_of(sample->size, sample->usable);
	const unsigned class = bp_sample_weight(
		&groups->aggregation->state->weights, sample, charge_of(groups, sample), false)
				       ->size_class;
	sums->samples += bp_sample_count(sample);
	note_allocator(groups, sums, sample);
	if (!add(groups, &sums->asked, sample, sample->size, class) ||
		!add(groups, &sums->lost, sample, lost, class) ||
		!add(groups, &sums->below, sample, lost < groups->small ? groups->small - lost : 0,
			class) ||
		!add(groups, &sums->above, sample, lost > groups->small ? lost - groups->small : 0,
			class))
		groups->failed = true;
}

/* ---- the rows that are shown ---- */

static int compare_places(const void *left, const void *right, void *context)
{
	const struct groups *groups = context;
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const int order = bp_figures_compare_order(groups->order[a], groups->order[b]);
	return order != 0 ? order : a < b ? -1 : a > b;
}

static void finish_groups(struct groups *groups)
{
	for (uint32_t i = 0; groups->sums != NULL && i <= groups->shown; i++) {
		bp_tally_finish(&groups->sums[i].asked);
		bp_tally_finish(&groups->sums[i].lost);
		bp_tally_finish(&groups->sums[i].below);
		bp_tally_finish(&groups->sums[i].above);
	}
	free(groups->order);
	free(groups->places);
	free(groups->group_of);
	free(groups->sums);
}

static bool make_groups(const struct bp_aggregation *aggregation, uint32_t rows,
	struct groups *groups, struct bp_error *error)
{
	const uint32_t count = aggregation->row_count;
	groups->aggregation = aggregation;
	groups->small = small_of(aggregation);
	groups->shown = rows < count ? rows : count;
	groups->order = calloc((size_t)count + 1, sizeof *groups->order);
	groups->places = calloc((size_t)count + 1, sizeof *groups->places);
	groups->group_of = calloc((size_t)count + 1, sizeof *groups->group_of);
	groups->sums = calloc((size_t)groups->shown + 1, sizeof *groups->sums);
	if (groups->order == NULL || groups->places == NULL || groups->group_of == NULL ||
		groups->sums == NULL)
		return bp_error_set(error, "out of memory");
	walk(groups, take_order);
	for (uint32_t i = 0; i < count; i++)
		groups->places[i] = i;
	qsort_r(groups->places, count, sizeof *groups->places, compare_places, groups);
	for (uint32_t i = 0; i < groups->shown; i++)
		groups->group_of[groups->places[i]] = i + 1;
	groups->group_of[count] = groups->shown + 1;
	walk(groups, take_sums);
	return !groups->failed || bp_error_set(error, "out of memory");
}

/* ---- figures ---- */

/* `ratio`: the largest value per trial that can occur. */
static struct bp_figure value_figure(struct lens *lens, const struct bp_tally *tally, double ratio)
{
	struct bp_row row;
	lens->state->ratio_max = ratio;
	bp_figures_of_tally(&lens->aggregation, tally, NULL, &row);
	return row.bytes;
}

/* The largest part of a trial that an object of this size, or a larger one, loses. */
static double largest_ratio(const struct lens *lens, uint64_t size)
{
	const double small = lens->small / (double)bp_trials(size, lens->state->charge);
	return fmax(small, lens->part);
}

/* lost / (asked + lost), with the limits that follow from those of the two; not known where nothing
 * was `sampled`. */
static struct bp_figure share_figure(
	const struct bp_figure *lost, const struct bp_figure *asked, bool sampled)
{
	const struct bp_interval *w = &lost->interval, *k = &asked->interval;
	struct bp_figure share = { .interval = { NAN, 0, 1, false, true } };
	if (!sampled)
		return share;
	if (w->high > 0 || k->low > 0) {
		share.interval.low = w->low > 0 ? w->low / (w->low + k->high) : 0;
		share.interval.high = w->high / (w->high + k->low);
	}
	if (k->unknown || !(w->estimate + k->estimate > 0))
		return share;
	share.interval.estimate = w->estimate / (w->estimate + k->estimate);
	share.interval.unknown = false;
	share.interval.exact = w->exact && k->exact;
	return share;
}

/* `size`: the smallest one that can be among these. */
static void take_figures(struct lens *lens, const struct sums *sums, uint64_t size,
	const struct bp_figure *asked, const struct bp_figure *objects,
	struct bp_rounding_figures *ret_figures)
{
	const double ratio = largest_ratio(lens, size);
	struct bp_rounding_figures figures = { .samples = sums->samples,
		.unknown_samples = sums->unknown,
		.asked = *asked,
		.objects = *objects };
	figures.lost = value_figure(lens, &sums->lost, ratio);
	if (!figures.lost.interval.exact) {
		const struct bp_figure below = value_figure(lens, &sums->below, ratio);
		const struct bp_figure above = value_figure(lens, &sums->above, lens->part);
		const double most = lens->small * objects->interval.high - below.interval.low +
				    above.interval.high;
		struct bp_interval *lost = &figures.lost.interval;
		if (most < lost->high)
			lost->high = fmax(most, lost->estimate);
	}
	/* What was asked for where it is not known what was given is no part of the share. */
	const struct bp_figure known =
		sums->unknown > 0 ? value_figure(lens, &sums->asked, 1) : *asked;
	figures.share = share_figure(&figures.lost, &known, sums->samples > 0);
	*ret_figures = figures;
}

static void take_all(
	struct lens *lens, const struct groups *groups, struct bp_rounding_figures *ret_figures)
{
	const struct bp_aggregation *aggregation = groups->aggregation;
	const enum bp_metric metric = aggregation->query.metric;
	const struct bp_total *total =
		metric == BP_METRIC_PEAK ? &aggregation->peak_moment : &aggregation->totals[metric];
	take_figures(lens, &groups->sums[groups->shown], lens->aggregation.size_min, &total->bytes,
		&total->objects, ret_figures);
}

static bool begin_lens(const struct bp_aggregation *aggregation, double part, struct lens *lens,
	struct bp_error *error)
{
	lens->aggregation = *aggregation;
	lens->part = part;
	lens->small = (double)small_of(aggregation);
	lens->state = malloc(sizeof *lens->state);
	if (lens->state == NULL)
		return bp_error_set(error, "out of memory");
	*lens->state = *aggregation->state;
	lens->aggregation.state = lens->state;
	lens->aggregation.query.usable = true;
	return true;
}

/* ---- the two tables ---- */

static bool take_rows(const struct bp_aggregation *aggregation, uint32_t rows, double part,
	struct bp_rounding *to, struct bp_error *error)
{
	struct groups groups = { 0 };
	struct lens lens = { 0 };
	bool good = make_groups(aggregation, rows, &groups, error) &&
		    begin_lens(aggregation, part, &lens, error);
	to->rows = good ? calloc((size_t)groups.shown + 1, sizeof *to->rows) : NULL;
	if (good && to->rows == NULL)
		good = bp_error_set(error, "out of memory");
	for (uint32_t i = 0; good && i < groups.shown; i++) {
		struct bp_row row;
		to->rows[i].row = groups.places[i];
		bp_aggregation_row(aggregation, groups.places[i], &row);
		uint64_t size = aggregation->size_min;
		if (aggregation->query.by == BP_KEY_SIZE)
			size = aggregation->state->rows[aggregation->state->order[groups.places[i]]]
				       .a;
		take_figures(&lens, &groups.sums[i], size, &row.bytes, &row.objects,
			&to->rows[i].figures);
	}
	if (good) {
		take_all(&lens, &groups, &to->all);
		to->row_count = groups.shown;
		to->rows_left_out = aggregation->row_count - groups.shown;
	}
	free(lens.state);
	finish_groups(&groups);
	return good;
}

static struct bp_figure times(const struct bp_figure *figure, double factor)
{
	struct bp_figure product = *figure;
	product.interval.estimate *= factor;
	product.interval.low *= factor;
	product.interval.high *= factor;
	return product;
}

static void take_advice(const struct bp_usable_sizes *learned, const struct sums *sums,
	struct bp_rounding_size *size)
{
	const struct bp_interval nothing = { 0, 0, 0, true, false };
	size->several_allocators = sums->several_allocators;
	size->aligned = sums->samples > 0 && !sums->has_allocator;
	size->saved = (struct bp_figure){ .interval = nothing };
	if (size->several_allocators || !sums->has_allocator)
		return;
	size->advice = bp_usable_sizes_advice(learned, sums->allocator, size->size);
	if (size->advice.saved > 0)
		size->saved = times(&size->figures.objects, (double)size->advice.saved);
	/* Then it is not known of how many of the objects the advice is. */
	if (size->advice.saved > 0 && (sums->unknown > 0 || sums->aligned)) {
		size->saved.interval.estimate = NAN;
		size->saved.interval.unknown = true;
		size->saved.interval.exact = false;
		size->saved.interval.low = 0;
	}
}

static bool take_sizes(const struct bp_aggregation *by_size, uint32_t rows, double part,
	const struct bp_usable_sizes *learned, struct bp_rounding *to, struct bp_error *error)
{
	struct groups groups = { 0 };
	struct lens lens = { 0 };
	bool good = make_groups(by_size, rows, &groups, error) &&
		    begin_lens(by_size, part, &lens, error);
	to->sizes = good ? calloc((size_t)groups.shown + 1, sizeof *to->sizes) : NULL;
	if (good && to->sizes == NULL)
		good = bp_error_set(error, "out of memory");
	for (uint32_t i = 0; good && i < groups.shown; i++) {
		struct bp_rounding_size *size = &to->sizes[i];
		struct bp_row row;
		bp_aggregation_row(by_size, groups.places[i], &row);
		size->size = by_size->state->rows[by_size->state->order[groups.places[i]]].a;
		take_figures(&lens, &groups.sums[i], size->size, &row.bytes, &row.objects,
			&size->figures);
		take_advice(learned, &groups.sums[i], size);
	}
	if (good) {
		to->size_count = groups.shown;
		to->sizes_left_out = by_size->row_count - groups.shown;
	}
	free(lens.state);
	finish_groups(&groups);
	return good;
}

/* All pairs of the processes looked at, whatever the window and the filters leave of them: more of
 * them tell more. */
static bool learn(const struct bp_aggregation *aggregation, struct bp_usable_sizes *learned,
	double *ret_part, bool *ret_in_slots)
{
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_samples *samples = &profile->samples;
	const uint64_t small = small_of(aggregation);
	*ret_part = lost_part;
	*ret_in_slots = false;
	for (uint32_t i = 0; i < samples->alike_count; i++) {
		const struct bp_alike *alike = &samples->alike[i];
		const struct bp_process *process = &profile->processes.data[alike->process.i];
		const uint64_t lost = lost_of(alike->size, alike->usable);
		if (alike->count == 0 || alike->usable == 0 ||
			!aggregation->state->view.processes[alike->process.i].included)
			continue;
		*ret_in_slots = *ret_in_slots || process->samples_in_slots;
		if (lost > small)
			*ret_part = fmax(*ret_part,
				(double)lost / (double)bp_trials(alike->size, process->charge));
		if (alike->kind != BP_PROFILE_KIND_ALIGNED &&
			!bp_usable_sizes_add(learned, (struct bp_usable_pair){ process->allocator.i,
							      alike->size, alike->size + lost }))
			return false;
	}
	bp_usable_sizes_learn(learned);
	return true;
}

bool bp_rounding_make(const struct bp_aggregation *aggregation, uint32_t rows,
	struct bp_rounding *ret_rounding, struct bp_error *error)
{
	struct bp_rounding made = { 0 };
	struct bp_usable_sizes learned = { 0 };
	struct bp_aggregation by_size;
	struct bp_query query = aggregation->query;
	double part;
	query.by = BP_KEY_SIZE;
	query.label = NULL;
	query.cumulative = query.named_callers = false;
	query.sort = BP_SORT_BYTES;
	bool good = learn(aggregation, &learned, &part, &made.in_slots) ||
		    bp_error_set(error, "out of memory");
	good = good && take_rows(aggregation, rows, part, &made, error);
	if (good && bp_aggregate(aggregation->profile, &query, &by_size, error)) {
		good = take_sizes(&by_size, rows, part, &learned, &made, error);
		bp_aggregation_finish(&by_size);
	} else {
		good = false;
	}
	bp_usable_sizes_finish(&learned);
	if (good)
		*ret_rounding = made;
	else
		bp_rounding_finish(&made);
	return good;
}

void bp_rounding_finish(struct bp_rounding *rounding)
{
	free(rounding->rows);
	free(rounding->sizes);
	memset(rounding, 0, sizeof *rounding);
}
