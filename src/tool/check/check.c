/* SPDX-License-Identifier: MIT */
/*
 * Measuring, limit by limit, one aggregation for all limits with the same filter and error; then
 * judging. See check.h.
 *
 * The interval of an aggregation at confidence 1 - 2a has one-sided limits of error a each,
 * whatever the method. A smallest size is not assumed of objects that were not sampled unless the
 * query says one: the smallest sampled size is no bound on what was missed, and a check must not be
 * within because of it.
 *
 * Growth of what is estimated is judged by bp_check_ratio. A peak was chosen by looking, a killed
 * program's totals are limits, and counted totals are numbers: there the limits of the runs
 * themselves are compared, those of a peak each at its part of the error (their sum bounds that of
 * the whole).
 */
#include "check/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/gaps/unseen.h"
#include "check/measure_process.h"

/* All limits on their way through one profile. */
struct pass {
	const struct bp_profile *profile;
	const struct bp_measuring *measuring;
	const struct bp_limit *limits;
	uint32_t count;
	struct bp_query query; /* of all limits */
	struct bp_warner *warner;
	struct bp_measure *measures;
	enum bp_blind blind; /* what was not seen, the same for all limits */
	bool blind_known;
};

const char *bp_reason_name(const struct bp_check_result *result)
{
	static const char *const reasons[BP_REASON_COUNT] = { NULL, NULL, "killed", "too-near",
		"samples", "runs-differ" };
	static const char *const blinds[BP_BLIND_COUNT] = { "not-seen", "unprofiled",
		"nothing-seen", "processes-not-seen", "samples-lost", "frees-lost", "no-pages",
		"no-resident-memory", "no-mappings", "resident-memory-of-one", "sampling-off",
		"names-missing" };
	return result->reason == BP_REASON_BLIND ? blinds[result->blind] : reasons[result->reason];
}

const char *bp_limit_metric_name(const struct bp_limit *limit)
{
	return limit->resident != BP_RESIDENT_NONE ? bp_resident_metric_names[limit->resident]
						   : bp_metric_names[limit->metric];
}

/* Is everything that should have been seen in the profile? The worst that is not. */
static enum bp_blind blindness(const struct pass *pass, const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = pass->profile;
	const struct bp_measuring *measuring = pass->measuring;
	const struct bp_process *subject = &profile->processes.data[aggregation->subject.i];
	bool hidden = profile->unread_files > 0;
	bool objects = false;
	if (aggregation->subject.i == 0 || !subject->profiled ||
		bp_process_went_on_elsewhere(profile, subject))
		return BP_BLIND_UNPROFILED;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (measuring->query->pid != 0 && process->pid != measuring->query->pid)
			continue;
		hidden = hidden || !process->profiled || process->unseen_execs > 0 ||
			 process->missing_children > 0 ||
			 bp_process_went_on_elsewhere(profile, process);
		objects = objects || process->objects_allocated.high > 0 ||
			  process->objects_off.high > 0;
	}
	if (!objects)
		return BP_BLIND_NOTHING_SEEN;
	return hidden && !measuring->only_seen ? BP_BLIND_PROCESSES : BP_BLIND_NOT;
}

static bool looks_at_names(const struct bp_filter *filter)
{
	return filter->key == BP_KEY_FUNCTION || filter->key == BP_KEY_STACK ||
	       filter->key == BP_KEY_FILE || filter->key == BP_KEY_LINE;
}

static bool needs_names(const struct bp_limit *limit, const struct bp_query *query)
{
	if (limit->filter_text != NULL && looks_at_names(&limit->filter))
		return true;
	for (uint32_t i = 0; i < query->filter_count; i++)
		if (looks_at_names(&query->filters[i]))
			return true;
	return false;
}

