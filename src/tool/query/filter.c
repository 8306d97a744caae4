/* SPDX-License-Identifier: MIT */
/* Reading filters and matching names; see filter.h. Which samples a filter looks at is decided in
 * selection.c. */
#include "query/filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "model/sample.h"
#include "query/time_text.h"

#define BP_TIME_PREFIX "time="

/* Reads "64", "4K", "1.5M" up to `end`; an empty text leaves `*size`. */
static bool read_size(const char *text, const char *end, uint64_t *size)
{
	static const char letters[] = "KMGT";
	double number;
	char *rest;
	if (text == end)
		return true;
	if (*text < '0' || *text > '9' || text[1] == 'x' || text[1] == 'X')
		return false;
	number = strtod(text, &rest);
	if (rest < end && *rest != '\0') {
		const char *letter = strchr(letters, *rest & ~0x20);
		if (letter != NULL) {
			for (const char *l = letters; l <= letter; l++)
				number *= 1024;
			rest++;
			if (rest < end && *rest == 'i')
				rest++;
		}
		if (rest < end && *rest == 'B')
			rest++;
	}
	if (rest != end || !(number < 0x1p63))
		return false;
	*size = (uint64_t)number;
	return true;
}

static bool parse_size_range(struct bp_filter *filter, struct bp_error *error)
{
	const char *text = filter->glob, *end = text + strlen(text);
	const char *dots = strstr(text, "..");
	bool good;
	filter->size_low = 0;
	filter->size_high = UINT64_MAX;
	if (dots == NULL) {
		good = *text != '\0' && read_size(text, end, &filter->size_low);
		filter->size_high = filter->size_low;
	} else {
		/* strtod would take the first dot of "64..4K" for a decimal point. */
		char low[32];
		size_t length = (size_t)(dots - text);
		good = length < sizeof low;
		if (good) {
			memcpy(low, text, length);
			low[length] = '\0';
			good = read_size(low, low + length, &filter->size_low) &&
			       read_size(dots + 2, end, &filter->size_high);
		}
	}
	if (!good)
		return bp_error_set(
			error, "--filter %s: no range of sizes: write size=64..4K", filter->text);
	if (filter->size_low > filter->size_high)
		return bp_error_set(error, "--filter %s: the range is empty", filter->text);
	return true;
}

/* An empty text leaves `*time_ns`. */
static bool read_time(const char *text, uint64_t *time_ns)
{
	return *text == '\0' || bp_time_read(text, time_ns, NULL);
}

/* "time=FROM..TO" */
static bool parse_time_range(
	struct bp_filter *filter, struct bp_filter *ret_filter, struct bp_error *error)
{
	const char *text = filter->text + strlen(BP_TIME_PREFIX), *dots = strstr(text, "..");
	char low[40];
	filter->key = BP_KEY_SIZE;
	filter->glob = text;
	filter->size_high = UINT64_MAX;
	filter->of_time = true;
	filter->to_ns = BP_TIME_NEVER;
	/* strtod would take the first dot of "1..2" for a decimal point. */
	const size_t length = dots == NULL ? sizeof low : (size_t)(dots - text);
	if (length >= sizeof low)
		return bp_error_set(
			error, "--filter %s: no range of times: write time=1s..2.5s", filter->text);
	memcpy(low, text, length);
	low[length] = '\0';
	if (!read_time(low, &filter->from_ns) || !read_time(dots + 2, &filter->to_ns))
		return bp_error_set(
			error, "--filter %s: no range of times: write time=1s..2.5s", filter->text);
	if (filter->from_ns >= filter->to_ns)
		return bp_error_set(error, "--filter %s: the range is empty", filter->text);
	*ret_filter = *filter;
	return true;
}

/* "label:KEY=GLOB" */
static bool parse_label(
	struct bp_filter *filter, struct bp_filter *ret_filter, struct bp_error *error)
{
	const char *equals = strchr(filter->text, '=');
	filter->key = BP_KEY_LABEL;
	filter->label_key = filter->text + strlen(BP_LABEL_PREFIX);
	filter->label_key_bytes = equals == NULL ? 0 : (size_t)(equals - filter->label_key);
	if (equals == NULL || !bp_label_key_is_good(filter->label_key, filter->label_key_bytes))
		return bp_error_set(error,
			"--filter %.200s: write label:KEY=GLOB, for example label:tenant=42",
			filter->text);
	filter->glob = equals + 1;
	*ret_filter = *filter;
	return true;
}

static bool begins_with(const char *text, size_t bytes, const char *prefix)
{
	return strlen(prefix) < bytes && strncmp(text, prefix, strlen(prefix)) == 0;
}

