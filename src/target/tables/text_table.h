/* SPDX-License-Identifier: MIT */
/*
 * A bounded table that gives each text (a set of labels, the name of a pool) a small number, and
 * writes it to the trace when it is first used there. Thread-safe; a text that is in the table is
 * found without a lock. Called within a visit, or with bp_hot.busy set, because a signal handler in
 * here could wait for its own thread.
 */
#ifndef BP_TABLES_TEXT_TABLE_H
#define BP_TABLES_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "trace/writer/writer.h"

struct bp_text {
	struct bp_text *next; /* in its bucket */
	uint64_t hash;
	uint32_t id, bytes;
	uint32_t written; /* generation of the trace that has it */
	char text[];	  /* terminated by a zero, too */
};

#define BP_TEXT_BUCKETS 4096u

/* The owner sets tag, texts_max, bytes_max and generation; all other fields are zero at the
 * start. */
struct bp_text_table {
	enum bp_tag tag; /* of its record: id, text */
	uint32_t texts_max;
	uint64_t bytes_max;
	uint32_t generation; /* 1 at the start */
	struct bp_lock lock; /* held while a text is added */
	uint32_t count;
	uint64_t bytes;
	struct bp_text **by_id, **buckets;
};

/* Returns the number (>= 1) of a text without zero bytes; 0: there is no room. */
uint32_t bp_text_id(struct bp_text_table *table, const char *text, size_t bytes);

/* Returns the text of a number; NULL: there is none. */
struct bp_text *bp_text_of(const struct bp_text_table *table, uint32_t id);

/* Writes the text of a number to the trace, if it is not there yet. False: it cannot be written, or
 * there is no such text. */
bool bp_text_write(struct bp_text_table *table, uint32_t id, struct bp_writer *writer);

/* Called in a child of fork: texts keep their numbers, and the new trace has none of them yet. */
void bp_text_after_fork(struct bp_text_table *table);

#endif