static void find_blindness(const struct pass *pass, const struct bp_aggregation *aggregation,
	const struct bp_limit *limit, struct bp_measure *measure)
{
	const struct bp_total *total = &aggregation->totals[limit->metric];
	measure->low_holds = total->known && !measure->figure.upper_bound;
	measure->high_holds = total->known && !measure->figure.lower_bound;
	if (!total->known)
		measure->blind = BP_BLIND_UNPROFILED;
	else if (measure->figure.lower_bound)
		measure->blind = BP_BLIND_LOST_SAMPLES;
	else if (measure->figure.upper_bound)
		measure->blind = BP_BLIND_LOST_FREES;
	if (measure->off > 0 && (limit->growth || measure->off_unknown)) {
		measure->high_holds = false;
		measure->blind = BP_BLIND_OFF;
	}
	if (pass->blind != BP_BLIND_NOT) {
		measure->high_holds = false;
		measure->blind = pass->blind;
	}
}

static struct bp_side side_of(const struct bp_aggregation *aggregation,
	const struct bp_limit *limit, const struct bp_figure *figure)
{
	struct bp_assumptions assumed = bp_aggregation_assumptions(aggregation);
	const struct bp_sums *sums = bp_aggregation_total_sums(aggregation, limit->metric);
	struct bp_side side;
	if (figure->interval.exact)
		return bp_side_of_count(figure->interval.estimate);
	side = limit->objects ? bp_side_of_objects(sums, assumed.interval_unseen, assumed.size_min,
					assumed.charge)
			      : bp_side_of_values(sums, assumed.interval_unseen, assumed.ratio_max);
	if (limit->metric == BP_METRIC_PEAK && !figure->interval.unknown)
		side.estimate = figure->interval.estimate; /* cross-fitted */
	return side;
}

/* Adds what was allocated while sampling was off: to the whole of what was allocated as it was
 * counted, to the upper limit of everything else. */
static void count_pauses(const struct bp_aggregation *aggregation, const struct bp_limit *limit,
	struct bp_measure *measure)
{
	const struct bp_query *query = &aggregation->query;
	const struct bp_sampling *sampling = &aggregation->sampling;
	struct bp_interval *interval = &measure->figure.interval;
	const struct bp_known_total off =
		limit->objects ? sampling->objects_off : sampling->bytes_off;
	if (bp_aggregation_add_off(aggregation, limit->metric, limit->objects, interval))
		return;
	measure->off = (double)off.high;
	/* A usable size is the requested one and the allocator's rounding, which was not
	 * recorded. */
	measure->off_unknown = query->usable && !limit->objects;
	interval->high += measure->off;
	interval->exact = interval->exact && !(measure->off > 0);
}

static void measure_one(const struct pass *pass, const struct bp_aggregation *aggregation,
	const struct bp_limit *limit, double error, struct bp_measure *ret_measure)
{
	const struct bp_total *total = &aggregation->totals[limit->metric];
	struct bp_assumptions assumed = bp_aggregation_assumptions(aggregation);
	const struct bp_sums *sums = bp_aggregation_total_sums(aggregation, limit->metric);
	bool peak = limit->metric == BP_METRIC_PEAK;
	struct bp_measure measure = { .figure = limit->objects ? total->objects : total->bytes,
		.error = error,
		.samples = total->samples };
	struct bp_interval *interval = &measure.figure.interval;
	if (!total->known)
		*interval = (struct bp_interval){ NAN, 0, INFINITY, false, true };
	else
		count_pauses(aggregation, limit, &measure);
	measure.limits_only = total->known && interval->unknown;
	measure.error_low =
		peak ? bp_peak_lower_level(2 * error, assumed.turnovers, BP_PEAK_FACTOR) : error;
	measure.side = side_of(aggregation, limit, &measure.figure);
	measure.side_high = measure.side;
	measure.high_named = interval->high;
	double known = limit->objects ? (double)sums->samples : sums->bytes;
	measure.evidence = (struct bp_check_evidence){ .known = known,
		.rest = interval->unknown ? 0 : fmax(0, interval->estimate - known),
		.variance = measure.side.variance,
		.unit = measure.side.unit,
		.interval = bp_mean_interval(sums, &assumed) };
	measure.interval_max = assumed.interval_max;
	find_blindness(pass, aggregation, limit, &measure);
	*ret_measure = measure;
}

