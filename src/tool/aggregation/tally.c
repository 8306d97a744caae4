/* SPDX-License-Identifier: MIT */
/*
 * Size classes are a few kilobytes a set and hardly ever needed, so they come with the first sample
 * that is in one above 0; what was added before is class 0.
 */
#include "aggregation/tally.h"

#include <stdlib.h>
#include <string.h>

void bp_tally_finish(struct bp_tally *tally)
{
	free(tally->classes);
	memset(tally, 0, sizeof *tally);
}

static bool need_classes(struct bp_tally *tally)
{
	if (tally->classes != NULL)
		return true;
	tally->classes = calloc(1, sizeof *tally->classes);
	if (tally->classes == NULL)
		return false;
	bp_size_classes_add(tally->classes, 0, &tally->sums);
	return true;
}

bool bp_tally_add(struct bp_tally *tally, const struct bp_sums *sample, unsigned size_class)
{
	if (size_class > 0 && !need_classes(tally))
		return false;
	if (tally->classes != NULL)
		bp_size_classes_add(tally->classes, size_class, sample);
	bp_sums_merge(&tally->sums, sample);
	return true;
}

static void add_other(struct bp_other_sums *sums, const struct bp_other_sums *more)
{
	sums->bytes += more->bytes;
	sums->objects += more->objects;
	sums->hits.samples += more->hits.samples;
	sums->hits.after_hits += more->hits.after_hits;
	sums->hits.trials += more->hits.trials;
	sums->hits.bytes += more->hits.bytes;
	sums->hits.exact_bytes += more->hits.exact_bytes;
}

bool bp_tally_merge(struct bp_tally *tally, const struct bp_tally *other)
{
	if (other->classes != NULL && !need_classes(tally))
		return false;
	if (other->classes != NULL)
		bp_size_classes_merge(tally->classes, other->classes);
	else if (tally->classes != NULL)
		bp_size_classes_add(tally->classes, 0, &other->sums);
	bp_sums_merge(&tally->sums, &other->sums);
	add_other(&tally->other, &other->other);
	return true;
}

bool bp_tally_add_sample(struct bp_tally *tally, const struct bp_sample_weight *weight,
	const struct bp_other_sums *other)
{
	if (other != NULL)
		add_other(&tally->other, other);
	return bp_tally_add(tally, &weight->sums, weight->size_class);
}
