/* SPDX-License-Identifier: MIT */
/*
 * One walk over births and deaths in step. The sums of everything tell whether the state after an
 * event competes; a key's own sums are looked at when they are about to change, if any state
 * competed while they held. So the work is that of the events, whatever the number of moments and
 * keys.
 *
 * Sums are added to and subtracted from on the way, which leaves rounding errors of about 1e-16 of
 * the largest of them, and are set to nothing when their last sample dies. See rivals.h.
 */
#include "diff/rivals.h"

#include <math.h>
#include <stdlib.h>

#include "model/sample_order.h"

/* How many standard deviations the limits lie away by which moments are chosen. The limits that a
 * verdict rests on are computed from the sums afterwards. */
#define DEPTH 3

/* A key on the way. */
struct running {
	struct bp_sums sums;
	uint32_t looked; /* competing states so far, when its sums last changed */
	bool known;	 /* its rivals hold something */
};

struct walk {
	const struct bp_aggregation *aggregation;
	const struct bp_cell_key *pairs;
	const uint32_t *first_pair; /* by cell */
	struct running *keys;
	struct bp_rivals *rivals;
	/* Of all that lives; of that part of it that lives at the named moment, too; all of the
	 * latter. */
	struct bp_cumulants all, shared, named;
	double unit, depth, depth_low;
	uint64_t base_ns;
	struct bp_moment last_competing; /* state */
	struct bp_moment now;
	uint32_t competing;
	bool began;
};

static void add(struct bp_sums *sums, const struct bp_sums *sample)
{
	bp_sums_merge(sums, sample);
}

static void take_away(struct bp_sums *sums, const struct bp_sums *sample)
{
	sums->samples -= sample->samples;
	if (sums->samples == 0) {
		*sums = (struct bp_sums){ 0 };
		return;
	}
	sums->bytes -= sample->bytes;
	sums->c1 = fmax(sums->c1 - sample->c1, 0);
	sums->c2 = fmax(sums->c2 - sample->c2, 0);
	sums->c3 = fmax(sums->c3 - sample->c3, 0);
	sums->n1 = fmax(sums->n1 - sample->n1, 0);
	sums->n2 = fmax(sums->n2 - sample->n2, 0);
	sums->n3 = fmax(sums->n3 - sample->n3, 0);
	sums->log_pi_sum = fmin(sums->log_pi_sum - sample->log_pi_sum, 0);
}

static double lower(const struct bp_sums *sums, enum bp_rivals_unit unit)
{
	if (unit == BP_RIVALS_OBJECTS)
		return (double)sums->samples + fmax(sums->n1 - DEPTH * sqrt(sums->n2), 0);
	return sums->bytes + fmax(sums->c1 - DEPTH * sqrt(sums->c2), 0);
}

static double upper(const struct bp_sums *sums, enum bp_rivals_unit unit)
{
	if (unit == BP_RIVALS_OBJECTS)
		return (double)sums->samples + sums->n1 + DEPTH * sqrt(sums->n2);
	return sums->bytes + sums->c1 + DEPTH * sqrt(sums->c2);
}

/* A key's sums held while a state competed. */
static void look(struct walk *walk, uint32_t number)
{
	struct running *key = &walk->keys[number];
	struct bp_rivals *rivals = &walk->rivals[number];
	const uint64_t at_ns = walk->last_competing.time_ns - walk->base_ns;
	for (enum bp_rivals_unit unit = 0; unit < BP_RIVALS_UNITS; unit++) {
		if (!key->known || lower(&key->sums, unit) < lower(&rivals->least[unit], unit)) {
			rivals->least[unit] = key->sums;
			rivals->least_at_ns[unit] = at_ns;
		}
		if (!key->known || upper(&key->sums, unit) > upper(&rivals->most[unit], unit)) {
			rivals->most[unit] = key->sums;
			rivals->most_at_ns[unit] = at_ns;
		}
	}
	key->known = true;
}

