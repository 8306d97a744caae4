/* SPDX-License-Identifier: MIT */
/*
 * Recording a .NET program, running or started for it, until it ends, time is up or a signal says
 * so. The program outlives everything that happens here.
 */
#ifndef BP_CLI_DOTNET_DOTNET_RECORD_H
#define BP_CLI_DOTNET_DOTNET_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/dotnet/dotnet_wire.h"

struct bp_dotnet_plan {
	uint64_t duration_ns; /* from the begin of the session; 0: until the end */
	struct bp_dotnet_message request;
	bool quiet;
	/* Makes the file of the trace when it is known which process (joined, or started) it is of;
	 * a descriptor, which becomes the recording's, or -1. */
	int (*open_file)(void *context, pid_t pid, struct bp_error *error);
	void *context;
};

struct bp_dotnet_outcome {
	/* a session was held; false: the error says why not, or it is no .NET program */
	bool recorded;
	bool whole; /* its stream came to its end, in order */
	uint64_t bytes;
	uint32_t others;       /* further .NET processes, not recorded */
	pid_t guard;	       /* process that stays behind (dotnet_guard.h); 0: none */
	int wait_status;       /* of a started program */
	struct bp_error error; /* "": all went well */
};

/* Joins a running process. INT, TERM and HUP stop the session; a second one gives up the rest of
 * it. */
void bp_dotnet_join(
	pid_t pid, const struct bp_dotnet_plan *plan, struct bp_dotnet_outcome *ret_outcome);

/* Starts `words` (NULL-terminated; words[0] is looked up in PATH unless it has a slash), held at
 * its start until the session is up. INT and QUIT are left to the program, TERM and HUP passed on.
 * Returns when the program has ended. False: it could not be started, `*ret_errno` says why, or
 * `ret_outcome->error` does (0). */
bool bp_dotnet_start(char *const *words, const struct bp_dotnet_plan *plan,
	struct bp_dotnet_outcome *ret_outcome, int *ret_errno);

#endif
