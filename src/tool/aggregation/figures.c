/* SPDX-License-Identifier: MIT */
/*
 * From sums to figures. Which of the methods of estimate/ is used, and with which assumptions:
 *
 * - totals of `allocated`: the recorder's own counters, exact after an orderly end. Like all
 *   figures they are of what was allocated while sampling was on; what was allocated while it was
 *   off is counted apart (sampling.h);
 * - rows of `allocated`, what is live, what was temporary: parts of that counted total (calibrated
 *   estimate, tilted beta interval), if every sample of the processes looked at is there to be
 *   compared with: no window in time of which too little is known, no usable sizes, no samples
 *   lost. Objects of every metric, the peak included, are parts of the counted objects likewise:
 *   nothing else bounds how many small ones there may be, since no smallest size is assumed;
 * - threads, processes: their own counters;
 * - peak: rows are of the named moment, their lower limits widened for its choice; the total is the
 *   largest value at any time, with the largest upper limit of all moments and the cross-fitted
 *   estimate;
 * - everything else: Horvitz-Thompson with the N3 interval, by size classes where objects of T
 *   bytes and more were sampled by trial; such processes are not calibrated either, since nothing
 *   of the kind is known for parts of a counted total.
 *
 * The choice depends on the query and on what was lost, never on the samples: taking the narrower
 * of two intervals after looking would break both. What is part of what was allocated cannot be
 * more than that was: where it is not calibrated, upper limits stop there.
 */
#include <math.h>

#include "aggregation/aggregation_state.h"
#include "aggregation/interval_methods.h"

/* What is part of a counted total is not more than it: neither limits nor estimate. (Where the part
 * is nearly the whole this pulls an estimate down on average, by less than its error; but not those
 * that are calibrated, which never pass the total.) */
static void cap(struct bp_interval *interval, uint64_t total)
{
	if (interval->unknown || !(interval->high > (double)total) || interval->low > (double)total)
		return; /* (counters below what was sampled are not believed) */
	interval->high = (double)total;
	interval->estimate = fmin(interval->estimate, (double)total);
	interval->exact = interval->low == interval->high;
}

/* The peak is no smaller than what is live at the end, a moment that was not chosen. That moment's
 * lower limit is taken at a smaller error, `low`: the larger one of two limits misses whenever one
 * of them does, and the peak's own has used up to 1.4 % of the 2.5. */
static const double error_of_live_in_peak = 1.0 / 3;

static void raise(struct bp_interval *peak, const struct bp_interval *live, double low)
{
	peak->low = fmax(peak->low, low);
	peak->high = fmax(peak->high, live->high);
	peak->estimate = fmax(peak->estimate, live->estimate);
	peak->exact = peak->low == peak->high;
}

static struct bp_figure figure(const struct bp_aggregation_state *state, enum bp_metric metric,
	struct bp_interval interval)
{
	struct bp_figure figure = { .interval = interval };
	figure.lower_bound = state->lost_samples || bp_lost_frees_lower(state, metric);
	figure.upper_bound = bp_lost_frees_raise(state, metric);
	if (figure.lower_bound || figure.upper_bound)
		figure.interval.exact = false;
	return figure;
}

static struct bp_figure counted_figure(
	const struct bp_aggregation_state *state, struct bp_known_total total)
{
	struct bp_figure figure = { .interval = bp_interval_of_total(total.low, total.high),
		.lower_bound = state->lost_totals };
	if (state->lost_totals)
		figure.interval.exact = false;
	return figure;
}

/* What figures of samples are made from. */
struct evidence {
	enum bp_metric metric;
	const struct bp_tally *tally;
	const struct bp_sums *others; /* all else of the counted total; NULL: part of none */
	uint64_t size_min;	      /* the smallest size that can be among them, bytes */
};

#define VALUES(name, word, hits, values) values,
static bp_values_method *const methods[BP_METHOD_COUNT] = { BP_METHODS(VALUES) };

