/* SPDX-License-Identifier: MIT */
/*
 * What a folded part of a trace holds beside ordinary records (docs/trace-format.md, section 5):
 * the clock whose ticks are the times of all that happened before the last tick, objects born and
 * freed before then, in entries that stand for several of them, and counters of threads. Records of
 * these kinds are checked whole when they are decoded; their contents are then taken one by one, by
 * calls that cannot fail. Thread-safety: everything belongs to its caller; no allocation but in the
 * clock and the set of chunks.
 */
#ifndef BP_TRACE_FOLDED_H
#define BP_TRACE_FOLDED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "trace/format.h"

/* A moment: after everything of that time whose sequence is not larger. */
struct bp_trace_tick {
	uint64_t time_ns, sequence;
};

/* The clock of a folded part. Times grow strictly. Zeroed memory is the clock of a trace that was
 * never folded. */
struct bp_trace_clock {
	struct bp_trace_tick *ticks;
	uint32_t count, capacity;
	uint64_t resolution_ns; /* times are too late by at most so much; 0: no ticks */
};

/* The number of the first tick that is not before a moment; `count` if it is after all. Pure. */
uint32_t bp_trace_clock_find(
	const struct bp_trace_clock *clock, uint64_t time_ns, uint64_t sequence);

/* Chunks of the trace that the folded part stands for: ranges in growing order, apart. */
struct bp_trace_range {
	uint64_t first, count;
};
struct bp_trace_held {
	struct bp_trace_range *ranges;
	uint32_t count, capacity;
};
bool bp_trace_held_has(const struct bp_trace_held *held, uint64_t number);

/* FOLDED: objects alike but for their sizes and times. */
struct bp_trace_folded {
	uint64_t interval; /* T they were drawn with, bytes */
	uint32_t law, thread, stack;
	uint32_t labels, type, heap; /* as in a sample; 0 in a FOLDED record that is not TOLD */
	bool told;
	uint8_t flags; /* enum bp_folded_flag */
	uint8_t kind;  /* enum bp_kind */
	uint8_t alignment_log2;
	uint32_t tick_end; /* all ticks of its entries have smaller numbers */
	uint64_t objects;  /* of all entries together */
	/* Private: what is left, and the entry before. */
	struct bp_bytes rest;
	uint64_t size, birth;
};

struct bp_trace_folded_entry {
	uint64_t size, usable; /* bytes; usable: 0 not given */
	uint64_t offsets;      /* sum of the objects' offsets (3.1) */
	uint32_t count;	       /* objects: 1 to BP_FOLDED_COUNT_MAX */
	/* Numbers of the ticks by which they had been allocated, and freed. */
	uint32_t birth, death;
	uint8_t halves; /* bit 0: drawn into half 0, bit 1: into half 1 (5.3) */
};

/* The next entry; false: there is none. */
bool bp_trace_folded_next(struct bp_trace_folded *folded, struct bp_trace_folded_entry *ret_entry);

/* READINGS: a thread's counters at growing times. */
struct bp_trace_readings {
	uint64_t clock_offset_ns; /* is taken from every time */
	uint32_t thread;
	/* Private. */
	struct bp_bytes rest;
	uint64_t time_ns, trials, objects;
};
struct bp_trace_reading {
	uint64_t time_ns, trials, objects;
};
bool bp_trace_readings_next(
	struct bp_trace_readings *readings, struct bp_trace_reading *ret_reading);

/* TICKS and HELD, to be added to a clock and a set of chunks. */
struct bp_trace_ticks {
	uint64_t clock_offset_ns; /* is taken from every time */
	uint64_t resolution_ns;
	uint32_t count;
	struct bp_bytes rest; /* private */
};
struct bp_trace_ranges {
	uint32_t count;
	struct bp_bytes rest; /* private */
};

enum bp_trace_added { BP_TRACE_ADDED, BP_TRACE_NOT_IN_ORDER, BP_TRACE_ADD_NO_MEMORY };
enum bp_trace_added bp_trace_clock_add(
	struct bp_trace_clock *clock, const struct bp_trace_ticks *ticks);
enum bp_trace_added bp_trace_held_add(
	struct bp_trace_held *held, const struct bp_trace_ranges *ranges);
void bp_trace_clock_finish(struct bp_trace_clock *clock);
void bp_trace_held_finish(struct bp_trace_held *held);

/* For the decoder: each reads and checks the fields of its record. */
/* `told`: of a FOLDED TOLD record. */
bool bp_trace_decode_folded(struct bp_bytes *fields, bool told, struct bp_trace_folded *folded);
bool bp_trace_decode_readings(struct bp_bytes *fields, struct bp_trace_readings *readings);
bool bp_trace_decode_ticks(struct bp_bytes *fields, struct bp_trace_ticks *ticks);
bool bp_trace_decode_ranges(struct bp_bytes *fields, struct bp_trace_ranges *ranges);

#endif
