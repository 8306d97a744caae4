/* SPDX-License-Identifier: MIT */
/*
 * See sampling.h. Pauses of several processes are brought to one clock and united.
 *
 * The unseen T (docs/statistics.md, "When T changes"). What a key may hold without a sample is
 * bounded by ln(1/a) expected samples, which at the largest T are most bytes. But if only A trials
 * were made under that T, no key has more of them there; the rest of ln(1/a) goes to the next
 * smaller T. So x expected samples are at most L(x) trials, and L is a concave line of pieces with
 * slopes 1/lambda, the largest T first, each A lambda long. The unseen unit of N3 is exponential
 * with mean 1/lambda where there is one T; here it is given the mean E L(X), X exponential of mean
 * 1, times 1.1: then its quantile at any a <= .09 is no smaller than L(ln(1/a)) whatever the
 * pieces. The T that has this 1/lambda is the unseen T; with one T, or where the trials are not
 * known, it is the largest.
 */
#include "aggregation/sampling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "estimate/estimate.h"
#include "query/view.h"

static int compare_numbers(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return a < b ? -1 : a > b;
}

static int compare_spans(const void *left, const void *right)
{
	const struct bp_span *a = left, *b = right;
	return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

static void add_process(struct bp_sampling *sampling, const struct bp_process *process)
{
	sampling->processes++;
	sampling->paused_processes += process->has_pauses;
	sampling->automatic = sampling->automatic || process->automatic;
	sampling->fine_start = sampling->fine_start || process->fine_start;
	sampling->paused = sampling->paused || process->has_pauses;
	sampling->changes += process->changes;
	bp_known_total_add(&sampling->bytes_off, process->bytes_off);
	bp_known_total_add(&sampling->objects_off, process->objects_off);
}

static bool is_looked_at(const struct bp_view *view, struct bp_process_id process)
{
	return view->processes[process.i].included &&
	       view->profile->processes.data[process.i].profiled;
}

static void collect_intervals(struct bp_sampling *sampling, const struct bp_view *view)
{
	const struct bp_profile *profile = view->profile;
	uint32_t count = 0, kept = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		const uint64_t own[] = { process->interval_first, process->interval_max };
		for (int j = 0; j < 2; j++)
			if (is_looked_at(view, (struct bp_process_id){ i }) && own[j] != 0)
				sampling->intervals[count++] = own[j];
	}
	for (uint32_t i = 1; i < profile->intervals.count; i++)
		if (is_looked_at(view, profile->intervals.data[i].process))
			sampling->intervals[count++] = profile->intervals.data[i].interval;
	qsort(sampling->intervals, count, sizeof *sampling->intervals, compare_numbers);
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || sampling->intervals[i] != sampling->intervals[kept - 1])
			sampling->intervals[kept++] = sampling->intervals[i];
	sampling->interval_count = kept;
}

/* Trials made under the T with number `i` in `intervals`, in all processes looked at. Where a
 * process does not say, INFINITY. */
static double trials_under(
	const struct bp_sampling *sampling, const struct bp_view *view, uint32_t i)
{
	const struct bp_profile *profile = view->profile;
	double trials = 0;
	bool found = false;
	for (uint32_t j = 1; j < profile->intervals.count; j++) {
		const struct bp_interval_used *used = &profile->intervals.data[j];
		if (used->interval != sampling->intervals[i] || !is_looked_at(view, used->process))
			continue;
		found = true;
		trials += used->trials == UINT64_MAX ? INFINITY : (double)used->trials;
	}
	for (uint32_t j = 1; j < profile->processes.count; j++)
		if (is_looked_at(view, (struct bp_process_id){ j }) &&
			!profile->processes.data[j].trials_by_interval)
			found = false;
	return found ? trials : INFINITY;
}

