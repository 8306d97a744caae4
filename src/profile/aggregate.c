/* SPDX-License-Identifier: MIT */
/*
 * Aggregation from top to bottom: prepare (who is looked at, which filters hold, when the peak
 * was), one walk over the samples into cells and totals, cells into rows, rows into their order.
 * Intervals come later, row by row (figures.c). See aggregate.h and aggregation_state.h.
 */
#include "profile/aggregate.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "profile/aggregation_state.h"
#include "profile/filter.h"
#include "profile/losses.h"

const char *const bp_metric_names[BP_METRIC_COUNT] = { "live", "peak", "allocated", "temporary" };
const char *const bp_key_names[BP_KEY_COUNT] = { "function", "stack", "line", "file", "module",
	"thread", "size", "type", "process", "kind" };
const char *const bp_sort_names[BP_SORT_COUNT] = { "bytes", "objects", "samples", "name" };
const char *const bp_estimator_names[BP_ESTIMATOR_COUNT] = { "default", "ht", "weighted",
	"calibrated", "failed-trials", "tcmalloc", "hits", "memray" };
const char *const bp_method_names[BP_METHOD_COUNT] = { "default", "n3", "negative-binomial",
	"camp-paulson" };
const char *const bp_edges_names[BP_EDGES_COUNT] = { "end", "sample", "both" };