static struct bp_cumulants less(const struct bp_cumulants *all, const struct bp_cumulants *part)
{
	return (struct bp_cumulants){ fmax(all->sampled - part->sampled, 0),
		fmax(all->c1 - part->c1, 0), fmax(all->c2 - part->c2, 0),
		fmax(all->c3 - part->c3, 0) };
}

/* Does the state as it is compete? */
static void look_at_all(struct walk *walk)
{
	const struct bp_cumulants gone = less(&walk->all, &walk->shared);
	const struct bp_cumulants made = less(&walk->named, &walk->shared);
	if (!walk->began || bp_upper_limit_about(&gone, walk->unit, walk->depth) <
				    bp_lower_limit_about(&made, walk->depth_low))
		return;
	walk->competing++;
	walk->last_competing = walk->now;
}

static void move(struct bp_cumulants *to, const struct bp_sums *sample, double sign)
{
	to->sampled += sign * sample->bytes;
	to->c1 += sign * sample->c1;
	to->c2 += sign * sample->c2;
	to->c3 += sign * sample->c3;
}

static bool change(struct walk *walk, uint32_t entry, const struct bp_moment *moment, bool birth)
{
	const struct bp_aggregation *aggregation = walk->aggregation;
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_sample sample = bp_samples_of_entry(&aggregation->profile->samples, entry);
	struct bp_sample_weight all;
	const struct bp_sample_weight *weight = bp_sample_weight_of_all(
		bp_sample_weight(&state->weights, &sample,
			aggregation->profile->processes.data[sample.process.i].charge,
			aggregation->query.usable),
		&sample, &all);
	const uint32_t cell = bp_cell_of_sample(aggregation, &sample);
	if (cell == UINT32_MAX)
		return false;
	for (uint32_t i = walk->first_pair[cell]; i < walk->first_pair[cell + 1]; i++) {
		struct running *key = &walk->keys[walk->pairs[i].key];
		if (key->looked != walk->competing)
			look(walk, walk->pairs[i].key);
		key->looked = walk->competing;
		(birth ? add : take_away)(&key->sums, &weight->sums);
	}
	move(&walk->all, &weight->sums, birth ? 1 : -1);
	if (bp_view_is_live(&state->view, &sample, &state->peak.moment))
		move(&walk->shared, &weight->sums, birth ? 1 : -1);
	walk->now = *moment;
	return true;
}

static bool takes_part(const struct walk *walk, const struct bp_sample *sample)
{
	const struct bp_aggregation_state *state = walk->aggregation->state;
	const struct bp_moment birth = bp_view_birth(sample),
			       death = bp_view_death(&state->view, sample);
	return state->view.processes[sample->process.i].included &&
	       bp_selection_holds(&state->selection, sample) && bp_moment_before(&birth, &death);
}

/* The deaths of all that take part, in order. NULL: no memory. */
static struct bp_moment_entry *sort_deaths(const struct walk *walk, uint32_t *ret_count)
{
	const struct bp_samples *samples = &walk->aggregation->profile->samples;
	struct bp_moment_entry *deaths = malloc(((size_t)samples->count + 1) * sizeof *deaths);
	*ret_count = 0;
	if (deaths == NULL)
		return NULL;
	for (uint32_t i = 1; i < samples->count; i++) {
		const uint32_t entry = bp_samples_entry(samples, i);
		const struct bp_sample sample = bp_samples_of_entry(samples, entry);
		if (takes_part(walk, &sample))
			deaths[(*ret_count)++] = (struct bp_moment_entry){
				bp_view_death(&walk->aggregation->state->view, &sample), entry
			};
	}
	if (bp_sort_moments(deaths, *ret_count))
		return deaths;
	free(deaths);
	return NULL;
}

/* The window begins after everything that happened at its time. */
static void begin(struct walk *walk, const struct bp_moment *next)
{
	const struct bp_moment from = { walk->base_ns + walk->aggregation->state->view.from_ns,
		UINT64_MAX - 1, UINT32_MAX };
	if (walk->began || bp_moment_before(next, &from))
		return;
	walk->began = true;
	walk->now = from;
	look_at_all(walk);
}

