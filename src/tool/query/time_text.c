/* SPDX-License-Identifier: MIT */
/* See time_text.h. */
#include "query/time_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/attributes.h"

bool bp_time_read(const char *text, uint64_t *ret_ns, struct bp_error *error)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = { { "", 1e9 }, { "s", 1e9 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 },
		{ "m", 60e9 }, { "min", 60e9 }, { "h", 3600e9 } };
	char *rest;
	if (*text < '0' || *text > '9' || text[1] == 'x' || text[1] == 'X')
		return bp_error_set(
			error, "%s is no time: write 12.5 (seconds), 500ms or 2m", text);
	double number = strtod(text, &rest);
	for (size_t i = 0; i < BP_COUNT(units); i++) {
		double ns = number * units[i].ns;
		if (strcmp(rest, units[i].suffix) != 0)
			continue;
		if (!(ns < 0x1p62))
			return bp_error_set(error, "%s is too long a time", text);
		*ret_ns = (uint64_t)llround(ns);
		return true;
	}
	return bp_error_set(error, "%s is no time: write 12.5 (seconds), 500ms or 2m", text);
}

void bp_moment_text(uint64_t ns, bool of_day, char *buffer, size_t bytes)
{
	const time_t seconds = (time_t)(ns / 1000000000);
	struct tm moment;
	if (!of_day || gmtime_r(&seconds, &moment) == NULL)
		snprintf(buffer, bytes, "%.6g s", (double)ns / 1e9);
	else
		strftime(buffer, bytes, "%Y-%m-%dT%H:%M:%SZ", &moment);
}
