/* SPDX-License-Identifier: MIT */
/*
 * `run --max-size`: a process that folds the files of a run while the program goes on. Called by
 * run.c alone.
 */
#ifndef BP_CLI_RUN_FOLDING_H
#define BP_CLI_RUN_FOLDING_H

#include <stdint.h>
#include <sys/types.h>

/* Below this the files of a run cannot be held. */
#define BP_FOLDING_LEAST_BYTES ((uint64_t)1 << 20)

/* Starts the process that keeps FILE at `output`, and every file in FILE.d, near `most_bytes` of
 * disk. It ends with its parent at the latest. 0: it could not be started, and the reason was
 * printed. */
pid_t bp_folding_start(const char *output, uint64_t most_bytes);

/* Ends it, whatever it is doing (a folding is undone or done by the next one), and folds once more
 * what is too large. `folder`: 0 is allowed. */
void bp_folding_end(pid_t folder, const char *output, uint64_t most_bytes);

#endif