int bp_word_index(const char *const *words, int count, const char *word)
{
	for (int i = 0; i < count; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

bool bp_grow(void **data, uint32_t count, uint32_t *capacity, size_t entry_bytes)
{
	if (count < *capacity)
		return true;
	if (*capacity > UINT32_MAX / 2)
		return false;
	uint32_t wanted = *capacity * 2 + 64;
	void *grown = realloc(*data, wanted * entry_bytes);
	if (grown == NULL)
		return false;
	*data = grown;
	*capacity = wanted;
	return true;
}

static bool key_is_of_stack(enum bp_key key)
{
	return key <= BP_KEY_MODULE;
}

bool bp_query_check(const struct bp_query *query, struct bp_error *error)
{
	bool counted = query->metric == BP_METRIC_ALLOCATED && !query->usable;
	if (!(query->confidence >= 0 && query->confidence < 1))
		return bp_error_set(error, "--confidence %g: must be between 0 and 1, as 0.95",
			query->confidence);
	if (query->cumulative && (!key_is_of_stack(query->by) || query->by == BP_KEY_STACK))
		return bp_error_set(error,
			"--cumulative with --by %s means nothing: "
			"use --by function, line, file or module",
			bp_key_names[query->by]);
	if (query->metric == BP_METRIC_PEAK && query->has_at)
		return bp_error_set(error, "--at with --metric peak means nothing: "
					   "use --metric live --at TIME");
	if (query->has_to && query->to_ns <= (query->has_from ? query->from_ns : 0))
		return bp_error_set(error, "--to must be later than --from");
	if (query->metric == BP_METRIC_PEAK &&
		(bp_estimator_is_other(query->estimator) ||
			bp_method_is_negative_binomial(query->method)))
		return bp_error_set(error,
			"--metric peak is cross-fitted: it has no other estimator or method; leave "
			"--estimator and --interval-method out");
	if (query->edges != BP_EDGES_END && !bp_method_is_negative_binomial(query->method))
		return bp_error_set(error,
			"--edges is for --interval-method negative-binomial and camp-paulson");
	if (query->estimator == BP_ESTIMATOR_CALIBRATED && query->method != BP_METHOD_DEFAULT)
		return bp_error_set(error,
			"--estimator calibrated has an interval of its own: leave "
			"--interval-method out");
	if (query->estimator == BP_ESTIMATOR_CALIBRATED && !counted)
		return bp_error_set(error,
			"--estimator calibrated: an exact total is known only for "
			"--metric allocated --bytes requested");
	return true;
}

static bool check(
	const struct bp_profile *profile, const struct bp_query *query, struct bp_error *error)
{
	if (query->metric == BP_METRIC_PEAK && profile->merged_unrelated)
		return bp_error_set(error, "these files are of unrelated programs, which have no "
					   "common peak: give them one at a time");
	return bp_query_check(query, error);
}

/* The number of the cell of an id, made when first seen; UINT32_MAX: no memory. */
static uint32_t cell_of(struct bp_aggregation_state *state, bool by_size, uint64_t id)
{
	uint32_t hash = bp_hash_fold(bp_hash_word(6, id)), position = hash, number;
	if (!by_size) {
		if (state->cell_of[id] != 0)
			return state->cell_of[id] - 1;
	} else {
		while ((number = bp_id_index_next(&state->size_cells, hash, &position)) != 0)
			if (state->cells[number - 1].id == id)
				return number - 1;
		if (!bp_id_index_reserve(&state->size_cells))
			return UINT32_MAX;
	}
	if (!bp_grow((void **)&state->cells, state->cell_count, &state->cell_capacity,
		    sizeof *state->cells))
		return UINT32_MAX;
	number = state->cell_count++;
	state->cells[number] = (struct bp_cell){ .id = id };
	if (by_size)
		bp_id_index_add(&state->size_cells, hash, number + 1);
	else
		state->cell_of[id] = number + 1;
	return number;
}

static uint64_t cell_id(enum bp_key by, const struct bp_sample *sample)
{
	switch (by) {
	case BP_KEY_THREAD:
		return sample->thread.i;
	case BP_KEY_PROCESS:
		return sample->process.i;
	case BP_KEY_TYPE:
		return bp_type_key(sample);
	case BP_KEY_KIND:
		return sample->kind;
	case BP_KEY_SIZE:
		return sample->size;
	default:
		return sample->stack.i;
	}
}

static uint32_t id_count(const struct bp_profile *profile, enum bp_key by)
{
	if (by == BP_KEY_THREAD)
		return profile->threads.count;
	if (by == BP_KEY_PROCESS)
		return profile->processes.count;
	if (by == BP_KEY_KIND)
		return BP_KINDS;
	if (by == BP_KEY_TYPE)
		return BP_KINDS + profile->types.count;
	return by == BP_KEY_SIZE ? 1 : profile->stacks.count;
}

/* Half of what each half of the samples says at the moment the other one chose. */
double bp_sample_cross_weight(const struct bp_aggregation_state *state,
	const struct bp_sample *sample, const struct bp_sample_weight *weight)
{
	const struct bp_peak *peak = &state->peak;
	double sum = 0;
	for (int half = 0; half < 2 && peak->found; half++) {
		const struct bp_moment *moment =
			peak->half_found[!half] ? &peak->halves[!half] : &peak->moment;
		if (bp_view_is_live(&state->view, sample, moment) &&
			bp_sample_in_half(sample, weight, half))
			sum += 0.5 / weight->halves.inclusion;
	}
	return sum;
}

/* Which metrics but the peak count this sample; bit by bp_metric. */
static unsigned metrics_of(const struct bp_aggregation_state *state, const struct bp_sample *sample)
{
	unsigned metrics = 0;
	const struct bp_moment *live = &state->view.processes[sample->process.i].live;
	if (!bp_view_in_window(&state->view, sample))
		return metrics;
	metrics |= 1u << BP_METRIC_ALLOCATED;
	if (sample->temporary)
		metrics |= 1u << BP_METRIC_TEMPORARY;
	if (bp_view_is_live(&state->view, sample, live) && bp_view_is_gone(&state->view, sample))
		metrics |= 1u << BP_METRIC_LIVE;
	return metrics;
}

unsigned bp_sample_metrics(const struct bp_aggregation_state *state, const struct bp_sample *sample)
{
	const bool in_peak =
		state->peak.found && bp_view_is_live(&state->view, sample, &state->peak.moment);
	return metrics_of(state, sample) | (in_peak ? 1u << BP_METRIC_PEAK : 0);
}

static bool add_sample(struct bp_aggregation *aggregation, struct bp_weight_cache *weights,
	const struct bp_sample *sample)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	uint32_t charge = aggregation->profile->processes.data[sample->process.i].charge;
	const struct bp_sample_weight *weight =
		bp_sample_weight(weights, sample, charge, query->usable);
	struct bp_sample_weight all;
	struct bp_other_sums buffer;
	weight = bp_sample_weight_of_all(weight, sample, &all);
	aggregation->samples += bp_sample_count(sample);
	if (sample->interval != state->interval_max)
		state->several_intervals = true;
	if (!bp_selection_holds(&state->selection, sample)) {
		if (bp_view_in_window(&state->view, sample))
			bp_sums_merge(&state->outside, &weight->sums);
		return true;
	}
	unsigned metrics = metrics_of(state, sample);
	const struct bp_other_sums *other = bp_look_at_offset(query, sample, weight, &buffer);
	for (int m = 0; m < BP_METRIC_COUNT; m++)
		if (metrics & 1u << m && !bp_tally_add_sample(&state->totals[m], weight, other))
			return false;
	if (query->usable && sample->usable == 0)
		state->usable_unknown += bp_sample_count(sample);
	if (!(metrics & 1u << query->metric))
		return true;
	uint32_t cell = cell_of(state, query->by == BP_KEY_SIZE, cell_id(query->by, sample));
	return cell != UINT32_MAX && bp_tally_add_sample(&state->cells[cell].tally, weight, other);
}

/* Adds a sample to the peak, and where that is the metric to the cell it is in. */
static bool add_to_peak(struct bp_aggregation *aggregation, const struct bp_sample *sample)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	const bool counts = bp_view_is_live(&state->view, sample, &state->peak.moment);
	uint32_t charge = aggregation->profile->processes.data[sample->process.i].charge;
	const struct bp_sample_weight *weight =
		bp_sample_weight(&state->weights, sample, charge, query->usable);
	struct bp_sample_weight all;
	weight = bp_sample_weight_of_all(weight, sample, &all);
	const double cross =
		bp_sample_cross_weight(state, sample, weight) * bp_sample_count(sample);
	struct bp_tally *tallies[2] = { &state->totals[BP_METRIC_PEAK], NULL };
	if (!counts && !(cross > 0))
		return true;
	if (query->metric == BP_METRIC_PEAK) {
		uint32_t cell =
			cell_of(state, query->by == BP_KEY_SIZE, cell_id(query->by, sample));
		if (cell == UINT32_MAX)
			return false;
		tallies[1] = &state->cells[cell].tally;
	}
	for (int i = 0; i < 2 && tallies[i] != NULL; i++) {
		tallies[i]->other.bytes += cross * weight->value;
		tallies[i]->other.objects += cross;
		if (counts && !bp_tally_add(tallies[i], &weight->sums, weight->size_class))
			return false;
	}
	return true;
}

