/* SPDX-License-Identifier: MIT */
/*
 * The window of a running process (run --delay and --duration, BYTEPOLL_START_TIME and
 * BYTEPOLL_STOP_TIME): what it will still do by itself, whatever `control` does until then. Read
 * from the environment that its program was started with; where that may not be read, nothing is
 * known. Not thread-safe.
 */
#ifndef BP_CLI_CONTROL_SCHEDULE_H
#define BP_CLI_CONTROL_SCHEDULE_H

#include "cli/traced/traced.h"

#define BP_SCHEDULE_TEXT_BYTES 256

/* Nanoseconds from now on; 0: it will not, or nothing is known. */
struct bp_schedule {
	uint64_t begins_ns, ends_ns;
};

struct bp_schedule bp_schedule_of(const struct bp_traced *traced);

/* "begins in 1.9 s, ends in 3.9 s"; empty if there is nothing to come. */
void bp_schedule_text(
	const struct bp_schedule *window, char ret_text[static BP_SCHEDULE_TEXT_BYTES]);

#endif
