/* SPDX-License-Identifier: MIT */
/* See frame_options.h. */
#include "cli/options/frame_options.h"

#include <string.h>

#include "base/attributes.h"

static struct bp_frame_choice taken;

/* One of the options was given, the last of several. */
static void take(const struct bp_given *given)
{
	static const char *const words[] = { "both", "python", "native" }; /* enum order */
	if (strcmp(given->option->name, "hide") == 0)
		taken.hide_imports = true;
	for (unsigned i = 0; strcmp(given->option->name, "frames") == 0 && i < BP_COUNT(words); i++)
		if (strcmp(given->value, words[i]) == 0)
			taken.python = (enum bp_python_frames)i;
}

bool bp_frame_options_take(const struct bp_arguments *arguments, struct bp_error *error)
{
	for (int i = 0; i < arguments->given_count; i++)
		take(&arguments->given[i]);
	return !taken.hide_imports || taken.python != BP_PYTHON_FRAMES_NATIVE ||
	       bp_error_set(error, "--hide imports leaves frames of Python out, of which --frames "
				   "native shows none: leave one of them out");
}

struct bp_frame_choice bp_frame_options(void)
{
	return taken;
}
