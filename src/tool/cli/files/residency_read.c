/* SPDX-License-Identifier: MIT */
/* See residency_read.h. A trace that cannot be read again has no places: where its objects were
 * nobody knows. */
#include "cli/files/residency_read.h"

#include <stdlib.h>

#include "resident/pages_file.h"
#include "trace/reader.h"

static bool add_places(const char *file, uint32_t process, struct bp_trace_reader *reader,
	struct bp_sample_places *places)
{
	struct bp_trace_record record;
	bool good = true;
	if (bp_trace_reader_open(reader, file, NULL))
		while (good && bp_trace_reader_next(reader, &record, NULL) == BP_TRACE_RECORD)
			if (record.tag == BP_TAG_SAMPLE)
				good = bp_sample_places_add(places, process, record.sample.sequence,
					record.sample.address);
	bp_trace_reader_close(reader);
	return good;
}

/* Of all images of the process. */
static bool read_places(
	const struct bp_profile *profile, uint32_t pid, struct bp_sample_places *places)
{
	bool good = true;
	for (uint32_t i = 1; good && i < profile->processes.count; i++) {
		const struct bp_process *process = &profile->processes.data[i];
		if (process->pid != pid)
			continue;
		struct bp_trace_reader *reader = calloc(1, sizeof *reader);
		good = reader != NULL &&
		       add_places(bp_profile_text(profile, process->file), i, reader, places);
		free(reader);
	}
	return good;
}

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
	const bool good = (read_places(profile, pages.pid, &places) ||
				  bp_error_set(error, "out of memory")) &&
			  bp_residency_make(profile, query, &pages, &places, ret_residency, error);
	*ret_known = good;
	bp_sample_places_finish(&places);
	bp_pages_finish(&pages);
	return good;
}
