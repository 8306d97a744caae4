/* SPDX-License-Identifier: MIT */
/* See origin.h. */
#include "fleet/origin.h"

#include <string.h>

#include "query/query.h"

/* The value of a tag in lines `key=value`. */
static const char *value_of(const char *tags, const char *key, size_t *ret_length)
{
	const size_t key_length = strlen(key);
	for (const char *line = tags; *line != '\0';) {
		const size_t length = strcspn(line, "\n");
		if (length > key_length && strncmp(line, key, key_length) == 0 &&
			line[key_length] == '=') {
			*ret_length = length - key_length - 1;
			return line + key_length + 1;
		}
		line += length + (line[length] == '\n');
	}
	*ret_length = 0;
	return "";
}

const char *bp_origin_text(
	const struct bp_origin_heads *heads, const char *word, size_t *ret_length)
{
	const size_t prefix = strlen(BP_TAG_PREFIX);
	if (strncmp(word, BP_TAG_PREFIX, prefix) == 0)
		return value_of(heads->tags, word + prefix, ret_length);
	const char *text = strcmp(word, "service") == 0	  ? heads->service
			   : strcmp(word, "release") == 0 ? heads->release
							  : heads->host;
	*ret_length = strlen(text);
	return text;
}
