/* SPDX-License-Identifier: MIT */
/* Whose objects keep pages of the heap resident, from a recording: FILE.pages, and the addresses of
 * sampled objects. Called by report. Not thread-safe. */
#ifndef BP_CLI_FILES_KEEPERS_READ_H
#define BP_CLI_FILES_KEEPERS_READ_H

#include "resident/pages/keepers.h"

/* `file`: what `profile` was read from. `ret_pages`: what the keepers refer to; finish it
 * after them. False, with a sentence: the recording does not tell; nothing is filled. */
bool bp_keepers_read(const char *file, const struct bp_profile *profile,
	const struct bp_query *query, struct bp_pages *ret_pages, struct bp_keepers *ret_keepers,
	struct bp_error *error);

#endif