bool bp_filter_has_key(const char *text, size_t bytes)
{
	for (int i = 0; i <= BP_KEY_COUNT; i++) {
		const char *key = i < BP_KEY_COUNT ? bp_key_names[i] : BP_FREED_BY;
		if (begins_with(text, bytes, key) && text[strlen(key)] == '=')
			return true;
	}
	if (begins_with(text, bytes, BP_LABEL_PREFIX))
		return memchr(text, '=', bytes) != NULL;
	return begins_with(text, bytes, BP_TIME_PREFIX);
}

bool bp_filter_parse(const char *text, struct bp_filter *ret_filter, struct bp_error *error)
{
	struct bp_filter filter = { .text = text };
	const char *equals = strchr(text, '=');
	char key[32];
	if (strncmp(text, BP_LABEL_PREFIX, strlen(BP_LABEL_PREFIX)) == 0)
		return parse_label(&filter, ret_filter, error);
	if (strncmp(text, BP_TIME_PREFIX, strlen(BP_TIME_PREFIX)) == 0)
		return parse_time_range(&filter, ret_filter, error);
	if (equals == NULL || (size_t)(equals - text) >= sizeof key)
		return bp_error_set(
			error, "--filter %s: write KEY=GLOB, for example function=parse_*", text);
	memcpy(key, text, (size_t)(equals - text));
	key[equals - text] = '\0';
	filter.of_free = strcmp(key, BP_FREED_BY) == 0;
	int index =
		filter.of_free ? (int)BP_KEY_STACK : bp_word_index(bp_key_names, BP_KEY_COUNT, key);
	if (index < 0)
		return bp_error_set(error,
			"--filter %s: no key '%s': use stack, function, line, file, module, "
			"thread, size, type, kind, process, label, label:KEY, time or " BP_FREED_BY,
			text, key);
	filter.key = (enum bp_key)index;
	filter.glob = equals + 1;
	if (filter.key == BP_KEY_SIZE && !parse_size_range(&filter, error))
		return false;
	*ret_filter = filter;
	return true;
}

bool bp_query_filters_frees(const struct bp_query *query)
{
	for (uint32_t i = 0; i < query->filter_count; i++)
		if (query->filters[i].of_free)
			return true;
	return false;
}

/* The end of the alternative that begins at `text`: a bar, or the end. In brackets and after a
 * backslash a bar is a letter like others. */
static const char *alternative_end(const char *text)
{
	while (*text != '\0' && *text != '|') {
		const char *closing =
			*text == '[' && text[1] != '\0' ? strchr(text + 2, ']') : NULL;
		if (closing != NULL)
			text = closing;
		else if (*text == '\\' && text[1] != '\0')
			text++;
		text++;
	}
	return text;
}

/* Does the name match one alternative at least? As a whole the glob is tried first, since names of
 * C++ have bars, too. */
static bool matches(const char *glob, const char *name)
{
	const char *end = alternative_end(glob);
	char alternative[1024];
	if (fnmatch(glob, name, 0) == 0)
		return true;
	if (*end == '\0')
		return false;
	for (;; end = alternative_end(glob)) {
		const size_t length = (size_t)(end - glob);
		if (length < sizeof alternative) {
			memcpy(alternative, glob, length);
			alternative[length] = '\0';
			if (fnmatch(alternative, name, 0) == 0)
				return true;
		}
		if (*end == '\0')
			return false;
		glob = end + 1;
	}
}

bool bp_filter_matches_row(const struct bp_filter *filter, const char *row)
{
	if (*row != '(')
		return matches(filter->glob, row);
	for (const char *glob = filter->glob; *glob != '\0';) {
		const char *end = alternative_end(glob);
		if (*glob == '(')
			return matches(filter->glob, row);
		glob = *end == '|' ? end + 1 : end;
	}
	return false;
}

bool bp_filter_matches_function(const struct bp_filter *filter, const char *name)
{
	char plain[1024];
	if (matches(filter->glob, name))
		return true;
	/* `parse` for `parse(char const*, int)`; the name itself may have parentheses at its
	 * start. */
	const char *arguments = strchr(name + strspn(name, "("), '(');
	if (arguments == NULL || arguments == name || (size_t)(arguments - name) >= sizeof plain)
		return false;
	memcpy(plain, name, (size_t)(arguments - name));
	plain[arguments - name] = '\0';
	return matches(filter->glob, plain);
}

bool bp_filter_matches(const struct bp_filter *filter, const char *name, bool or_last_part)
{
	if (matches(filter->glob, name))
		return true;
	const char *slash = or_last_part ? strrchr(name, '/') : NULL;
	return slash != NULL && matches(filter->glob, slash + 1);
}
