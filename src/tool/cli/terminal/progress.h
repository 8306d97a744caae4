/* SPDX-License-Identifier: MIT */
/*
 * How far a long work is, on standard error: one line that is written over, and gone when the work
 * is done. Only where standard error is a terminal that is more than a dumb one, only for work that
 * takes longer than a moment, and at most ten times a second. No escape sequences: carriage returns
 * and blanks. One at a time.
 */
#ifndef BP_CLI_TERMINAL_PROGRESS_H
#define BP_CLI_TERMINAL_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bp_progress {
	const char *what;	    /* "reading samples" */
	uint64_t began_ns, next_ns; /* CLOCK_MONOTONIC */
	uint64_t total;		    /* 0: not known */
	unsigned shown;		    /* columns to be blanked */
	bool on;
};

/* Begins a work of `total` steps (0: not known). `what` must outlive it. */
void bp_progress_begin(struct bp_progress *progress, const char *what, uint64_t total);
/* So many steps are done. Cheap: call it a few thousand times a second at most. */
void bp_progress_tell(struct bp_progress *progress, uint64_t done);
/* Takes the line away. */
void bp_progress_end(struct bp_progress *progress);

/* Samples that the trace at `file` and those beside it hold, by their state pages; 0: not known
 * (another kind of file, or folded). */
uint64_t bp_progress_samples(const char *file);

#endif
