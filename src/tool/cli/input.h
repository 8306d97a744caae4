/* SPDX-License-Identifier: MIT */
/*
 * From files named on a command line to a profile that is ready to be aggregated: imported,
 * finished, with names. Used by every command that reads profiles. One thread.
 */
#ifndef BP_CLI_INPUT_H
#define BP_CLI_INPUT_H

#include "aggregation/aggregate.h"
#include "base/error.h"
#include "symbols/symbols.h"

struct bp_arguments;
struct bp_query_options;

struct bp_input_options {
	const char *debug_directory; /* NULL: the default */
	uint64_t assume_interval; /* T of files that do not tell theirs, bytes; 0: their writers' */
	uint64_t from_ns;	  /* of the query's window, since the start; 0: from there */
	bool mapped;		  /* read what programs mapped themselves (profile->mapped) */
	bool keep_readings;	  /* the query has a window in time: keep what tells its total */
};

/* What the command line says of it: --debug-directory (which the command's table must have), and
 * the query that was read from it. */
struct bp_input_options bp_input_options_of(
	const struct bp_arguments *arguments, const struct bp_query_options *options);

/* Sets an error: no file was given, which should have stood in `usage` ("bytepoll report FILE").
 * The newest recording of the current folder is named, if there is one. Returns false. */
bool bp_input_missing(const char *usage, struct bp_error *error);

/* Reads `count` >= 1 files into one profile; several are summed as unrelated. On failure there is
 * nothing to finish. */
bool bp_input_read(char *const *files, int count, struct bp_input_options options,
	struct bp_profile *ret_profile, struct bp_symbol_summary *ret_symbols,
	struct bp_error *error);

/* Where the profile is to hold what programs mapped themselves: was that recorded? `file`: the
 * first that was read. */
bool bp_input_knows_mappings(
	const struct bp_profile *profile, const char *file, struct bp_error *error);

/* Were stacks of frees recorded? `file`: the first that was read. */
bool bp_input_knows_frees(
	const struct bp_profile *profile, const char *file, struct bp_error *error);

#endif