/* Threads and processes have counters of their own: they are rows even without a sample. */
static bool add_counted_cells(struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	struct bp_aggregation_state *state = aggregation->state;
	if (!state->counted_rows)
		return true;
	bool threads = aggregation->query.by == BP_KEY_THREAD;
	uint32_t count = threads ? profile->threads.count : profile->processes.count;
	for (uint32_t i = 1; i < count; i++) {
		uint32_t process = threads ? profile->threads.data[i].process.i : i;
		const struct bp_known_total *objects =
			threads ? &profile->threads.data[i].objects_allocated
				: &profile->processes.data[i].objects_allocated;
		if (!state->view.processes[process].included || objects->high == 0)
			continue;
		if (cell_of(state, false, i) == UINT32_MAX)
			return false;
	}
	return true;
}

/* Everything but the peak, of which nothing is read here: the two are made at the same time. */
static bool walk(struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	struct bp_aggregation_state *state = aggregation->state;
	struct bp_weight_cache *weights = calloc(1, sizeof *weights);
	state->cell_of = calloc(id_count(profile, aggregation->query.by), sizeof *state->cell_of);
	bool good = weights != NULL && state->cell_of != NULL && add_counted_cells(aggregation);
	for (uint32_t i = 1; good && i < profile->samples.count; i++) {
		__builtin_prefetch(bp_samples_where(&profile->samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_profile_sample(profile, i);
		if (state->view.processes[sample.process.i].included)
			good = add_sample(aggregation, weights, &sample);
	}
	free(weights);
	return good;
}

static void *walk_beside(void *aggregation)
{
	return walk(aggregation) ? aggregation : NULL;
}

/* Adds what was live at the peak, or at the moment that one half of the samples chose. */
static bool walk_peak(struct bp_aggregation *aggregation, struct bp_error *error)
{
	const struct bp_samples *samples = &aggregation->profile->samples;
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_peak *peak = &state->peak;
	uint64_t first_ns = peak->moment.time_ns, last_ns = first_ns;
	for (int half = 0; half < 2; half++) {
		const uint64_t time_ns = peak->halves[half].time_ns;
		if (peak->half_found[half] && time_ns < first_ns)
			first_ns = time_ns;
		if (peak->half_found[half] && time_ns > last_ns)
			last_ns = time_ns;
	}
	for (uint32_t i = 1; peak->found && i < samples->count; i++) {
		__builtin_prefetch(bp_samples_where(samples, i + BP_SAMPLES_AHEAD));
		const uint32_t entry = bp_samples_entry(samples, i);
		if (bp_packed_get(&samples->births, entry, BP_BIRTH_TIME) > last_ns)
			break; /* They come in the order of their births. */
		if (samples->freed[entry] != 0 &&
			bp_packed_get(&samples->deaths, samples->freed[entry] - 1, BP_DEATH_TIME) <
				first_ns)
			continue;
		const struct bp_sample sample = bp_samples_of_entry(samples, entry);
		if (state->view.processes[sample.process.i].included &&
			bp_selection_holds(&state->selection, &sample) &&
			!add_to_peak(aggregation, &sample))
			return bp_error_set(error, "out of memory");
	}
	return true;
}

/* With so many samples it pays to sum them while the peak is looked for. */
#define SAMPLES_FOR_TWO 50000u

/* Finds the peak, where there is one, and fills cells and totals. */
static bool sum(struct bp_aggregation *aggregation, struct bp_error *error)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_profile *profile = aggregation->profile;
	const bool has_peak = !profile->merged_unrelated && !(state->absent & 1u << BP_METRIC_PEAK);
	pthread_t thread;
	const bool beside = has_peak && profile->samples.count > SAMPLES_FOR_TWO &&
			    pthread_create(&thread, NULL, walk_beside, aggregation) == 0;
	bool good = !has_peak || bp_timeline_peak(&state->view, &state->selection, &state->weights,
					 aggregation->query.usable, &state->peak, error);
	void *walked = aggregation;
	if (beside)
		pthread_join(thread, &walked);
	else if (good)
		walked = walk_beside(aggregation);
	if (good && walked == NULL)
		return bp_error_set(error, "out of memory");
	if (good && state->peak.found)
		aggregation->peak_at_ns =
			state->peak.moment.time_ns - state->view.processes[profile->root.i].base_ns;
	return good && walk_peak(aggregation, error);
}

/* The negative binomial interval is of one p. */
static bool check_intervals(const struct bp_aggregation *aggregation, struct bp_error *error)
{
	const struct bp_query *query = &aggregation->query;
	if (!bp_method_is_negative_binomial(query->method) ||
		!aggregation->state->several_intervals)
		return true;
	return bp_error_set(error,
		"--interval-method %s needs one sampling interval, and these samples have several: "
		"use n3",
		bp_method_names[query->method]);
}

static void count_losses(struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	struct bp_aggregation_state *state = aggregation->state;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (!state->view.processes[i].included)
			continue;
		for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++)
			aggregation->lost[reason] += process->lost[reason];
		if (process->damaged_chunks > 0)
			state->lost_samples = state->lost_frees = true;
		state->lost_samples = state->lost_samples || process->cut_off;
	}
	for (uint32_t reason = 0; reason < BP_PROFILE_LOSSES; reason++) {
		struct bp_loss_kind kind = bp_loss_kind(reason);
		if (aggregation->lost[reason] == 0)
			continue;
		state->lost_samples = state->lost_samples || kind.samples;
		state->lost_frees = state->lost_frees || kind.frees;
		state->lost_totals = state->lost_totals || kind.totals;
		if (kind.samples || kind.frees || kind.totals)
			aggregation->lost_samples += aggregation->lost[reason];
	}
}

