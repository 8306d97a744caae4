/* SPDX-License-Identifier: MIT */
/*
 * What `run` says when the first process has ended: how much was recorded, the headline, the next
 * command; or loudly that nothing was recorded, and why.
 */
#ifndef BP_CLI_RECORDED_H
#define BP_CLI_RECORDED_H

#include "base/error.h"
#include "cli/program.h"

/* Tidies the files of the run at `file` (see tree.h) and, unless `quiet`, prints to stderr.
 * Failures are printed as lines of their own: the exit status of `run` is the program's. */
void bp_recorded_print(const char *file, const struct bp_program *program, bool quiet);

#endif
