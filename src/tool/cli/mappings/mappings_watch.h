/* SPDX-License-Identifier: MIT */
/*
 * When `run` looks at the mappings of the process that it watches, and which looks are kept: that
 * of the highest resident memory, and the last one. A look takes milliseconds of our own time, and
 * more for a large heap. Looks come at 16, 32, 64 ... ms and then once a second, sooner where
 * resident memory is a twentieth above the highest look, and never so that they take more processor
 * time than half a second and a hundredth of the time; the last one may end later.
 *
 * A process that ends gives memory back, and uses processor time for it, so that it is looked at
 * once more. What is wanted is what it was before: the last look before resident memory fell is
 * kept for a second, and if the process is gone by then it is the last one. Not thread-safe.
 */
#ifndef BP_CLI_MAPPINGS_MAPPINGS_WATCH_H
#define BP_CLI_MAPPINGS_MAPPINGS_WATCH_H

#include <sys/types.h>

#include "resident/mappings.h"
#include "resident/pages/pages.h"

struct bp_mappings_watch {
	struct bp_mappings mappings;
	struct bp_pages pages; /* of the last look */
	const char *file;
	uint64_t began_ns, ended_ns; /* of all, of the last look: CLOCK_MONOTONIC, as we have it */
	uint64_t spent_ns;	     /* processor time of all looks */
	/* at the last look: processor time of the process, and what it had resident */
	uint64_t its_ns, its_bytes;
	uint64_t highest_bytes;
	/* The look before resident memory fell at fell_ns (0: it did not), with its pages. */
	struct bp_mapping_cut before;
	struct bp_pages pages_before;
	uint64_t fell_ns;
};

/* `file`, the trace, must stay. */
void bp_mappings_watch_begin(struct bp_mappings_watch *watch, pid_t pid, const char *file);

/* Looks, if it is time to; `resident_bytes` of now. True: there is something new to write. */
bool bp_mappings_watch_look(
	struct bp_mappings_watch *watch, uint64_t resident_bytes, uint64_t now_ns);

/* The process has ended. True: another look than before is the last one, which is to be written. */
bool bp_mappings_watch_end(struct bp_mappings_watch *watch, uint64_t now_ns);
void bp_mappings_watch_finish(struct bp_mappings_watch *watch);

#endif
