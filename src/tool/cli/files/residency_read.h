/* SPDX-License-Identifier: MIT */
/*
 * What of live objects was not resident at the last look of a recording: FILE.pages, and the
 * addresses of sampled objects, which a profile does not keep and which are therefore read once
 * more from the traces. Called by report and check. Not thread-safe.
 */
#ifndef BP_CLI_FILES_RESIDENCY_READ_H
#define BP_CLI_FILES_RESIDENCY_READ_H

#include "resident/pages/residency.h"

/* `file`: what `profile` was read from. `*ret_known` is false, and nothing is filled, where there
 * is no FILE.pages, or one that is damaged or of another run: `ret_torn` has the sentence then, and
 * is empty where there is none. */
bool bp_residency_read(const char *file, const struct bp_profile *profile,
	const struct bp_query *query, struct bp_residency *ret_residency, bool *ret_known,
	struct bp_error *ret_torn, struct bp_error *error);

#endif
