/* SPDX-License-Identifier: MIT */
/*
 * The estimate of the process at a moment is made as every other figure of metric live: one walk
 * over its samples, summed, and the interval of the sums. Everything else is arithmetic of limits:
 *
 *	rest.low  = anonymous - uncertain - live.high - recorder_most - stack_most
 *	rest.high = anonymous + uncertain - live.low
 *
 * (the recorder's memory and the stack are known as upper limits: of neither all need be resident).
 * What follows from limits is limits: the rest has no estimate.
 */
#include "resident/resident.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"

void bp_resident_finish(struct bp_resident *resident)
{
	free(resident->points);
	memset(resident, 0, sizeof *resident);
}

static void thin(struct bp_resident *resident)
{
	uint32_t kept = 0;
	for (uint32_t i = 0; i < resident->count; i += 2)
		resident->points[kept++] = resident->points[i];
	resident->count = kept;
	resident->period_ns *= 2;
}

void bp_resident_add(
	struct bp_resident *resident, const struct bp_resident_point *point, uint32_t capacity)
{
	if (resident->count > 0 && point->time_ns <= resident->points[resident->count - 1].time_ns)
		return;
	if (resident->count == capacity)
		thin(resident);
	resident->points[resident->count++] = *point;
}

uint64_t bp_resident_sum(const struct bp_resident_point *point)
{
	return point->anonymous + point->file + point->shared;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* How much more than at the looks before and after a moment it may have been: where the high-water
 * mark rose between them, or after the last look, it was that much at some time in between. */
static uint64_t most_between(const struct bp_resident *resident, uint32_t after)
{
	const uint64_t before = after > 0 ? resident->points[after - 1].high : UINT64_MAX;
	const uint64_t then =
		after < resident->count ? resident->points[after].high : resident->most_bytes;
	return then > before ? then : 0;
}

bool bp_resident_around(
	const struct bp_resident *resident, uint64_t time_ns, struct bp_known_total *ret_around)
{
	struct bp_known_total around = { UINT64_MAX, 0 };
	uint32_t after = 0;
	while (after < resident->count && resident->points[after].time_ns < time_ns)
		after++;
	for (uint32_t i = after > 0 ? after - 1 : 0; i <= after && i < resident->count; i++) {
		const struct bp_resident_point *point = &resident->points[i];
		const uint64_t sum = bp_resident_sum(point);
		if (distance(point->time_ns, time_ns) > 2 * resident->period_ns)
			continue;
		around.low = sum < around.low ? sum : around.low;
		around.high = sum > around.high ? sum : around.high;
	}
	if (around.low > around.high)
		return false;
	const uint64_t most = most_between(resident, after);
	around.high = most > around.high ? most : around.high;
	*ret_around = around;
	return true;
}

const struct bp_resident_point *bp_resident_highest(const struct bp_resident *resident)
{
	const struct bp_resident_point *highest = NULL;
	for (uint32_t i = 0; i < resident->count; i++)
		if (highest == NULL ||
			bp_resident_sum(&resident->points[i]) > bp_resident_sum(highest))
			highest = &resident->points[i];
	return highest;
}

/* Had the process children, as far as anybody saw? */
static bool had_children(const struct bp_profile *profile, uint32_t pid)
{
	for (uint32_t i = 1; i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (process->pid != pid || process->forks > 0 || process->missing_children > 0 ||
			process->unseen_execs > 0)
			return true;
	}
	return false;
}

bool bp_resident_peak(const struct bp_resident *resident, const struct bp_profile *profile,
	struct bp_known_total *ret_peak)
{
	uint64_t seen = 0;
	if (resident == NULL || resident->count == 0)
		return false;
	for (uint32_t i = 0; i < resident->count; i++)
		if (resident->points[i].high > seen)
			seen = resident->points[i].high;
	*ret_peak = (struct bp_known_total){ seen,
		resident->most_bytes > seen ? resident->most_bytes : seen };
	if (!had_children(profile, resident->pid))
		ret_peak->low = ret_peak->high;
	return true;
}

const char *const bp_resident_metric_names[BP_RESIDENT_METRICS] = { "", "resident", "peak-resident",
	"swap", "not-resident", "mapped", "mapped-peak" };

/* Sums of so many of the kernel's counters, each of which may be off. */
static struct bp_known_total within(uint64_t bytes, unsigned counters, uint64_t uncertain_bytes)
{
	const uint64_t off = counters * uncertain_bytes;
	return (struct bp_known_total){ bytes > off ? bytes - off : 0, bytes + off };
}

bool bp_resident_figure(enum bp_resident_metric metric, const struct bp_resident *resident,
	const struct bp_profile *profile, struct bp_known_total *ret_figure)
{
	if (resident == NULL || resident->count == 0 || metric >= BP_RESIDENT_ABSENT)
		return false;
	const struct bp_resident_point *last = &resident->points[resident->count - 1];
	if (metric == BP_RESIDENT_LAST)
		*ret_figure = within(bp_resident_sum(last), 3, resident->uncertain_bytes);
	else if (metric == BP_RESIDENT_SWAP)
		*ret_figure = last->swapped == 0
				      ? (struct bp_known_total){ 0, 0 }
				      : within(last->swapped, 1, resident->uncertain_bytes);
	else
		return bp_resident_peak(resident, profile, ret_figure);
	return true;
}

bool bp_resident_is_of_one(const struct bp_resident *resident, const struct bp_profile *profile)
{
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (profile->processes.data[i].pid != resident->pid)
			return true;
	return false;
}

/* What the images of this process held at a moment. False: no memory. */
static bool add_live(const struct bp_aggregation *aggregation, uint32_t pid, uint64_t time_ns,
	struct bp_tally *tally)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_moment moment = { time_ns, UINT64_MAX, UINT32_MAX };
	struct bp_living living = bp_samples_living(&profile->samples, time_ns, time_ns);
	uint32_t entry;
	while (bp_living_next(&living, &entry)) {
		const struct bp_sample sample = bp_samples_of_entry(&profile->samples, entry);
		const struct bp_process *process = &profile->processes.data[sample.process.i];
		struct bp_sample_weight all;
		if (sample.time_ns > time_ns)
			break; /* They come in the order of their births. */
		if (process->pid != pid || !bp_view_is_live(&state->view, &sample, &moment))
			continue;
		const struct bp_sample_weight *weight = bp_sample_weight(
			&state->weights, &sample, process->charge, aggregation->query.usable);
		weight = bp_sample_weight_of_all(weight, &sample, &all);
		if (!bp_tally_add_sample(tally, weight, NULL))
			return false;
	}
	return true;
}

