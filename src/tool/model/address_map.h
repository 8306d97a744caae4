/* SPDX-License-Identifier: MIT */
/*
 * What a program has mapped: ranges of addresses that do not overlap, each with the call that it is
 * from. The functions do with the ranges what the kernel does at a call; `ended` is told of each
 * accessible range, or part of one, that a call ends. Bytes count from when they are accessible:
 * what is mapped with PROT_NONE is a reservation, and becomes the memory of the call that makes it
 * accessible.
 *
 * The ranges are kept in falling order, since the kernel gives out addresses from the top: most new
 * ones are added at the end. Addresses are bytes; whoever calls has rounded them to pages. Zeroed
 * memory is an empty, valid map. Pure but for memory; each function that returns bool returns false
 * without memory, and the map is of no use then. Thread-safety: the map belongs to its caller.
 */
#ifndef BP_MODEL_ADDRESS_MAP_H
#define BP_MODEL_ADDRESS_MAP_H

#include <stdbool.h>
#include <stdint.h>

struct bp_address_range {
	uint64_t start, end; /* start < end */
	uint32_t origin;     /* the call that mapped it or made it accessible, as the caller says */
	bool accessible;
};

struct bp_address_map {
	struct bp_address_range *ranges; /* in falling order */
	uint32_t count, capacity;
	/* Called with what ended; false: no memory. NULL: nobody wants to know. */
	bool (*ended)(void *context, const struct bp_address_range *range);
	void *context;
};

/* [start, end) is mapped anew; what was there ends. start < end in all of these functions. */
bool bp_address_map_add(
	struct bp_address_map *map, uint64_t start, uint64_t end, bool accessible, uint32_t origin);

/* What lies in [start, end) ends. */
bool bp_address_map_remove(struct bp_address_map *map, uint64_t start, uint64_t end);

/* What lies in [start, end) becomes accessible, then with a new origin, or ceases to be accessible.
 * What is so already stays. What is not in the map is not the program's own, and stays out. */
bool bp_address_map_protect(
	struct bp_address_map *map, uint64_t start, uint64_t end, bool accessible, uint32_t origin);

/* The range that holds the address; NULL: none does. Valid until the next change. */
const struct bp_address_range *bp_address_map_find(
	const struct bp_address_map *map, uint64_t address);

void bp_address_map_finish(struct bp_address_map *map);

#endif
