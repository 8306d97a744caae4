/* SPDX-License-Identifier: MIT */
/* Whether figures hold their truths, one by one and as often as they should: see verify.h. */
#include <math.h>

#include "verify/verify.h"

/* Rounding of sums of whole numbers in doubles, and of the interval's own arithmetic. */
#define ROUNDING 1e-9

bool bp_verify_holds(const struct bp_figure *figure, uint64_t truth)
{
	const struct bp_interval *interval = &figure->interval;
	const double value = (double)truth, slack = ROUNDING * value + ROUNDING;
	/* Lost samples: the truth is the lower limit at least. Lost frees: the upper one at
	 * most. */
	const bool low = figure->upper_bound || interval->low <= value + slack;
	const bool high = figure->lower_bound || interval->high >= value - slack;
	return low && high;
}

/* ln of the binomial probability of k successes in n trials. */
static double log_binomial(double n, double k, double p)
{
	int sign;
	return lgamma_r(n + 1, &sign) - lgamma_r(k + 1, &sign) - lgamma_r(n - k + 1, &sign) +
	       k * log(p) + (n - k) * log1p(-p);
}

uint64_t bp_verify_misses_allowed(uint64_t figures, double chance, double error)
{
	const double n = (double)figures;
	if (figures == 0 || chance <= 0)
		return 0;
	const double p = fmin(chance / n, 1);
	if (p >= 1)
		return figures;
	/* From far out, where nothing is left to add, inwards: P(K > k) grows until it passes. */
	const double sd = sqrt(n * p * (1 - p));
	double k = fmin(n, ceil(n * p + 50 * sd + 100)), tail = 0;
	for (; k > ceil(n * p); k--) {
		tail += exp(log_binomial(n, k, p));
		if (tail > error)
			break;
	}
	return (uint64_t)k;
}

static void judge_tally(const struct bp_verify *verify, struct bp_verify_tally *tally)
{
	tally->misses_allowed = bp_verify_misses_allowed(
		tally->figures, tally->chance, verify->error / verify->tests);
	tally->good = tally->figures - tally->held <= tally->misses_allowed;
}

static enum bp_verify_verdict worse(enum bp_verify_verdict a, enum bp_verify_verdict b)
{
	return a > b ? a : b;
}

static void judge_group(struct bp_verify *verify, struct bp_verify_group *group)
{
	for (int unit = 0; unit < BP_VERIFY_UNITS; unit++)
		judge_tally(verify, &group->units[unit]);
	judge_tally(verify, &group->informed);
	if (!group->units[BP_VERIFY_BYTES].good || !group->informed.good)
		verify->verdict = worse(verify->verdict, BP_VERIFY_BAD);
	if (!group->units[BP_VERIFY_OBJECTS].good)
		verify->verdict = worse(verify->verdict, BP_VERIFY_ASSUMED);
}

bool bp_verify_is_judged(
	const struct bp_verify_process *process, enum bp_metric metric, enum bp_verify_unit unit)
{
	if (metric == BP_METRIC_PEAK)
		return unit == BP_VERIFY_BYTES && process->threads <= 1;
	return true;
}

static void judge_total(struct bp_verify *verify, const struct bp_verify_process *process,
	enum bp_metric metric, enum bp_verify_unit unit)
{
	const bool informed = process->informed[metric][unit].held;
	/* Counted twice: by the threads' counters, and object by object. (In a process that was
	 * killed an object in flight may stand in one of the two.) */
	if (metric == BP_METRIC_ALLOCATED && process->ended && !process->totals[metric][unit].held)
		verify->counts_wrong++;
	if (!bp_verify_is_judged(process, metric, unit))
		return;
	verify->totals_missed += !informed;
	verify->totals_assumed += informed && !process->wide[metric][unit].held;
}

void bp_verify_judge(struct bp_verify *verify)
{
	verify->verdict = BP_VERIFY_GOOD;
	verify->totals_missed = verify->totals_assumed = verify->counts_wrong = 0;
	for (int i = 0; i < BP_VERIFY_GROUPS; i++)
		judge_group(verify, &verify->groups[i]);
	for (uint32_t i = 0; i < verify->process_count; i++) {
		const struct bp_process_verify_sums *verify_sums =
			&verify->processes[i].verify_sums;
		for (int metric = 0; metric < BP_METRIC_COUNT; metric++)
			for (int unit = 0; unit < BP_VERIFY_UNITS; unit++)
				judge_total(verify, &verify->processes[i], (enum bp_metric)metric,
					(enum bp_verify_unit)unit);
		if (verify_sums->uncounted_objects > 0 || verify_sums->missed_frees > 0)
			verify->verdict = BP_VERIFY_UNSURE;
	}
	if (verify->totals_assumed > 0)
		verify->verdict = worse(verify->verdict, BP_VERIFY_ASSUMED);
	if (verify->totals_missed > 0 || verify->counts_wrong > 0)
		verify->verdict = worse(verify->verdict, BP_VERIFY_BAD);
}
