/* SPDX-License-Identifier: MIT */
/*
 * Births come in the order of the samples, deaths in an order of their own; a walk over both in step
 * moves the curve. At one moment deaths come first: a moment's live set is what was born up to it and
 * dies after it. The curve is only searched for a maximum: figures are computed anew from the samples
 * that are live there, never by subtraction. See timeline.h.
 *
 * Of a sample that died a death needs two things only: what it adds to the curves, which is the same for
 * all that are alike, and the halves it was drawn into. They are noted in four bytes when it is born, and
 * a death without such a note was of an object that does not take part.
 */
#include "profile/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate/estimate.h"
#include "profile/id_index.h"
#include "profile/sample_runs.h"

/* A note: the number of what is alike, and the halves (never 0) in two bits. */
#define NOTE_HALVES 2u
#define NOTE_ALIKE_MOST (UINT32_MAX >> NOTE_HALVES)

/* A curve that is searched for its maximum. */
struct curve {
	double now, most;
	struct bp_moment moment;
	bool found;
};

/* What a sample adds to the whole curve, and to that of a half it is in. */
struct share {
	double whole, half;
	bool known;
};

/* The walk: its deaths, and the whole curve and the two halves as they stand. */
struct walk {
	const struct bp_view *view;
	const struct bp_selection *selection;
	struct bp_weight_cache *weights;
	bool usable;
	struct share *shares; /* by what is alike */
	/* Deaths by being freed, unless `sorted` has them; notes by their number. */
	struct bp_sample_runs runs;
	uint32_t *notes;
	struct bp_moment_entry *sorted; /* other deaths, with their notes */
	uint32_t sorted_count, next_sorted;
	struct curve curves[3];
};

static void look(struct curve *curve, const struct bp_moment *moment)
{
	if (curve->now > curve->most || (!curve->found && curve->now > 0)) {
		curve->most = curve->now;
		curve->moment = *moment;
		curve->found = true;
	}
}

static void look_all(struct walk *walk, const struct bp_moment *moment)
{
	for (int i = 0; i < 3; i++)
		look(&walk->curves[i], moment);
}

static uint32_t alike_of(const struct walk *walk, uint32_t i)
{
	const struct bp_samples *samples = &walk->view->profile->samples;
	return (uint32_t)bp_packed_get(
		&samples->births, bp_samples_entry(samples, i), BP_BIRTH_ALIKE);
}

/* The note of sample `i`; from then on the shares of its like are known. */
static uint32_t note_of(struct walk *walk, uint32_t i, const struct bp_sample *sample)
{
	const uint32_t alike = alike_of(walk, i);
	const uint32_t charge = walk->view->profile->processes.data[sample->process.i].charge;
	const struct bp_sample_weight *weight =
		bp_sample_weight(walk->weights, sample, charge, walk->usable);
	struct share *share = &walk->shares[alike];
	if (!share->known) {
		const double value = bp_sample_count(sample) * weight->value;
		share->whole = value * weight->whole;
		share->half = value / weight->halves.inclusion;
		share->known = true;
	}
	const unsigned halves =
		sample->halves != 0 ? sample->halves
				    : bp_draw_halves(weight->halves, bp_sample_identity(sample));
	return alike << NOTE_HALVES | halves;
}

static void move(struct walk *walk, uint32_t note, double sign)
{
	const struct share *share = &walk->shares[note >> NOTE_HALVES];
	walk->curves[0].now += sign * share->whole;
	for (int half = 0; half < 2; half++)
		if ((note >> half & 1) != 0)
			walk->curves[1 + half].now += sign * share->half;
}

static bool is_selected(const struct walk *walk, const struct bp_sample *sample)
{
	return walk->view->processes[sample->process.i].included &&
	       bp_selection_holds(walk->selection, sample);
}

/* Sorts the deaths of samples that take part: of all of them, or of those that were never freed. */
static bool sort_deaths(struct walk *walk, bool all)
{
	const struct bp_samples *samples = &walk->view->profile->samples;
	uint32_t count = 0;
	for (uint32_t i = 1; i < samples->count; i++)
		count += all || samples->freed[i] == 0;
	walk->sorted = malloc(((size_t)count + 1) * sizeof *walk->sorted);
	if (walk->sorted == NULL)
		return false;
	for (uint32_t i = 1; i < samples->count; i++) {
		if (!all && samples->freed[bp_samples_entry(samples, i)] != 0)
			continue;
		const struct bp_sample sample = bp_samples_get(samples, i);
		const struct bp_moment birth = bp_view_birth(&sample),
				       death = bp_view_death(walk->view, &sample);
		if (is_selected(walk, &sample) && bp_moment_before(&birth, &death))
			walk->sorted[walk->sorted_count++] =
				(struct bp_moment_entry){ death, note_of(walk, i, &sample) };
	}
	return bp_sort_moments(walk->sorted, walk->sorted_count);
}

/* Does a process end before everything was looked at? What it never freed dies then. A process that is
 * alone ends after its last birth. */