/* Sorting needs its context, which qsort_r passes along. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct bp_aggregation_state *state = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct bp_row_sums *row_a = &state->rows[a], *row_b = &state->rows[b];
	if (row_a->order != row_b->order)
		return row_a->order > row_b->order ? -1 : 1;
	int names = strcmp(state->names + row_a->name, state->names + row_b->name);
	if (names != 0)
		return names;
	return a < b ? -1 : a > b;
}

static bool order_rows(struct bp_aggregation *aggregation, struct bp_error *error)
{
	struct bp_aggregation_state *state = aggregation->state;
	size_t rows = (size_t)state->row_count + 1;
	state->order = malloc(rows * sizeof *state->order);
	state->before = calloc(rows, sizeof *state->before);
	state->after = calloc(rows, sizeof *state->after);
	if (state->order == NULL || state->before == NULL || state->after == NULL)
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 0; i < state->row_count; i++) {
		state->before[i + 1] = state->before[i];
		bp_sums_merge(&state->before[i + 1], &state->rows[i].tally.sums);
	}
	for (uint32_t i = state->row_count; i-- > 0;) {
		state->after[i] = state->after[i + 1];
		bp_sums_merge(&state->after[i], &state->rows[i].tally.sums);
	}
	for (uint32_t i = 0; i < state->row_count; i++) {
		struct bp_row_sums *row = &state->rows[i];
		row->order = bp_figures_order(aggregation, row);
		if (row->tally.sums.samples > 0 || state->counted_rows)
			state->order[aggregation->row_count++] = i;
	}
	qsort_r(state->order, aggregation->row_count, sizeof *state->order, compare_rows, state);
	for (uint32_t i = 0; i < state->row_count; i++)
		state->rows[i].place = UINT32_MAX;
	for (uint32_t i = 0; i < aggregation->row_count; i++)
		state->rows[state->order[i]].place = i;
	return true;
}

/* A snapshot has no times and no offsets, and some have no frees. */
static bool check_absent(const struct bp_aggregation *aggregation, struct bp_error *error)
{
	const struct bp_query *query = &aggregation->query;
	if (aggregation->state->absent & 1u << query->metric)
		return bp_error_set(error,
			"--metric %s: this file is a snapshot, which does not tell it: choose %s",
			bp_metric_names[query->metric],
			aggregation->state->absent & 1u << BP_METRIC_ALLOCATED
				? "--metric live"
				: "--metric live or --metric allocated");
	if (!aggregation->state->snapshot)
		return true;
	if (query->has_from || query->has_to || query->has_at)
		return bp_error_set(error,
			"--from, --to, --at: this file is a snapshot, which does not tell when "
			"anything was allocated");
	if (bp_estimator_is_other(query->estimator) ||
		bp_method_is_negative_binomial(query->method))
		return bp_error_set(error,
			"--estimator, --interval-method: this one needs the offset at which an "
			"object was hit, and this file is a snapshot without offsets");
	return true;
}

