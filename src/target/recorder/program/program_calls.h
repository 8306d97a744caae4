/* SPDX-License-Identifier: MIT */
/*
 * Moments, windows, control and state for the program itself: the calls of bytepoll/bytepoll.h. A
 * moment is recorded in the trace by what every thread has made so far, so that limits of the
 * totals can be read from the file. A window is two moments; all that is kept of it is in the
 * program's own token. Thread-safe; not in signal handlers that interrupted the recorder (they
 * return false).
 */
#ifndef BP_RECORDER_PROGRAM_PROGRAM_CALLS_H
#define BP_RECORDER_PROGRAM_PROGRAM_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "bytepoll/bytepoll.h"

/* These do what the calls of the same names do, with whole structs. */
bool bp_window_snapshot(struct bp_snapshot *ret_snapshot);
bool bp_window_begin(struct bp_window_token *ret_token, uint32_t flags);
bool bp_window_end(struct bp_window_token *token, struct bp_window_profile *ret_profile);

bool bp_steer_switch(bool on);
bool bp_steer_interval(uint64_t interval);

/* False: the recorder is off; `ret_status` has what is known. */
bool bp_status_read(struct bp_status *ret_status);

/* Called in a child of fork, which has no windows. */
void bp_windows_after_fork(void);

#endif
