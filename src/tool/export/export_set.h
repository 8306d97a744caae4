/* SPDX-License-Identifier: MIT */
/*
 * What a format is to be written from: an aggregation of the metric that was asked for, and one of
 * each further metric that the format needs, as far as the file tells it. Called by cli/export.c
 * and by cli/push. One thread.
 */
#ifndef BP_EXPORT_EXPORT_SET_H
#define BP_EXPORT_EXPORT_SET_H

#include "export/export.h"

struct bp_export_set {
	struct bp_aggregation asked, metrics[BP_METRIC_COUNT];
	bool has_asked, has[BP_METRIC_COUNT];
};

/* `query`: by stack, unless the format shows rows; without `metric_given` its metric becomes the
 * one that is shown by default. Errors: those of bp_aggregate, and a file that does not tell what
 * the format is about. bp_export_set_finish is safe afterwards. The set refers to `profile`. */
bool bp_export_set_make(const struct bp_export *format, const struct bp_profile *profile,
	struct bp_query *query, bool metric_given, struct bp_export_set *ret_set,
	struct bp_error *error);
void bp_export_set_finish(struct bp_export_set *set);

/* The set as a source without options or tags, which refers to it. */
struct bp_export_source bp_export_set_source(const struct bp_export_set *set);

#endif
