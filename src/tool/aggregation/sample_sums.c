/* SPDX-License-Identifier: MIT */
/*
 * Samples into cells and totals: where the time of a report of millions of samples goes. The search
 * for the peak and one walk over everything else are made at the same time, on two processors; then
 * what lived at the peak is looked at once more. Of most samples the walk asks little: they died
 * long before the moment that the report is about, and what is alike in many of them weighs the
 * same. Sums are made in the order of births, so that they do not depend on who made them. See
 * aggregation_state.h.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "aggregation/aggregation_state.h"
#include "base/attributes.h"
#include "base/thread.h"

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
	case BP_KEY_ORIGIN: /* (processes of one origin become one row) */
		return sample->process.i;
	case BP_KEY_TYPE:
		return bp_type_key(sample);
	case BP_KEY_KIND:
		return sample->kind;
	case BP_KEY_LABEL:
		return sample->labels.i;
	case BP_KEY_SIZE:
		return sample->size;
	default:
		return sample->stack.i;
	}
}

uint32_t bp_cell_of_sample(const struct bp_aggregation *aggregation, const struct bp_sample *sample)
{
	const struct bp_query *query = &aggregation->query;
	return cell_of(aggregation->state, query->by == BP_KEY_SIZE, cell_id(query->by, sample));
}

static uint32_t id_count(const struct bp_profile *profile, enum bp_key by)
{
	if (by == BP_KEY_THREAD)
		return profile->threads.count;
	if (by == BP_KEY_PROCESS || by == BP_KEY_ORIGIN)
		return profile->processes.count;
	if (by == BP_KEY_KIND)
		return BP_KINDS;
	if (by == BP_KEY_LABEL)
		return profile->labels.count;
	if (by == BP_KEY_TYPE)
		return BP_KINDS + profile->types.count;
	return by == BP_KEY_SIZE ? 1 : profile->stacks.count;
}

/* Half of what each half of the samples says at the moment the other one chose. */
static double cross_weight(const struct bp_aggregation_state *state, const struct bp_sample *sample,
	const struct bp_sample_weight *weight)
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

/* What other methods make of an entry; apart from where samples are summed, which hardly ever needs
 * it. */
static __attribute__((noinline)) const struct bp_other_sums *look_at_offset(
	const struct bp_aggregation *aggregation, uint32_t entry,
	const struct bp_sample_weight *weight, struct bp_other_sums *buffer)
{
	const struct bp_sample sample = bp_samples_of_entry(&aggregation->profile->samples, entry);
	return bp_look_at_offset(&aggregation->query, &sample, weight, buffer);
}

static struct bp_sums *apart(struct bp_aggregation_state *state, unsigned metrics)
{
	const unsigned live = (metrics & 1u << BP_METRIC_LIVE) != 0;
	const unsigned temporary = (metrics & 1u << BP_METRIC_TEMPORARY) != 0;
	return &state->apart[live + 2 * temporary];
}

/* What of a counted total is in none of the cells of a metric: what the filters left out, and what
 * was allocated and does not count under the metric. */
static void sum_rests(struct bp_aggregation_state *state)
{
	struct bp_sums *rest = state->rest;
	rest[BP_METRIC_ALLOCATED] = rest[BP_METRIC_LIVE] = rest[BP_METRIC_TEMPORARY] =
		state->outside;
	for (unsigned i = 0; i < BP_COUNT(state->apart); i++) {
		if ((i & 1) == 0)
			bp_sums_merge(&rest[BP_METRIC_LIVE], &state->apart[i]);
		if ((i & 2) == 0)
			bp_sums_merge(&rest[BP_METRIC_TEMPORARY], &state->apart[i]);
	}
}

/* `sample` is the caller's, who knows nothing else of the entry. */
static inline bool add_sample(struct bp_aggregation *aggregation, struct bp_alike_weights *weights,
	uint32_t entry, const struct bp_sample *sample)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	const struct bp_sample_weight *weight = bp_alike_weight(
		weights, (uint32_t)bp_packed_get(
				 &aggregation->profile->samples.births, entry, BP_BIRTH_ALIKE));
	const struct bp_other_sums *other = NULL;
	struct bp_other_sums buffer;
	aggregation->samples += bp_sample_count(sample);
	if (sample->interval != state->interval_max)
		state->several_intervals = true;
	if (state->selection.free_stacks != NULL && sample->free_time_ns != BP_TIME_NEVER &&
		sample->free_stack.i == 0)
		state->freed_somewhere += bp_sample_count(sample);
	if (query->filter_count > 0 && !bp_selection_holds(&state->selection, sample)) {
		if (bp_view_in_window(&state->view, sample))
			bp_sums_merge(&state->outside, &weight->sums);
		return true;
	}
	unsigned metrics = metrics_of(state, sample);
	if (state->looks_at_offsets)
		other = look_at_offset(aggregation, entry, weight, &buffer);
	for (int m = 0; m < BP_METRIC_COUNT; m++)
		if (metrics & 1u << m && !bp_tally_add_sample(&state->totals[m], weight, other))
			return false;
	if (metrics != 0)
		bp_sums_merge(apart(state, metrics), &weight->sums);
	if (query->usable && sample->usable == 0)
		state->usable_unknown += bp_sample_count(sample);
	if (query->all_cells && bp_cell_of_sample(aggregation, sample) == UINT32_MAX)
		return false;
	if (!(metrics & 1u << query->metric))
		return true;
	const uint32_t cell = bp_cell_of_sample(aggregation, sample);
	return cell != UINT32_MAX && bp_tally_add_sample(&state->cells[cell].tally, weight, other);
}

