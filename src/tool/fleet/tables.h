/* SPDX-License-Identifier: MIT */
/*
 * A profile as tables: their names and columns. docs/parquet-format.md describes every column; a
 * test holds that page against these lists. A new column goes to the end of its list.
 *
 * X(NAME, TYPE, OPTIONAL): a column, of enum bp_parquet_type without its prefix. Processes have
 * those of process_fields.h.
 */
#ifndef BP_FLEET_TABLES_H
#define BP_FLEET_TABLES_H

#include "parquet/parquet_file.h"

/* Is written into every file; a reader that finds a larger number is too old. */
#define BP_TABLES_VERSION "1"

/* clang-format off */
#define BP_SAMPLE_COLUMNS(X) \
	X(process, TEXT, false) \
	X(thread, NUMBER, false) \
	X(time_ns, NUMBER, false) \
	X(freed_ns, NUMBER, true) \
	X(live, FLAG, false) \
	X(temporary, FLAG, false) \
	X(size, NUMBER, false) \
	X(usable, NUMBER, true) \
	X(interval, NUMBER, false) \
	X(charge, NUMBER, false) \
	X(law, TEXT, false) \
	X(exact, FLAG, false) \
	X(kind, TEXT, false) \
	X(type, TEXT, true) \
	X(labels, TEXT, true) \
	X(stack, NUMBER, false) \
	X(samples, NUMBER, false)

#define BP_STACK_COLUMNS(X) \
	X(stack, NUMBER, false) \
	X(position, NUMBER, false) \
	X(frame, NUMBER, false) \
	X(flags, NUMBER, false)

#define BP_FRAME_COLUMNS(X) \
	X(frame, NUMBER, false) \
	X(function, TEXT, false) \
	X(system_name, TEXT, true) \
	X(file, TEXT, true) \
	X(line, NUMBER, true) \
	X(module, TEXT, true) \
	X(build_id, TEXT, true) \
	X(address, NUMBER, false) \
	X(named, FLAG, false) \
	X(inlined, FLAG, false) \
	X(python, FLAG, false)

#define BP_THREAD_COLUMNS(X) \
	X(process, TEXT, false) \
	X(thread, NUMBER, false) \
	X(ordinal, NUMBER, false) \
	X(tid, NUMBER, false) \
	X(name, TEXT, false) \
	X(allocated_bytes, NUMBER, false) \
	X(allocated_bytes_high, NUMBER, true) \
	X(allocated_objects, NUMBER, false) \
	X(allocated_objects_high, NUMBER, true) \
	X(lost, NUMBER, false)

#define BP_COUNTER_COLUMNS(X) \
	X(process, TEXT, false) \
	X(time_ns, NUMBER, false) \
	X(allocated_bytes, NUMBER, false) \
	X(allocated_bytes_high, NUMBER, true) \
	X(allocated_objects, NUMBER, false) \
	X(allocated_objects_high, NUMBER, true)

#define BP_READING_COLUMNS(X) \
	X(process, TEXT, false) \
	X(thread, NUMBER, false) \
	X(time_ns, NUMBER, false) \
	X(bound, NUMBER, false) \
	X(allocated_bytes, NUMBER, false) \
	X(allocated_objects, NUMBER, false)

#define BP_INTERVAL_COLUMNS(X) \
	X(process, TEXT, false) \
	X(interval, NUMBER, false) \
	X(trials, NUMBER, true)

#define BP_PAUSE_COLUMNS(X) \
	X(process, TEXT, false) \
	X(from_ns, NUMBER, false) \
	X(to_ns, NUMBER, true) \
	X(outage, FLAG, false)

/* X(NAME, name): every table. */
#define BP_TABLES(X) \
	X(SAMPLE, samples) \
	X(STACK, stacks) \
	X(FRAME, frames) \
	X(THREAD, threads) \
	X(COUNTER, counters) \
	X(READING, readings) \
	X(INTERVAL, intervals) \
	X(PAUSE, pauses) \
	X(PROCESS, processes)
/* clang-format on */

#define BP_ENUMERATOR(name, ...) BP_SAMPLE_##name,
enum bp_sample_column { BP_SAMPLE_COLUMNS(BP_ENUMERATOR) BP_SAMPLE_COLUMN_COUNT };
#undef BP_ENUMERATOR
#define BP_ENUMERATOR(name, ...) BP_STACK_##name,
enum bp_stack_column { BP_STACK_COLUMNS(BP_ENUMERATOR) BP_STACK_COLUMN_COUNT };
#undef BP_ENUMERATOR
#define BP_ENUMERATOR(name, ...) BP_FRAME_##name,
enum bp_frame_column { BP_FRAME_COLUMNS(BP_ENUMERATOR) BP_FRAME_COLUMN_COUNT };
#undef BP_ENUMERATOR
#define BP_ENUMERATOR(name, ...) BP_THREAD_##name,
enum bp_thread_column { BP_THREAD_COLUMNS(BP_ENUMERATOR) BP_THREAD_COLUMN_COUNT };
#undef BP_ENUMERATOR
#define BP_ENUMERATOR(name, ...) BP_COUNTER_##name,
enum bp_counter_column { BP_COUNTER_COLUMNS(BP_ENUMERATOR) BP_COUNTER_COLUMN_COUNT };
#undef BP_ENUMERATOR
#define BP_ENUMERATOR(name, ...) BP_READING_COLUMN_##name,
enum bp_reading_column { BP_READING_COLUMNS(BP_ENUMERATOR) BP_READING_COLUMN_COUNT };
#undef BP_ENUMERATOR
#define BP_ENUMERATOR(name, ...) BP_INTERVAL_##name,
enum bp_interval_column { BP_INTERVAL_COLUMNS(BP_ENUMERATOR) BP_INTERVAL_COLUMN_COUNT };
#undef BP_ENUMERATOR
#define BP_ENUMERATOR(name, ...) BP_PAUSE_##name,
enum bp_pause_column { BP_PAUSE_COLUMNS(BP_ENUMERATOR) BP_PAUSE_COLUMN_COUNT };
#undef BP_ENUMERATOR
#define BP_ENUMERATOR(name, ...) BP_TABLE_##name,
enum bp_table_number { BP_TABLES(BP_ENUMERATOR) BP_TABLE_COUNT };
#undef BP_ENUMERATOR

struct bp_table {
	const char *name; /* of the file, without .parquet */
	const struct bp_parquet_column *columns;
	uint32_t column_count;
};

/* Valid for as long as the program. Not thread-safe the first time. */
const struct bp_table *bp_table_of(enum bp_table_number number);

/* The words of column `law`. */
#define BP_LAW_EXACT "exact"
#define BP_LAW_BERNOULLI "bernoulli"

#endif