/* A method of hits has no form for the peak; and at T = 1 there is nothing to estimate. */
static struct bp_interval values_of(
	const struct bp_aggregation *aggregation, const struct evidence *evidence, double alpha)
{
	const struct bp_aggregation_state *state = aggregation->state;
	enum bp_method method = aggregation->query.method;
	if (bp_method_is_of_hits(method) &&
		(evidence->metric == BP_METRIC_PEAK || state->interval_max == 1))
		method = BP_METHOD_N3;
	double ratio = aggregation->query.usable ? state->ratio_max : 1;
	return methods[method](aggregation, evidence->tally, ratio, alpha);
}

struct bp_interval bp_figures_objects(const struct bp_aggregation_state *state,
	const struct bp_tally *tally, double alpha, uint64_t size_min)
{
	if (tally->classes != NULL)
		return bp_estimate_objects_by_classes(
			tally->classes, state->interval_unseen, alpha, size_min, state->charge);
	return bp_estimate_objects(
		&tally->sums, state->interval_unseen, alpha, size_min, state->charge);
}

/* What was counted where figures of this metric are from: the peak may hold what was allocated
 * before the window. */
static const struct bp_counted *counted_of(
	const struct bp_aggregation_state *state, enum bp_metric metric)
{
	return metric == BP_METRIC_PEAK ? &state->counted : &state->window;
}

/* Most objects of a program may be of sizes that were never sampled; their number is then missing
 * from the sum of all estimates, and calibration would hand it to the keys that were: the estimate
 * is only calibrated where the count shows none to be missing, or where that is asked for. Nor is
 * that of the peak, whose moment is where the samples show most. */
static struct bp_interval objects_of(
	const struct bp_aggregation *aggregation, const struct evidence *evidence, double alpha)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_sums *sums = &evidence->tally->sums, *others = evidence->others;
	const struct bp_known_total total = counted_of(state, evidence->metric)->offered_objects;
	if (others == NULL)
		return bp_figures_objects(state, evidence->tally, alpha, evidence->size_min);
	struct bp_interval objects = bp_estimate_known_objects(sums, others, state->interval_unseen,
		total.low, total.high, alpha,
		(struct bp_size_min){ evidence->size_min, state->size_min_beside }, state->charge);
	if (evidence->metric == BP_METRIC_PEAK ||
		(aggregation->query.estimator != BP_ESTIMATOR_CALIBRATED &&
			bp_objects_are_missing_beside(sums, others, total.low, total.high)))
		bp_uncalibrate_objects(&objects, sums);
	return objects;
}

/* All else of the counted total, where figures of this metric are parts of it; else NULL. */
static const struct bp_sums *rest_of(
	const struct bp_aggregation_state *state, enum bp_metric metric)
{
	return state->parts ? &state->rest[metric] : NULL;
}

static struct bp_interval bytes_of(
	const struct bp_aggregation *aggregation, const struct evidence *evidence, double alpha)
{
	const struct bp_aggregation_state *state = aggregation->state;
	if (evidence->others == NULL || !state->calibrated || evidence->metric == BP_METRIC_PEAK)
		return values_of(aggregation, evidence, alpha);
	return bp_estimate_known_total(&evidence->tally->sums, evidence->others,
		state->interval_unseen, state->window.offered_bytes.low,
		state->window.offered_bytes.high, alpha);
}

/* The estimate of another method in the place of ours. The limits stay, but hold it. */
static void replace_estimate(struct bp_interval *interval, double estimate)
{
	if (interval->exact)
		return;
	interval->estimate = estimate;
	interval->low = fmin(interval->low, estimate);
	interval->high = fmax(interval->high, estimate);
}

