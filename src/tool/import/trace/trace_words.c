/* SPDX-License-Identifier: MIT */
/* The command line in a trace's header, as one line of text. See trace.h. */
#include <string.h>

#include "import/trace/trace.h"

/* A program that writes a title over its words ("nginx: worker process") leaves zeros there, which
 * are no empty words: where the first word holds a blank, or so many zeros end the text. */
#define TITLE_ZEROS 8u

static bool is_title(struct bp_trace_text text)
{
	const size_t first = strnlen(text.data, text.bytes);
	uint32_t end = text.bytes;
	while (end > 0 && text.data[end - 1] == '\0')
		end--;
	return text.bytes - end >= TITLE_ZEROS || memchr(text.data, ' ', first) != NULL;
}

bool bp_import_command_line(const struct bp_trace_reader *reader, struct bp_profile *profile,
	struct bp_string_id *ret_string, struct bp_error *error)
{
	char words[3 * BP_HEADER_MAX_BYTES];
	struct bp_trace_text text = reader->command_line;
	/* (A host writes the zero of the last word, too.) */
	if (text.bytes > 0 && reader->header.recognition == BP_RECOGNITION_HOST)
		text.bytes -= text.data[text.bytes - 1] == '\0';
	const bool title = is_title(text);
	uint32_t bytes = 0;
	for (uint32_t at = 0; at < text.bytes || (at == text.bytes && at > 0); at++) {
		const size_t length = strnlen(text.data + at, text.bytes - at);
		if (length > 0 || (at > 0 && !title)) {
			if (bytes > 0)
				words[bytes++] = ' ';
			memcpy(words + bytes, length > 0 ? text.data + at : "''",
				length > 0 ? length : 2);
			bytes += length > 0 ? (uint32_t)length : 2;
		}
		at += (uint32_t)length;
	}
	return bp_profile_string(profile, words, bytes, ret_string, error);
}
