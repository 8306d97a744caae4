/* SPDX-License-Identifier: MIT */
/*
 * Births come in the order of the samples, deaths in an order of their own; a walk over both in
 * step moves the curve. At one moment deaths come first: a moment's live set is what was born up to
 * it and dies after it. The curve is only searched for a maximum: figures are computed anew from
 * the samples that are live there, never by subtraction. See timeline.h.
 *
 * All that a sample needs for that is the same for all that are alike, but for the halves it was
 * drawn into: what is alike is looked at first, and the walk itself adds and compares. Of a sample
 * that dies its like and its halves are noted in four bytes when it is born; a death without such a
 * note was of an object that does not take part. Notes are kept in pages, by the number of the
 * death, until all of a page have been read. There are few pages at a time, since most objects are
 * freed soon after they were allocated.
 */
#include "time/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate/estimate.h"
#include "model/id_index.h"
#include "model/sample_runs.h"

/* A note: the number of what is alike, and the halves (never 0) in two bits. */
#define NOTE_HALVES 2u
#define NOTE_ALIKE_MOST (UINT32_MAX >> NOTE_HALVES)

#define PAGE_LOG2 13u
#define PAGE_NOTES (1u << PAGE_LOG2)

#define AT_START 0u /* of the window; else a moment is that of a sample's birth */

/* A curve that is searched for its maximum. */
struct curve {
	double now, most;
	uint32_t at; /* sample, or AT_START */
	bool found;
};

/* The search for the moment with the largest upper limit. Births raise all that the limit is made
 * from, so it is looked at only before something dies. */
struct reach {
	struct bp_reach limit;
	struct bp_cumulants now, most_sums;
	double most, certain;
	uint32_t at, last; /* samples, or AT_START; `last`: since when nothing has died */
	bool pending;
};

/* What each of the samples that are alike adds to the whole curve, to that of a half it is in, and
 * to what upper limits are made from. */
struct share {
	double whole, half;
	struct bp_cumulants sums;
	uint64_t both_below; /* drawn into both halves if the upper 53 bits of the identity are */
	uint32_t count;	     /* of samples that one stands for */
	bool included;	     /* its process is looked at */
	uint8_t halves;	     /* 0: drawn by each for itself */
};

struct note_page {
	uint32_t *notes; /* 0: none; NULL: none on this page, or all were read */
	uint32_t read;
};

/* The walk: its deaths, and the whole curve and the two halves as they stand. */
struct walk {
	const struct bp_view *view;
	const struct bp_selection *selection;
	bool filtered;	      /* not everything is selected */
	struct share *shares; /* by what is alike */
	/* Deaths by being freed, unless `sorted` has them, and their notes. */
	struct bp_sample_runs runs;
	struct note_page *pages;
	uint32_t page_count;
	struct bp_moment_entry *sorted; /* other deaths, with their notes */
	uint32_t sorted_count, next_sorted;
	struct curve curves[3];
	struct reach reach;
};

static inline void look(struct curve *curve, uint32_t sample)
{
	if (curve->now > curve->most) {
		curve->most = curve->now;
		curve->at = sample;
		curve->found = true;
	}
}

static inline void look_all(struct walk *walk, uint32_t sample)
{
	for (int i = 0; i < 3; i++)
		look(&walk->curves[i], sample);
	walk->reach.last = sample;
	walk->reach.pending = true;
}

/* The limit where nothing has died since it was last to be looked at. */
static __attribute__((noinline)) void look_up(struct reach *reach)
{
	const struct bp_cumulants *now = &reach->now, *most = &reach->most_sums;
	reach->pending = false;
	if (now->sampled <= most->sampled && now->c1 <= most->c1 && now->c2 <= most->c2 &&
		now->c3 <= most->c3)
		return;
	reach->certain = fmax(reach->certain, now->sampled);
	/* (What was added and taken away again leaves a rounding error.) */
	const struct bp_cumulants sums = { now->sampled, fmax(now->c1, 0), fmax(now->c2, 0),
		fmax(now->c3, 0) };
	const double limit = bp_upper_limit_about(&sums, reach->limit.unit, reach->limit.depth);
	if (limit > reach->most) {
		reach->most = limit;
		reach->most_sums = *now;
		reach->at = reach->last;
	}
}