/* The same of an entry that died before any moment that is looked at, where nothing is left out: of
 * such there are many, and little has to be known of them. */
static bool add_dead(
	struct bp_aggregation *aggregation, struct bp_alike_weights *weights, uint32_t entry)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	const struct bp_samples *samples = &aggregation->profile->samples;
	const uint32_t number = (uint32_t)bp_packed_get(&samples->births, entry, BP_BIRTH_ALIKE);
	const struct bp_alike *alike = &samples->alike[number];
	const bool temporary =
		alike->temporary || (samples->freed[entry] & BP_FREED_TEMPORARY) != 0;
	if (!state->view.processes[alike->process.i].included)
		return true;
	const struct bp_sample_weight *weight = bp_alike_weight(weights, number);
	aggregation->samples += alike->more + 1u;
	if (alike->interval != state->interval_max)
		state->several_intervals = true;
	if (query->usable && alike->usable == 0)
		state->usable_unknown += alike->more + 1u;
	if (!bp_tally_add_sample(&state->totals[BP_METRIC_ALLOCATED], weight, NULL) ||
		(temporary &&
			!bp_tally_add_sample(&state->totals[BP_METRIC_TEMPORARY], weight, NULL)))
		return false;
	bp_sums_merge(&state->apart[temporary ? 2 : 0], &weight->sums);
	if (query->metric != BP_METRIC_ALLOCATED &&
		!(query->metric == BP_METRIC_TEMPORARY && temporary))
		return true;
	struct bp_sample sample = bp_sample_of_alike(alike);
	sample.stack = samples->stacks[bp_packed_get(&samples->births, entry, BP_BIRTH_STACK)];
	const uint32_t cell = bp_cell_of_sample(aggregation, &sample);
	return cell != UINT32_MAX && bp_tally_add_sample(&state->cells[cell].tally, weight, NULL);
}

/* Deaths below this number are before every moment that metric live is about; 0 where windows,
 * filters or methods ask for more of a sample. */
static uint32_t dead_for_all(const struct bp_aggregation *aggregation)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	const struct bp_profile *profile = aggregation->profile;
	uint64_t first_ns = BP_TIME_NEVER;
	if (query->has_from || query->has_to || query->filter_count > 0 ||
		state->looks_at_offsets || query->all_cells)
		return 0;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (state->view.processes[i].included &&
			state->view.processes[i].live.time_ns < first_ns)
			first_ns = state->view.processes[i].live.time_ns;
	return bp_samples_dead_by(&profile->samples, first_ns);
}

/* Adds a sample to the peak, and where that is the metric to the cell it is in. */
static bool add_to_peak(struct bp_aggregation *aggregation, uint32_t entry)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	const struct bp_sample sample = bp_samples_of_entry(&aggregation->profile->samples, entry);
	if (!bp_sample_is_meant(state, &sample))
		return true;
	const uint32_t charge = aggregation->profile->processes.data[sample.process.i].charge;
	const struct bp_sample_weight *weight =
		bp_sample_weight(&state->weights, &sample, charge, query->usable);
	struct bp_sample_weight all;
	weight = bp_sample_weight_of_all(weight, &sample, &all);
	state->cross_bytes +=
		cross_weight(state, &sample, weight) * bp_sample_count(&sample) * weight->value;
	if (bp_view_is_live(&state->view, &sample, &state->peak.reach) &&
		!bp_tally_add_sample(&state->reach, weight, NULL))
		return false;
	if (!bp_view_is_live(&state->view, &sample, &state->peak.moment))
		return true;
	if (!bp_tally_add_sample(&state->totals[BP_METRIC_PEAK], weight, NULL))
		return false;
	state->at_peak[bp_packed_get(
		&aggregation->profile->samples.births, entry, BP_BIRTH_ALIKE)]++;
	if (query->metric != BP_METRIC_PEAK)
		return true;
	const uint32_t cell = cell_of(state, query->by == BP_KEY_SIZE, cell_id(query->by, &sample));
	return cell != UINT32_MAX && bp_tally_add_sample(&state->cells[cell].tally, weight, NULL);
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
	const struct bp_samples *samples = &profile->samples;
	struct bp_aggregation_state *state = aggregation->state;
	struct bp_alike_weights *weights = calloc(1, sizeof *weights);
	state->looks_at_offsets = bp_estimator_is_other(aggregation->query.estimator) ||
				  bp_method_is_of_hits(aggregation->query.method);
	state->cell_of = calloc(id_count(profile, aggregation->query.by), sizeof *state->cell_of);
	bool good = weights != NULL && state->cell_of != NULL && add_counted_cells(aggregation);
	if (good) {
		weights->profile = profile;
		weights->usable = aggregation->query.usable;
	}
	const uint32_t dead = dead_for_all(aggregation);
	for (uint32_t i = 1; good && i < samples->count; i++) {
		__builtin_prefetch(bp_samples_where(samples, i + BP_SAMPLES_AHEAD));
		const uint32_t entry = bp_samples_entry(samples, i);
		if (bp_samples_died_below(samples, entry, dead)) {
			good = add_dead(aggregation, weights, entry);
			continue;
		}
		const struct bp_sample sample = bp_samples_of_entry(samples, entry);
		if (state->view.processes[sample.process.i].included)
			good = add_sample(aggregation, weights, entry, &sample);
	}
	free(weights);
	return good;
}

