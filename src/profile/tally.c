/* SPDX-License-Identifier: MIT */
/*
 * Size classes are a few kilobytes a set and hardly ever needed, so they come with the first sample
 * that is in one above 0; what was added before is class 0.
 */
#include "profile/tally.h"

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

static void add_hits(struct bp_hit_sums *hits, const struct bp_hit_sums *other)
{
	hits->samples += other->samples;
	hits->after_hits += other->after_hits;
	hits->trials += other->trials;
	hits->bytes += other->bytes;
	hits->objects += other->objects;
	hits->exact_bytes += other->exact_bytes;
	hits->exact_objects += other->exact_objects;
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
	tally->other_bytes += other->other_bytes;
	tally->other_objects += other->other_objects;
	add_hits(&tally->hits, &other->hits);
	return true;
}

bool bp_tally_add_sample(
	struct bp_tally *tally, const struct bp_sample_weight *weight, const struct bp_tally *part)
{
	return bp_tally_add(tally, &weight->sums, weight->size_class) &&
	       bp_tally_merge(tally, part);
}
