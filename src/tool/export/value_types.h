/* SPDX-License-Identifier: MIT */
/*
 * The sample types of a heap profile in pprof's and OpenTelemetry's formats, in Go's order and with
 * Go's names: what was allocated and what is live, objects and bytes, each a whole number for every
 * stack. With --variances four more follow, of the same names with _var, in squared units: a
 * variance adds up over stacks as values do. Bytes^2 that do not fit into 63 bits are in KiB^2 or
 * MiB^2, as the unit says; what then still does not fit is INT64_MAX.
 *
 * Called by export_pprof.c and export_otlp.c. One thread.
 */
#ifndef BP_EXPORT_VALUE_TYPES_H
#define BP_EXPORT_VALUE_TYPES_H

#include "export/export.h"

#define BP_VALUE_TYPES_MAX 8u

struct bp_value_type {
	const char *name, *unit;
	unsigned pair; /* which of the entries' metrics: 0 allocated, 1 in use */
	bool objects;  /* not bytes */
	bool variance;
	double divisor; /* values are divided by it, as the unit says */
	struct bp_rounding rounding;
};

/* The aggregation of what is in use, or, where the file does not tell that, of what was
 * allocated: for what all of the pairs have in common. Not NULL. */
const struct bp_aggregation *bp_value_types_any(const struct bp_export_source *source);

/* The entries of both pairs. Errors: memory; bp_entries_finish is safe then, too. */
bool bp_value_entries_build(const struct bp_export_source *source, struct bp_entries *ret_entries,
	struct bp_error *error);

/* Fills `ret_types` with those that the file tells and that are asked for, and returns how many
 * these are: 2, 4 or 8. */
unsigned bp_value_types_choose(const struct bp_export_source *source,
	const struct bp_entries *entries, struct bp_value_type ret_types[BP_VALUE_TYPES_MAX]);

/* The number of the type that a viewer is to show first: bytes of the metric that was asked for. */
unsigned bp_value_types_shown(
	const struct bp_export_source *source, const struct bp_value_type *types, unsigned count);

/* The value of the next entry: each entry is to be asked for once, in one order, so that what was
 * rounded off one is passed on to the next. */
uint64_t bp_value_next(struct bp_value_type *type, const struct bp_entry *entry);

#endif