static bool has_early_end(const struct walk *walk, uint64_t from_ns)
{
	const struct bp_view *view = walk->view;
	uint32_t included = 0;
	bool before_window = false;
	for (uint32_t i = 1; i < view->profile->processes.count; i++) {
		if (!view->processes[i].included)
			continue;
		included++;
		before_window = before_window || view->processes[i].end_ns < from_ns;
	}
	return included > 1 || before_window;
}

/* Where deaths were told that nothing tells apart, as in folded traces, those of samples born first come
 * first. */
static bool begin(struct walk *walk, uint64_t base_ns)
{
	const struct bp_samples *samples = &walk->view->profile->samples;
	walk->shares = calloc((size_t)samples->alike_count + 1, sizeof *walk->shares);
	if (walk->shares == NULL || samples->alike_count >= NOTE_ALIKE_MOST)
		return false;
	if (samples->death_runs.tied)
		return sort_deaths(walk, true);
	walk->notes = calloc((size_t)samples->deaths.count + 1, sizeof *walk->notes);
	return walk->notes != NULL && bp_sample_runs_deaths(&walk->runs, samples) &&
	       (!has_early_end(walk, base_ns + walk->view->from_ns) || sort_deaths(walk, false));
}

static void finish(struct walk *walk)
{
	bp_sample_runs_finish(&walk->runs);
	free(walk->shares);
	free(walk->notes);
	free(walk->sorted);
}

static void die_until(struct walk *walk, const struct bp_moment *moment)
{
	for (;;) {
		const struct bp_run_head *freed =
			walk->runs.active > 0 ? &walk->runs.heap[0] : NULL;
		const struct bp_moment_entry *other = walk->next_sorted < walk->sorted_count
							      ? &walk->sorted[walk->next_sorted]
							      : NULL;
		if (other != NULL &&
			(freed == NULL || bp_moment_before(&other->moment, &freed->moment))) {
			if (bp_moment_before(moment, &other->moment))
				return;
			move(walk, other->what, -1);
			walk->next_sorted++;
			continue;
		}
		if (freed == NULL || bp_moment_before(moment, &freed->moment))
			return;
		if (walk->notes[freed->row] != 0)
			move(walk, walk->notes[freed->row], -1);
		bp_sample_runs_next(&walk->runs);
	}
}

static void be_born(struct walk *walk, uint32_t i, const struct bp_sample *sample)
{
	const struct bp_samples *samples = &walk->view->profile->samples;
	const uint32_t freed = samples->freed[bp_samples_entry(samples, i)];
	const uint32_t note = note_of(walk, i, sample);
	if (freed != 0 && walk->notes != NULL)
		walk->notes[freed - 1] = note;
	move(walk, note, 1);
}

/* Walks to the end of the window; returns how many samples took part. */
static uint64_t go(struct walk *walk, uint64_t base_ns)
{
	const struct bp_view *view = walk->view;
	const struct bp_samples *samples = &view->profile->samples;
	const uint64_t to_ns = view->to_ns == BP_TIME_NEVER ? BP_TIME_NEVER : base_ns + view->to_ns;
	/* After everything that happened at that time. */
	const struct bp_moment from = { base_ns + view->from_ns, UINT64_MAX - 1, UINT32_MAX };
	bool began = view->from_ns == 0;
	uint64_t allocations = 0;
	for (uint32_t i = 1; i < samples->count; i++) {
		__builtin_prefetch(bp_samples_where(samples, i + BP_SAMPLES_AHEAD));
		const struct bp_sample sample = bp_samples_get(samples, i);
		const struct bp_moment birth = bp_view_birth(&sample),
				       death = bp_view_death(view, &sample);
		if (birth.time_ns >= to_ns)
			break;
		if (!is_selected(walk, &sample))
			continue;
		allocations += bp_sample_count(&sample);
		/* Freed before the clock of a folded part went on. */
		if (!bp_moment_before(&birth, &death))
			continue;
		if (!began && !bp_moment_before(&birth, &from)) {
			die_until(walk, &from);
			look_all(walk, &from);
			began = true;
		}
		die_until(walk, &birth);
		be_born(walk, i, &sample);
		if (began)
			look_all(walk, &birth);
	}
	/* Nothing was born in the window: what was live at its start is the most there was. */
	if (!began) {
		die_until(walk, &from);
		look_all(walk, &from);
	}
	return allocations;
}

bool bp_timeline_peak(const struct bp_view *view, const struct bp_selection *selection,
	struct bp_weight_cache *weights, bool usable, struct bp_peak *ret_peak,
	struct bp_error *error)
{
	struct walk walk = {
		.view = view, .selection = selection, .weights = weights, .usable = usable
	};
	const uint64_t base_ns = view->processes[view->profile->root.i].base_ns;
	if (!begin(&walk, base_ns)) {
		finish(&walk);
		return bp_error_set(error, "out of memory");
	}
	const uint64_t allocations = go(&walk, base_ns);
	finish(&walk);
	const struct curve *curves = walk.curves;
	*ret_peak = (struct bp_peak){ .found = curves[0].found,
		.moment = curves[0].moment,
		.halves = { curves[1].moment, curves[2].moment },
		.half_found = { curves[1].found, curves[2].found },
		.allocations = allocations };
	return true;
}
