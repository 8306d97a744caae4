/* SPDX-License-Identifier: MIT */
/* See value_types.h. */
#include "export/value_types.h"

#define PAIRS 2 /* allocated, in use */

static const struct bp_aggregation *in_use(const struct bp_export_source *source)
{
	return source->asked->query.metric == BP_METRIC_PEAK ? source->metrics[BP_METRIC_PEAK]
							     : source->metrics[BP_METRIC_LIVE];
}

const struct bp_aggregation *bp_value_types_any(const struct bp_export_source *source)
{
	const struct bp_aggregation *live = in_use(source);
	return live != NULL ? live : source->metrics[BP_METRIC_ALLOCATED];
}

bool bp_value_entries_build(const struct bp_export_source *source, struct bp_entries *ret_entries,
	struct bp_error *error)
{
	const struct bp_aggregation *pairs[PAIRS] = { source->metrics[BP_METRIC_ALLOCATED],
		in_use(source) };
	return bp_entries_build(pairs, PAIRS, source->options.labels, ret_entries, error);
}

static double variance_sum(const struct bp_entries *entries, unsigned pair)
{
	double sum = 0;
	for (uint32_t i = 0; i < entries->count; i++)
		sum += entries->items[i].metrics[pair].bytes_variance;
	return sum;
}

/* The sum of all fits into 63 bits. */
static void choose_unit(const struct bp_entries *entries, struct bp_value_type *type)
{
	static const char *const units[] = { "bytes^2", "KiB^2", "MiB^2" };
	const double sum = variance_sum(entries, type->pair);
	unsigned i = 0;
	for (; i < 2 && !(sum / type->divisor < 0x1p62); i++)
		type->divisor *= 0x1p20;
	type->unit = units[i];
}

unsigned bp_value_types_choose(const struct bp_export_source *source,
	const struct bp_entries *entries, struct bp_value_type ret_types[BP_VALUE_TYPES_MAX])
{
	static const struct bp_value_type all[BP_VALUE_TYPES_MAX] = {
		{ .name = "alloc_objects", .unit = "count", .pair = 0, .objects = true },
		{ .name = "alloc_space", .unit = "bytes", .pair = 0 },
		{ .name = "inuse_objects", .unit = "count", .pair = 1, .objects = true },
		{ .name = "inuse_space", .unit = "bytes", .pair = 1 },
		{ .name = "alloc_objects_var",
			.unit = "count^2",
			.pair = 0,
			.objects = true,
			.variance = true },
		{ .name = "alloc_space_var", .pair = 0, .variance = true },
		{ .name = "inuse_objects_var",
			.unit = "count^2",
			.pair = 1,
			.objects = true,
			.variance = true },
		{ .name = "inuse_space_var", .pair = 1, .variance = true },
	};
	const bool there[PAIRS] = { source->metrics[BP_METRIC_ALLOCATED] != NULL,
		in_use(source) != NULL };
	unsigned count = 0;
	for (unsigned i = 0; i < BP_VALUE_TYPES_MAX; i++) {
		struct bp_value_type type = all[i];
		if (!there[type.pair] || (type.variance && !source->options.variances))
			continue;
		type.divisor = 1;
		if (type.unit == NULL)
			choose_unit(entries, &type);
		ret_types[count++] = type;
	}
	return count;
}

unsigned bp_value_types_shown(
	const struct bp_export_source *source, const struct bp_value_type *types, unsigned count)
{
	const bool allocated = source->asked->query.metric == BP_METRIC_ALLOCATED;
	unsigned shown = 0;
	for (unsigned i = 0; i < count; i++)
		if (!types[i].objects && !types[i].variance && (!allocated || types[i].pair == 0))
			shown = i;
	return shown;
}

uint64_t bp_value_next(struct bp_value_type *type, const struct bp_entry *entry)
{
	const struct bp_entry_figures *figures = &entry->metrics[type->pair];
	const double value =
		type->variance ? type->objects ? figures->objects_variance : figures->bytes_variance
		: type->objects ? figures->objects
				: figures->bytes;
	return (uint64_t)bp_round_next(&type->rounding, value / type->divisor);
}
