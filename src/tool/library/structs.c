/* SPDX-License-Identifier: MIT */
/* See structs.h. */
#include "library/structs.h"

#include <stdio.h>
#include <string.h>

#include "base/attributes.h"

bool bp_struct_take(
	void *to, size_t bytes, const void *from, const char *what, struct bytepoll_error *error)
{
	size_t given = bytes;
	memset(to, 0, bytes);
	if (from == NULL)
		return true;
	memcpy(&given, from, sizeof given);
	if (given < sizeof given)
		return bp_call_wrong(
			error, "struct_bytes of %s is not set: use BYTEPOLL_CLEAR", what);
	for (size_t i = bytes; i < given; i++)
		if (((const unsigned char *)from)[i] != 0)
			return bp_call_wrong(error,
				"%s asks for what this library (%s) does not know: a later one is "
				"needed",
				what, bytepoll_version());
	memcpy(to, from, given < bytes ? given : bytes);
	return true;
}

bool bp_struct_give(void *to, const void *from, size_t bytes)
{
	size_t given;
	memcpy(&given, to, sizeof given);
	if (given < sizeof given)
		return false;
	const size_t known = given < bytes ? given : bytes;
	memcpy((char *)to + sizeof given, (const char *)from + sizeof given, known - sizeof given);
	memset((char *)to + known, 0, given - known);
	return true;
}

static bool is_lack_of_memory(const char *text)
{
	return strncmp(text, "out of memory", 13) == 0 || strncmp(text, "no memory", 9) == 0;
}

/* Errors are written for the command line, whose options are these fields and flags. */
static const struct {
	const char *option, *field;
} fields[] = {
	{ "--at", "at_ns" },
	{ "--bytes requested", "the requested bytes" },
	{ "--cumulative", "BYTEPOLL_CUMULATIVE" },
	{ "--debuginfod", "debuginfod_urls" },
	{ "--from", "from_ns" },
	{ "--interval-method", "method" },
	{ "--min-size", "size_min" },
	{ "--until", "to_ns" },
	{ "--assume-interval", "assume_interval" },
	{ "--debug-directory", "debug_directory" },
	{ "--by", "by" },
	{ "--confidence", "confidence" },
	{ "--edges", "edges" },
	{ "--estimator", "estimator" },
	{ "--filter", "filter" },
	{ "--metric", "metric" },
	{ "--pid", "pid" },
};

/* The field that an option at the beginning of `text` is; NULL: no option of a query. */
static const char *field_of(const char *text, size_t *ret_length)
{
	for (size_t i = 0; i < BP_COUNT(fields); i++) {
		const size_t length = strlen(fields[i].option);
		const char after =
			strncmp(text, fields[i].option, length) == 0 ? text[length] : 'x';
		if (after == '-' || (after >= 'a' && after <= 'z'))
			continue;
		*ret_length = length;
		return fields[i].field;
	}
	return NULL;
}

/* Names fields where `text` names options. */
static void write_for_callers(const char *text, char *ret_text, size_t room)
{
	size_t used = 0, length;
	for (const char *at = text; *at != '\0' && used + 1 < room;) {
		const bool begins = at == text || at[-1] == ' ';
		const char *field = begins ? field_of(at, &length) : NULL;
		if (field == NULL) {
			ret_text[used++] = *at++;
			continue;
		}
		for (; *field != '\0' && used + 1 < room; field++)
			ret_text[used++] = *field;
		at += length;
	}
	ret_text[used] = '\0';
}

bool bp_call_failed(
	struct bytepoll_error *error, enum bytepoll_error_kind kind, const struct bp_error *reason)
{
	if (error == NULL)
		return false;
	error->kind = (int32_t)(is_lack_of_memory(reason->text) ? BYTEPOLL_ERROR_MEMORY : kind);
	write_for_callers(reason->text, error->text, sizeof error->text);
	return false;
}

bool bp_call_wrong(struct bytepoll_error *error, const char *format, ...)
{
	struct bp_error reason;
	char text[sizeof reason.text];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	bp_error_set(&reason, "%s", text); /* which takes control characters out */
	return bp_call_failed(error, BYTEPOLL_ERROR_CALL, &reason);
}

struct bp_plain_locale bp_locale_enter(void)
{
	struct bp_plain_locale locale = { .plain = newlocale(LC_ALL_MASK, "C", (locale_t)0) };
	if (locale.plain != (locale_t)0)
		locale.before = uselocale(locale.plain);
	return locale;
}

void bp_locale_leave(struct bp_plain_locale locale)
{
	if (locale.plain == (locale_t)0)
		return;
	uselocale(locale.before);
	freelocale(locale.plain);
}
