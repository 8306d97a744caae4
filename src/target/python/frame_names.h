/* SPDX-License-Identifier: MIT */
/*
 * A bounded table that gives each place in a Python program (function, file, line) a small number,
 * and writes it to the trace (FRAME) when a stack there first needs it. Thread-safe; a place that
 * is in the table is found without a lock. Called within a visit.
 */
#ifndef BP_PYTHON_FRAME_NAMES_H
#define BP_PYTHON_FRAME_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bp_writer;

/* The most places, and the most memory that they take. */
#define BP_PYTHON_PLACES_MAX ((uint32_t)1 << 18)
#define BP_PYTHON_PLACES_BYTES_MAX ((uint64_t)64 << 20)

/* A text that is not terminated. */
struct bp_python_text {
	const char *data;
	size_t bytes;
};

/* Returns the number (>= 1) of a place; 0: there is no room. `line`: 0 if not known. */
uint32_t bp_python_place_id(
	const struct bp_python_text *function, const struct bp_python_text *file, uint32_t line);

/* Writes a place to the trace, if it is not there yet. False: it cannot be written. */
bool bp_python_place_write(uint32_t id, struct bp_writer *writer);

/* Called around fork. In the child places keep their numbers; the new trace has none of them. */
void bp_python_places_lock(void);
void bp_python_places_unlock(void);
void bp_python_places_after_fork(void);

#endif