bool bp_aggregate(const struct bp_profile *profile, const struct bp_query *query,
	struct bp_aggregation *ret_aggregation, struct bp_error *error)
{
	struct bp_aggregation aggregation = {
		.profile = profile, .query = *query, .peak_at_ns = BP_TIME_NEVER
	};
	if (aggregation.query.confidence == 0)
		aggregation.query.confidence = 0.95;
	if (!check(profile, query, error))
		return false;
	struct bp_aggregation_state *state = calloc(1, sizeof *state);
	if (state == NULL)
		return bp_error_set(error, "out of memory");
	aggregation.state = state;
	if (!bp_view_init(&state->view, profile, query, error) ||
		!bp_attribution_init(&state->attribution, profile, error) ||
		!bp_selection_init(&state->selection, &state->attribution, query, error))
		goto fail;
	if (!bp_sampling_init(&aggregation.sampling, &state->view, error))
		goto fail;
	aggregation.subject.i = state->view.subject;
	aggregation.duration_ns = state->view.duration_ns;
	aggregation.at_ns = state->view.at_ns;
	count_losses(&aggregation);
	if (!bp_figures_prepare(&aggregation, error))
		goto fail;
	aggregation.frees_unseen = state->frees_unseen;
	if (state->frees_unseen && query->metric != BP_METRIC_ALLOCATED) {
		bp_error_set(error,
			"--metric %s: this file does not tell what was freed, so that only "
			"--metric allocated can be shown",
			bp_metric_names[query->metric]);
		goto fail;
	}
	aggregation.absent = state->absent;
	if (!check_absent(&aggregation, error))
		goto fail;
	if (!sum(&aggregation, error) || !check_intervals(&aggregation, error) ||
		!bp_make_rows(&aggregation, error) || !order_rows(&aggregation, error))
		goto fail;
	bp_figures_totals(&aggregation);
	if (!bp_make_warnings(&aggregation, error))
		goto fail;
	*ret_aggregation = aggregation;
	return true;
fail:
	bp_aggregation_finish(&aggregation);
	return false;
}

