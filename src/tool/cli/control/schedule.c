/* SPDX-License-Identifier: MIT */
/*
 * The times are read as the recorder does (src/target/start/config.c): nanoseconds of
 * CLOCK_MONOTONIC, or with a plus from the start of the process, which is when its trace began.
 */
#include "cli/control/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "text/quantity.h"

/* By the clock of the process, whose header it is. */
static uint64_t time_of(const char *text, const struct bp_trace_header *header)
{
	const bool own = *text == '+';
	char *end;
	text += own;
	if (*text < '0' || *text > '9')
		return 0;
	errno = 0;
	const unsigned long long number = strtoull(text, &end, 10);
	uint64_t time_ns = 0;
	if (errno != 0 || *end != '\0' ||
		__builtin_add_overflow(number, own ? header->start_monotonic_ns : 0, &time_ns))
		return 0;
	return own ? time_ns : time_ns + header->clock_offset_ns;
}

static const char *value_of(const char *variable, const char *name)
{
	const size_t length = strlen(name);
	return strncmp(variable, name, length) == 0 && variable[length] == '='
		       ? variable + length + 1
		       : NULL;
}

static uint64_t left(uint64_t time_ns, uint64_t now_ns)
{
	return time_ns > now_ns ? time_ns - now_ns : 0;
}

struct bp_schedule bp_schedule_of(const struct bp_traced *traced)
{
	uint64_t start_ns = 0, stop_ns = 0;
	char path[64], *variable = NULL;
	size_t capacity = 0;
	snprintf(path, sizeof path, "/proc/%ld/environ", (long)traced->pid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return (struct bp_schedule){ 0 };
	while (getdelim(&variable, &capacity, '\0', file) > 0) {
		const char *start = value_of(variable, BP_ENV_START_TIME);
		const char *stop = value_of(variable, BP_ENV_STOP_TIME);
		if (start != NULL)
			start_ns = time_of(start, &traced->header);
		if (stop != NULL)
			stop_ns = time_of(stop, &traced->header);
	}
	free(variable);
	fclose(file);
	const uint64_t now_ns = bp_clock_machine_ns() + traced->header.clock_offset_ns;
	return (struct bp_schedule){ left(start_ns, now_ns), left(stop_ns, now_ns) };
}

void bp_schedule_text(
	const struct bp_schedule *window, char ret_text[static BP_SCHEDULE_TEXT_BYTES])
{
	char begins[BP_QUANTITY_BYTES], ends[BP_QUANTITY_BYTES];
	bp_time_text(window->begins_ns, begins);
	bp_time_text(window->ends_ns, ends);
	snprintf(ret_text, BP_SCHEDULE_TEXT_BYTES, "%s%s%s%s%s",
		window->begins_ns != 0 ? "begins in " : "", window->begins_ns != 0 ? begins : "",
		window->begins_ns != 0 && window->ends_ns != 0 ? ", " : "",
		window->ends_ns != 0 ? "ends in " : "", window->ends_ns != 0 ? ends : "");
}
