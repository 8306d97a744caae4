/* SPDX-License-Identifier: MIT */
/*
 * See fine_start.h. Each step has about as many samples as the one before it, so that what a
 * program holds at any time is sampled as finely, relative to its size, whenever it is made. The
 * steps were chosen by what they cost (docs/benchmarks.md, "The fine start").
 */
#include "start/fine_start.h"

#include "base/attributes.h"
#include "base/system_call.h"
#include "trace/format.h"

static const struct {
	uint64_t until_trials, interval;
} steps[] = {
	{ (uint64_t)128 << 20, 64u << 10 },
	{ (uint64_t)384 << 20, 128u << 10 },
	{ (uint64_t)896 << 20, 256u << 10 },
};

/* Shared with all children of fork; where there is no memory for that, each has its own. */
static uint64_t own_trials;
static uint64_t *sum_trials = &own_trials;

void bp_fine_start_begin(void)
{
	if (sum_trials != &own_trials) { /* attached again: not another mapping */
		__atomic_store_n(sum_trials, 0, __ATOMIC_RELAXED);
		return;
	}
	uint64_t *shared =
		bp_system_map(4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared != NULL)
		sum_trials = shared;
}

uint64_t bp_fine_start_interval(uint64_t trials)
{
	for (unsigned i = 0; i < BP_COUNT(steps); i++)
		if (trials < steps[i].until_trials)
			return steps[i].interval;
	return BP_INTERVAL_DEFAULT;
}

uint64_t bp_fine_start_add(uint64_t trials)
{
	return bp_fine_start_interval(__atomic_add_fetch(sum_trials, trials, __ATOMIC_RELAXED));
}
