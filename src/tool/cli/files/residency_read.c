/* SPDX-License-Identifier: MIT */
/* See residency_read.h. */
#include "cli/files/residency_read.h"

#include "cli/files/sample_places_read.h"
#include "resident/pages/pages_file.h"

bool bp_residency_read(const char *file, const struct bp_profile *profile,
	const struct bp_query *query, struct bp_residency *ret_residency, bool *ret_known,
	struct bp_error *ret_torn, struct bp_error *error)
{
	struct bp_sample_places places = { 0 };
	struct bp_pages pages;
	*ret_known = false;
	ret_torn->text[0] = '\0';
	if (!bp_pages_read(file, profile, &pages, ret_torn) || pages.pid == 0)
		return true;
	const bool good = (bp_sample_places_read(profile, pages.pid, &places) ||
				  bp_error_set(error, "out of memory")) &&
			  bp_residency_make(profile, query, &pages, &places, ret_residency, error);
	*ret_known = good;
	bp_sample_places_finish(&places);
	bp_pages_finish(&pages);
	return good;
}
