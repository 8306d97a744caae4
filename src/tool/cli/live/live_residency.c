/* SPDX-License-Identifier: MIT */
/* See live_residency.h. */
#include "cli/live/live_residency.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/system_call.h"
#include "cli/files/residency_read.h"
#include "resident/pages/pages_file.h"

#define PART_OF_TIME 20

static void forget(struct bp_live_residency *residency)
{
	if (residency->known)
		bp_residency_finish(&residency->of);
	residency->known = false;
}

void bp_live_residency_read(struct bp_live_residency *residency,
	const struct bp_live_source *source, const struct bp_query *query)
{
	struct bp_query asked = {
		.by = query->by, .label = query->label, .confidence = query->confidence
	};
	const uint64_t now_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	struct stat status;
	struct bp_error torn, error;
	char path[PATH_MAX + sizeof BP_PAGES_SUFFIX];
	snprintf(path, sizeof path, "%s" BP_PAGES_SUFFIX, source->path);
	if (*source->path == '\0' || stat(path, &status) != 0) {
		forget(residency);
		return;
	}
	const bool same_rows = residency->by == query->by && residency->label == query->label;
	if (same_rows && residency->changed_s == status.st_mtim.tv_sec &&
		residency->changed_ns == status.st_mtim.tv_nsec)
		return;
	if (same_rows && now_ns - residency->read_at_ns < PART_OF_TIME * residency->took_ns)
		return;
	forget(residency);
	if (!bp_residency_read(source->path, &source->profile, &asked, &residency->of,
		    &residency->known, &torn, &error))
		residency->known = false;
	residency->by = query->by;
	residency->label = query->label;
	residency->changed_s = status.st_mtim.tv_sec;
	residency->changed_ns = status.st_mtim.tv_nsec;
	residency->read_at_ns = bp_system_time_ns(CLOCK_MONOTONIC);
	residency->took_ns = residency->read_at_ns - now_ns;
}

const struct bp_residency_row *bp_live_residency_row(
	const struct bp_live_residency *residency, const char *name)
{
	if (!residency->known)
		return NULL;
	for (uint32_t i = 0; i < residency->of.row_count; i++)
		if (strcmp(residency->of.rows[i].name, name) == 0)
			return &residency->of.rows[i];
	return NULL;
}

void bp_live_residency_finish(struct bp_live_residency *residency)
{
	forget(residency);
}
