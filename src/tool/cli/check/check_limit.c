/* SPDX-License-Identifier: MIT */
/* Reading limits; see check_limit.h. */
#include "cli/check/check_limit.h"

#include <stdlib.h>
#include <string.h>

#include "cli/options/options.h"

static bool no_memory(struct bp_error *error)
{
	return bp_error_set(error, "out of memory");
}

/* "peak-resident" in the `length` bytes at `text`: not of malloc, so that it has no filter. */
static bool parse_resident(const char *text, size_t length, struct bp_limit *limit)
{
	for (int i = 1; i < BP_RESIDENT_METRICS; i++)
		if (strlen(bp_resident_metric_names[i]) == length &&
			memcmp(bp_resident_metric_names[i], text, length) == 0)
			limit->resident = (enum bp_resident_metric)i;
	return limit->resident != BP_RESIDENT_NONE;
}

/* "live", "live.objects" in the `length` bytes at `text`. */
static bool parse_metric(const char *text, size_t length, struct bp_limit *limit)
{
	static const char suffix[] = ".objects";
	char word[32];
	if (length >= sizeof word)
		return false;
	memcpy(word, text, length);
	word[length] = '\0';
	size_t suffix_length = sizeof suffix - 1;
	limit->objects =
		length > suffix_length && strcmp(word + length - suffix_length, suffix) == 0;
	if (limit->objects)
		word[length - suffix_length] = '\0';
	int index = bp_word_index(bp_metric_names, BP_METRIC_COUNT, word);
	limit->metric = (enum bp_metric)index;
	return index >= 0;
}

static bool parse_filter(
	const char *filter, size_t length, struct bp_limit *limit, struct bp_error *error)
{
	const char *key = bp_filter_has_key(filter, length) ? "" : "function=";
	if (length == 0)
		return bp_error_set(error, "no filter after the colon");
	if (asprintf(&limit->filter_text, "%s%.*s", key, (int)length, filter) < 0) {
		limit->filter_text = NULL;
		return no_memory(error);
	}
	return bp_filter_parse(limit->filter_text, &limit->filter, error);
}

/* All but the value: METRIC[.objects][:FILTER] in the bytes before `end`. */
static bool parse_subject(
	const char *text, const char *end, struct bp_limit *limit, struct bp_error *error)
{
	const char *colon = memchr(text, ':', (size_t)(end - text));
	const char *metric_end = colon != NULL ? colon : end;
	if (parse_resident(text, (size_t)(metric_end - text), limit)) {
		if (limit->growth)
			return bp_error_set(error,
				"growth is judged of what malloc gave: live, peak, allocated "
				"or temporary; write --limit %s=SIZE",
				bp_resident_metric_names[limit->resident]);
		return colon == NULL ||
		       bp_error_set(error, "%s is of the whole process: it has no filter",
			       bp_resident_metric_names[limit->resident]);
	}
	if (!parse_metric(text, (size_t)(metric_end - text), limit))
		return bp_error_set(error,
			"'%.*s' is no metric: write live, peak, allocated or temporary, one of "
			"these with .objects, or resident, peak-resident, swap, not-resident, "
			"mapped or mapped-peak",
			(int)(metric_end - text), text);
	return colon == NULL || parse_filter(colon + 1, (size_t)(end - colon - 1), limit, error);
}

static bool parse_amount(const char *value, struct bp_limit *limit, struct bp_error *error)
{
	uint64_t amount;
	if (limit->objects ? !bp_parse_number(value, &amount, error)
			   : !bp_parse_size(value, &amount, error))
		return false;
	limit->most = (double)amount;
	return true;
}

static bool parse_percentage(const char *value, struct bp_limit *limit, struct bp_error *error)
{
	char *rest;
	bool digit = *value >= '0' && *value <= '9' && value[1] != 'x' && value[1] != 'X';
	double percentage = digit ? strtod(value, &rest) : 0;
	if (!digit || strcmp(rest, "%") != 0 || !(percentage <= 1e6))
		return bp_error_set(error, "'%s' is no growth: write 5%%", value);
	limit->most = 1 + percentage / 100;
	return true;
}

/* `option` for messages. */
static bool parse(
	const char *option, const char *text, struct bp_limit *limit, struct bp_error *error)
{
	const char *equals = strrchr(text, '=');
	struct bp_error reason = { 0 };
	if (equals == NULL)
		return bp_error_set(error, "--%s %.500s: write %s", option, text,
			limit->growth ? "N% or METRIC=N%, as 5% or peak=5%"
				      : "METRIC=SIZE, as live=200MiB");
	limit->text = strdup(text);
	if (limit->text == NULL)
		return no_memory(error);
	if (parse_subject(text, equals, limit, &reason) &&
		(limit->growth ? parse_percentage(equals + 1, limit, &reason)
			       : parse_amount(equals + 1, limit, &reason)))
		return true;
	return bp_error_set(error, "--%s %.400s: %.500s", option, text, reason.text);
}

bool bp_check_limit_parse(const char *text, struct bp_limit *ret_limit, struct bp_error *error)
{
	struct bp_limit limit = { 0 };
	if (!parse("limit", text, &limit, error)) {
		bp_check_limit_finish(&limit);
		return false;
	}
	*ret_limit = limit;
	return true;
}

bool bp_check_growth_parse(
	const char *text, enum bp_metric metric, struct bp_limit *ret_limit, struct bp_error *error)
{
	struct bp_limit limit = { .growth = true };
	char *whole = NULL;
	if (strchr(text, '=') == NULL && strchr(text, '%') != NULL &&
		asprintf(&whole, "%s=%s", bp_metric_names[metric], text) < 0)
		return no_memory(error);
	bool good = parse("max-growth", whole != NULL ? whole : text, &limit, error);
	free(whole);
	if (!good) {
		bp_check_limit_finish(&limit);
		return false;
	}
	*ret_limit = limit;
	return true;
}

void bp_check_limit_finish(struct bp_limit *limit)
{
	free(limit->text);
	free(limit->filter_text);
	memset(limit, 0, sizeof *limit);
}