/* The error of each limit of a figure: see the top. */
static double error_of(const struct bp_limit *limit, const struct bp_measuring *measuring)
{
	bool peak = limit->metric == BP_METRIC_PEAK;
	double parts = peak && limit->growth ? measuring->runs : 1;
	return measuring->a / parts;
}

/* Do limits number i and j need the same figures? */
static bool same_figures(const struct pass *pass, uint32_t i, uint32_t j)
{
	const struct bp_limit *one = &pass->limits[i], *other = &pass->limits[j];
	if (one->resident != BP_RESIDENT_NONE || other->resident != BP_RESIDENT_NONE)
		return false;
	bool same_filter = one->filter_text == NULL
				   ? other->filter_text == NULL
				   : other->filter_text != NULL &&
					     strcmp(one->filter_text, other->filter_text) == 0;
	return same_filter && error_of(one, pass->measuring) == error_of(other, pass->measuring);
}

/* The measures of the limits that share the figures of number `first`. */
static void measure_alike(
	struct pass *pass, const struct bp_aggregation *aggregation, uint32_t first)
{
	if (!pass->blind_known)
		pass->blind = blindness(pass, aggregation);
	pass->blind_known = true;
	for (uint32_t i = first; i < pass->count; i++)
		if (same_figures(pass, first, i))
			measure_one(pass, aggregation, &pass->limits[i],
				error_of(&pass->limits[i], pass->measuring), &pass->measures[i]);
}

/* The same, of an aggregation in which samples whose function has no name pass the filters: the
 * truth is not above what they and the others make together. */
static void count_unnamed_in(
	struct pass *pass, const struct bp_aggregation *aggregation, uint32_t first)
{
	for (uint32_t i = first; i < pass->count; i++) {
		struct bp_measure wide, *measure = &pass->measures[i];
		if (!same_figures(pass, first, i))
			continue;
		measure_one(pass, aggregation, &pass->limits[i], measure->error, &wide);
		if (wide.samples <= measure->samples || measure->limits_only)
			continue;
		measure->unnamed_samples = wide.samples - measure->samples;
		measure->side_high = wide.side;
		measure->figure.interval.high =
			fmax(measure->figure.interval.high, wide.figure.interval.high);
		measure->figure.interval.exact = false;
	}
}

/* Which modules have names at all. */
static bool *find_names(const struct bp_profile *profile)
{
	bool *named = calloc((size_t)profile->modules.count + 1, sizeof *named);
	for (uint32_t i = 1; named != NULL && i < profile->frames.count; i++) {
		const struct bp_frame *frame = &profile->frames.data[i];
		named[frame->module.i] = named[frame->module.i] || frame->named;
	}
	/* Code in no module (made at run time) is not what has a name in a file. */
	if (named != NULL)
		named[0] = true;
	return named;
}

/* Widens the measures of one group by what has no name. */
static bool widen(struct pass *pass, uint32_t first, const struct bp_query *query,
	struct bp_filter *filters, struct bp_error *error)
{
	struct bp_aggregation aggregation;
	bool *modules_named = find_names(pass->profile);
	if (modules_named == NULL)
		return bp_error_set(error, "out of memory");
	for (uint32_t i = 0; i < query->filter_count; i++)
		filters[i].modules_named = modules_named;
	bool good = bp_aggregate(pass->profile, query, &aggregation, error);
	if (good) {
		count_unnamed_in(pass, &aggregation, first);
		bp_aggregation_finish(&aggregation);
	}
	free(modules_named);
	return good;
}

/* Measures all limits that share the figures of number `first`. */
static bool measure_group(struct pass *pass, uint32_t first, struct bp_error *error)
{
	const struct bp_limit *limit = &pass->limits[first];
	struct bp_filter filters[BP_LIMIT_FILTERS_MAX + 1];
	struct bp_query query = pass->query;
	struct bp_aggregation aggregation;
	bool good = true;
	for (uint32_t i = 0; i < query.filter_count; i++)
		filters[i] = pass->query.filters[i];
	if (limit->filter_text != NULL)
		filters[query.filter_count++] = limit->filter;
	query.filters = filters;
	query.confidence = 1 - 2 * error_of(limit, pass->measuring);
	if (!bp_aggregate(pass->profile, &query, &aggregation, error))
		return false;
	measure_alike(pass, &aggregation, first);
	for (char **w = aggregation.warnings; *w != NULL && good; w++)
		good = pass->warner->add(pass->warner->context, *w);
	bp_aggregation_finish(&aggregation);
	if (!good)
		return bp_error_set(error, "out of memory");
	return pass->measuring->only_seen || !needs_names(limit, &pass->query) ||
	       widen(pass, first, &query, filters, error);
}