static void estimate(const struct bp_aggregation *aggregation, const struct evidence *evidence,
	struct bp_figure *ret_bytes, struct bp_figure *ret_objects)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_counted *counted = counted_of(state, evidence->metric);
	const struct bp_tally *tally = evidence->tally;
	double alpha = state->alpha;
	struct bp_interval bytes = bytes_of(aggregation, evidence, alpha);
	struct bp_interval objects = objects_of(aggregation, evidence, alpha);
	if (evidence->metric == BP_METRIC_PEAK) {
		double level = 2 * bp_peak_lower_level(alpha, state->turnovers, BP_PEAK_FACTOR);
		bytes = bp_peak_moment_interval(bytes, values_of(aggregation, evidence, level));
		objects =
			bp_peak_moment_interval(objects, objects_of(aggregation, evidence, level));
	} else if (bp_estimator_is_other(aggregation->query.estimator)) {
		replace_estimate(&bytes, tally->other.bytes);
		replace_estimate(&objects, tally->other.objects);
	}
	if (!state->lost_totals) {
		if (!aggregation->query.usable)
			cap(&bytes, counted->bytes.high);
		cap(&objects, counted->objects.high);
	}
	*ret_bytes = figure(state, evidence->metric, bytes);
	*ret_objects = figure(state, evidence->metric, objects);
}

/* From what was live at the named moment to the largest value at any time. */
static struct bp_interval peak_of(
	const struct bp_aggregation *aggregation, struct bp_interval moment, double alpha)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	const struct evidence reach = {
		.metric = BP_METRIC_PEAK, .tally = &state->reach, .size_min = state->size_min
	};
	const struct evidence at_end = { .metric = BP_METRIC_LIVE,
		.tally = &state->totals[BP_METRIC_LIVE],
		.others = rest_of(state, BP_METRIC_LIVE),
		.size_min = state->size_min };
	const double high = values_of(aggregation, &reach, alpha).high;
	const double most =
		query->usable || state->lost_totals ? INFINITY : (double)state->counted.bytes.high;
	struct bp_interval peak =
		bp_peak_interval(moment, fmin(high, most), state->peak.certain, state->cross_bytes);
	if (query->has_at || query->has_from || query->has_to || peak.exact ||
		!aggregation->totals[BP_METRIC_LIVE].known)
		return peak;
	const struct bp_interval live = bytes_of(aggregation, &at_end, alpha);
	raise(&peak, &live, bytes_of(aggregation, &at_end, error_of_live_in_peak * alpha).low);
	return peak;
}

struct bp_interval bp_figures_peak(const struct bp_aggregation *aggregation, double alpha)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct evidence moment = { .metric = BP_METRIC_PEAK,
		.tally = &state->totals[BP_METRIC_PEAK],
		.size_min = state->size_min };
	const double level = 2 * bp_peak_lower_level(alpha, state->turnovers, BP_PEAK_FACTOR);
	return peak_of(aggregation,
		bp_peak_moment_interval(values_of(aggregation, &moment, alpha),
			values_of(aggregation, &moment, level)),
		alpha);
}

struct bp_interval bp_figures_of_sums(const struct bp_aggregation *aggregation,
	const struct bp_sums *sums, bool objects, double alpha)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const struct bp_tally tally = { .sums = *sums };
	const struct evidence evidence = {
		.metric = BP_METRIC_LIVE, .tally = &tally, .size_min = state->size_min
	};
	return (objects ? objects_of : values_of)(aggregation, &evidence, alpha);
}

/* The total of a window: the counters' limits are certain, and cut those of the samples. (Cut, not
 * replaced: many threads of which little is heard leave wide ones.) */
static void narrow(struct bp_interval *interval, struct bp_known_total total)
{
	double low = (double)total.low, high = (double)total.high;
	if (interval->exact)
		return; /* everything was sampled: that says more */
	interval->low = fmin(fmax(interval->low, low), high);
	interval->high = fmax(fmin(interval->high, high), low);
	interval->estimate = fmin(fmax(interval->estimate, interval->low), interval->high);
	interval->exact = total.low == total.high; /* (limits may also meet by losses) */
	interval->unknown = false;
}

/* What was counted; where that is a lower limit only, the estimate above it. */
static void whole_figure(const struct bp_aggregation_state *state, struct bp_known_total total,
	struct bp_figure *figure)
{
	if (!bp_total_is_open(total))
		*figure = counted_figure(state, total);
	else if (!state->lost_totals)
		narrow(&figure->interval, total);
}

