/* SPDX-License-Identifier: MIT */
/* Reads the addresses of sampled objects, which a profile does not keep, once more from the traces.
 * Not thread-safe. */
#ifndef BP_CLI_FILES_SAMPLE_PLACES_READ_H
#define BP_CLI_FILES_SAMPLE_PLACES_READ_H

#include "model/profile.h"
#include "resident/pages/sample_places.h"

/* Adds those of all images of a process. A trace that cannot be read again has none. False: no
 * memory. */
bool bp_sample_places_read(
	const struct bp_profile *profile, uint32_t pid, struct bp_sample_places *places);

#endif
