/* SPDX-License-Identifier: MIT */
/* See tag_options.h. */
#include "cli/options/tag_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/attributes.h"
#include "text/escape.h"

static const char *const names[] = { "service", "release", "host", "tag" };

bool bp_tag_options_given(const struct bp_arguments *arguments)
{
	for (size_t i = 0; i < BP_COUNT(names); i++)
		if (bp_option_given(arguments, names[i]))
			return true;
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool same_key(const char *a, const char *b)
{
	const size_t bytes = (size_t)(strchr(a, '=') - a);
	return strncmp(a, b, bytes + 1) == 0;
}

static bool check_text(const char *name, const char *value, struct bp_error *error)
{
	unsigned bytes;
	for (const char *at = value; *at != '\0'; at += bytes) {
		const uint32_t character = bp_utf8_next(at, &bytes);
		if (character < ' ' || character == 0x7f)
			return bp_error_set(error,
				"--%s: control characters and line breaks cannot stand there",
				name);
		if (character == UINT32_MAX)
			return bp_error_set(error, "--%s: it is no text in UTF-8", name);
	}
	return true;
}

static bool join_tags(
	struct bp_tag_options *options, const char **tags, size_t count, struct bp_error *error)
{
	size_t bytes = 1;
	qsort(tags, count, sizeof *tags, compare);
	for (size_t i = 0; i < count; i++) {
		if (strchr(tags[i], '=') == NULL || tags[i][0] == '=')
			return bp_error_set(error, "--tag %s: write KEY=VALUE", tags[i]);
		if (i > 0 && same_key(tags[i - 1], tags[i]))
			return bp_error_set(error, "--tag %s: the key was given twice", tags[i]);
		bytes += strlen(tags[i]) + 1;
	}
	options->text = malloc(bytes);
	if (options->text == NULL)
		return bp_error_set(error, "out of memory");
	char *to = options->text;
	for (size_t i = 0; i < count; i++)
		to = stpcpy(stpcpy(to, i > 0 ? "\n" : ""), tags[i]);
	*to = '\0';
	options->tags.tags = options->text;
	return true;
}

bool bp_tag_options_read(const struct bp_arguments *arguments, struct bp_tag_options *ret_options,
	struct bp_error *error)
{
	const char **tags = calloc((size_t)arguments->given_count + 1, sizeof *tags);
	size_t count = 0;
	bool good = tags != NULL || bp_error_set(error, "out of memory");
	if (gethostname(ret_options->host, sizeof ret_options->host) != 0)
		ret_options->host[0] = '\0';
	ret_options->tags = (struct bp_tags){ bp_option_value_or(arguments, "service", ""),
		bp_option_value_or(arguments, "release", ""),
		bp_option_value_or(arguments, "host", ret_options->host), "" };
	for (int i = 0; good && i < arguments->given_count; i++) {
		const struct bp_given *given = &arguments->given[i];
		for (size_t j = 0; good && j < BP_COUNT(names); j++)
			if (strcmp(given->option->name, names[j]) == 0)
				good = check_text(names[j], given->value, error);
		if (strcmp(given->option->name, "tag") == 0)
			tags[count++] = given->value;
	}
	good = good && (count == 0 || join_tags(ret_options, tags, count, error));
	free(tags);
	return good;
}

void bp_tag_options_finish(struct bp_tag_options *options)
{
	free(options->text);
	options->text = NULL;
}
