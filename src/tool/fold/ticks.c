/* SPDX-License-Identifier: MIT */
/*
 * The ticks: the moments at which a report can still know exactly what lived. Everything that
 * happened since the tick before gets the time of the tick, so a curve of what lives becomes a
 * staircase whose steps lie on the true curve. A maximum survives if it is one of the steps:
 *
 *	stretch      ┃        ┃  whole curve's largest, half 0's ..., last event
 *	curve      ╱╲┃  ╱╲  ╱╲┃
 *	ticks       ↑┃   ↑   ↑↑
 *
 * The maximum of the maxima of all stretches is that of the whole run, so the peak of a process is
 * kept to the byte. The maxima of the two halves keep the cross-fitted estimate. The maxima of the
 * upper limit at 95 %, and those of what was sampled, keep the interval. All this also holds when a
 * later folding chooses among the ticks of an earlier one: [the ticks of a new clock up to the
 * old one's last are ticks of the old clock]. The last event of each stretch is a tick, too:
 * without it, what was freed before a long silence would get the time of the silence's end.
 *
 * Births get the time of the tick, deaths (time of the tick, 0): first everything dies, then
 * everything is born, and on the way from step to step the curve is never above both.
 */
#include "fold/ticks.h"

#include <math.h>
#include <stdlib.h>

#include "base/vec.h"
#include "estimate/estimate.h"

/* T of a sample. 0, which no recorder writes, is read as 1, as the importer does. */
static uint64_t interval_of(const struct bp_trace_sample *sample)
{
	return sample->interval == 0 ? 1 : sample->interval;
}

static struct bp_half_split split_of(const struct bp_trace_sample *sample, uint32_t charge)
{
	return bp_split_in_halves(
		bp_trials(sample->size, charge), interval_of(sample), sample->exact);
}

uint8_t bp_fold_halves(const struct bp_trace_sample *sample, uint32_t charge)
{
	return (uint8_t)bp_draw_halves(
		split_of(sample, charge), bp_draw_identity(sample->sequence, sample->time_ns));
}

static void weigh(struct bp_fold_event *event, const struct bp_trace_sample *sample,
	uint32_t charge, uint8_t halves, uint32_t count)
{
	const uint64_t interval = interval_of(sample);
	const bool certain = sample->exact || interval == 1;
	const uint64_t trials = bp_trials(sample->size, charge);
	const double value = (double)sample->size * count;
	event->sampled = value;
	event->size = (double)sample->size;
	event->weights[0] = certain ? value : value / bp_inclusion_probability(trials, interval);
	for (int half = 0; half < 2; half++)
		if (halves & 1u << half)
			event->weights[1 + half] = value / split_of(sample, charge).inclusion;
}

/* Puts an event where the clock so far tells it. */
static void place(struct bp_fold_event *event, const struct bp_trace_clock *clock, bool birth,
	uint64_t time_ns, uint64_t sequence)
{
	const uint32_t tick = bp_trace_clock_find(clock, time_ns, sequence);
	event->tick = (struct bp_trace_tick){ time_ns, sequence };
	if (tick < clock->count)
		event->tick = clock->ticks[tick];
	event->time_ns = event->tick.time_ns;
	event->sequence = tick < clock->count && !birth ? 0 : event->tick.sequence;
}

static void note_interval(struct bp_fold_curve *curve, const struct bp_trace_sample *sample)
{
	if (interval_of(sample) > curve->interval_max)
		curve->interval_max = interval_of(sample);
}

static void add_item(struct bp_fold_curve *curve, const struct bp_gathered *gathered,
	const struct bp_fold_item *item)
{
	const struct bp_trace_sample *sample = &item->sample;
	const uint32_t charge = gathered->header.charge_bytes;
	struct bp_fold_event event = { 0 };
	note_interval(curve, sample);
	weigh(&event, sample, charge, bp_fold_halves(sample, charge), 1);
	place(&event, &gathered->clock, true, sample->time_ns, sample->sequence);
	curve->births[curve->birth_count++] = event;
	if (item->freed_by == BP_FOLD_NONE)
		return;
	const struct bp_trace_free *record = &gathered->frees[item->freed_by].record;
	place(&event, &gathered->clock, false, record->time_ns, record->sequence);
	curve->deaths[curve->death_count++] = event;
}