static void find_unseen(struct bp_sampling *sampling, const struct bp_view *view)
{
	const uint32_t count = sampling->interval_count;
	double expected = 0, mean = 0;
	if (count == 0)
		return;
	const uint64_t largest = sampling->intervals[count - 1];
	sampling->interval_unseen = largest;
	if (count == 1)
		return;
	for (uint32_t i = count; i-- > 0 && expected < 40;) {
		const double lambda = bp_lambda(sampling->intervals[i]);
		const double trials = i == 0 ? INFINITY : trials_under(sampling, view, i);
		const double next = expected + trials * lambda;
		mean += (exp(-expected) - exp(-next)) / lambda;
		expected = next;
	}
	/* T = 1 / (1 - e^-lambda), upwards. T = 1 claims that all is known: only if it was the only
	 * one. */
	const double unseen = mean > 0 ? fmax(2, ceil(-1 / expm1(-1 / (1.1 * mean)))) : 1;
	if (unseen < (double)largest)
		sampling->interval_unseen = (uint64_t)unseen;
}

static uint64_t since(uint64_t time_ns, uint64_t base_ns)
{
	return time_ns > base_ns ? time_ns - base_ns : 0;
}

/* Pauses into `spans`, which has room for them: sorted, and those that overlap in one. Returns how
 * many. */
static uint32_t merge_spans(const struct bp_view *view, const struct bp_pause *pauses,
	uint32_t pause_count, struct bp_span *spans)
{
	uint32_t count = 0, kept = 0;
	for (uint32_t i = 1; i < pause_count; i++) {
		const struct bp_pause *pause = &pauses[i];
		const struct bp_process_view *process = &view->processes[pause->process.i];
		const uint64_t to_ns =
			pause->to_ns == BP_TIME_NEVER ? process->end_ns : pause->to_ns;
		if (is_looked_at(view, pause->process))
			spans[count++] = (struct bp_span){ since(pause->from_ns, process->base_ns),
				since(to_ns, process->base_ns) };
	}
	qsort(spans, count, sizeof *spans, compare_spans);
	for (uint32_t i = 0; i < count; i++) {
		struct bp_span *last = kept > 0 ? &spans[kept - 1] : NULL;
		if (last == NULL || spans[i].from_ns > last->to_ns)
			spans[kept++] = spans[i];
		else if (spans[i].to_ns > last->to_ns)
			last->to_ns = spans[i].to_ns;
	}
	return kept;
}

static void collect_spans(struct bp_sampling *sampling, const struct bp_view *view)
{
	const struct bp_profile *profile = view->profile;
	sampling->span_count =
		merge_spans(view, profile->pauses.data, profile->pauses.count, sampling->spans);
	for (uint32_t i = 0; i < sampling->span_count; i++)
		sampling->off_ns += sampling->spans[i].to_ns - sampling->spans[i].from_ns;
	sampling->outage_count =
		merge_spans(view, profile->outages.data, profile->outages.count, sampling->outages);
	for (uint32_t i = 1; i < profile->outages.count; i++)
		sampling->outage_goes_on |= is_looked_at(view, profile->outages.data[i].process) &&
					    profile->outages.data[i].to_ns == BP_TIME_NEVER;
}

/* A process or a pause that begins or ends. */
struct step {
	uint64_t time_ns;
	int running, off;
};

static int compare_steps(const void *left, const void *right)
{
	const struct step *a = left, *b = right;
	return compare_numbers(&a->time_ns, &b->time_ns);
}

static uint32_t collect_steps(const struct bp_view *view, struct step *steps)
{
	const struct bp_profile *profile = view->profile;
	uint32_t count = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process_view *process = &view->processes[i];
		if (!is_looked_at(view, (struct bp_process_id){ i }))
			continue;
		steps[count++] = (struct step){ since(bp_process_began_ns(
							      profile, &profile->processes.data[i]),
							process->base_ns),
			1, 0 };
		steps[count++] = (struct step){ since(process->end_ns, process->base_ns), -1, 0 };
	}
	for (uint32_t i = 1; i < profile->pauses.count; i++) {
		const struct bp_pause *pause = &profile->pauses.data[i];
		const struct bp_process *of = &profile->processes.data[pause->process.i];
		const struct bp_process_view *process = &view->processes[pause->process.i];
		const uint64_t began_ns = bp_process_began_ns(profile, of);
		const uint64_t from_ns = pause->from_ns > began_ns ? pause->from_ns : began_ns;
		const uint64_t to_ns =
			pause->to_ns < process->end_ns ? pause->to_ns : process->end_ns;
		if (!is_looked_at(view, pause->process) || from_ns >= to_ns)
			continue;
		steps[count++] = (struct step){ since(from_ns, process->base_ns), 0, 1 };
		steps[count++] = (struct step){ since(to_ns, process->base_ns), 0, -1 };
	}
	return count;
}