static bool make_shares(struct walk *walk, struct bp_weight_cache *weights, bool usable)
{
	const struct bp_profile *profile = walk->view->profile;
	const struct bp_samples *samples = &profile->samples;
	walk->shares = malloc(((size_t)samples->alike_count + 1) * sizeof *walk->shares);
	if (walk->shares == NULL || samples->alike_count >= NOTE_ALIKE_MOST)
		return false;
	for (uint32_t i = 0; i < samples->alike_count; i++) {
		const struct bp_sample sample = bp_sample_of_alike(&samples->alike[i]);
		const struct bp_sample_weight *weight = bp_sample_weight(
			weights, &sample, profile->processes.data[sample.process.i].charge, usable);
		const double count = bp_sample_count(&sample), value = count * weight->value;
		walk->shares[i] =
			(struct share){ .included =
						walk->view->processes[sample.process.i].included,
				.whole = value * weight->whole,
				.half = value / weight->halves.inclusion,
				.sums = { value, count * weight->sums.c1, count * weight->sums.c2,
					count * weight->sums.c3 },
				.both_below = (uint64_t)ceil(ldexp(weight->halves.both, 53)),
				.count = bp_sample_count(&sample),
				.halves = sample.halves };
	}
	return true;
}

/* As bp_draw_halves, without converting: [x * 2^-53 < both if x < ceil(both * 2^53)] */
static inline unsigned draw_halves(const struct share *share, uint64_t identity)
{
	return identity >> 11 < share->both_below ? 3 : identity & 1 ? 2 : 1;
}

/* The note of a sample; all of a folded part have their halves already. */
static inline uint32_t note_of(const struct walk *walk, const struct bp_packed_row *birth)
{
	const uint32_t alike = (uint32_t)birth->column[BP_BIRTH_ALIKE];
	const struct share *share = &walk->shares[alike];
	const unsigned halves =
		share->halves != 0
			? share->halves
			: draw_halves(share, bp_draw_identity(birth->column[BP_BIRTH_SEQUENCE],
						     birth->column[BP_BIRTH_TIME]));
	return alike << NOTE_HALVES | halves;
}

/* Adding nothing to the half it is not in is faster than asking. */
static inline void move(struct walk *walk, uint32_t note, double sign)
{
	static const double in_half[2][4] = { { 0, 1, 0, 1 }, { 0, 0, 1, 1 } };
	const struct share *share = &walk->shares[note >> NOTE_HALVES];
	const double half = sign * share->half;
	walk->curves[0].now += sign * share->whole;
	walk->curves[1].now += half * in_half[0][note & 3];
	walk->curves[2].now += half * in_half[1][note & 3];
	struct bp_cumulants *sums = &walk->reach.now;
	if (sign < 0 && walk->reach.pending)
		look_up(&walk->reach);
	sums->sampled += sign * share->sums.sampled;
	sums->c1 += sign * share->sums.c1;
	sums->c2 += sign * share->sums.c2;
	sums->c3 += sign * share->sums.c3;
}

static inline bool is_selected(
	const struct walk *walk, uint32_t entry, const struct bp_packed_row *birth)
{
	if (!walk->shares[birth->column[BP_BIRTH_ALIKE]].included)
		return false;
	if (!walk->filtered)
		return true;
	const struct bp_sample sample = bp_samples_of_entry(&walk->view->profile->samples, entry);
	return bp_selection_holds(walk->selection, &sample);
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
		const uint32_t entry = bp_samples_entry(samples, i);
		if (!all && samples->freed[entry] != 0)
			continue;
		const struct bp_packed_row row = bp_samples_birth(samples, entry);
		const struct bp_sample sample = bp_samples_of_entry(samples, entry);
		const struct bp_moment birth = bp_view_birth(&sample),
				       death = bp_view_death(walk->view, &sample);
		if (is_selected(walk, entry, &row) && bp_moment_before(&birth, &death))
			walk->sorted[walk->sorted_count++] =
				(struct bp_moment_entry){ death, note_of(walk, &row) };
	}
	return bp_sort_moments(walk->sorted, walk->sorted_count);
}

/* Does a process end before everything was looked at? What it never freed dies then. A process that
 * is alone ends after its last birth. */
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

/* Where deaths were told that nothing tells apart, as in folded traces, those of samples born first
 * come first. */
