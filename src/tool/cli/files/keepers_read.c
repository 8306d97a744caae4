/* SPDX-License-Identifier: MIT */
/* See keepers_read.h. */
#include "cli/files/keepers_read.h"

#include "cli/files/sample_places_read.h"
#include "resident/pages/pages_file.h"

static bool is_known(const char *file, const struct bp_pages *pages, struct bp_error *error)
{
	if (pages->pid == 0)
		return bp_error_set(error,
			"there is no %s" BP_PAGES_SUFFIX ": bytepoll run writes it, where the "
			"process may be looked at and has not too many runs of pages",
			file);
	return pages->heap.known ||
	       bp_error_set(error,
		       "%s" BP_PAGES_SUFFIX " has no pages of the heap: its last look did not walk "
		       "the heap (of another malloc than glibc's, of more than 4 GiB, or one that "
		       "changed too fast), or it is of an older bytepoll",
		       file);
}

bool bp_keepers_read(const char *file, const struct bp_profile *profile,
	const struct bp_query *query, struct bp_pages *ret_pages, struct bp_keepers *ret_keepers,
	struct bp_error *error)
{
	struct bp_sample_places places = { 0 };
	struct bp_pages pages;
	if (!bp_pages_read(file, profile, &pages, error))
		return false;
	/* The pages must not move any more once the keepers refer to them. */
	*ret_pages = pages;
	const bool good = is_known(file, ret_pages, error) &&
			  (bp_sample_places_read(profile, ret_pages->pid, &places) ||
				  bp_error_set(error, "out of memory")) &&
			  bp_keepers_make(profile, query, ret_pages, &places, ret_keepers, error);
	bp_sample_places_finish(&places);
	if (!good)
		bp_pages_finish(ret_pages);
	return good;
}
