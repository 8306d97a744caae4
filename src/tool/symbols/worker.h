/* SPDX-License-Identifier: MIT */
/*
 * module_resolver.h in a process of its own, so that a hostile or truncated file, or a mistake in a
 * library that reads it, costs the names of one module and not the report.
 */
#ifndef BP_SYMBOLS_WORKER_H
#define BP_SYMBOLS_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "symbols/module_request.h"

struct bp_worker_job {
	struct bp_module_request request;
	bp_frames_found found;
	/* Bytes fetched and to fetch (0: unknown), while the job fetches something; may be NULL. */
	void (*progress)(void *context, uint64_t done, uint64_t all);
	void *context;			/* of both */
	struct bp_module_answer answer; /* set when the job is done */
};

/* Does the jobs, up to `at_once` at a time. `found` is called for one job after the other, in their
 * order, in this process. Whatever happens to a worker is an answer (state FAILED; frames that came
 * before stand). False only when `found` said so or memory ran out here. */
bool bp_workers_resolve(struct bp_worker_job *jobs, uint32_t count, uint32_t at_once);

#endif
