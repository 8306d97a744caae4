/* SPDX-License-Identifier: MIT */
/*
 * The values behind the tables and charts of `bytepoll plan`, for plan_tables.c and plan_svg.c.
 * Pure, safe to call from any thread.
 */
#ifndef BP_PLAN_PLAN_TABLES_H
#define BP_PLAN_PLAN_TABLES_H

#include "plan/plan.h"
#include "text/quantity.h"

/* T from 512 bytes to 2 MiB, sizes from 1 byte to 4 MiB, in powers of two. */
#define BP_PLAN_TABLE_INTERVALS 13
#define BP_PLAN_TABLE_SIZES 23

static inline uint64_t bp_plan_table_interval(unsigned i)
{
	return (uint64_t)512 << i;
}

/* The rows of the .NET document, and some beyond. */
#define BP_PLAN_TABLE_SAMPLES 28
extern const uint64_t bp_plan_table_samples[BP_PLAN_TABLE_SAMPLES];

/* Of the first two charts, as a part of 1 (a multiple of the size). */
double bp_plan_table_value(enum bp_plan_chart chart, uint64_t size, uint64_t interval);

/* Limits and mean of the bytes that fail before success number `samples`; interval >= 2. */
struct bp_interval bp_plan_table_quantiles(uint64_t samples, uint64_t interval, double confidence);

/* "512", "4K", "2M": a power of two, into BP_QUANTITY_BYTES. */
void bp_plan_table_size(uint64_t size, char *buffer);

#endif