const struct bp_sums *bp_aggregation_total_sums(
	const struct bp_aggregation *aggregation, enum bp_metric metric)
{
	return &aggregation->state->totals[metric].sums;
}

struct bp_assumptions bp_aggregation_assumptions(const struct bp_aggregation *aggregation)
{
	const struct bp_aggregation_state *state = aggregation->state;
	return (struct bp_assumptions){ .interval_min = state->interval_min,
		.interval_max = state->interval_max,
		.interval_unseen = state->interval_unseen,
		.size_min = state->size_min,
		.charge = state->charge,
		.ratio_max = aggregation->query.usable ? state->ratio_max : 1,
		.turnovers = state->turnovers };
}

/* Of a small object k (1 + g) is T; of one as large as T, 1.6 T. */
uint64_t bp_mean_interval(const struct bp_sums *sums, const struct bp_assumptions *assumed)
{
	if (assumed->interval_min >= assumed->interval_max || !(sums->c1 > 0))
		return assumed->interval_max;
	const double mean = sums->c2 / sums->c1;
	return (uint64_t)fmin(
		fmax(mean, (double)assumed->interval_min), (double)assumed->interval_max);
}

void bp_aggregation_finish(struct bp_aggregation *aggregation)
{
	struct bp_aggregation_state *state = aggregation->state;
	if (state != NULL) {
		bp_view_finish(&state->view);
		bp_attribution_finish(&state->attribution);
		bp_selection_finish(&state->selection);
		bp_id_index_finish(&state->size_cells);
		for (uint32_t i = 0; i < state->cell_count; i++)
			bp_tally_finish(&state->cells[i].tally);
		for (uint32_t i = 0; i < state->row_count; i++)
			bp_tally_finish(&state->rows[i].tally);
		for (int m = 0; m < BP_METRIC_COUNT; m++)
			bp_tally_finish(&state->totals[m]);
		free(state->cells);
		free(state->cell_of);
		free(state->rows);
		free(state->cell_rows);
		free(state->order);
		free(state->names);
		free(state->before);
		free(state->after);
		free(state);
	}
	for (char **w = aggregation->warnings; w != NULL && *w != NULL; w++)
		free(*w);
	free(aggregation->warnings);
	bp_sampling_finish(&aggregation->sampling);
	memset(aggregation, 0, sizeof *aggregation);
}