static void add_group(struct bp_fold_curve *curve, const struct bp_gathered *gathered,
	const struct bp_fold_group *group)
{
	const struct bp_trace_folded_entry *entry = &group->entry;
	const struct bp_trace_sample sample = { .size = entry->size,
		.interval = group->key.interval,
		.exact = group->key.flags & BP_FOLDED_EXACT };
	const struct bp_trace_tick *ticks = gathered->clock.ticks;
	struct bp_fold_event event = { 0 };
	if (entry->birth == entry->death)
		return;
	note_interval(curve, &sample);
	weigh(&event, &sample, gathered->header.charge_bytes, entry->halves, entry->count);
	event.tick = ticks[entry->birth];
	event.time_ns = event.tick.time_ns;
	event.sequence = event.tick.sequence;
	curve->births[curve->birth_count++] = event;
	event.tick = ticks[entry->death];
	event.time_ns = event.tick.time_ns;
	event.sequence = 0;
	curve->deaths[curve->death_count++] = event;
}

static int by_moment(const void *left, const void *right)
{
	const struct bp_fold_event *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

bool bp_fold_curve_make(
	struct bp_fold_curve *curve, const struct bp_gathered *gathered, struct bp_error *error)
{
	const size_t most = (size_t)gathered->item_count + gathered->group_count + 1;
	curve->births = malloc(most * sizeof *curve->births);
	curve->deaths = malloc(most * sizeof *curve->deaths);
	if (curve->births == NULL || curve->deaths == NULL)
		return bp_error_set(error, "out of memory while folding");
	for (uint32_t i = 0; i < gathered->item_count; i++)
		add_item(curve, gathered, &gathered->items[i]);
	for (uint32_t i = 0; i < gathered->group_count; i++)
		add_group(curve, gathered, &gathered->groups[i]);
	qsort(curve->births, curve->birth_count, sizeof *curve->births, by_moment);
	qsort(curve->deaths, curve->death_count, sizeof *curve->deaths, by_moment);
	return true;
}

void bp_fold_curve_finish(struct bp_fold_curve *curve)
{
	free(curve->births);
	free(curve->deaths);
	*curve = (struct bp_fold_curve){ 0 };
}

/* A stretch of time, walked through. */
struct stretch {
	uint64_t number;
	bool any;
	bool found[BP_FOLD_CURVES];
	double most[BP_FOLD_CURVES];
	struct bp_trace_tick largest[BP_FOLD_CURVES], last;
};

struct walk {
	struct bp_trace_clock *clock;
	uint64_t start_ns, resolution_ns;
	struct stretch stretch;
	double now[BP_FOLD_WEIGHTS];
	struct bp_cumulants sums;
	double unit, depth;
	bool failed;
};

/* Adds a tick. Of two at the same time the later one stays. */
static void add_tick(struct walk *walk, const struct bp_trace_tick *tick)
{
	struct bp_trace_clock *clock = walk->clock;
	if (clock->count > 0 && clock->ticks[clock->count - 1].time_ns >= tick->time_ns) {
		struct bp_trace_tick *before = &clock->ticks[clock->count - 1];
		if (before->time_ns == tick->time_ns && before->sequence < tick->sequence)
			before->sequence = tick->sequence;
		return;
	}
	if (!bp_vec_reserve(
		    &clock->ticks, &clock->capacity, clock->count + 1u, sizeof *clock->ticks)) {
		walk->failed = true;
		return;
	}
	clock->ticks[clock->count++] = *tick;
}

static int by_time(const void *left, const void *right)
{
	const struct bp_trace_tick *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static void end_stretch(struct walk *walk)
{
	struct stretch *stretch = &walk->stretch;
	struct bp_trace_tick ticks[BP_FOLD_CURVES + 1];
	uint32_t count = 0;
	if (!stretch->any)
		return;
	for (int i = 0; i < BP_FOLD_CURVES; i++)
		if (stretch->found[i])
			ticks[count++] = stretch->largest[i];
	ticks[count++] = stretch->last;
	qsort(ticks, count, sizeof *ticks, by_time);
	for (uint32_t i = 0; i < count; i++)
		add_tick(walk, &ticks[i]);
	*stretch = (struct stretch){ 0 };
}

/* Adds what upper limits are made from; g is the odds of having been missed. */
static void move_sums(struct bp_cumulants *sums, const struct bp_fold_event *event, double sign)
{
	const double g = event->sampled > 0 ? event->weights[0] / event->sampled - 1 : 0;
	const double c1 = event->sampled * g, c2 = c1 * event->size * (1 + g);
	sums->sampled += sign * event->sampled;
	sums->c1 += sign * c1;
	sums->c2 += sign * c2;
	sums->c3 += sign * c2 * event->size * (1 + 2 * g);
}

static double upper_limit(const struct walk *walk)
{
	const struct bp_cumulants sums = { walk->sums.sampled, fmax(walk->sums.c1, 0),
		fmax(walk->sums.c2, 0), fmax(walk->sums.c3, 0) };
	return bp_upper_limit_about(&sums, walk->unit, walk->depth);
}

static void move(struct walk *walk, const struct bp_fold_event *event, bool birth)
{
	const uint64_t since =
		event->tick.time_ns > walk->start_ns ? event->tick.time_ns - walk->start_ns : 0;
	struct stretch *stretch = &walk->stretch;
	if (stretch->number != since / walk->resolution_ns)
		end_stretch(walk);
	stretch->number = since / walk->resolution_ns;
	stretch->any = true;
	stretch->last = event->tick;
	for (int i = 0; i < BP_FOLD_WEIGHTS; i++)
		walk->now[i] += birth ? event->weights[i] : -event->weights[i];
	move_sums(&walk->sums, event, birth ? 1 : -1);
	if (!birth)
		return;
	const double values[BP_FOLD_CURVES] = { walk->now[0], walk->now[1], walk->now[2],
		upper_limit(walk), walk->sums.sampled };
	for (int i = 0; i < BP_FOLD_CURVES; i++)
		if (!stretch->found[i] || values[i] > stretch->most[i]) {
			stretch->found[i] = true;
			stretch->most[i] = values[i];
			stretch->largest[i] = event->tick;
		}
}

bool bp_fold_choose_ticks(const struct bp_fold_curve *curve, uint64_t start_ns, uint64_t until_ns,
	uint64_t resolution_ns, struct bp_trace_clock *clock, struct bp_error *error)
{
	struct walk walk = { .clock = clock,
		.start_ns = start_ns,
		.resolution_ns = resolution_ns,
		.unit = fmax(
			1 / bp_lambda(curve->interval_max > 0 ? curve->interval_max : 1), 1e-9),
		.depth = bp_limit_depth(0.025) };
	uint32_t birth = 0, death = 0;
	while (birth < curve->birth_count || death < curve->death_count) {
		const bool dies =
			birth == curve->birth_count ||
			(death < curve->death_count &&
				by_moment(&curve->deaths[death], &curve->births[birth]) <= 0);
		const struct bp_fold_event *event =
			dies ? &curve->deaths[death++] : &curve->births[birth++];
		if (event->time_ns > until_ns)
			break;
		move(&walk, event, !dies);
	}
	end_stretch(&walk);
	add_tick(&walk, &(struct bp_trace_tick){ until_ns, UINT64_MAX });
	clock->resolution_ns = resolution_ns;
	return !walk.failed || bp_error_set(error, "out of memory while folding");
}