/* An object that was not sampled may have a larger ratio than any that was: glibc gives at most 24
 * bytes more than asked for, and 24 for none, which is one trial. Only what the query says is known
 * of sizes: no assumption is made from samples. */
double bp_largest_ratio(const struct bp_aggregation *aggregation)
{
	const struct bp_aggregation_state *state = aggregation->state;
	uint64_t size = state->selection.size_low;
	if (aggregation->query.has_size_min && aggregation->query.size_min > size)
		size = aggregation->query.size_min;
	return ((double)size + 24) / (double)bp_trials(size, state->charge);
}

void bp_figures_totals(struct bp_aggregation *aggregation)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_query *query = &aggregation->query;
	const struct bp_sums *allocated = &state->totals[BP_METRIC_ALLOCATED].sums;
	state->ratio_max = fmax(bp_largest_ratio(aggregation),
		fmax(allocated->ratio_max, state->outside.ratio_max));
	uint64_t live = state->totals[BP_METRIC_PEAK].sums.samples;
	state->turnovers = live > 0 ? (double)state->peak.allocations / (double)live : 0;
	bool whole = !query->has_from && !query->has_to;
	for (int metric = 0; metric < BP_METRIC_COUNT; metric++) {
		struct bp_total *total = &aggregation->totals[metric];
		struct evidence evidence = { .metric = (enum bp_metric)metric,
			.tally = &state->totals[metric],
			.size_min = state->size_min };
		total->samples = state->totals[metric].sums.samples;
		total->known =
			state->profiled &&
			!(metric == BP_METRIC_PEAK && (aggregation->profile->merged_unrelated ||
							      bp_query_leaves_peak_out(query))) &&
			!(state->absent & 1u << metric);
		if (!total->known)
			continue;
		/* (Without a filter everything that was allocated is selected, and part of
		 * nothing.) */
		if (metric != BP_METRIC_ALLOCATED || whole || query->filter_count > 0)
			evidence.others = rest_of(state, (enum bp_metric)metric);
		estimate(aggregation, &evidence, &total->bytes, &total->objects);
		if (metric != BP_METRIC_ALLOCATED || query->filter_count > 0 ||
			(state->lacks & BP_LACKS_COUNTERS))
			continue;
		if (whole && !query->usable)
			whole_figure(state, state->counted.bytes, &total->bytes);
		if (whole && !(state->lacks & BP_LACKS_OBJECT_COUNTERS))
			whole_figure(state, state->counted.objects, &total->objects);
		if (state->has_window && !state->lost_totals && !query->usable)
			narrow(&total->bytes.interval, state->window.bytes);
		if (state->has_window && !state->lost_totals)
			narrow(&total->objects.interval, state->window.objects);
	}
	struct bp_total *peak = &aggregation->totals[BP_METRIC_PEAK];
	aggregation->peak_moment = *peak;
	if (peak->known) /* (its objects are those of the named moment) */
		peak->bytes = figure(state, BP_METRIC_PEAK,
			peak_of(aggregation, peak->bytes.interval, state->alpha));
}

void bp_figures_of_tally(const struct bp_aggregation *aggregation, const struct bp_tally *tally,
	const struct bp_sums *others, struct bp_row *ret_row)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const enum bp_metric metric = aggregation->query.metric;
	struct evidence evidence = { .metric = metric,
		.tally = tally,
		.others = rest_of(state, metric) != NULL ? others : NULL,
		.size_min = state->size_min };
	ret_row->samples = tally->sums.samples;
	estimate(aggregation, &evidence, &ret_row->bytes, &ret_row->objects);
}

