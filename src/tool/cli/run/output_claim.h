/* SPDX-License-Identifier: MIT */
/*
 * One run at a time writes to FILE. Two that begin at the same moment would each find FILE free,
 * and the program of the second would enter itself into FILE.d of the first; with --force the
 * second would take FILE away from the first. So a run that begins holds a lock on FILE's folder
 * until its program has been executed, and looks whether a process of another run writes there: by
 * the traces, and in /proc by what processes carry in their environment, which is there from the
 * exec on, before there is a trace.
 *
 * The lock keeps honest runs apart. It is no wall: who may read the folder can hold it, so it is
 * waited for a moment and then done without, as where a file system has none.
 */
#ifndef BP_CLI_RUN_OUTPUT_CLAIM_H
#define BP_CLI_RUN_OUTPUT_CLAIM_H

#include "base/error.h"

/* Takes the lock on the folder of `path`; false, and no lock: a process writes to `path`.
 * `*ret_lock`: to be released, -1 if there is none. */
bool bp_output_claim(const char *path, int *ret_lock, struct bp_error *error);
void bp_output_release(int lock);

#endif
