/* SPDX-License-Identifier: MIT */
/*
 * The terminal of `bytepoll live`: alternate screen, raw keys, and frames that are drawn whole. The
 * terminal is given back however the process ends. One screen a process; not thread-safe.
 *
 * Signals that end the process (INT, TERM, HUP, QUIT, and faults) are caught, the terminal is given
 * back, and the signal is raised again, so that whoever waits sees the death it was. For what
 * cannot be caught (KILL) a small child waits on a pipe, which closes with the process, and then
 * gives the terminal back in its place. TSTP gives it back and stops; CONT takes it again.
 */
#ifndef BP_CLI_LIVE_LIVE_SCREEN_H
#define BP_CLI_LIVE_LIVE_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/live/live_keys.h"

/* Takes the terminal that standard input and output are. */
bool bp_live_screen_enter(struct bp_error *error);
/* Gives it back. Safe at any time. */
void bp_live_screen_leave(void);

/* Columns and rows as they are now. */
void bp_live_screen_size(unsigned *ret_columns, unsigned *ret_rows);

/* Draws a frame: its lines, separated by newlines, from the top; no more than fit are drawn. What
 * it holds is written as it is. False: the terminal is gone. */
bool bp_live_screen_draw(const char *frame, unsigned rows);

enum bp_live_event {
	BP_LIVE_TIMEOUT,
	BP_LIVE_KEY,
	BP_LIVE_RESIZED, /* or taken again after a stop: draw */
	BP_LIVE_GONE	 /* the terminal hung up */
};

/* Waits for a key at most so long. */
enum bp_live_event bp_live_screen_wait(
	struct bp_live_keys *keys, uint64_t timeout_ns, uint32_t *ret_key);

#endif