/* The sums of everything that is not under a row. */
static void complement(
	const struct bp_aggregation *aggregation, uint32_t row, struct bp_sums *ret_others)
{
	const struct bp_aggregation_state *state = aggregation->state;
	*ret_others = state->rest[aggregation->query.metric];
	if (!aggregation->query.cumulative) {
		bp_sums_merge(ret_others, &state->before[row]);
		bp_sums_merge(ret_others, &state->after[row + 1]);
		return;
	}
	for (uint32_t i = 0; i < state->cell_count; i++) {
		const struct bp_cell *cell = &state->cells[i];
		bool under = false;
		for (uint32_t j = 0; j < cell->row_count && !under; j++)
			under = state->cell_rows[cell->first_row + j] == row;
		if (!under)
			bp_sums_merge(ret_others, &cell->tally.sums);
	}
}

/* The counters of a row, if they hold what was sampled of it. */
static bool own_counters(const struct bp_aggregation *aggregation, const struct bp_row_sums *row,
	struct bp_known_total *ret_bytes, struct bp_known_total *ret_objects)
{
	const struct bp_aggregation_state *state = aggregation->state;
	if (!state->counted_rows)
		return false;
	const struct bp_row_counters *counters = &state->row_counters[row - state->rows];
	if (counters->unknown)
		return false;
	*ret_bytes = counters->bytes;
	*ret_objects = counters->objects;
	const struct bp_sums *sums = &row->tally.sums;
	return !bp_total_is_open(*ret_bytes) && ret_objects->high >= sums->samples &&
	       (double)ret_bytes->high >= sums->bytes;
}

/* The error of the estimates of all that was allocated, a variance of theirs taken for one. It is
 * the same for every metric, since every part and all else make up the same whole. */
static double share_of_error(
	const struct bp_sums *all, struct bp_known_total total, bool objects, bool fully)
{
	const double sum = objects ? (double)all->samples + all->n1 : all->bytes + all->c1;
	const double variance = objects ? all->n2 : all->c2;
	const double error = fmin(fmax(sum, (double)total.low), (double)total.high) - sum;
	if (!(variance > 0) || (objects && !fully && bp_objects_are_missing(error, variance)))
		return 0;
	return error / variance;
}

void bp_figures_share(struct bp_aggregation *aggregation)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_sums *all = &state->rest[BP_METRIC_ALLOCATED];
	struct bp_sums whole = state->totals[BP_METRIC_ALLOCATED].sums;
	const bool fully = aggregation->query.estimator == BP_ESTIMATOR_CALIBRATED;
	bp_sums_merge(&whole, all);
	if (state->calibrated)
		state->share_bytes =
			share_of_error(&whole, state->window.offered_bytes, false, fully);
	if (state->parts)
		state->share_objects =
			share_of_error(&whole, state->window.offered_objects, true, fully);
}

double bp_figures_shift(
	const struct bp_aggregation *aggregation, const struct bp_sums *sums, bool objects)
{
	const struct bp_aggregation_state *state = aggregation->state;
	if (aggregation->query.metric == BP_METRIC_PEAK)
		return 0;
	return objects ? state->share_objects * sums->n2 : state->share_bytes * sums->c2;
}

double bp_figures_order(const struct bp_aggregation *aggregation, const struct bp_row_sums *row)
{
	const struct bp_query *query = &aggregation->query;
	const struct bp_sums *sums = &row->tally.sums;
	if (query->sort == BP_SORT_NAME)
		return 0;
	if (query->sort == BP_SORT_SAMPLES)
		return (double)sums->samples;
	bool objects = query->sort == BP_SORT_OBJECTS;
	struct bp_known_total own_bytes, own_objects;
	if (own_counters(aggregation, row, &own_bytes, &own_objects))
		return (double)(objects ? own_objects.high : own_bytes.high);
	if (bp_estimator_is_other(query->estimator))
		return objects ? row->tally.other.objects : row->tally.other.bytes;
	double mine = objects ? (double)sums->samples + sums->n1 : sums->bytes + sums->c1;
	return mine + bp_figures_shift(aggregation, sums, objects);
}

int bp_figures_compare_order(double a, double b)
{
	const float left = (float)a, right = (float)b;
	return left > right ? -1 : left < right;
}

