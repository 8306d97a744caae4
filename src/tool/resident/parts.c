/* SPDX-License-Identifier: MIT */
/*
 * The table of resident memory. With a walk of glibc's heap (mappings.h):
 *
 *	heap as address space = used + cached + free inside + end + the allocator's own
 *	heap that is resident = the same less "not resident"
 *	used                  = live objects of malloc + rounding, less what lies in slots
 *
 * The first two are facts; in the third the left side is a fact and the right side an estimate.
 * What lies between them is unexplained: sampling error, objects from before the recorder, and what
 * the C library allocates for itself where no hook sees it.
 *
 * Sampled small objects lie in slots, in memory of the recorder: they count as live objects, and
 * are taken off the recorder's line. Small objects of Python lie in arenas that are anonymous
 * mappings, and are taken off the line of those.
 *
 * Without a walk (another allocator, a heap that changed too fast) the line "not told apart" holds
 * by difference what is free in the allocator and what the program mapped itself, less live objects
 * that are not resident. Then nothing is unexplained, and that line says less.
 *
 * All estimates are of one moment and of the process that was looked at. Rounding is estimated like
 * any other sum, by Horvitz and Thompson: of each sample the usable size less the requested one,
 * and with a walk the 8 bytes of its header.
 */
#include "resident/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/aggregation_state.h"
#include "trace/format.h"

#define HEADER_BYTES 8u
/* From this size on sampled objects stay where glibc put them (docs/internals/recognition.md). */
#define SLOT_BYTES_END 65536u

/* What is summed of live samples. */
enum sum { ROUNDING, IN_HEAP, IN_MAPPINGS, SUMS };

struct live {
	struct bp_interval requested, sums[SUMS];
	bool python;	   /* small objects of Python are in mappings */
	double slot_bytes; /* of sampled objects in slots, exact */
};

void bp_parts_finish(struct bp_parts *parts)
{
	for (uint32_t i = 0; i < parts->count; i++)
		for (uint32_t o = 0; o < parts->parts[i].owner_count; o++)
			free(parts->parts[i].owners[o].name);
	memset(parts, 0, sizeof *parts);
}

/* What a sample adds to each sum. */
static void values_of(const struct bp_sample *sample, bool walked, uint64_t ret_values[SUMS])
{
	const uint64_t usable = sample->usable != 0 ? sample->usable : sample->size;
	const bool pooled = sample->kind == BP_KIND_PYTHON;
	const uint64_t header = walked && !pooled ? HEADER_BYTES : 0;
	ret_values[ROUNDING] = usable - sample->size + header;
	ret_values[IN_HEAP] = pooled ? 0 : usable + header;
	ret_values[IN_MAPPINGS] = pooled ? usable : 0;
}

static bool add_sample(struct bp_aggregation_state *state, const struct bp_process *process,
	const struct bp_sample *sample, bool walked, struct bp_tally tallies[SUMS],
	double *slot_bytes)
{
	uint64_t values[SUMS];
	values_of(sample, walked, values);
	for (int i = 0; i < SUMS; i++) {
		struct bp_sample as_value = *sample;
		struct bp_sample_weight all;
		if (values[i] == 0)
			continue;
		as_value.usable = values[i];
		const struct bp_sample_weight *weight =
			bp_sample_weight(&state->weights, &as_value, process->charge, true);
		if (!bp_tally_add_sample(
			    &tallies[i], bp_sample_weight_of_all(weight, &as_value, &all), NULL))
			return false;
	}
	if (process->samples_in_slots && sample->size < SLOT_BYTES_END)
		*slot_bytes += (double)values[IN_HEAP] * bp_sample_count(sample);
	return true;
}

static struct bp_interval exactly(double bytes)
{
	return (struct bp_interval){ bytes, bytes, bytes, true, false };
}

