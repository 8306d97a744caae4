/* SPDX-License-Identifier: MIT */
/* See distinct.h. */
#include "policy/distinct.h"

#include <string.h>

struct bp_run_id bp_run_id_of(const struct bp_profile *profile)
{
	struct bp_run_id id;
	memcpy(id.bytes, profile->processes.data[profile->root.i].trace_id, sizeof id.bytes);
	return id;
}

bool bp_last_run_is_distinct(const struct bp_run_id *runs, const char *const *files, uint32_t count,
	struct bp_error *error)
{
	static const struct bp_run_id unknown;
	const uint32_t last = count - 1;
	if (memcmp(&runs[last], &unknown, sizeof unknown) == 0)
		return true;
	for (uint32_t i = 0; i < last; i++)
		if (memcmp(&runs[last], &runs[i], sizeof *runs) == 0)
			return bp_error_set(error,
				"%s: is the same run as %s: several runs of a side must be "
				"recorded one by one",
				files[last], files[i]);
	return true;
}