static void *walk_beside(void *aggregation)
{
	return walk(aggregation) ? aggregation : NULL;
}

static void take_in(const struct bp_moment *moment, uint64_t *first_ns, uint64_t *last_ns)
{
	*first_ns = moment->time_ns < *first_ns ? moment->time_ns : *first_ns;
	*last_ns = moment->time_ns > *last_ns ? moment->time_ns : *last_ns;
}

/* All that was allocated but what was live at the peak. Of entries that are alike it is enough to
 * know how many: those that lived then are far fewer than the others, of which none is looked at
 * again. */
static void sum_rest_of_peak(struct bp_aggregation *aggregation)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_samples *samples = &profile->samples;
	for (uint32_t i = 0; i < samples->alike_count; i++) {
		const struct bp_alike *alike = &samples->alike[i];
		if (!state->view.processes[alike->process.i].included ||
			state->at_peak[i] >= alike->count)
			continue;
		const struct bp_sample sample = bp_sample_of_alike(alike);
		const struct bp_sample_weight *weight = bp_sample_weight(&state->weights, &sample,
			profile->processes.data[alike->process.i].charge,
			aggregation->query.usable);
		const struct bp_sums all = bp_sums_times(&weight->sums,
			(uint64_t)bp_sample_count(&sample) * (alike->count - state->at_peak[i]));
		bp_sums_merge(&state->rest[BP_METRIC_PEAK], &all);
	}
}

/* Adds what was live at the peak, where its upper limit is largest, or at the moment that one half
 * of the samples chose. */
static bool walk_peak(struct bp_aggregation *aggregation, struct bp_error *error)
{
	const struct bp_peak *peak = &aggregation->state->peak;
	uint64_t first_ns = peak->moment.time_ns, last_ns = first_ns;
	if (!peak->found)
		return true;
	struct bp_aggregation_state *state = aggregation->state;
	state->at_peak =
		calloc(aggregation->profile->samples.alike_count + 1, sizeof *state->at_peak);
	if (state->at_peak == NULL)
		return bp_error_set(error, "out of memory");
	take_in(&peak->reach, &first_ns, &last_ns);
	for (int half = 0; half < 2; half++)
		if (peak->half_found[half])
			take_in(&peak->halves[half], &first_ns, &last_ns);
	struct bp_living living =
		bp_samples_living(&aggregation->profile->samples, first_ns, last_ns);
	uint32_t entry;
	while (bp_living_next(&living, &entry))
		if (!add_to_peak(aggregation, entry))
			return bp_error_set(error, "out of memory");
	if (state->parts)
		sum_rest_of_peak(aggregation);
	return true;
}

/* (Before it is known which of the usable sizes was the largest per trial. At T = 1 nothing is
 * unseen.) */
double bp_reach_unit(const struct bp_aggregation *aggregation)
{
	const double unit = 1 / bp_lambda(aggregation->state->interval_unseen);
	return fmax(aggregation->query.usable ? 24 * unit : unit, 1e-9);
}

/* With so many samples it pays to sum them while the peak is looked for. */
#define SAMPLES_FOR_TWO 50000u

bool bp_sum_samples(struct bp_aggregation *aggregation, struct bp_error *error)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_profile *profile = aggregation->profile;
	const bool has_peak = !profile->merged_unrelated &&
			      !(state->absent & 1u << BP_METRIC_PEAK) &&
			      !bp_query_leaves_peak_out(&aggregation->query);
	pthread_t thread;
	const bool beside = has_peak && profile->samples.count > SAMPLES_FOR_TWO &&
			    bp_thread_start(&thread, walk_beside, aggregation);
	bool good = !has_peak || bp_timeline_peak(&state->view, &state->selection,
					 &aggregation->query, &state->weights,
					 (struct bp_reach){ bp_reach_unit(aggregation),
						 bp_limit_depth(state->alpha / 2) },
					 &state->peak, error);
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
	sum_rests(state);
	return good && walk_peak(aggregation, error);
}