/* The sums of what the process held at the moment of an aggregation of usable bytes. */
static bool sum_live(const struct bp_aggregation *aggregation, uint64_t time_ns, uint32_t pid,
	bool walked, struct live *live)
{
	struct bp_aggregation_state *state = aggregation->state;
	const struct bp_profile *profile = aggregation->profile;
	const struct bp_moment moment = { time_ns, UINT64_MAX, UINT32_MAX };
	struct bp_living living = bp_samples_living(&profile->samples, time_ns, time_ns);
	struct bp_tally tallies[SUMS];
	bool good = true;
	uint32_t entry;
	memset(tallies, 0, sizeof tallies);
	while (good && bp_living_next(&living, &entry)) {
		const struct bp_sample sample = bp_samples_of_entry(&profile->samples, entry);
		const struct bp_process *process = &profile->processes.data[sample.process.i];
		if (sample.time_ns > time_ns)
			break; /* They come in the order of their births. */
		if (process->pid == pid && bp_view_is_live(&state->view, &sample, &moment))
			good = add_sample(
				state, process, &sample, walked, tallies, &live->slot_bytes);
	}
	live->python = tallies[IN_MAPPINGS].sums.samples > 0;
	for (int i = 0; i < SUMS; i++) {
		struct bp_row row = { .bytes.interval = exactly(0) };
		/* Without Python no small object of Python was missed. */
		if (good && (i != IN_MAPPINGS || live->python))
			bp_figures_of_tally(aggregation, &tallies[i], NULL, &row);
		live->sums[i] = row.bytes.interval;
		bp_tally_finish(&tallies[i]);
	}
	return good;
}

/* An interval that has an estimate: the middle where only limits are known. */
static struct bp_interval with_estimate(struct bp_interval interval)
{
	if (interval.unknown || isnan(interval.estimate))
		interval.estimate =
			isfinite(interval.high) ? (interval.low + interval.high) / 2 : interval.low;
	interval.unknown = false;
	return interval;
}

/* `whole` less an estimate. */
static struct bp_interval less(double whole, const struct bp_interval *part)
{
	return (struct bp_interval){ whole - part->estimate, whole - part->high, whole - part->low,
		part->exact, false };
}

static struct bp_part *add_part(struct bp_parts *parts, const char *name, struct bp_interval bytes)
{
	struct bp_part *part = &parts->parts[parts->count++];
	*part = (struct bp_part){ .name = name, .bytes = bytes };
	return part;
}

static bool add_owner(struct bp_part *part, const char *name, struct bp_interval bytes)
{
	struct bp_part_owner *owner = &part->owners[part->owner_count];
	owner->name = strdup(name);
	owner->bytes = bytes;
	part->owner_count += owner->name != NULL;
	return owner->name != NULL;
}

/* The largest groups of a kind own its line. */
static bool add_groups(
	struct bp_part *part, const struct bp_mapping_cut *cut, enum bp_mapping_kind kind)
{
	uint64_t below = UINT64_MAX;
	uint32_t last = 0;
	while (part->owner_count < BP_PART_OWNERS) {
		const struct bp_mapping_group *most = NULL;
		for (uint32_t i = 0; i < cut->group_count; i++) {
			const struct bp_mapping_group *group = &cut->groups[i];
			const bool later =
				group->resident_bytes < below ||
				(group->resident_bytes == below && i > last && below != UINT64_MAX);
			if (group->kind == kind && group->resident_bytes > 0 && later &&
				*group->name != '\0' &&
				(most == NULL || group->resident_bytes > most->resident_bytes))
				most = group;
		}
		if (most == NULL)
			return true;
		below = most->resident_bytes;
		last = (uint32_t)(most - cut->groups);
		if (!add_owner(part, most->name, exactly((double)below)))
			return false;
	}
	return true;
}

static bool add_kind(struct bp_parts *parts, const char *name, const struct bp_mapping_cut *cut,
	enum bp_mapping_kind kind)
{
	const struct bp_mapping_group sum = bp_mapping_cut_of_kind(cut, kind);
	return sum.resident_bytes == 0 ||
	       add_groups(add_part(parts, name, exactly((double)sum.resident_bytes)), cut, kind);
}

/* The lines of mappings that have nothing to do with malloc. */
static bool add_mappings(
	struct bp_parts *parts, const struct bp_mapping_cut *cut, const struct live *live)
{
	const double recorder =
		(double)bp_mapping_cut_of_kind(cut, BP_MAPPING_RECORDER).resident_bytes;
	if (!add_kind(parts, "code and its data", cut, BP_MAPPING_CODE) ||
		!add_kind(parts, "mapped files", cut, BP_MAPPING_FILE) ||
		!add_kind(parts, "shared memory", cut, BP_MAPPING_SHARED) ||
		!add_kind(parts, "main stack", cut, BP_MAPPING_STACK) ||
		!add_kind(parts, "stacks of threads", cut, BP_MAPPING_THREAD_STACK) ||
		!add_kind(parts, "the kernel's", cut, BP_MAPPING_OTHER))
		return false;
	add_part(parts, "the recorder", exactly(recorder - live->slot_bytes));
	add_part(parts, "page tables", exactly((double)cut->page_table_bytes));
	return true;
}