/* What lives at the end was not freed: of objects that were, a limit on it holds in any case. */
static bool check_lives(
	const struct bp_limit *limit, const struct bp_query *query, struct bp_error *error)
{
	const bool of_free = bp_query_filters_frees(query) ||
			     (limit->filter_text != NULL && limit->filter.of_free);
	return limit->resident != BP_RESIDENT_NONE || limit->metric != BP_METRIC_LIVE ||
	       query->has_at || !of_free ||
	       bp_error_set(error,
		       "%.400s: what lives at the end was not freed, so that the limit holds whatever "
		       "happens: choose allocated or peak, or --at TIME",
		       limit->text);
}

bool bp_measure_all(const struct bp_profile *profile, const struct bp_measuring *measuring,
	const struct bp_limit *limits, uint32_t count, struct bp_measure *ret_measures,
	struct bp_warner *warner, struct bp_error *error)
{
	struct pass pass = { .profile = profile,
		.measuring = measuring,
		.limits = limits,
		.count = count,
		.query = *measuring->query,
		.warner = warner,
		.measures = ret_measures };
	struct bp_query *query = &pass.query;
	if (query->filter_count > BP_LIMIT_FILTERS_MAX)
		return bp_error_set(error, "more than %d filters", BP_LIMIT_FILTERS_MAX);
	query->metric = query->has_at ? BP_METRIC_LIVE : BP_METRIC_ALLOCATED;
	query->by = BP_KEY_TYPE; /* rows are not looked at: these are cheap */
	for (uint32_t i = 0; i < count; i++)
		if (!check_lives(&limits[i], query, error))
			return false;
	for (uint32_t i = 0; i < count; i++) {
		bool done = limits[i].resident != BP_RESIDENT_NONE;
		if (done)
			bp_measure_process(profile, measuring, &limits[i], &ret_measures[i]);
		for (uint32_t j = 0; j < i; j++)
			done = done || same_figures(&pass, i, j);
		if (!done && !measure_group(&pass, i, error))
			return false;
	}
	return true;
}

static struct bp_bounds bounds_that_hold(struct bp_bounds bounds, bool low_holds, bool high_holds)
{
	return (struct bp_bounds){ low_holds ? bounds.low : -INFINITY,
		high_holds ? bounds.high : INFINITY };
}

void bp_check_limit(const struct bp_limit *limit, const struct bp_measure *measure,
	const char *file, double a, struct bp_check_result *ret_result)
{
	const struct bp_interval *interval = &measure->figure.interval;
	struct bp_bounds bounds = { interval->low, interval->high };
	struct bp_check_result result = { .limit = limit,
		.file = file,
		.blind = measure->blind,
		.low_holds = measure->low_holds,
		.high_holds = measure->high_holds,
		.a = a,
		.error = measure->error,
		.figure = measure->figure,
		.samples = measure->samples,
		.unnamed_samples = measure->unnamed_samples,
		.interval_max = measure->interval_max,
		.nothing_matches = limit->filter_text != NULL && measure->samples == 0,
		.counted = interval->exact };
	result.outcome = bp_check_outcome(
		bounds_that_hold(bounds, measure->low_holds, measure->high_holds), limit->most);
	if (result.outcome != BP_OUTCOME_UNDECIDED) {
		result.reason = BP_REASON_NONE;
	} else if (!measure->low_holds || !measure->high_holds) {
		result.reason = BP_REASON_BLIND;
	} else if (limit->resident != BP_RESIDENT_NONE) {
		result.reason = BP_REASON_NEAR;
	} else if (measure->limits_only) {
		result.reason = BP_REASON_KILLED;
	} else if (measure->off > 0 && interval->estimate <= limit->most &&
		   (interval->high - measure->off <= limit->most ||
			   interval->estimate + measure->off > limit->most)) {
		result.reason = BP_REASON_BLIND;
		result.blind = BP_BLIND_OFF;
	} else if (measure->high_named <= limit->most) {
		result.reason = BP_REASON_BLIND;
		result.blind = BP_BLIND_NAMES;
	} else {
		result.need = bp_check_need(
			measure->evidence, limit->most, measure->error_low, measure->error);
		result.reason = result.need.decidable ? BP_REASON_SAMPLES : BP_REASON_NEAR;
		result.never_within =
			limit->most < bp_check_least(measure->evidence.unit, measure->error);
	}
	*ret_result = result;
}