static bool begin(struct walk *walk, uint64_t base_ns)
{
	const struct bp_samples *samples = &walk->view->profile->samples;
	if (samples->death_runs.tied)
		return sort_deaths(walk, true);
	walk->page_count = (samples->deaths.count >> PAGE_LOG2) + 1;
	walk->pages = calloc(walk->page_count, sizeof *walk->pages);
	return walk->pages != NULL && bp_sample_runs_deaths(&walk->runs, samples) &&
	       (!has_early_end(walk, base_ns + walk->view->from_ns) || sort_deaths(walk, false));
}

static void finish(struct walk *walk)
{
	bp_sample_runs_finish(&walk->runs);
	free(walk->shares);
	for (uint32_t i = 0; walk->pages != NULL && i < walk->page_count; i++)
		free(walk->pages[i].notes);
	free(walk->pages);
	free(walk->sorted);
}

/* What was noted for a death, which is asked once. */
static inline uint32_t read_note(struct walk *walk, uint32_t death)
{
	struct note_page *page = &walk->pages[death >> PAGE_LOG2];
	const uint32_t note = page->notes == NULL ? 0 : page->notes[death & (PAGE_NOTES - 1)];
	if (++page->read == PAGE_NOTES) {
		free(page->notes);
		page->notes = NULL;
	}
	return note;
}

/* False: no memory. */
static inline bool write_note(struct walk *walk, uint32_t death, uint32_t note)
{
	struct note_page *page = &walk->pages[death >> PAGE_LOG2];
	if (page->notes == NULL)
		page->notes = calloc(PAGE_NOTES, sizeof *page->notes);
	if (page->notes == NULL)
		return false;
	page->notes[death & (PAGE_NOTES - 1)] = note;
	return true;
}

static inline void free_next(struct walk *walk)
{
	const uint32_t note = read_note(walk, walk->runs.heap[0].row);
	if (note != 0)
		move(walk, note, -1);
	bp_sample_runs_next(&walk->runs);
}

/* Those at one time, which is rare: their order is in the whole moment. */
static __attribute__((noinline)) void free_at(struct walk *walk, const struct bp_moment *moment)
{
	while (walk->runs.active > 0 && walk->runs.heap[0].time_ns == moment->time_ns) {
		const struct bp_moment death =
			bp_sample_runs_moment(&walk->runs, walk->runs.heap[0].row);
		if (bp_moment_before(moment, &death))
			break;
		free_next(walk);
	}
}

static inline void free_before(struct walk *walk, uint64_t time_ns)
{
	while (walk->runs.active > 0 && walk->runs.heap[0].time_ns < time_ns)
		free_next(walk);
}

static __attribute__((noinline)) void die_until(struct walk *walk, const struct bp_moment *moment)
{
	for (; walk->next_sorted < walk->sorted_count; walk->next_sorted++) {
		const struct bp_moment_entry *other = &walk->sorted[walk->next_sorted];
		if (bp_moment_before(moment, &other->moment))
			break;
		free_before(walk, other->moment.time_ns);
		free_at(walk, &other->moment);
		move(walk, other->what, -1);
	}
	free_before(walk, moment->time_ns);
	free_at(walk, moment);
}

static struct bp_moment moment_of(const struct walk *walk, const struct bp_packed_row *birth)
{
	const struct bp_alike *alike = walk->view->profile->samples.alike;
	return (struct bp_moment){ birth->column[BP_BIRTH_TIME], birth->column[BP_BIRTH_SEQUENCE],
		alike[birth->column[BP_BIRTH_ALIKE]].process.i };
}

/* The same until a birth. */
static inline void die_until_birth(struct walk *walk, const struct bp_packed_row *birth)
{
	const uint64_t time_ns = birth->column[BP_BIRTH_TIME];
	if (walk->next_sorted == walk->sorted_count)
		free_before(walk, time_ns);
	if (walk->next_sorted < walk->sorted_count ||
		(walk->runs.active > 0 && walk->runs.heap[0].time_ns == time_ns)) {
		const struct bp_moment moment = moment_of(walk, birth);
		die_until(walk, &moment);
	}
}

/* Was it freed before it was born, as the clock of a folded part tells it? */
static bool is_never_live(const struct walk *walk, uint32_t entry)
{
	const struct bp_samples *samples = &walk->view->profile->samples;
	if (!samples->has_dead_born)
		return false;
	const struct bp_sample sample = bp_samples_of_entry(samples, entry);
	const struct bp_moment birth = bp_view_birth(&sample),
			       death = bp_view_death(walk->view, &sample);
	return !bp_moment_before(&birth, &death);
}