/* Images of one process share its pid; the last one alone tells what the recorder holds. */
static uint64_t recorder_bytes(const struct bp_profile *profile, uint32_t pid)
{
	uint64_t most = 0;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (profile->processes.data[i].pid == pid &&
			profile->processes.data[i].recorder_bytes > most)
			most = profile->processes.data[i].recorder_bytes;
	return most;
}

static void take_rest(struct bp_reconciled *moment, uint64_t uncertain_bytes)
{
	const double anonymous = (double)moment->point.anonymous;
	const double apart = (double)moment->recorder_most + (double)moment->stack_most;
	const struct bp_interval *live = &moment->live.interval;
	moment->rest.low = anonymous - (double)uncertain_bytes - live->high - apart;
	moment->rest.high = anonymous + (double)uncertain_bytes - live->low;
	moment->rest.estimate = (moment->rest.low + moment->rest.high) / 2;
	moment->rest.unknown = true;
}

static bool reconcile(const struct bp_aggregation *aggregation, const struct bp_resident *resident,
	const struct bp_resident_point *point, struct bp_reconciled *ret_moment)
{
	const struct bp_profile *profile = aggregation->profile;
	const uint64_t start_ns = profile->processes.data[profile->root.i].start_time_ns;
	struct bp_aggregation as_live = *aggregation;
	struct bp_tally tally = { 0 };
	struct bp_row row = { 0 };
	as_live.query.metric = BP_METRIC_LIVE;
	as_live.query.estimator = BP_ESTIMATOR_DEFAULT;
	as_live.query.method = BP_METHOD_DEFAULT;
	if (!add_live(aggregation, resident->pid, point->time_ns, &tally)) {
		bp_tally_finish(&tally);
		return false;
	}
	bp_figures_of_tally(&as_live, &tally, NULL, &row);
	bp_tally_finish(&tally);
	*ret_moment = (struct bp_reconciled){ .point = *point,
		.time_ns = point->time_ns > start_ns ? point->time_ns - start_ns : 0,
		.live = row.bytes,
		.recorder_most = recorder_bytes(profile, resident->pid),
		.stack_most = point->stack };
	take_rest(ret_moment, resident->uncertain_bytes);
	return true;
}

bool bp_reconcile(const struct bp_aggregation *aggregation, const struct bp_resident *resident,
	struct bp_reconciled ret_moments[BP_RECONCILED_COUNT])
{
	const struct bp_profile *profile = aggregation->profile;
	struct bp_reconciled moments[BP_RECONCILED_COUNT];
	const uint32_t pid = aggregation->query.pid;
	if (resident == NULL || resident->count == 0 || profile->merged_unrelated ||
		aggregation->absent & 1u << BP_METRIC_LIVE ||
		!profile->processes.data[profile->root.i].profiled ||
		profile->processes.data[profile->root.i].pid != resident->pid ||
		(pid != 0 && pid != resident->pid))
		return false;
	const struct bp_resident_point *highest = bp_resident_highest(resident);
	const struct bp_resident_point *last = &resident->points[resident->count - 1];
	if (!reconcile(aggregation, resident, highest, &moments[BP_RECONCILED_HIGHEST]))
		return false;
	moments[BP_RECONCILED_LAST] = moments[BP_RECONCILED_HIGHEST];
	if (last != highest &&
		!reconcile(aggregation, resident, last, &moments[BP_RECONCILED_LAST]))
		return false;
	memcpy(ret_moments, moments, sizeof moments);
	return true;
}
