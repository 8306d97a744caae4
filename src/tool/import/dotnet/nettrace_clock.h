/* SPDX-License-Identifier: MIT */
/*
 * Times of a .nettrace file: what the file's clock and its head say, in nanoseconds. Pure.
 */
#ifndef BP_IMPORT_DOTNET_NETTRACE_CLOCK_H
#define BP_IMPORT_DOTNET_NETTRACE_CLOCK_H

#include <stdint.h>

#include "import/dotnet/nettrace_reader.h"

/* Ticks of the file's clock as nanoseconds (CLOCK_MONOTONIC on Linux); less than BP_TIME_NEVER. The
 * reader has read the head of the file. */
uint64_t bp_nettrace_ns(const struct bp_nettrace_reader *reader, uint64_t ticks);

/* When the session began, nanoseconds since 1970; 0: the file does not say. */
uint64_t bp_nettrace_start_real_ns(const struct bp_nettrace_reader *reader);

#endif