static bool add_walked(
	struct bp_parts *parts, const struct bp_mapping_cut *cut, const struct live *live)
{
	const struct bp_mapping_group heap = bp_mapping_cut_of_kind(cut, BP_MAPPING_HEAP);
	const struct bp_mapping_group other = bp_mapping_cut_of_kind(cut, BP_MAPPING_ANONYMOUS);
	const struct bp_heap_walk *walk = &cut->heap;
	struct bp_part *inside =
		add_part(parts, "free inside the heap", exactly((double)walk->free_bytes));
	if (walk->trimmable_bytes > 0 && !add_owner(inside, "whole pages, for malloc_trim",
						 exactly((double)walk->trimmable_bytes)))
		return false;
	if (walk->cached_known || walk->cached_bytes > 0)
		add_part(parts, "free, kept by threads", exactly((double)walk->cached_bytes));
	add_part(parts, "free at the heap's ends", exactly((double)walk->top_bytes));
	add_part(parts, "the allocator's own", exactly((double)walk->other_bytes));
	add_part(parts, "of all this not resident",
		exactly((double)heap.resident_bytes - (double)walk->area_bytes));
	struct bp_part *mapped = add_part(parts,
		live->python ? "mapped, and free in Python's arenas" : "mapped by the program",
		less((double)other.resident_bytes, &live->sums[IN_MAPPINGS]));
	return add_groups(mapped, cut, BP_MAPPING_ANONYMOUS);
}

/* No walk: what malloc keeps free and what was mapped beside it are one line, by difference. */
static bool add_not_told_apart(
	struct bp_parts *parts, const struct bp_mapping_cut *cut, const struct live *live)
{
	const struct bp_mapping_group heap = bp_mapping_cut_of_kind(cut, BP_MAPPING_HEAP);
	const struct bp_mapping_group other = bp_mapping_cut_of_kind(cut, BP_MAPPING_ANONYMOUS);
	struct bp_interval objects = live->sums[IN_HEAP];
	objects.estimate = live->requested.estimate + live->sums[ROUNDING].estimate;
	objects.low += live->sums[IN_MAPPINGS].low;
	objects.high += live->sums[IN_MAPPINGS].high;
	/* Those in slots are in the recorder's memory. */
	objects.estimate -= live->slot_bytes;
	objects.low -= live->slot_bytes;
	objects.high -= live->slot_bytes;
	struct bp_part *part = add_part(parts, "not told apart",
		less((double)heap.resident_bytes + (double)other.resident_bytes, &objects));
	return add_groups(part, cut, BP_MAPPING_ANONYMOUS);
}

/* The total less all lines; with a walk the limits are those of what is used in the heap. */
static void take_unexplained(struct bp_parts *parts, const struct live *live)
{
	double sum = 0;
	for (uint32_t i = 0; i < parts->count; i++)
		sum += parts->parts[i].bytes.estimate;
	const double estimate = (double)parts->total_bytes - sum;
	if (!parts->heap.known) {
		parts->unexplained = exactly(0);
		return;
	}
	struct bp_interval used =
		less((double)parts->heap.used_bytes + live->slot_bytes, &live->sums[IN_HEAP]);
	used.estimate = estimate;
	used.low = fmin(used.low, estimate);
	used.high = fmax(used.high, estimate);
	parts->unexplained = used;
}

bool bp_parts_add_rows(struct bp_part *part, const struct bp_aggregation *aggregation)
{
	for (uint32_t i = 0; i < aggregation->row_count && part->owner_count < BP_PART_OWNERS;
		i++) {
		struct bp_row row;
		bp_aggregation_row(aggregation, i, &row);
		char *label =
			bp_row_label(aggregation->profile, row.name, row.frames, row.frame_count);
		const bool added = label != NULL && add_owner(part, label, row.bytes.interval);
		free(label);
		if (!added)
			return false;
	}
	return true;
}

