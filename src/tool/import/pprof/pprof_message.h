/* SPDX-License-Identifier: MIT */
/*
 * The message of a pprof file (profile.proto of google/pprof), decoded as far as an importer of
 * heap profiles needs it. Everything points into the bytes it was read from, which must outlive it.
 *
 * Called by pprof.c. Zeroed memory is an empty message; outputs are untouched on failure.
 * Thread-safety: belongs to its caller.
 */
#ifndef BP_IMPORT_PPROF_PPROF_MESSAGE_H
#define BP_IMPORT_PPROF_PPROF_MESSAGE_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/index.h"

#define BP_PPROF_VALUES 16   /* sample types; writers have at most 8 */
#define BP_PPROF_COMMENTS 64 /* the first ones; merging tools add up those of all files */
/* Go records 128 frames at most, and inlined ones are lines of a location. */
#define BP_PPROF_DEPTH_MAX 4096u

struct bp_pprof_text {
	const char *at; /* not terminated */
	size_t bytes;
};

struct bp_pprof_mapping {
	uint64_t id, start, limit, offset;
	uint64_t file, build_id; /* strings */
};

struct bp_pprof_function {
	uint64_t id;
	uint64_t name, system_name, file; /* strings */
};

struct bp_pprof_location {
	uint64_t id, mapping, address;
	struct bp_bytes message; /* for bp_pprof_next_line */
};

struct bp_pprof_line {
	uint64_t function, line;
};

struct bp_pprof {
	struct bp_bytes bytes;
	struct bp_pprof_text *strings;
	struct bp_pprof_mapping *mappings;
	struct bp_pprof_function *functions;
	struct bp_pprof_location *locations;
	uint32_t string_count, mapping_count, function_count, location_count;
	uint32_t string_capacity, mapping_capacity, function_capacity, location_capacity;
	struct bp_index mapping_index, function_index, location_index;
	uint64_t types[BP_PPROF_VALUES], units[BP_PPROF_VALUES]; /* strings */
	uint32_t type_count;
	uint64_t comments[BP_PPROF_COMMENTS]; /* strings */
	uint32_t comment_count;
	bool has_period;
	uint64_t period_type; /* string */
	uint64_t period;
	uint64_t time_ns, duration_ns; /* since 1970, of the end; 0 not told */
};

/* One bucket. The caller keeps the same one from call to call, zeroed before the first. */
struct bp_pprof_sample {
	uint64_t *locations; /* ids, innermost first */
	uint32_t depth, capacity;
	bool cut; /* deeper than BP_PPROF_DEPTH_MAX: the outermost frames are missing */
	int64_t values[BP_PPROF_VALUES];
	uint32_t value_count;
	int64_t size; /* label "bytes": of one object; 0 not told */
};

/* Do these first bytes of a message look like one? */
bool bp_pprof_looks_right(const uint8_t *head, size_t bytes);

/* Reads everything but the buckets. Errors have no path. */
bool bp_pprof_read(struct bp_pprof *pprof, const void *data, size_t bytes, struct bp_error *error);
void bp_pprof_finish(struct bp_pprof *pprof);

/* The next bucket from `*position` (at first pprof->bytes) on. False: there is none, or, with
 * `error` set, it cannot be read. */
bool bp_pprof_next_sample(const struct bp_pprof *pprof, struct bp_bytes *position,
	struct bp_pprof_sample *sample, struct bp_error *error);
void bp_pprof_sample_finish(struct bp_pprof_sample *sample);

/* A string by its number; empty if there is none. */
struct bp_pprof_text bp_pprof_string(const struct bp_pprof *pprof, uint64_t string);
bool bp_pprof_string_is(const struct bp_pprof *pprof, uint64_t string, const char *text);

/* By id; NULL: not there. */
const struct bp_pprof_mapping *bp_pprof_find_mapping(const struct bp_pprof *pprof, uint64_t id);
const struct bp_pprof_function *bp_pprof_find_function(const struct bp_pprof *pprof, uint64_t id);
const struct bp_pprof_location *bp_pprof_find_location(const struct bp_pprof *pprof, uint64_t id);

/* The next line from `*position` (at first location->message) on, innermost first; false: no
 * more. */
bool bp_pprof_next_line(struct bp_bytes *position, struct bp_pprof_line *ret_line);

#endif