/* One side of a growth: all its runs. */
struct runs {
	struct bp_side sides[BP_RUNS_MAX], sides_high[BP_RUNS_MAX]; /* see bp_measure */
	uint32_t count;
	double low, high, estimate; /* means of the limits and the estimates */
	bool low_holds, high_holds, limits_only, counted;
	enum bp_blind blind;
	uint64_t samples, unnamed_samples;
	uint64_t interval,
		interval_max; /* as the samples had it on average; the largest in force */
};

/* The worst comes first in the enum. */
static enum bp_blind worse(enum bp_blind one, enum bp_blind other)
{
	if (one == BP_BLIND_NOT || other == BP_BLIND_NOT)
		return one == BP_BLIND_NOT ? other : one;
	return one < other ? one : other;
}

static void collect(const struct bp_measure *const *measures, uint32_t count, struct runs *runs)
{
	*runs = (struct runs){
		.count = count, .low_holds = true, .high_holds = true, .counted = true
	};
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_measure *measure = measures[i];
		const struct bp_interval *interval = &measure->figure.interval;
		runs->sides[i] = measure->side;
		runs->sides_high[i] = measure->side_high;
		runs->low += interval->low / count;
		runs->high += interval->high / count;
		runs->estimate += (interval->unknown ? NAN : interval->estimate) / count;
		runs->low_holds = runs->low_holds && measure->low_holds;
		runs->high_holds = runs->high_holds && measure->high_holds;
		runs->limits_only = runs->limits_only || measure->limits_only;
		runs->counted = runs->counted && interval->exact;
		runs->samples += measure->samples;
		runs->unnamed_samples += measure->unnamed_samples;
		if (measure->evidence.interval > runs->interval)
			runs->interval = measure->evidence.interval;
		if (measure->interval_max > runs->interval_max)
			runs->interval_max = measure->interval_max;
		runs->blind = worse(runs->blind, measure->blind);
	}
}

static double ratio_of(double new, double base)
{
	return base > 0 ? new / base : new > 0 ? INFINITY : 0;
}

/* By the limits of the runs themselves. Nothing that stays nothing has not grown. */
static struct bp_bounds compare_limits(const struct runs *base, const struct runs *new)
{
	return (struct bp_bounds){ ratio_of(new->low, base->high), ratio_of(new->high, base->low) };
}

static bool by_limits(const struct bp_limit *limit, const struct runs *base, const struct runs *new)
{
	return limit->metric == BP_METRIC_PEAK || base->limits_only || new->limits_only ||
	       (base->counted && new->counted);
}

/* What sampling leaves possible. Each limit is that of the sides it needs: what has no name counts
 * on the side where it hurts. */
static struct bp_bounds compare_sampled(
	const struct bp_limit *limit, const struct runs *base, const struct runs *new, double a)
{
	struct bp_side base_low = bp_check_mean(base->sides, base->count);
	struct bp_side base_high = bp_check_mean(base->sides_high, base->count);
	struct bp_side new_low = bp_check_mean(new->sides, new->count);
	struct bp_side new_high = bp_check_mean(new->sides_high, new->count);
	if (by_limits(limit, base, new))
		return compare_limits(base, new);
	return (struct bp_bounds){ bp_check_ratio(&base_high, 1, &new_low, 1, a).low,
		bp_check_ratio(&base_low, 1, &new_high, 1, a).high };
}

