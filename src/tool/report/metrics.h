/* SPDX-License-Identifier: MIT */
/*
 * Figures in Prometheus' text format
 * (https://prometheus.io/docs/instrumenting/exposition_formats): what was counted, what is
 * estimated with both limits, and what was lost, of one recording or of several. Called by
 * cli/metrics.c. Names come from recordings that may be hostile, and are escaped.
 */
#ifndef BP_REPORT_METRICS_H
#define BP_REPORT_METRICS_H

#include "aggregation/aggregate.h"
#include "resident/resident.h"

/* One recording. */
struct bp_metrics_source {
	const char *file;
	const struct bp_aggregation *aggregation; /* of metric live */
	const struct bp_resident *resident;	  /* empty: not known */
};

/* Errors of the stream are the caller's to find (ferror). */
void bp_write_metrics(const struct bp_metrics_source *sources, size_t count, FILE *out);

#endif
