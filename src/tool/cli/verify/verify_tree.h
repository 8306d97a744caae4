/* SPDX-License-Identifier: MIT */
/*
 * The figures of a recorded tree against the exact sums in it (verify/verify.h): what `run
 * --verify` prints when the program has ended and `bytepoll verify` prints again. Not thread-safe,
 * as the commands.
 */
#ifndef BP_CLI_VERIFY_VERIFY_TREE_H
#define BP_CLI_VERIFY_VERIFY_TREE_H

#include <stdbool.h>

#include "base/error.h"
#include "verify/verify.h"

/* Error of the verdict unless another is asked for: a right profiler fails once in a thousand
 * times. */
#define BP_VERIFY_ERROR 0.001

struct bp_verify_options {
	struct bp_query query; /* how figures are made; metric and key are not used */
	double error;
	const char *debug_directory; /* NULL: the default */
};

/* Reads FILE and FILE.d, compares each process that has ended and was counted, and judges.
 * Errors: no such file, none of them was counted, memory. `ret_running`: processes left out
 * since they run. */
bool bp_verify_tree_read(const char *file, const struct bp_verify_options *options,
	struct bp_verify *ret_truth, unsigned *ret_running, struct bp_error *error);

/* For `run`: compares and prints to stderr, failures as lines of their own; if `quiet`, nothing
 * where all is well. */
void bp_verify_tree_print(const char *file, bool quiet);

#endif
