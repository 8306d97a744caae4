/* SPDX-License-Identifier: MIT */
/*
 * What `bytepoll control ... status` shows of a running process: the setting in its state page,
 * which of its threads follow that setting, and how much it has recorded. Reads the trace through
 * and the counters of its threads (live_threads.h) before and after, so that totals lie between the
 * two. Changes nothing. Not thread-safe.
 */
#ifndef BP_CLI_CONTROL_CONTROL_STATUS_H
#define BP_CLI_CONTROL_CONTROL_STATUS_H

#include "cli/control/control_words.h"
#include "cli/control/schedule.h"
#include "cli/traced/live_threads.h"
#include "text/quantity.h"
#include "trace/reader.h"

#define BP_STATUS_NAME_COLUMNS 60 /* of a process's name, at most */

/* How a process's threads follow the control word. */
struct bp_following {
	uint32_t running, following;
	/* What the others may still make, each and together, before they come to the recorder. */
	uint64_t left_max, left_sum;
};

struct bp_status {
	const struct bp_traced *traced;
	struct bp_control control;
	struct bp_schedule window;
	struct bp_following following;
	uint64_t uptime_ns, file_bytes; /* file_bytes: of what is written */
	uint64_t outage_ns;		/* for so long nothing could be recorded; 0: it can */
	uint64_t samples, live_samples, lost[BP_LOSS_MAX];
	bool current; /* every thread's counters were read from the process */
	int refused;  /* errno with which reading them was refused, 0 */
	struct bp_trace_limits bytes,
		objects;		 /* allocated by all threads so far, ended ones included */
	struct bp_trace_limits in_force; /* T over the running threads that sample; 0: none */
	uint32_t off_threads;		 /* running threads that do not sample */
};

/* Counts who follows. `state`: of the process whose threads these are. */
struct bp_following bp_following_of(
	const struct bp_trace_state *state, const struct bp_live_threads *threads);

bool bp_status_read(
	const struct bp_traced *traced, struct bp_status *ret_status, struct bp_error *error);

void bp_status_write_text(
	const struct bp_status *status, struct bp_quantity_style style, FILE *out);
/* One object of JSON, schema bytepoll-control-1, with the processes in the array of that name. */
void bp_status_write_json(const struct bp_status *statuses, uint32_t count, FILE *out);

#endif
