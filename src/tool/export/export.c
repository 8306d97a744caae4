/* SPDX-License-Identifier: MIT */
/* The array of formats, and what several of them share; see export.h. */
#include "export/export.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "policy/shown.h"
#include "report/report.h"
#include "text/quantity.h"

#define ENTRY(name) &bp_export_##name,

static const struct bp_export *const exports[] = { BP_EXPORTS(ENTRY) NULL };

const struct bp_export *bp_export_find(const char *name)
{
	for (size_t i = 0; exports[i] != NULL; i++)
		if (strcmp(exports[i]->name, name) == 0)
			return exports[i];
	return NULL;
}

/* "12897484 [11800000, 12900000]"; a figure that is exact has no limits. */
static void plain_figure(const struct bp_figure *figure, char *buffer, size_t bytes)
{
	const struct bp_interval *interval = &figure->interval;
	const char *bound = figure->lower_bound	  ? " at least"
			    : figure->upper_bound ? " at most"
						  : "";
	if (interval->exact)
		snprintf(buffer, bytes, "%.0f exactly", interval->estimate);
	else if (interval->unknown)
		snprintf(buffer, bytes, "[%.0f, %.0f]%s", interval->low, interval->high, bound);
	else
		snprintf(buffer, bytes, "%.0f [%.0f, %.0f]%s", interval->estimate, interval->low,
			interval->high, bound);
}

void bp_export_total_line(
	const struct bp_aggregation *aggregation, enum bp_metric metric, char *buffer)
{
	const struct bp_total *total = &aggregation->totals[metric];
	const struct bp_quantity_style style = { .utf8 = true };
	char bytes[BP_QUANTITY_BYTES], exact_bytes[BP_QUANTITY_BYTES];
	char exact_objects[BP_QUANTITY_BYTES], percent[BP_QUANTITY_BYTES];
	const char *name = metric == BP_METRIC_LIVE && !aggregation->profile->mapped
				   ? bp_live_name(aggregation)
				   : bp_metric_word(metric, aggregation->profile->mapped);
	if (!total->known) {
		snprintf(buffer, BP_EXPORT_LINE_BYTES, "%s: not known", name);
		return;
	}
	bp_percent_text(aggregation->query.confidence, percent);
	const struct bp_figure shown =
		metric == BP_METRIC_PEAK ? bp_shown_peak(&total->bytes) : total->bytes;
	bp_bytes_figure_text(&shown, style, bytes);
	plain_figure(&total->bytes, exact_bytes, sizeof exact_bytes);
	plain_figure(&total->objects, exact_objects, sizeof exact_objects);
	snprintf(buffer, BP_EXPORT_LINE_BYTES, "%s: %s (bytes %s; objects %s; confidence %s %%)",
		name, bytes, exact_bytes, exact_objects, percent);
}

void bp_export_sampling_line(const struct bp_aggregation *aggregation, char *buffer)
{
	const struct bp_sampling *sampling = &aggregation->sampling;
	const struct bp_process *subject =
		&aggregation->profile->processes.data[aggregation->subject.i];
	size_t used = (size_t)snprintf(buffer, BP_EXPORT_LINE_BYTES, "sampled with T =");
	for (uint32_t i = 0; i < sampling->interval_count && used < BP_EXPORT_LINE_BYTES / 2; i++)
		used += (size_t)snprintf(buffer + used, BP_EXPORT_LINE_BYTES - used, "%s %llu",
			i > 0 ? "," : "", (unsigned long long)sampling->intervals[i]);
	snprintf(buffer + used, BP_EXPORT_LINE_BYTES - used,
		" bytes, law %s, %llu samples; bytepoll " BP_VERSION,
		subject->law == 0 ? "exact" : "bernoulli",
		(unsigned long long)aggregation->samples);
}

bool bp_export_comment(const struct bp_export_source *source, const struct bp_aggregation *any,
	unsigned i, char *buffer)
{
	const struct bp_process *subject = &source->profile->processes.data[any->subject.i];
	if (i == 0)
		snprintf(buffer, BP_EXPORT_LINE_BYTES, "command: %.480s",
			bp_profile_text(source->profile, subject->command_line));
	else if (i == 1)
		bp_export_sampling_line(any, buffer);
	else if (source->metrics[i - 2] != NULL)
		bp_export_total_line(source->metrics[i - 2], (enum bp_metric)(i - 2), buffer);
	else
		return false;
	return true;
}

uint64_t bp_export_period(const struct bp_aggregation *aggregation)
{
	uint64_t period = 1;
	for (uint32_t i = 0; i < aggregation->sampling.interval_count; i++)
		if (aggregation->sampling.intervals[i] > period)
			period = aggregation->sampling.intervals[i];
	return period;
}

uint32_t bp_export_deepest(const struct bp_profile *profile)
{
	uint32_t depth = 1;
	for (uint32_t i = 0; i < profile->stacks.count; i++)
		if (profile->stacks.data[i].depth > depth)
			depth = profile->stacks.data[i].depth;
	return depth;
}

#define ADDRESSES (1ull << 63) /* places without an address lie beyond */

uint64_t bp_export_address(const struct bp_profile *profile, const struct bp_location *location)
{
	const struct bp_module *module = &profile->modules.data[location->module.i];
	if (location->address >= ADDRESSES || location->address == 0)
		return 0;
	return location->address + module->bias - (location->exact ? 0 : 1);
}

uint64_t bp_export_file_offset(const struct bp_module *module)
{
	/* (Where nothing is added to the file's addresses, they are no offsets either.) */
	return module->bias != 0 && module->start >= module->bias ? module->start - module->bias
								  : 0;
}

/* ---- stacks by their functions ---- */

static int compare_stacks(
	const struct bp_aggregation *aggregation, struct bp_stack_id a, struct bp_stack_id b)
{
	const struct bp_frame *frames = aggregation->profile->frames.data;
	uint32_t count_a, count_b;
	const struct bp_frame_id *frames_a = bp_entry_frames(aggregation, a, &count_a);
	const struct bp_frame_id *frames_b = bp_entry_frames(aggregation, b, &count_b);
	for (uint32_t i = 1; i <= count_a && i <= count_b; i++) {
		uint32_t x = frames[frames_a[count_a - i].i].function.i;
		uint32_t y = frames[frames_b[count_b - i].i].function.i;
		if (x != y)
			return x < y ? -1 : 1;
	}
	return count_a == count_b ? 0 : count_a < count_b ? -1 : 1;
}

static int compare_entries(const void *left, const void *right, void *aggregation)
{
	const struct bp_entry *a = left, *b = right;
	int order = compare_stacks(aggregation, a->stack, b->stack);
	if (order != 0)
		return order;
	return a->stack.i < b->stack.i ? -1 : a->stack.i > b->stack.i;
}

void bp_export_sort(const struct bp_aggregation *aggregation, struct bp_entries *entries)
{
	if (entries->count > 0)
		qsort_r(entries->items, entries->count, sizeof *entries->items, compare_entries,
			(void *)(uintptr_t)aggregation);
}

bool bp_export_same_functions(
	const struct bp_aggregation *aggregation, struct bp_stack_id a, struct bp_stack_id b)
{
	return compare_stacks(aggregation, a, b) == 0;
}
