/* SPDX-License-Identifier: MIT */
/*
 * Births come in the order of the samples; deaths are sorted; a walk over both in step moves the
 * curve. At one moment deaths come first: a moment's live set is what was born up to it and dies
 * after it. The curve is only searched for a maximum: figures are computed anew from the samples
 * that are live there, never by subtraction. See timeline.h.
 */
#include "profile/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate/estimate.h"
#include "profile/id_index.h"

static uint32_t charge_of(const struct bp_view *view, const struct bp_sample *sample)
{
	return view->profile->processes.data[sample->process.i].charge;
}

/* The births (all selected samples, in order) and deaths of what takes part. */
struct events {
	uint32_t *births; /* sample numbers */
	struct bp_moment_entry *deaths;
	uint32_t count;
	/* Before the window's end, and freed before the clock of a folded part went on. */
	uint64_t never_seen;
};

static bool collect(const struct bp_view *view, const struct bp_selection *selection,
	uint64_t to_ns, struct events *ret_events, struct bp_error *error)
{
	const struct bp_profile *profile = view->profile;
	struct events events = { 0 };
	events.births = malloc(((size_t)profile->samples.count + 1) * sizeof *events.births);
	events.deaths = malloc(((size_t)profile->samples.count + 1) * sizeof *events.deaths);
	if (events.births == NULL || events.deaths == NULL)
		goto fail;
	for (uint32_t i = 1; i < profile->samples.count; i++) {
		const struct bp_sample *sample = &profile->samples.data[i];
		struct bp_moment birth = bp_view_birth(sample);
		struct bp_moment death = bp_view_death(view, sample);
		if (!view->processes[sample->process.i].included ||
			!bp_selection_holds(selection, sample))
			continue;
		if (!bp_moment_before(&birth, &death)) {
			events.never_seen += birth.time_ns < to_ns ? bp_sample_count(sample) : 0;
			continue;
		}
		events.births[events.count] = i;
		events.deaths[events.count++] = (struct bp_moment_entry){ death, i };
	}
	if (!bp_sort_moments(events.deaths, events.count))
		goto fail;
	*ret_events = events;
	return true;
fail:
	free(events.births);
	free(events.deaths);
	return bp_error_set(error, "out of memory");
}

static void release(struct events *events)
{
	free(events->births);
	free(events->deaths);
}

/* A curve that is searched for its maximum. */
struct curve {
	double now, most;
	struct bp_moment moment;
	bool found;
};

static void look(struct curve *curve, const struct bp_moment *moment)
{
	if (curve->now > curve->most || (!curve->found && curve->now > 0)) {
		curve->most = curve->now;
		curve->moment = *moment;
		curve->found = true;
	}
}

/* The walk: how far it is, and the whole curve and the two halves as they stand. */
struct walk {
	const struct bp_view *view;
	const struct events *events;
	struct bp_weight_cache *weights;
	uint32_t next_death;
	bool usable;
	struct curve curves[3];
};

static void move(struct walk *walk, const struct bp_sample *sample, double sign)
{
	const struct bp_sample_weight *weight = bp_sample_weight(
		walk->weights, sample, charge_of(walk->view, sample), walk->usable);
	sign *= bp_sample_count(sample);
	double in_half = sign * weight->value / weight->halves.inclusion;
	walk->curves[0].now += sign * weight->value * weight->whole;
	for (int half = 0; half < 2; half++)
		if (bp_sample_in_half(sample, weight, half))
			walk->curves[1 + half].now += in_half;
}

static void die_until(struct walk *walk, const struct bp_moment *moment)
{
	const struct bp_sample *samples = walk->view->profile->samples.data;
	for (; walk->next_death < walk->events->count; walk->next_death++) {
		const struct bp_moment_entry *death = &walk->events->deaths[walk->next_death];
		if (bp_moment_before(moment, &death->moment))
			return;
		move(walk, &samples[death->what], -1);
	}
}

static void look_all(struct walk *walk, const struct bp_moment *moment)
{
	for (int i = 0; i < 3; i++)
		look(&walk->curves[i], moment);
}

bool bp_timeline_peak(const struct bp_view *view, const struct bp_selection *selection,
	struct bp_weight_cache *weights, bool usable, struct bp_peak *ret_peak,
	struct bp_error *error)
{
	const struct bp_sample *samples = view->profile->samples.data;
	struct events events;
	uint64_t base_ns = view->processes[view->profile->root.i].base_ns;
	uint64_t to_ns = view->to_ns == BP_TIME_NEVER ? BP_TIME_NEVER : base_ns + view->to_ns;
	if (!collect(view, selection, to_ns, &events, error))
		return false;
	struct walk walk = {
		.view = view, .events = &events, .weights = weights, .usable = usable
	};
	/* After everything that happened at that time. */
	struct bp_moment from = { base_ns + view->from_ns, UINT64_MAX - 1, UINT32_MAX };
	bool began = view->from_ns == 0;
	uint64_t allocations = events.never_seen;
	for (uint32_t i = 0; i < events.count; i++) {
		const struct bp_sample *sample = &samples[events.births[i]];
		struct bp_moment birth = bp_view_birth(sample);
		if (!began && !bp_moment_before(&birth, &from)) {
			die_until(&walk, &from);
			look_all(&walk, &from);
			began = true;
		}
		if (birth.time_ns >= to_ns)
			break;
		die_until(&walk, &birth);
		move(&walk, sample, 1);
		allocations += bp_sample_count(sample);
		if (began)
			look_all(&walk, &birth);
	}
	/* Nothing was born in the window: what was live at its start is the most there was. */
	if (!began) {
		die_until(&walk, &from);
		look_all(&walk, &from);
	}
	release(&events);
	const struct curve *curves = walk.curves;
	*ret_peak = (struct bp_peak){ .found = curves[0].found,
		.moment = curves[0].moment,
		.halves = { curves[1].moment, curves[2].moment },
		.half_found = { curves[1].found, curves[2].found },
		.allocations = allocations };
	return true;
}
