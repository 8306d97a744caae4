/* SPDX-License-Identifier: MIT */
/*
 * Names for the addresses of one module, in this process. The files may be hostile and libdw is not
 * proof against everything: worker.h calls this in a process of its own.
 */
#ifndef BP_SYMBOLS_MODULE_RESOLVER_H
#define BP_SYMBOLS_MODULE_RESOLVER_H

#include <stdbool.h>

#include "symbols/module_request.h"

/* Calls `found` once for every address that something is known of; the others are left out. False
 * without memory or when `found` said so. */
bool bp_module_resolve(const struct bp_module_request *request, bp_frames_found found,
	void *context, struct bp_module_answer *ret_answer);

#endif