/* When as many processes were off as ran. */
static bool measure_all_off(struct bp_sampling *sampling, const struct bp_view *view)
{
	const struct bp_profile *profile = view->profile;
	struct step *steps = calloc(
		2 * ((size_t)profile->processes.count + profile->pauses.count), sizeof *steps);
	int running = 0, off = 0;
	if (steps == NULL)
		return false;
	const uint32_t count = collect_steps(view, steps);
	qsort(steps, count, sizeof *steps, compare_steps);
	for (uint32_t i = 0; i + 1 < count; i++) {
		running += steps[i].running;
		off += steps[i].off;
		if (off > 0 && off >= running)
			sampling->all_off_ns += steps[i + 1].time_ns - steps[i].time_ns;
	}
	free(steps);
	return true;
}

bool bp_sampling_init(
	struct bp_sampling *sampling, const struct bp_view *view, struct bp_error *error)
{
	const struct bp_profile *profile = view->profile;
	memset(sampling, 0, sizeof *sampling);
	sampling->intervals = calloc(profile->intervals.count + 2u * profile->processes.count,
		sizeof *sampling->intervals);
	sampling->spans = calloc(profile->pauses.count, sizeof *sampling->spans);
	sampling->outages = calloc(profile->outages.count, sizeof *sampling->outages);
	if (sampling->intervals == NULL || sampling->spans == NULL || sampling->outages == NULL ||
		!measure_all_off(sampling, view)) {
		bp_sampling_finish(sampling);
		return bp_error_set(error, "out of memory");
	}
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (is_looked_at(view, (struct bp_process_id){ i }))
			add_process(sampling, &profile->processes.data[i]);
	collect_intervals(sampling, view);
	find_unseen(sampling, view);
	collect_spans(sampling, view);
	return true;
}

void bp_sampling_finish(struct bp_sampling *sampling)
{
	free(sampling->intervals);
	free(sampling->spans);
	free(sampling->outages);
	memset(sampling, 0, sizeof *sampling);
}

static bool is_within(const struct bp_span *spans, uint32_t count, uint64_t time_ns)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (spans[middle].from_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && time_ns < spans[low - 1].to_ns;
}

bool bp_sampling_is_off(const struct bp_sampling *sampling, uint64_t time_ns)
{
	return is_within(sampling->spans, sampling->span_count, time_ns);
}

bool bp_sampling_has_outage(const struct bp_sampling *sampling, uint64_t time_ns)
{
	return is_within(sampling->outages, sampling->outage_count, time_ns);
}

bool bp_aggregation_add_off(const struct bp_aggregation *aggregation, enum bp_metric metric,
	bool objects, struct bp_interval *interval)
{
	const struct bp_query *query = &aggregation->query;
	const struct bp_sampling *sampling = &aggregation->sampling;
	const struct bp_known_total off = objects ? sampling->objects_off : sampling->bytes_off;
	if (!sampling->paused)
		return true;
	if (metric != BP_METRIC_ALLOCATED || query->filter_count > 0 || query->has_from ||
		query->has_to || query->usable)
		return false;
	interval->low += (double)off.low;
	interval->high += (double)off.high;
	interval->estimate += (double)off.low;
	interval->unknown = interval->unknown || off.low < off.high;
	interval->exact = interval->exact && off.low == off.high;
	return true;
}
