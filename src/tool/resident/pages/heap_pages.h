/* SPDX-License-Identifier: MIT */
/*
 * How many live chunks of glibc's heap touch each of its pages, at one look, and what follows of
 * that for an object: how much of its pages it keeps resident, each page shared equally among the
 * live chunks that touch it. Facts, which a walk of the heap found (chunk_map.h, docs/resident.md);
 * estimates are made of them in keepers.h. Pure but for memory.
 */
#ifndef BP_RESIDENT_PAGES_HEAP_PAGES_H
#define BP_RESIDENT_PAGES_HEAP_PAGES_H

#include "resident/pages/chunk_map.h"
#include "resident/pages/page_runs.h"

#define BP_HEAP_PAGE_BYTES 4096u
/* A page that is not resident. (A chunk has at least 32 bytes, so that 129 touch a page at most;
 * a file may say up to 254.) */
#define BP_HEAP_PAGE_ABSENT 255u
#define BP_HEAP_BLOCK_PAGES 4u
#define BP_HEAP_BLOCKS_MAX 262144u /* 4 GiB of heap */

/* A part of the heap in whole pages; pages and blocks of all parts are numbered in a row. */
struct bp_heap_part {
	uint64_t start, end;
	bool alone; /* a block that malloc mapped by itself */
	uint32_t first_block;
};

/* What live chunks keep, by how much that is for each trial of the sampler that made them: class i
 * holds chunks of at most 2^((i - BP_RATIO_CLASS_OF_ONE) / 8) bytes a trial. */
#define BP_RATIO_CLASSES 192u
#define BP_RATIO_CLASS_OF_ONE 80u
struct bp_ratio_classes {
	uint64_t bytes[BP_RATIO_CLASSES];
};

/* Zeroed memory: nothing is known. */
struct bp_heap_pages {
	bool known;
	struct bp_heap_part *parts; /* ascending, owned */
	uint32_t part_count;
	uint32_t block_count;
	uint8_t *chunks; /* live chunks that touch a page, BP_HEAP_BLOCK_PAGES for each block */
	uint32_t *live_bytes; /* of live chunks, on the resident pages of a block */
	struct bp_ratio_classes kept, touched;
};

/* The sums over all pages, bytes. */
struct bp_heap_page_sums {
	uint64_t resident; /* pages of the heap up to its ends */
	uint64_t held;	   /* of these: with at least one live chunk */
	uint64_t sole;	   /* of these: with one alone */
	uint64_t live;	   /* of live chunks, headers included, on resident pages */
	uint64_t beside;   /* free on pages that are held */
};

/* What an object's chunk has of resident pages, bytes. */
struct bp_chunk_pages {
	double kept;   /* its shares */
	uint64_t sole; /* of pages that no other live chunk touches */
	uint64_t touched;
};

void bp_heap_pages_finish(struct bp_heap_pages *pages);

/* Adds a part, [start, end) in whole pages, behind all that there are; its pages are absent and its
 * blocks empty. False: it does not ascend, there are too many, or no memory. */
bool bp_heap_pages_add_part(struct bp_heap_pages *pages, uint64_t start, uint64_t end, bool alone);

/* From a map, whose parts need not ascend, and the pages that were present. False: the map failed,
 * the heap is too large, or no memory; then nothing is filled. */
bool bp_heap_pages_make(const struct bp_chunk_map *map, const struct bp_page_runs *present,
	struct bp_heap_pages *ret_pages);

struct bp_heap_page_sums bp_heap_pages_sum(const struct bp_heap_pages *pages);

/* Of a chunk at `at` with so many bytes that lives. A resident page that no live chunk was seen on
 * counts as its own: it was made right after the walk. False: it is not within a part. */
bool bp_heap_pages_of_chunk(const struct bp_heap_pages *pages, uint64_t at, uint64_t bytes,
	struct bp_chunk_pages *ret_pages);

/* The part that an address is in; NULL: none. */
const struct bp_heap_part *bp_heap_pages_part(const struct bp_heap_pages *pages, uint64_t address);

/* The fewest trials that the object of a chunk can have made: the smallest request for which glibc
 * gives so large a chunk, and one. At least 1. */
uint64_t bp_chunk_trials_least(uint64_t chunk_bytes, bool alone);

/* The largest value per trial, times the mean of an unseen object's trials, that limits may assume
 * of chunks that were not sampled: 1 / (1 - error) of the mean of L(X), where X is exponential of
 * mean 1 / lambda trials and L(x) is the most that any chunks of x trials together have
 * (docs/statistics.md, "Kept pages"). Bytes; `error`: of one side. */
double bp_ratio_classes_unit(const struct bp_ratio_classes *classes, double lambda, double error);

#endif
