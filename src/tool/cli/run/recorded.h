/* SPDX-License-Identifier: MIT */
/*
 * What `run` says when the first process has ended: how much was recorded, the headline, the next
 * command; or loudly that nothing was recorded, and why.
 */
#ifndef BP_CLI_RUN_RECORDED_H
#define BP_CLI_RUN_RECORDED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/run/program.h"

/* A run that is over. */
struct bp_recorded {
	const char *file; /* its output, absolute */
	const struct bp_program *program;
	const char *recorder; /* path of the recorder's library */
	pid_t pid;	      /* of the program, and when it had ended: CLOCK_MONOTONIC */
	uint64_t ended_ns;
	int end_signal; /* that ended it; 0: none */
	bool alone;	/* the processes that it starts were not to be recorded */
	bool quiet;
};

/* Tidies the files of the run (see tree.h) and, unless `quiet`, prints to stderr. Failures are
 * printed as lines of their own: the exit status of `run` is the program's. */
void bp_recorded_print(const struct bp_recorded *recorded);

#endif
