/* SPDX-License-Identifier: MIT */
/*
 * One cell: a population under a design, and every method of its family on the same draws. Where
 * one group alone varies, the outcomes are listed and their probabilities summed: no chance is
 * left, and no Monte-Carlo error. Methods that look at where the hits were are simulated even
 * there.
 *
 * In the families of parts a second population, the rest of the total, is drawn beside the key.
 */
#include <limits.h>
#include <math.h>

#include "simulate.h"

static const struct size_law *law_of(const struct cell *cell)
{
	return &size_laws[cell->law];
}

static bool is_part(const struct cell *cell)
{
	return cell->family == FAMILY_PART || cell->family == FAMILY_PART_BERNOULLI;
}

static struct design design_of(const struct cell *cell)
{
	struct design design = { .exact = cell->family != FAMILY_BERNOULLI &&
					  cell->family != FAMILY_PART_BERNOULLI,
		.interval = cell->interval };
	if (cell->family == FAMILY_TWO_INTERVALS)
		design.interval_other = cell->interval / 4;
	return design;
}

/* The rest of the total: of the key's law, or, if another one is wanted, of 16 B; beside a key of
 * 16 B, of the lognormal mix. */
static void fill_others(
	struct population *others, const struct cell *cell, const struct population *key)
{
	unsigned law = !cell->other_complement ? cell->law : cell->law == 0 ? 2 : 0;
	double expected = key->expected * (1 - cell->share) / cell->share;
	if (!population_fill(others, &size_laws[law], expected, cell->interval))
		population_fill(others, &size_laws[0], expected, cell->interval);
}

bool cell_exists(const struct cell *cell)
{
	struct population population;
	if (cell->family == FAMILY_TWO_INTERVALS && !law_of(cell)->mixed)
		return false; /* two T take two groups */
	return population_fill(&population, law_of(cell), cell->expected, cell->interval);
}

/* What a run of one cell works with. */
struct bench {
	struct cell *cell;
	struct population key, others;
	struct sampling sampling, sampling_others;
	struct drawn drawn, drawn_others;
	struct evidence evidence;
	unsigned of_family[SIMULATE_METHODS_MAX], count;
};

static void bench_init(struct bench *bench, struct cell *cell)
{
	struct design design = design_of(cell);
	bench->cell = cell;
	population_fill(&bench->key, law_of(cell), cell->expected, cell->interval);
	cell->actual = bench->key.expected;
	sampling_init(&bench->sampling, &bench->key, &design);
	bench->others = (struct population){ 0 };
	if (is_part(cell))
		fill_others(&bench->others, cell, &bench->key);
	sampling_init(&bench->sampling_others, &bench->others, &design);
	bench->evidence = (struct evidence){ .sampling = &bench->sampling,
		.drawn = &bench->drawn,
		.others = &bench->drawn_others,
		.total_bytes = bench->key.bytes + bench->others.bytes,
		.total_objects = bench->key.objects + bench->others.objects,
		.size_min = bench->key.size_min,
		.interval_max = cell->interval };
	if (is_part(cell) && bench->others.size_min < bench->key.size_min)
		bench->evidence.size_min = bench->others.size_min;
	bench->count = 0;
	for (unsigned i = 0; i < method_count; i++)
		if (methods[i].family == cell->family)
			bench->of_family[bench->count++] = i;
}

static void bench_finish(struct bench *bench)
{
	sampling_finish(&bench->sampling);
	sampling_finish(&bench->sampling_others);
}

/* Adds one outcome of probability (or count) `weight`. */
static void judge(struct bench *bench, unsigned place, double weight)
{
	const struct method *method = &methods[bench->of_family[place]];
	struct outcome *outcome = &bench->cell->outcomes[place];
	double truth = truth_of(&bench->key, method->truth);
	struct bp_interval interval = method->interval(&bench->evidence, 2 * method->tail);
	outcome->low += weight * (truth < interval.low * (1 - 1e-12));
	outcome->high += weight * (truth > interval.high * (1 + 1e-12));
	if (truth > 0)
		outcome->width += weight * (interval.high - interval.low) / truth;
}

static void add_moment(struct moments *moments, double error)
{
	moments->repetitions++;
	moments->error += error;
	moments->square += error * error;
	moments->fourth += error * error * error * error;
}

static void add_moments(struct bench *bench)
{
	struct moments *moments = bench->cell->moments;
	const struct drawn *drawn = &bench->drawn;
	add_moment(&moments[0], drawn->sums.bytes + drawn->sums.c1 - bench->key.bytes);
	for (unsigned i = 0; i < WEIGHTED_COUNT && bench->cell->weights; i++)
		add_moment(&moments[1 + i], drawn->weighted[i] - bench->key.bytes);
}

static void init_variances(struct bench *bench)
{
	struct moments *moments = bench->cell->moments;
	moments[0].variance = bench->sampling.variance;
	for (unsigned i = 0; i < WEIGHTED_COUNT; i++)
		moments[1 + i].variance = sampling_variance(&bench->sampling, i);
}

static bool is_enumerated(const struct bench *bench, unsigned place)
{
	return !methods[bench->of_family[place]].offsets && !is_part(bench->cell) &&
	       sampling_outcomes(&bench->sampling) > 0;
}

static void enumerate(struct bench *bench, const bool *wanted)
{
	unsigned outcomes = sampling_outcomes(&bench->sampling);
	for (unsigned i = 0; i < outcomes; i++) {
		double probability = sampling_outcome(&bench->sampling, i, &bench->drawn);
		for (unsigned place = 0; place < bench->count; place++)
			if (wanted[place] && is_enumerated(bench, place))
				judge(bench, place, probability);
	}
}

static void simulate(struct bench *bench, const bool *wanted, unsigned repetitions, uint64_t seed)
{
	struct stream stream = { seed };
	bool offsets = false;
	for (unsigned place = 0; place < bench->count; place++)
		offsets = offsets || (wanted[place] && methods[bench->of_family[place]].offsets);
	for (unsigned i = 0; i < repetitions; i++) {
		sampling_draw(
			&bench->sampling, &stream, offsets, bench->cell->weights, &bench->drawn);
		if (is_part(bench->cell))
			sampling_draw(&bench->sampling_others, &stream, false, false,
				&bench->drawn_others);
		add_moments(bench);
		for (unsigned place = 0; place < bench->count; place++)
			if (wanted[place] && !is_enumerated(bench, place))
				judge(bench, place, 1.0 / repetitions);
	}
}

void cell_run(struct cell *cell, unsigned repetitions, uint64_t seed, unsigned only)
{
	struct bench bench;
	bool wanted[SIMULATE_METHODS_MAX] = { false }, any_simulated = cell->weights;
	bench_init(&bench, cell);
	init_variances(&bench);
	for (unsigned place = 0; place < bench.count; place++) {
		wanted[place] = only == UINT_MAX || bench.of_family[place] == only;
		if (methods[bench.of_family[place]].offsets && !cell->offsets)
			wanted[place] = false;
		if (!wanted[place])
			continue;
		bool enumerated = is_enumerated(&bench, place);
		cell->outcomes[place] = (struct outcome){ .known = true,
			.repetitions = enumerated ? 0 : repetitions };
		any_simulated = any_simulated || !enumerated;
	}
	enumerate(&bench, wanted);
	if (any_simulated)
		simulate(&bench, wanted, repetitions, seed);
	bench_finish(&bench);
}
