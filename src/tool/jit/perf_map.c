/* SPDX-License-Identifier: MIT */
/* See perf_map.h. */
#include "jit/perf_map.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of a longer line the begin counts. It is read in pieces of so many bytes, and no more than
 * PIECES_MAX of all lines: who wrote the file may have made it as long as a file can be. */
#define LINE_BYTES (BP_JIT_NAME_BYTES + 64)
#define PIECES_MAX BP_JIT_NAMES_MAX

/* A hexadecimal number at `*at` and the blank behind it. */
static bool take_number(const char **at, uint64_t *ret_number)
{
	char *end;
	if (strspn(*at, "0123456789abcdefABCDEF") == 0)
		return false;
	errno = 0;
	*ret_number = strtoull(*at, &end, 16);
	const bool good = errno == 0 && *end == ' ';
	*at = end + (good ? 1 : 0);
	return good;
}

static bool add_line(const char *line, struct bp_jit_names *names, struct bp_error *error)
{
	struct bp_jit_name range = { .time_ns = 0 };
	if (!take_number(&line, &range.start) || !take_number(&line, &range.bytes))
		return true;
	return bp_jit_names_add(names, &range, line, strcspn(line, "\r\n"), error);
}

bool bp_perf_map_read(FILE *in, struct bp_jit_names *names, struct bp_error *error)
{
	char line[LINE_BYTES];
	bool begins = true;
	for (uint32_t piece = 0; piece < PIECES_MAX; piece++) {
		if (fgets(line, sizeof line, in) == NULL)
			return true;
		if (begins && !add_line(line, names, error))
			return false;
		begins = strchr(line, '\n') != NULL;
	}
	return true;
}
