/* SPDX-License-Identifier: MIT */
/*
 * Where sampled objects were. A profile does not keep addresses, so that they are read once more
 * from the traces (cli/files/residency_read.h). Pure but for memory.
 */
#ifndef BP_RESIDENT_PAGES_SAMPLE_PLACES_H
#define BP_RESIDENT_PAGES_SAMPLE_PLACES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/sample.h"

struct bp_sample_place {
	uint64_t sequence, address;
	uint32_t process; /* of the profile */
};

struct bp_sample_places {
	struct bp_sample_place *items;
	uint32_t count, capacity;
};

bool bp_sample_places_add(
	struct bp_sample_places *places, uint32_t process, uint64_t sequence, uint64_t address);
/* Once all are added, before any is looked for. */
void bp_sample_places_sort(struct bp_sample_places *places);
/* The place of a sample; NULL: it is not known. */
const struct bp_sample_place *bp_sample_places_find(
	const struct bp_sample_places *places, const struct bp_sample *sample);
void bp_sample_places_finish(struct bp_sample_places *places);

#endif
