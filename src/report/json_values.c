/* SPDX-License-Identifier: MIT */
/* See json_values.h. */
#include "report/json_values.h"

#include <math.h>

#include "report/escape.h"

void bp_write_json_number(FILE *out, double value)
{
	if (!isfinite(value))
		fputs("null", out);
	else if (value == floor(value) && fabs(value) < 0x1p63)
		fprintf(out, "%.0f", value);
	else
		fprintf(out, "%.12g", value);
}

void bp_write_json_interval(FILE *out, const struct bp_interval *interval, double divisor)
{
	fputs("{\"estimate\": ", out);
	bp_write_json_number(out, interval->unknown ? NAN : interval->estimate / divisor);
	fputs(", \"low\": ", out);
	bp_write_json_number(out, interval->low / divisor);
	fputs(", \"high\": ", out);
	bp_write_json_number(out, interval->high / divisor);
}

void bp_write_json_figure(FILE *out, const struct bp_figure *figure, double divisor)
{
	bp_write_json_interval(out, &figure->interval, divisor);
	if (figure->interval.exact)
		fputs(", \"exact\": true", out);
	if (figure->lower_bound)
		fputs(", \"lower_bound\": true", out);
	if (figure->upper_bound)
		fputs(", \"upper_bound\": true", out);
	putc('}', out);
}

static void write_text(FILE *out, const struct bp_profile *profile, struct bp_string_id id)
{
	bp_write_json_string(out, bp_profile_text(profile, id));
}

void bp_write_json_frames(FILE *out, const struct bp_profile *profile,
	const struct bp_frame_id *frames, uint32_t count)
{
	putc('[', out);
	for (uint32_t i = 0; i < count; i++) {
		const struct bp_frame *frame = &profile->frames.data[frames[i].i];
		fprintf(out, "%s{\"function\": ", i > 0 ? ", " : "");
		write_text(out, profile, frame->function);
		fputs(", \"file\": ", out);
		write_text(out, profile, frame->source_file);
		fprintf(out, ", \"line\": %u, \"module\": ", frame->line);
		write_text(out, profile, profile->modules.data[frame->module.i].path);
		fprintf(out, ", \"inlined\": %s}", frame->inlined ? "true" : "false");
	}
	putc(']', out);
}