/* The same, widened by what the runs differ among themselves. */
static struct bp_bounds compare(
	const struct runs *base, const struct runs *new, struct bp_bounds sampled, double a)
{
	if (base->count < 2 || new->count < 2 || !(base->estimate > 0 && new->estimate > 0))
		return sampled;
	struct bp_bounds low =
		bp_check_ratio(base->sides_high, base->count, new->sides, new->count, a);
	struct bp_bounds high =
		bp_check_ratio(base->sides, base->count, new->sides_high, new->count, a);
	return (struct bp_bounds){ fmin(sampled.low, low.low), fmax(sampled.high, high.high) };
}

static void explain_growth(struct bp_check_result *result, const struct runs *base,
	const struct runs *new, struct bp_bounds sampled)
{
	struct bp_side before = bp_check_mean(base->sides, base->count);
	struct bp_side after = bp_check_mean(new->sides, new->count);
	if (!result->low_holds || !result->high_holds) {
		result->reason = BP_REASON_BLIND;
	} else if (base->limits_only || new->limits_only) {
		result->reason = BP_REASON_KILLED;
	} else if (result->unnamed_samples > 0 &&
		   bp_check_outcome(bp_check_ratio(&before, 1, &after, 1, result->a),
			   result->limit->most) != BP_OUTCOME_UNDECIDED) {
		result->reason = BP_REASON_BLIND;
		result->blind = BP_BLIND_NAMES;
	} else if (bp_check_outcome(sampled, result->limit->most) != BP_OUTCOME_UNDECIDED) {
		result->reason = BP_REASON_RUNS;
	} else {
		result->need = bp_check_ratio_need(
			&before, &after, new->interval, result->limit->most, result->a);
		if (result->limit->metric == BP_METRIC_PEAK)
			result->need = bp_check_need_of_bounds(result->need, sampled,
				result->figure.interval.estimate, new->interval,
				result->limit->most);
		result->reason = result->need.decidable ? BP_REASON_SAMPLES : BP_REASON_NEAR;
	}
}

void bp_check_growth(const struct bp_limit *limit, const struct bp_measure *const *base,
	uint32_t base_count, const struct bp_measure *const *new, uint32_t new_count,
	const char *file, double a, struct bp_check_result *ret_result)
{
	struct runs before, after;
	collect(base, base_count, &before);
	collect(new, new_count, &after);
	struct bp_bounds sampled = compare_sampled(limit, &before, &after, a);
	struct bp_bounds bounds = compare(&before, &after, sampled, a);
	struct bp_check_result result = { .limit = limit,
		.file = file,
		.blind = worse(before.blind, after.blind),
		.low_holds = after.low_holds && before.high_holds,
		.high_holds = after.high_holds && before.low_holds,
		.a = a,
		.error = a,
		.samples = after.samples,
		.unnamed_samples = after.unnamed_samples + before.unnamed_samples,
		.interval_max = after.interval_max,
		.nothing_matches = limit->filter_text != NULL && after.samples == 0,
		.new_runs = new_count,
		.base_runs = base_count,
		.new_estimate = after.estimate,
		.base_estimate = before.estimate,
		.base_samples = before.samples,
		.counted = before.counted && after.counted };
	double ratio = after.estimate / before.estimate;
	result.figure = (struct bp_figure){
		.interval = { .low = bounds.low, .high = bounds.high, .unknown = !isfinite(ratio) },
		.lower_bound = !result.high_holds,
		.upper_bound = !result.low_holds
	};
	result.figure.interval.estimate =
		isfinite(ratio) ? fmin(fmax(ratio, bounds.low), bounds.high) : NAN;
	result.outcome = bp_check_outcome(
		bounds_that_hold(bounds, result.low_holds, result.high_holds), limit->most);
	if (result.outcome == BP_OUTCOME_UNDECIDED)
		explain_growth(&result, &before, &after, sampled);
	*ret_result = result;
}
