/* SPDX-License-Identifier: MIT */
/* See python_seen.h. The trace is read as reports read it: it is new, and short. */
#include "cli/attach/python_seen.h"

#include <stdio.h>
#include <time.h>

#include "cli/say.h"
#include "import/import.h"
#include "model/gaps/python_state.h"

/* An interpreter whose main thread runs Python comes by within some milliseconds. */
#define LOOKS 10u
#define LOOK_NS 20000000

/* Prints, unless small objects wait and `last` is false. Returns whether that was all. */
static bool look(const char *file, bool last)
{
	struct bp_profile profile;
	struct bp_error error;
	char lines[BP_PYTHON_LINES][BP_PYTHON_LINE_BYTES];
	if (!bp_profile_init(&profile, &error))
		return true;
	const bool read =
		bp_import_one_process(file, &profile, &error) && profile.processes.count > 1;
	const struct bp_process_python *python = &profile.processes.data[read ? 1 : 0].python;
	const bool known = read && python->known;
	const bool waits = known && python->objects_state == BP_PROFILE_PYTHON_WAITING;
	if (known && (!waits || last)) {
		const uint32_t count = bp_python_missing_lines(&profile, python, lines);
		for (uint32_t i = 0; i < count; i++)
			bp_say(stderr, "          %s", lines[i]);
		if (count == 0)
			bp_say(stderr,
				"          %s: its functions and small objects are recorded as well",
				bp_profile_text(&profile, python->name));
	}
	bp_profile_finish(&profile);
	return !waits || last;
}

void bp_python_seen_say(const char *file)
{
	for (uint32_t i = 1; !look(file, i == LOOKS); i++)
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
}
