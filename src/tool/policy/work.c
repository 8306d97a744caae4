/* SPDX-License-Identifier: MIT */
/* See work.h. */
#include "policy/work.h"

const char *const bp_work_names[BP_WORK_UNITS] = { "none", "total", "duration", "count" };

bool bp_work_of_run(const struct bp_aggregation *aggregation, enum bp_work_unit unit,
	const char *file, double *ret_work, struct bp_error *error)
{
	const struct bp_interval *total = &aggregation->totals[BP_METRIC_ALLOCATED].bytes.interval;
	if (unit == BP_WORK_TOTAL && !total->exact)
		return bp_error_set(error,
			"--normalize total: how much was allocated is not known exactly in %s "
			"(filters, usable bytes, or a run that was killed): use --normalize "
			"duration or BASE:NEW",
			file);
	*ret_work =
		unit == BP_WORK_TOTAL ? total->estimate : (double)aggregation->duration_ns / 1e9;
	return *ret_work > 0 ||
	       bp_error_set(error, "--normalize %s: %s has none", bp_work_names[unit], file);
}

double bp_work_scale(
	const double *work, uint32_t base_count, uint32_t new_count, struct bp_run *runs)
{
	double reference = 0;
	for (uint32_t i = base_count; i < base_count + new_count; i++)
		reference += work[i] / new_count;
	for (uint32_t i = 0; i < base_count + new_count; i++)
		runs[i].scale = reference / work[i];
	return reference;
}
