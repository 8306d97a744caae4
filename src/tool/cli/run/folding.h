/* SPDX-License-Identifier: MIT */
/*
 * A process that keeps the files of a run small while the program goes on: it folds them, for `run
 * --max-size`, and packs the traces of processes that have ended. Called by run.c alone.
 */
#ifndef BP_CLI_RUN_FOLDING_H
#define BP_CLI_RUN_FOLDING_H

#include <stdint.h>
#include <sys/types.h>

/* Below this the files of a run cannot be held. */
#define BP_FOLDING_LEAST_BYTES ((uint64_t)1 << 20)

/* Starts the process that keeps the files of a run, FILE at `output` and FILE.d together, near
 * `most_bytes` of disk; 0: there is no bound, and only traces without a sample are packed. It ends
 * with its parent at the latest. 0: it could not be started, and with a bound the reason was
 * printed. `program`: the process that `run` waits for. */
pid_t bp_folding_start(const char *output, uint64_t most_bytes, pid_t program);

/* Ends it, whatever it is doing (a folding is undone or done by the next one), and with a bound
 * folds and packs once more what is too large. `folder`: 0 is allowed. */
void bp_folding_end(pid_t folder, const char *output, uint64_t most_bytes, pid_t program);

#endif
