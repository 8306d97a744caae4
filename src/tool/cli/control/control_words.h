/* SPDX-License-Identifier: MIT */
/*
 * The words by which a running process is steered (docs/trace-format.md 1.8), changed from outside.
 * The process itself and other controllers may change them at the same time, so every change is one
 * compare and exchange, done again on what was found until it holds; the number of the change tells
 * which one a thread follows.
 *
 * `state` is the mapped state page. Pure but for that memory; may be called by several processes
 * and threads at a time.
 */
#ifndef BP_CLI_CONTROL_CONTROL_WORDS_H
#define BP_CLI_CONTROL_CONTROL_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/format.h"

/* The words as they are at a moment. */
struct bp_control {
	bool on;
	bool automatic;	     /* T is changed by the process itself; while off: will be once on */
	bool fine_start;     /* T is that of start/fine_start.h, which ends at `interval` */
	uint64_t interval;   /* T wanted, bytes; while off: the one that is taken up */
	uint32_t number;     /* of the change, modulo 2^22 */
	uint64_t budget_ppm; /* 0: the recorder's own choice */
};

struct bp_control bp_control_read(
	const struct bp_trace_state *state, const struct bp_trace_header *header);

/* Each returns whether anything had to be changed. The header's interval is taken up where the
 * words hold none that may be. */
bool bp_control_start(struct bp_trace_state *state, const struct bp_trace_header *header);
bool bp_control_stop(struct bp_trace_state *state);
/* `interval`: 1 to BP_INTERVAL_MAX. Holds at once, or while off from the start on; it ends a fine
 * start. */
bool bp_control_set_interval(
	struct bp_trace_state *state, const struct bp_trace_header *header, uint64_t interval);
/* T as it is, but BP_INTERVAL_FINEST at the least, changed by the process itself from now on;
 * budget_ppm 0: as it is. */
bool bp_control_set_automatic(
	struct bp_trace_state *state, const struct bp_trace_header *header, uint64_t budget_ppm);

/* Does a thread that follows `command` (of its slot) follow the word as it is? */
bool bp_control_is_followed(const struct bp_trace_state *state, uint16_t command);

#endif