void bp_aggregation_row(
	const struct bp_aggregation *aggregation, uint32_t i, struct bp_row *ret_row)
{
	const struct bp_aggregation_state *state = aggregation->state;
	uint32_t number = state->order[i];
	const struct bp_row_sums *row = &state->rows[number];
	struct bp_known_total bytes, objects;
	struct bp_sums others;
	*ret_row = (struct bp_row){ .name = state->names + row->name,
		.samples = row->tally.sums.samples };
	if (aggregation->query.by == BP_KEY_STACK) {
		struct bp_stack_id stack = { (uint32_t)state->cells[row->first_cell].id };
		ret_row->name = NULL;
		ret_row->frames =
			bp_attribution_frames(&state->attribution, stack, &ret_row->frame_count);
		ret_row->stack_flags = aggregation->profile->stacks.data[stack.i].flags;
	}
	if (own_counters(aggregation, row, &bytes, &objects)) {
		ret_row->bytes = counted_figure(state, bytes);
		ret_row->objects = counted_figure(state, objects);
		return;
	}
	const bool part = rest_of(state, aggregation->query.metric) != NULL;
	if (part)
		complement(aggregation, number, &others);
	struct evidence evidence = { .metric = aggregation->query.metric,
		.tally = &row->tally,
		.others = part ? &others : NULL,
		.size_min = state->size_min };
	if (aggregation->query.by == BP_KEY_SIZE && row->a > evidence.size_min)
		evidence.size_min = row->a;
	estimate(aggregation, &evidence, &ret_row->bytes, &ret_row->objects);
}

/* The sum of the counters of rows that have them; false: some row has none. */
static bool rest_of_counters(
	const struct bp_aggregation *aggregation, uint32_t shown, struct bp_row *ret_row)
{
	const struct bp_aggregation_state *state = aggregation->state;
	struct bp_known_total bytes = { 0 }, objects = { 0 };
	for (uint32_t i = shown; i < aggregation->row_count; i++) {
		const struct bp_row_sums *row = &state->rows[state->order[i]];
		struct bp_known_total more_bytes, more_objects;
		if (!own_counters(aggregation, row, &more_bytes, &more_objects))
			return false;
		bp_known_total_add(&bytes, more_bytes);
		bp_known_total_add(&objects, more_objects);
		ret_row->samples += row->tally.sums.samples;
	}
	ret_row->bytes = counted_figure(state, bytes);
	ret_row->objects = counted_figure(state, objects);
	return true;
}

/* Is a cell under one of the first `shown` rows? */
static bool is_shown(
	const struct bp_aggregation_state *state, const struct bp_cell *cell, uint32_t shown)
{
	for (uint32_t i = 0; i < cell->row_count; i++)
		if (state->rows[state->cell_rows[cell->first_row + i]].place < shown)
			return true;
	return false;
}

/* Adds up the cells that are under none of the first rows, and apart from them the others. */
static bool split_rest(const struct bp_aggregation_state *state, uint32_t shown,
	struct bp_tally *ret_rest, struct bp_sums *ret_others)
{
	for (uint32_t i = 0; i < state->cell_count; i++) {
		const struct bp_cell *cell = &state->cells[i];
		if (is_shown(state, cell, shown))
			bp_sums_merge(ret_others, &cell->tally.sums);
		else if (!bp_tally_merge(ret_rest, &cell->tally))
			return false;
	}
	return true;
}

bool bp_aggregation_rest(
	const struct bp_aggregation *aggregation, uint32_t shown, struct bp_row *ret_row)
{
	const struct bp_aggregation_state *state = aggregation->state;
	struct bp_row row = { 0 };
	struct bp_tally rest = { 0 };
	struct bp_sums others = state->rest[aggregation->query.metric];
	if (state->counted_rows && shown >= aggregation->row_count)
		return false;
	if (state->counted_rows && rest_of_counters(aggregation, shown, &row)) {
		*ret_row = row;
		return true;
	}
	bool good = split_rest(state, shown, &rest, &others);
	bool some = rest.sums.samples > 0;
	if (good && some)
		bp_figures_of_tally(aggregation, &rest, &others, ret_row);
	bp_tally_finish(&rest);
	return good && some;
}
