/* SPDX-License-Identifier: MIT */
/*
 * What makes a comparison doubtful, as sentences: sides that were recorded differently, or are of
 * different programs; functions that have names on one side only; losses, which close one direction
 * or both; and whatever the aggregations themselves warn of. Nothing here is an error: figures of
 * other intervals and laws can be compared, with less or more precision.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff_state.h"

/* Names are missing on one side if the shares of what is without a name differ by more than this,
 * and the reader is told of other keys if more than this is without a name on both. Neither, where
 * what is without a name is less than this part of the larger side. */
#define NAMELESS_SHARE 0.2

static const struct bp_process *subject_of(const struct bp_run *run)
{
	const struct bp_aggregation *a = run->compared;
	return &a->profile->processes.data[a->subject.i];
}

static const char *law_name(uint32_t law)
{
	return law == 0 ? "exact" : "bernoulli";
}

/* "128 KiB", or "1000 bytes". */
static void interval_text(uint64_t interval, char buffer[32])
{
	const bool whole = interval % 1024 == 0;
	snprintf(buffer, 32, "%llu %s", (unsigned long long)(whole ? interval / 1024 : interval),
		whole ? "KiB" : "bytes");
}

/* The other runs against the first one. */
static bool warn_of_recording(struct bp_diff *diff)
{
	const struct bp_run *first = &diff->runs[BP_BASE][0];
	uint64_t interval = bp_aggregation_assumptions(first->compared).interval_max;
	for (int side = 0; side < BP_SIDES; side++)
		for (uint32_t i = 0; i < diff->run_count[side]; i++) {
			const struct bp_run *run = &diff->runs[side][i];
			uint64_t own = bp_aggregation_assumptions(run->compared).interval_max;
			uint32_t law = subject_of(run)->law, law_first = subject_of(first)->law;
			char intervals[2][32];
			interval_text(interval, intervals[0]);
			interval_text(own, intervals[1]);
			if (own != interval &&
				!bp_diff_warn(diff,
					"the sampling intervals differ (T = %s and %s): the "
					"coarser side decides what can be seen",
					intervals[0], intervals[1]))
				return false;
			if (law != law_first &&
				!bp_diff_warn(diff,
					"the sampling laws differ (%s and %s): large objects are "
					"known exactly on one side only",
					law_name(law_first), law_name(law)))
				return false;
		}
	return true;
}

/* The part of what the runs of a side allocated that was allocated while sampling was off. */
static double paused_share(const struct bp_diff *diff, int side)
{
	double off = 0, all = 0;
	for (uint32_t i = 0; i < diff->run_count[side]; i++) {
		const struct bp_aggregation *run = diff->runs[side][i].compared;
		const struct bp_profile *profile = run->profile;
		off += (double)run->sampling.bytes_off.high;
		for (uint32_t p = 1; p < profile->processes.count; p++)
			all += (double)profile->processes.data[p].bytes_allocated.high;
	}
	return off > 0 ? off / (off + all) : 0;
}

static bool warn_of_pauses(struct bp_diff *diff)
{
	const double base = paused_share(diff, BP_BASE);
	const double new = paused_share(diff, BP_NEW);
	if (base == 0 && new == 0)
		return true;
	return bp_diff_warn(diff,
		"sampling was off while %.3g %% of the bytes of base and %.3g %% of those of new "
		"were allocated: these are in no row, and a row may differ because of that alone "
		"(the total has them where it is counted, else it has no verdict)",
		100 * base, 100 * new);
}

static bool warn_of_program(struct bp_diff *diff)
{
	const struct bp_run *base = &diff->runs[BP_BASE][0];
	const struct bp_run *new = &diff->runs[BP_NEW][0];
	const char *old_name = bp_process_name(base->compared->profile, subject_of(base));
	const char *new_name = bp_process_name(new->compared->profile, subject_of(new));
	/* Some files do not tell the name. */
	if (diff->state->program[0] == '\0' || *old_name == '\0' || *new_name == '\0')
		return true;
	return bp_diff_warn(diff,
		"the programs have different names (%s and %s): they are taken for two versions of "
		"one program",
		old_name, new_name);
}

/* Bytes or objects of a side: of functions without a name, and in all. */
struct nameless {
	double part, all;
};

static struct nameless nameless_of(const struct bp_diff *diff, int side)
{
	static const char mark[] = "(no name)";
	const struct bp_diff_state *state = diff->state;
	struct nameless sum = { 0 };
	for (uint32_t i = 0; i < state->keys.key_count; i++) {
		const struct bp_key_result *result = &state->results[i];
		size_t bytes = strlen(result->name);
		double figure = side == BP_BASE ? result->base : result->new;
		sum.all += figure;
		if (bytes >= sizeof mark - 1 &&
			strcmp(result->name + bytes - (sizeof mark - 1), mark) == 0)
			sum.part += figure;
	}
	return sum;
}

