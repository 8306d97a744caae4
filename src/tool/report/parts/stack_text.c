/* SPDX-License-Identifier: MIT */
/* See stack_text.h. */
#include "report/parts/stack_text.h"

#include "report/parts/header.h"
#include "text/escape.h"

#define NAME_BYTES 4096
#define INDENT 8u
#define NAME_COLUMNS_LEAST 12u
#define PLACE_COLUMNS_LEAST 12u /* or no file is shown */

static void write_frame(const struct bp_profile *profile, const struct bp_frame *frame,
	const struct bp_report_options *options, FILE *out)
{
	const char *function = bp_profile_text(profile, frame->function);
	const char *file = bp_profile_text(profile, frame->source_file);
	char text[NAME_BYTES];
	const unsigned columns = options->columns > INDENT + NAME_COLUMNS_LEAST
					 ? options->columns - INDENT
					 : NAME_COLUMNS_LEAST;
	const unsigned width = bp_report_name(
		options, *function != '\0' ? function : "(no name)", columns, text, sizeof text);
	fprintf(out, "%*s%s", (int)INDENT, "", text);
	if (*file != '\0' && columns > width + PLACE_COLUMNS_LEAST) {
		bp_terminal_text(file, options->utf8, columns - width - 10, text, sizeof text);
		fprintf(out, "  %s%s", bp_style_dim(options), text);
		if (frame->line != 0)
			fprintf(out, ":%u", frame->line);
		fputs(bp_style_end(options), out);
	}
	fputs(frame->inlined ? " inlined\n" : "\n", out);
}

void bp_write_frames(const struct bp_profile *profile, const struct bp_frame_id *frames,
	uint32_t count, const struct bp_report_options *options, FILE *out)
{
	for (uint32_t i = 0; i < count; i++)
		write_frame(profile, &profile->frames.data[frames[i].i], options, out);
}

void bp_write_stack_end(unsigned flags, FILE *out)
{
	if (flags != 0)
		fprintf(out, "%*s(%s)\n", (int)INDENT, "",
			flags & 1 ? "cut at the depth limit"
				  : "the walk ended before the outermost frame");
}
