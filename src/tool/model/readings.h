/* SPDX-License-Identifier: MIT */
/*
 * How a profile keeps what the counters of threads said (struct bp_reading): every record of a
 * trace has such a reading, twice as many as there are samples, and they are needed from first to
 * last, thread by thread. So each thread has a list of its own, in the order in which its readings
 * were added, and of a reading only what changed since the one before is kept: time, bytes and
 * objects, each as a signed number of variable length. That is some five bytes, where the struct
 * has 40. Readings that are a bound on one side only are rare, and stand in lists of their own.
 *
 *	list	thread and bound; its pieces of memory, first and last; the reading that was added last
 *	piece	the next one; so many bytes used and in all; the bytes, of whole readings
 *
 * Pieces grow from 48 bytes to 4 KiB: of a server with a thread for each request most threads have
 * a few readings only. Threads are known by any number of 32 bits.
 *
 * Zeroed memory is an empty, valid value. Called by profile.c and by the trace importer, and read
 * where windows of time are (time/window.c, page/cube_windows.c). Thread-safety: reading is safe
 * from several threads.
 */
#ifndef BP_MODEL_READINGS_H
#define BP_MODEL_READINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/index.h"
#include "model/sample.h"

/* At the time of a reading its thread had made ... (The numbers are those of bp_counters_bound,
 * trace/format.h.) */
enum bp_reading_bound {
	BP_READING_THEN,     /* just that */
	BP_READING_AT_LEAST, /* that, and perhaps more */
	BP_READING_AT_MOST   /* that, or less */
};
#define BP_READING_BOUNDS 3u

/* What a thread had allocated while sampling was on, until a moment, by its counters in a record.
 * They bound what was allocated in a window of time. */
struct bp_reading {
	struct bp_thread_id thread;
	enum bp_reading_bound bound;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t bytes, objects;
};

struct bp_reading_piece; /* private */

struct bp_reading_list {
	uint64_t key; /* private: the thread and the bound */
	struct bp_reading_piece *first, *last;
	uint64_t time_ns, bytes, objects; /* of the reading that was added last */
};

struct bp_readings {
	struct bp_reading_list *lists;
	uint32_t count, capacity; /* of lists */
	uint32_t found;		  /* private: the list that was added to last */
	struct bp_index index;	  /* private */
};

/* Whose readings a list has. */
struct bp_thread_id bp_reading_list_thread(const struct bp_reading_list *list);

/* Appends to the list of reading->thread and reading->bound. False: no memory. */
bool bp_readings_add(struct bp_readings *readings, const struct bp_reading *reading);

/* Where a walk over the lists of a thread is, or in bp_readings_take over one list. */
struct bp_readings_walk {
	const struct bp_readings *readings;
	const struct bp_reading_piece *piece;
	uint32_t at;		  /* in its bytes */
	struct bp_reading latest; /* the reading that was given last */
};

/* A walk over the lists of a thread; over nothing, if it has none. */
struct bp_readings_walk bp_readings_of(const struct bp_readings *readings, uint32_t thread);

/* The next reading: those of one bound after those of another, each in the order in which they were
 * added. False: that was all. */
bool bp_readings_next(struct bp_readings_walk *walk, struct bp_reading *ret_reading);

/* Takes the first reading out of a list (an entry of `lists`), whose memory goes as it empties.
 * Where a list was taken from, it is taken until it is empty, and nothing is added or read
 * meanwhile; `*walk` is zeroed memory at first. False: it is empty. */
bool bp_readings_take(struct bp_reading_list *list, struct bp_readings_walk *walk,
	struct bp_reading *ret_reading);

void bp_readings_finish(struct bp_readings *readings);

#endif
