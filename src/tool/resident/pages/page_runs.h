/* SPDX-License-Identifier: MIT */
/* Runs of pages, in ascending order: which pages were looked at, and which were present. */
#ifndef BP_RESIDENT_PAGES_PAGE_RUNS_H
#define BP_RESIDENT_PAGES_PAGE_RUNS_H

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

/* Appends, or lengthens the last run. False: there are too many, or no memory. */
bool bp_page_runs_add(struct bp_page_runs *runs, uint64_t start, uint64_t end);

/* The number of the first run that ends behind an address; `count`: there is none. */
uint32_t bp_page_runs_behind(const struct bp_page_runs *runs, uint64_t address);

#endif
