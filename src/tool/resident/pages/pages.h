/* SPDX-License-Identifier: MIT */
/*
 * Which pages of a process's anonymous memory were present at a look (/proc/PID/pagemap), and how
 * much of an object at an address that leaves. A fact that was read from outside; estimates are
 * made of it in residency.h. Filled by cli/mappings/pages_look.h and by pages_file.h.
 */
#ifndef BP_RESIDENT_PAGES_PAGES_H
#define BP_RESIDENT_PAGES_PAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/profile.h"
#include "resident/pages/heap_pages.h"
#include "resident/pages/page_runs.h"

/* Zeroed memory: nothing is known. */
struct bp_pages {
	uint32_t pid;
	uint64_t time_ns;	     /* CLOCK_MONOTONIC */
	struct bp_page_runs looked;  /* the mappings that were looked at */
	struct bp_page_runs present; /* their pages that were there */
	struct bp_heap_pages heap;   /* those of glibc's heap, where it was walked */
};

void bp_pages_finish(struct bp_pages *pages);

/* When the look was, since the start of the first process, nanoseconds; at most the end of the
 * process that was looked at, as far as its recording goes. */
uint64_t bp_pages_at_ns(const struct bp_pages *pages, const struct bp_profile *profile);

/* How many of these bytes were on pages that were not present: never written, given back, or
 * swapped out. False: they were not looked at. */
bool bp_pages_absent(
	const struct bp_pages *pages, uint64_t address, uint64_t bytes, uint64_t *ret_absent);

#endif