static inline bool be_born(struct walk *walk, uint32_t entry, const struct bp_packed_row *birth)
{
	const uint32_t freed = walk->view->profile->samples.freed[entry] & BP_FREED_NUMBER;
	const uint32_t note = note_of(walk, birth);
	if (freed != 0 && walk->pages != NULL && !write_note(walk, freed - 1, note))
		return false;
	move(walk, note, 1);
	return true;
}

/* After everything that happened at the time at which the window begins. */
static struct bp_moment start_of(const struct bp_view *view, uint64_t base_ns)
{
	return (struct bp_moment){ base_ns + view->from_ns, UINT64_MAX - 1, UINT32_MAX };
}

static __attribute__((noinline)) bool is_before(
	const struct walk *walk, const struct bp_packed_row *birth, const struct bp_moment *moment)
{
	const struct bp_moment born = moment_of(walk, birth);
	return bp_moment_before(&born, moment);
}

/* Walks to the end of the window; `ret_allocations` gets how many samples took part. False: no
 * memory. */
static bool go(struct walk *walk, uint64_t base_ns, uint64_t *ret_allocations)
{
	const struct bp_view *view = walk->view;
	const struct bp_samples *samples = &view->profile->samples;
	const uint64_t to_ns = view->to_ns == BP_TIME_NEVER ? BP_TIME_NEVER : base_ns + view->to_ns;
	const struct bp_moment from = start_of(view, base_ns);
	bool began = view->from_ns == 0;
	uint64_t allocations = 0;
	for (uint32_t i = 1; i < samples->count; i++) {
		const uint32_t entry = bp_samples_entry(samples, i);
		const struct bp_packed_row row = bp_samples_birth(samples, entry);
		if (row.column[BP_BIRTH_TIME] >= to_ns)
			break;
		if (!is_selected(walk, entry, &row))
			continue;
		allocations += walk->shares[row.column[BP_BIRTH_ALIKE]].count;
		if (is_never_live(walk, entry))
			continue;
		if (!began && !is_before(walk, &row, &from)) {
			die_until(walk, &from);
			look_all(walk, AT_START);
			began = true;
		}
		die_until_birth(walk, &row);
		if (!be_born(walk, entry, &row))
			return false;
		if (began)
			look_all(walk, i);
	}
	/* Nothing was born in the window: what was live at its start is the most there was. */
	if (!began) {
		die_until(walk, &from);
		look_all(walk, AT_START);
	}
	if (walk->reach.pending)
		look_up(&walk->reach);
	*ret_allocations = allocations;
	return true;
}

static struct bp_moment found_at(const struct walk *walk, uint32_t sample, uint64_t base_ns)
{
	const struct bp_samples *samples = &walk->view->profile->samples;
	if (sample == AT_START)
		return start_of(walk->view, base_ns);
	const struct bp_packed_row birth =
		bp_samples_birth(samples, bp_samples_entry(samples, sample));
	return moment_of(walk, &birth);
}

bool bp_timeline_peak(const struct bp_view *view, const struct bp_selection *selection,
	const struct bp_query *query, struct bp_weight_cache *weights, struct bp_reach reach,
	struct bp_peak *ret_peak, struct bp_error *error)
{
	struct walk walk = { .view = view,
		.selection = selection,
		.filtered = query->filter_count > 0,
		.reach.limit = reach };
	const uint64_t base_ns = view->processes[view->profile->root.i].base_ns;
	uint64_t allocations = 0;
	if (!make_shares(&walk, weights, query->usable) || !begin(&walk, base_ns) ||
		!go(&walk, base_ns, &allocations)) {
		finish(&walk);
		return bp_error_set(error, "out of memory");
	}
	const struct curve *curves = walk.curves;
	*ret_peak = (struct bp_peak){
		.found = curves[0].found, .certain = walk.reach.certain, .allocations = allocations
	};
	if (curves[0].found) {
		ret_peak->moment = found_at(&walk, curves[0].at, base_ns);
		ret_peak->reach = found_at(&walk, walk.reach.at, base_ns);
	}
	for (int half = 0; half < 2; half++) {
		ret_peak->half_found[half] = curves[1 + half].found;
		if (curves[1 + half].found)
			ret_peak->halves[half] = found_at(&walk, curves[1 + half].at, base_ns);
	}
	finish(&walk);
	return true;
}
