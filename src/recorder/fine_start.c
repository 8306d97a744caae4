/* SPDX-License-Identifier: MIT */
/*
 * See fine_start.h. Each step has about as many samples as the one before it, so that what a
 * program holds at any time is sampled as finely, relative to its size, whenever it is made. The steps were
 * chosen by what they cost (docs/benchmarks.md, "The fine start").
 */
#include "recorder/fine_start.h"

#include "base/attributes.h"
#include "trace/format.h"

static const struct {
	uint64_t until_trials, interval;
} steps[] = {
	{ (uint64_t)128 << 20, 64u << 10 },
	{ (uint64_t)384 << 20, 128u << 10 },
	{ (uint64_t)896 << 20, 256u << 10 },
};

static uint64_t sum_trials;

uint64_t bp_fine_start_interval(uint64_t trials)
{
	for (unsigned i = 0; i < BP_COUNT(steps); i++)
		if (trials < steps[i].until_trials)
			return steps[i].interval;
	return BP_INTERVAL_DEFAULT;
}

uint64_t bp_fine_start_add(uint64_t trials)
{
	return bp_fine_start_interval(
		__atomic_add_fetch(&sum_trials, trials, __ATOMIC_RELAXED));
}