static double percent_of(const struct nameless *side)
{
	return side->all > 0 ? 100 * side->part / side->all : 0;
}

static bool warn_of_names(struct bp_diff *diff)
{
	enum bp_key by = diff->runs[BP_NEW][0].compared->query.by;
	if (by != BP_KEY_FUNCTION && by != BP_KEY_STACK)
		return true;
	const struct nameless base = nameless_of(diff, BP_BASE), new = nameless_of(diff, BP_NEW);
	/* Where little is without a name, little is missed. */
	const bool matters = fmax(base.part, new.part) > NAMELESS_SHARE * fmax(base.all, new.all);
	const double apart = fabs(percent_of(&base) - percent_of(&new));
	/* Two moments of one run have the same names. */
	if (diff->query.moments || !matters || apart <= 100 * NAMELESS_SHARE) {
		if (by != BP_KEY_FUNCTION || !matters)
			return true;
		return bp_diff_warn(diff,
			"%.0f %% of what is compared is of functions without a name, one row for "
			"each file: --by stack tells them apart by their callers; debug symbols, "
			"by name",
			fmax(percent_of(&base), percent_of(&new)));
	}
	return bp_diff_warn(diff,
		"%.0f %% of base but %.0f %% of new belong to functions without a name "
		"(stripped?): these cannot be matched with their names; use --by module, or "
		"--debug-directory",
		percent_of(&base), percent_of(&new));
}

/* Has any function of the program's own file been seen inlined? */
static bool has_inlined(const struct bp_aggregation *aggregation)
{
	const struct bp_profile *profile = aggregation->profile;
	struct bp_string_id own = profile->processes.data[aggregation->subject.i].program;
	for (uint32_t i = 1; i < profile->frames.count; i++) {
		const struct bp_frame *frame = &profile->frames.data[i];
		if (frame->inlined && profile->modules.data[frame->module.i].path.i == own.i)
			return true;
	}
	return false;
}

/* A build without debug information cannot tell what was inlined. */
static bool warn_of_inlining(struct bp_diff *diff)
{
	enum bp_key by = diff->runs[BP_NEW][0].compared->query.by;
	bool base = has_inlined(diff->runs[BP_BASE][0].compared);
	bool new = has_inlined(diff->runs[BP_NEW][0].compared);
	if (base == new || (by != BP_KEY_FUNCTION && by != BP_KEY_STACK))
		return true;
	return bp_diff_warn(diff,
		"inlined functions of the program are known in %s only (the other was built "
		"without -g, or without optimising): what was inlined may stand under its caller "
		"there, as gone from one row and new in another",
		base ? "base" : "new");
}

static bool warn_of_losses(struct bp_diff *diff)
{
	const struct bp_diff_state *state = diff->state;
	bool no_growth = state->too_low[BP_BASE] || state->too_high[BP_NEW];
	bool no_shrinking = state->too_high[BP_BASE] || state->too_low[BP_NEW];
	if (no_growth && no_shrinking)
		return bp_diff_warn(diff,
			"records were lost on both sides, so that no direction can be trusted: "
			"every verdict is unclear");
	if (no_growth)
		return bp_diff_warn(diff,
			"records were lost, which may pass for growth: only what shrank has a "
			"verdict");
	return !no_shrinking ||
	       bp_diff_warn(diff,
		       "records were lost, which may pass for shrinking: only what grew has a "
		       "verdict");
}

static bool pass_on(struct bp_diff *diff, const struct bp_aggregation *aggregation,
	const char *file, bool named)
{
	for (char **w = aggregation->warnings; *w != NULL; w++)
		if (!bp_diff_warn(diff, "%s%s%s", named ? file : "", named ? ": " : "", *w))
			return false;
	return true;
}

bool bp_diff_make_warnings(struct bp_diff *diff)
{
	bool moments = diff->query.moments;
	if (!warn_of_losses(diff) || !warn_of_pauses(diff) || !warn_of_names(diff) ||
		!warn_of_inlining(diff) || !warn_of_program(diff) ||
		(diff->state->peak && !bp_diff_warn_of_rivals(diff)) ||
		(!moments && !warn_of_recording(diff)))
		return false;
	for (int side = 0; side < BP_SIDES; side++)
		for (uint32_t i = 0; i < diff->run_count[side]; i++) {
			const struct bp_run *run = &diff->runs[side][i];
			if (!pass_on(diff, run->shown, run->file, !moments))
				return false;
		}
	return true;
}
