/* SPDX-License-Identifier: MIT */
/*
 * Texts to small numbers (sets of labels, names of pools), bounded, each written to the trace when it is
 * first used there. Thread-safe, lock-free on a hit; within a visit, or with bp_hot.busy set: a signal
 * handler that came here would wait for its own thread.
 */
#ifndef BP_RECORDER_TEXT_TABLE_H
#define BP_RECORDER_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "trace/writer.h"

struct bp_text {
	struct bp_text *next; /* in its bucket */
	uint64_t hash;
	uint32_t id, bytes;
	uint32_t written; /* generation of the trace that has it */
	char text[];	  /* terminated by a zero, too */
};

#define BP_TEXT_BUCKETS 4096u

/* The first four fields are given; all else is zero at the start. */
struct bp_text_table {
	enum bp_tag tag; /* of its record: id, text */
	uint32_t texts_max;
	uint64_t bytes_max;
	uint32_t generation; /* 1 at the start */
	struct bp_lock lock; /* guards adding */
	uint32_t count;
	uint64_t bytes;
	struct bp_text **by_id, **buckets;
};

/* The number (>= 1) of a text without zero bytes; 0: no room. */
uint32_t bp_text_id(struct bp_text_table *table, const char *text, size_t bytes);

/* The text of a number; NULL: there is none. */
struct bp_text *bp_text_of(const struct bp_text_table *table, uint32_t id);

/* Sees to it that the trace has it. False: it cannot be written, or there is none. */
bool bp_text_write(struct bp_text_table *table, uint32_t id, struct bp_writer *writer);

/* In a child of fork: numbers stay, and none is in the new trace. */
void bp_text_after_fork(struct bp_text_table *table);

#endif