static bool add_live(
	struct bp_parts *parts, const struct bp_aggregation *aggregation, const struct live *live)
{
	struct bp_part *part = add_part(parts, "live objects, as requested", live->requested);
	if (!bp_parts_add_rows(part, aggregation))
		return false;
	add_part(parts, "rounded up by the allocator", live->sums[ROUNDING]);
	return true;
}

/* Live objects and their rounding are in use, and no more is in use than the walk has seen. */
static void bound_by_used(struct live *live, double used_bytes)
{
	const double used = used_bytes + live->slot_bytes;
	struct bp_interval *rounding = &live->sums[ROUNDING], *in_heap = &live->sums[IN_HEAP];
	const double most = used + live->sums[IN_MAPPINGS].high - live->requested.low;
	if (in_heap->high > used)
		in_heap->high = fmax(used, in_heap->estimate);
	if (rounding->high > most)
		rounding->high = fmax(most, rounding->estimate);
}

static bool make(const struct bp_aggregation aggregations[2], const struct bp_mapping_cut *cut,
	uint64_t time_ns, uint32_t pid, struct bp_parts *parts, struct bp_error *error)
{
	struct live live = { .slot_bytes = 0 };
	if (!sum_live(&aggregations[1], time_ns, pid, cut->heap.known, &live))
		return bp_error_set(error, "out of memory");
	for (int i = 0; i < SUMS; i++)
		live.sums[i] = with_estimate(live.sums[i]);
	live.requested = with_estimate(aggregations[0].totals[BP_METRIC_LIVE].bytes.interval);
	if (cut->heap.known)
		bound_by_used(&live, (double)cut->heap.used_bytes);
	if (!add_live(parts, &aggregations[0], &live) ||
		!(cut->heap.known ? add_walked(parts, cut, &live)
				  : add_not_told_apart(parts, cut, &live)) ||
		!add_mappings(parts, cut, &live))
		return bp_error_set(error, "out of memory");
	take_unexplained(parts, &live);
	return true;
}

/* When the last image of the process is known to have lived. */
static uint64_t end_of(const struct bp_profile *profile, uint32_t pid)
{
	uint64_t end_ns = profile->processes.data[profile->root.i].end_time_ns;
	for (uint32_t i = 1; i < profile->processes.count; i++)
		if (profile->processes.data[i].pid == pid &&
			profile->processes.data[i].end_time_ns > end_ns)
			end_ns = profile->processes.data[i].end_time_ns;
	return end_ns;
}

bool bp_parts_make(const struct bp_profile *profile, const struct bp_query *query,
	const struct bp_mapping_cut *cut, uint32_t pid, struct bp_parts *ret_parts,
	struct bp_error *error)
{
	const uint64_t start_ns = profile->processes.data[profile->root.i].start_time_ns;
	const uint64_t end_ns = end_of(profile, pid);
	struct bp_query asked = *query;
	struct bp_aggregation aggregations[2];
	struct bp_parts parts = { .pid = pid,
		.at_ns = cut->time_ns > start_ns ? cut->time_ns - start_ns : 0,
		.resident_bytes = bp_mapping_cut_resident(cut),
		.page_table_bytes = cut->page_table_bytes,
		.heap = cut->heap };
	parts.total_bytes = parts.resident_bytes + parts.page_table_bytes;
	for (uint32_t i = 0; i < cut->group_count; i++)
		parts.swapped_bytes += cut->groups[i].swapped_bytes;
	/* The last look may see the process end. */
	parts.at_ns = parts.at_ns < end_ns - start_ns ? parts.at_ns : end_ns - start_ns;
	asked.metric = BP_METRIC_LIVE;
	asked.has_at = true;
	asked.at_ns = parts.at_ns;
	asked.pid = pid;
	asked.without_peak = true;
	if (!bp_aggregate(profile, &asked, &aggregations[0], error))
		return false;
	asked.usable = true;
	bool good = bp_aggregate(profile, &asked, &aggregations[1], error);
	if (good) {
		good = make(aggregations, cut, start_ns + parts.at_ns, pid, &parts, error);
		bp_aggregation_finish(&aggregations[1]);
	}
	bp_aggregation_finish(&aggregations[0]);
	if (good)
		*ret_parts = parts;
	else
		bp_parts_finish(&parts);
	return good;
}
