/* SPDX-License-Identifier: MIT */
/*
 * From files to a profile that is ready to be aggregated: imported, finished, with names. The road
 * that every reader of profiles takes, the command line and the library alike. One thread for one
 * profile.
 */
#ifndef BP_LIBRARY_READ_H
#define BP_LIBRARY_READ_H

#include "aggregation/aggregate.h"
#include "base/error.h"
#include "symbols/symbols.h"

struct bp_read_options {
	uint64_t assume_interval; /* T of files that do not tell theirs, bytes; 0: their writers' */
	bool keep_readings;	  /* keep what tells the totals of windows in time */
	bool mapped;		  /* what programs mapped themselves (profile->mapped) */
	bool no_symbols;	  /* leave names out: no process is started */
	const struct bp_symbol_options *symbols; /* NULL: the default */
	const struct bp_allocators *allocators;	 /* must stay; NULL: the built-in ones */
	struct bp_frame_choice frames;		 /* of Python; zeroed: the default */
	/* Called now and then with how many samples were read; NULL: not called. */
	void (*progress)(void *context, uint64_t samples);
	void *progress_context;
};

/* Reads `count` >= 1 files into one profile; several are summed as unrelated. On failure there is
 * nothing to finish. `ret_symbols` is zeros where names were left out. */
bool bp_read_files(const char *const *files, size_t count, const struct bp_read_options *options,
	struct bp_profile *ret_profile, struct bp_symbol_summary *ret_symbols,
	struct bp_error *error);

/* Adds to the warnings of an aggregation what could not be read for names. False: no memory. */
bool bp_read_warn(struct bp_aggregation *aggregation, const struct bp_symbol_summary *symbols);

/* The same, and how much of what is shown has no name for all that
 * (aggregation/views/nameless.h); for what is looked at by itself. Comparisons have warnings of
 * their own. */
bool bp_read_warn_alone(
	struct bp_aggregation *aggregation, const struct bp_symbol_summary *symbols);

/* Adds a warning where of some processes of a profile of what was mapped (profile->mapped) that is
 * not known; false: no memory. The aggregation may be of another profile of the same files. */
bool bp_read_warn_of_mappings(const struct bp_profile *profile, struct bp_aggregation *aggregation);

#endif
