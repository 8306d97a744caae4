/* SPDX-License-Identifier: MIT */
/*
 * Quantities as people read them: bytes and counts with units, and estimates with no more digits
 * than their interval supports: `12.3 MiB ±0.8`, or `12.3 MiB [9.1, 17]` where one side is much
 * longer, or `[0.1, 2.8] MiB` where the estimate says next to nothing. Pure functions, called by
 * the reports for people (table, tree) and by the command line.
 */
#ifndef BP_TEXT_QUANTITY_H
#define BP_TEXT_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aggregation/aggregate.h"

/* How quantities are written. */
struct bp_quantity_style {
	bool utf8; /* ± and ≤; otherwise +- and <= */
	bool si;   /* kB, MB, GB */
};

/* Enough for any text made here. */
#define BP_QUANTITY_BYTES 96

/* A known number of bytes: "512 B", "1.954 GiB". */
void bp_bytes_text(uint64_t bytes, struct bp_quantity_style style, char *buffer);

/* A known number with separators: "13,246,118". */
void bp_count_text(uint64_t count, char *buffer);

/* A probability between 0 and 1 in per cent, without the sign: "95", "99.9999999999". It has as
 * many digits as it takes to tell it from 0 and from 1. */
void bp_percent_text(double probability, char *buffer);

/* A time: "41.2 s", "312 ms". */
void bp_time_text(uint64_t time_ns, char *buffer);

/* An interval as `run --interval` takes it, rounded down from 10K on: "247K". */
void bp_interval_text(uint64_t interval, char *buffer);

/* The sampling interval T in words that need no T, of a T that was between two: "1 sample per 512
 * KiB", "1 sample per 64 KiB to 512 KiB", and "every object sampled" where no T was above 1. */
void bp_sampling_text(uint64_t low, uint64_t high, struct bp_quantity_style style, char *buffer);

/* An estimate of bytes, or of objects ("3.61 M ±0.21"). At most four digits: "≈ 12.35 MiB" is known
 * better than that. */
void bp_bytes_figure_text(
	const struct bp_figure *figure, struct bp_quantity_style style, char *buffer);
void bp_objects_figure_text(
	const struct bp_figure *figure, struct bp_quantity_style style, char *buffer);

/* An estimate alone, with the digits its interval supports, for where the interval stands elsewhere
 * ("23.1 MiB"); what says next to nothing is written with its limits. */
void bp_bytes_estimate_text(
	const struct bp_figure *figure, struct bp_quantity_style style, char *buffer);
void bp_objects_estimate_text(
	const struct bp_figure *figure, struct bp_quantity_style style, char *buffer);

/* A change, with its sign: "+12.3 MiB ±0.8", "-3.1 k [-5.2, -1.8]", or "[-3.1, +4.0] MiB" where the
 * sign is open. `per`: behind the unit, "/s" or "". */
void bp_bytes_change_text(const struct bp_figure *figure, struct bp_quantity_style style,
	const char *per, char *buffer);
void bp_objects_change_text(const struct bp_figure *figure, struct bp_quantity_style style,
	const char *per, char *buffer);

/* A figure of some seconds as one of a second: a rate. */
struct bp_figure bp_figure_per_second(const struct bp_figure *figure, double seconds);

/* The limits of a change of bytes alone, with their signs: "[-36, -5] MiB". */
void bp_bytes_limits_text(
	const struct bp_interval *interval, struct bp_quantity_style style, char *buffer);

/* Is the interval too wide for its estimate to mean much? */
bool bp_is_vague(const struct bp_interval *interval);

/* Columns that UTF-8 text made here takes (every character one). */
unsigned bp_text_columns(const char *text);

#endif
