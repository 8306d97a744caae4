/* SPDX-License-Identifier: MIT */
/* See sample_places_read.h. */
#include "cli/files/sample_places_read.h"

#include <stdlib.h>

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

bool bp_sample_places_read(
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
