/* SPDX-License-Identifier: MIT */
/* See structs.h. */
#include "library/structs.h"

#include <stdio.h>
#include <string.h>

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

bool bp_call_failed(
	struct bytepoll_error *error, enum bytepoll_error_kind kind, const struct bp_error *reason)
{
	if (error == NULL)
		return false;
	error->kind = (int32_t)(is_lack_of_memory(reason->text) ? BYTEPOLL_ERROR_MEMORY : kind);
	snprintf(error->text, sizeof error->text, "%s", reason->text);
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
