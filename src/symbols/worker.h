/* SPDX-License-Identifier: MIT */
/*
 * module_resolver.h in a process of its own, so that a hostile or truncated file, or a mistake in a
 * library that reads it, costs the names of one module and not the report.
 */
#ifndef BP_SYMBOLS_WORKER_H
#define BP_SYMBOLS_WORKER_H

#include <stdbool.h>

#include "symbols/module_request.h"

/* As bp_module_resolve, but whatever happens to the worker is an answer (state FAILED; frames that
 * came before stand). False only when `found` said so or memory ran out here. */
bool bp_worker_resolve(const struct bp_module_request *request, bp_frames_found found,
	void *context, struct bp_module_answer *ret_answer);

#endif