/* All that die at one moment, as at the end of a process: there is no state in between. */
static bool die_at(
	struct walk *walk, const struct bp_moment_entry *deaths, uint32_t count, uint32_t *next)
{
	const struct bp_moment *moment = &deaths[*next].moment;
	bool good = true;
	begin(walk, moment);
	while (good && *next < count && !bp_moment_before(moment, &deaths[*next].moment))
		good = change(walk, deaths[(*next)++].what, moment, false);
	look_at_all(walk);
	return good;
}

static bool go(struct walk *walk, const struct bp_moment_entry *deaths, uint32_t count)
{
	const struct bp_samples *samples = &walk->aggregation->profile->samples;
	const struct bp_view *view = &walk->aggregation->state->view;
	const uint64_t to_ns =
		view->to_ns == BP_TIME_NEVER ? BP_TIME_NEVER : walk->base_ns + view->to_ns;
	uint32_t died = 0;
	bool good = true;
	walk->began = view->from_ns == 0;
	for (uint32_t i = 1; good && i < samples->count; i++) {
		const uint32_t entry = bp_samples_entry(samples, i);
		const struct bp_sample sample = bp_samples_of_entry(samples, entry);
		const struct bp_moment birth = bp_view_birth(&sample);
		if (sample.time_ns >= to_ns)
			break;
		if (!takes_part(walk, &sample))
			continue;
		while (good && died < count && !bp_moment_before(&birth, &deaths[died].moment))
			good = die_at(walk, deaths, count, &died);
		begin(walk, &birth);
		good = good && change(walk, entry, &birth, true);
		look_at_all(walk);
	}
	while (good && died < count && deaths[died].moment.time_ns < to_ns)
		good = die_at(walk, deaths, count, &died);
	return good;
}

/* Where the pairs of each cell begin. NULL: no memory. */
static uint32_t *index_pairs(
	const struct bp_cell_key *pairs, uint32_t pair_count, uint32_t cell_count)
{
	uint32_t *first = calloc((size_t)cell_count + 1, sizeof *first), at = 0;
	for (uint32_t cell = 0; first != NULL && cell <= cell_count; cell++) {
		while (at < pair_count && pairs[at].cell < cell)
			at++;
		first[cell] = at;
	}
	return first;
}

bool bp_rivals_find(const struct bp_aggregation *aggregation, const struct bp_cell_key *pairs,
	uint32_t pair_count, struct bp_rivals *rivals, uint32_t key_count)
{
	const struct bp_aggregation_state *state = aggregation->state;
	const double error = BP_RIVALS_ALPHA / 2;
	uint32_t *first_pair = index_pairs(pairs, pair_count, state->cell_count);
	struct walk walk = { .aggregation = aggregation,
		.pairs = pairs,
		.first_pair = first_pair,
		.keys = calloc((size_t)key_count + 1, sizeof *walk.keys),
		.rivals = rivals,
		.unit = bp_reach_unit(aggregation),
		.depth = bp_limit_depth(error),
		.depth_low = bp_limit_depth(
			bp_peak_lower_level(2 * error, state->turnovers, BP_PEAK_FACTOR)),
		.base_ns = state->view.processes[aggregation->profile->root.i].base_ns };
	move(&walk.named, &state->totals[BP_METRIC_PEAK].sums, 1);
	uint32_t count = 0;
	struct bp_moment_entry *deaths = sort_deaths(&walk, &count);
	const bool good = first_pair != NULL && walk.keys != NULL && deaths != NULL &&
			  go(&walk, deaths, count);
	for (uint32_t i = 0; good && i < key_count; i++)
		if (walk.keys[i].looked != walk.competing)
			look(&walk, i);
	free(deaths);
	free(walk.keys);
	free(first_pair);
	return good;
}
