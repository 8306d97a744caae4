/* SPDX-License-Identifier: MIT */
/*
 * The figures of a recorded tree against the census in it (verify/truth.h): what `run --verify`
 * prints when the program has ended and `bytepoll verify` prints again. Not thread-safe, as the
 * commands.
 */
#ifndef BP_CLI_VERIFIED_H
#define BP_CLI_VERIFIED_H

#include <stdbool.h>

#include "base/error.h"
#include "verify/truth.h"

/* Error of the verdict unless another is asked for: a right profiler fails once in a thousand
 * times. */
#define BP_VERIFIED_ERROR 0.001

struct bp_verified_options {
	struct bp_query query; /* how figures are made; metric and key are not used */
	double error;
	const char *debug_directory; /* NULL: the default */
};

/* Reads FILE and FILE.d, compares each process that has ended and was counted, and judges.
 * Errors: no such file, none of them was counted, memory. `ret_running`: processes left out
 * since they run. */
bool bp_verified_read(const char *file, const struct bp_verified_options *options,
	struct bp_truth *ret_truth, unsigned *ret_running, struct bp_error *error);

/* For `run`: compares and prints to stderr, failures as lines of their own; if `quiet`, nothing
 * where all is well. */
void bp_verified_print(const char *file, bool quiet);

#endif
