/* SPDX-License-Identifier: MIT */
/*
 * Debug files from debuginfod servers: the only way in which bytepoll ever asks the network, and
 * only where the user named the servers. libdebuginfod is looked for at run time.
 */
#ifndef BP_SYMBOLS_FILES_DEBUGINFOD_H
#define BP_SYMBOLS_FILES_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>

#include "symbols/module_request.h"

/* Fetches the debug file of that build-id (lower-case hex), or finds it in libdebuginfod's own
 * cache. What comes is whatever a server sent: the caller checks it like any file. False where no
 * servers were named, the library is missing, nobody has it, or it took too long. For the worker's
 * process only: it sets the environment. */
bool bp_debuginfod_fetch(const struct bp_module_request *request, const char *build_id,
	char *ret_path, size_t path_bytes);

#endif
