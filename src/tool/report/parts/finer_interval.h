/* SPDX-License-Identifier: MIT */
/*
 * The advice below a table whose rows rest on few samples: the sampling interval with which the
 * next run knows the largest row well. Called by reports for people.
 */
#ifndef BP_REPORT_FINER_INTERVAL_H
#define BP_REPORT_FINER_INTERVAL_H

#include "report/report.h"

/* Writes a note where the bytes of `first`, the first row of a table, are known to ±50 % or worse:
 * the `--interval` that brings them within ±10 % in 80 % of runs, as `bytepoll plan` computes it.
 * Nothing is written of imported profiles, and of objects that the program samples by itself, whose
 * interval is not bytepoll's to choose. */
void bp_write_finer_interval(const struct bp_aggregation *aggregation, const struct bp_row *first,
	const struct bp_report_options *options, FILE *out);

#endif
