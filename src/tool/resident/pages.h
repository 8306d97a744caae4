/* SPDX-License-Identifier: MIT */
/*
 * Which pages of a process's anonymous memory were present at a look (/proc/PID/pagemap), and how
 * much of an object at an address that leaves. A fact that was read from outside; estimates are
 * made of it in residency.h. Filled by cli/mappings/pages_look.h and by resident/pages_file.h.
 */
#ifndef BP_RESIDENT_PAGES_H
#define BP_RESIDENT_PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct bp_page_run {
	uint64_t start, end;
};

/* Runs ascend and do not touch. */
struct bp_page_runs {
	struct bp_page_run *items;
	uint32_t count, capacity;
};

/* More runs of a kind than that are not kept: then nothing is known. */
#define BP_PAGE_RUNS_MAX 16384u

/* Zeroed memory: nothing is known. */
struct bp_pages {
	uint32_t pid;
	uint64_t time_ns;	     /* CLOCK_MONOTONIC */
	struct bp_page_runs looked;  /* the mappings that were looked at */
	struct bp_page_runs present; /* their pages that were there */
};

void bp_pages_finish(struct bp_pages *pages);

/* Appends, or lengthens the last run. False: there are too many, or no memory. */
bool bp_page_runs_add(struct bp_page_runs *runs, uint64_t start, uint64_t end);

/* How many of these bytes were on pages that were not present: never touched, given back, or
 * swapped out. False: they were not looked at. */
bool bp_pages_absent(
	const struct bp_pages *pages, uint64_t address, uint64_t bytes, uint64_t *ret_absent);

#endif
