/* SPDX-License-Identifier: MIT */
/* The name of a row that may be a stack; see aggregate.h. */
#include "aggregation/aggregate.h"

#include <stdio.h>
#include <string.h>

#define FRAMES_MAX 64 /* of a name */

char *bp_row_label(const struct bp_profile *profile, const char *name,
	const struct bp_frame_id *frames, uint32_t frame_count)
{
	char *text = NULL;
	size_t bytes = 0;
	if (name != NULL)
		return strdup(*name != '\0' ? name : "(no name)");
	FILE *out = open_memstream(&text, &bytes);
	if (out == NULL)
		return NULL;
	if (frame_count == 0)
		fputs("(no stack recorded)", out);
	for (uint32_t i = 0; i < frame_count && i < FRAMES_MAX; i++) {
		const struct bp_frame *frame = &profile->frames.data[frames[i].i];
		const char *function = bp_profile_text(profile, frame->function);
		fprintf(out, "%s%s", i > 0 ? " < " : "",
			*function != '\0' ? function : "(no name)");
	}
	fclose(out);
	return text;
}
