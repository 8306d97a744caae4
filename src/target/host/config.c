/* SPDX-License-Identifier: MIT */
/* See config.h. The other settings of the environment are read in settings.c. */
#include "host/config.h"

#include <stdlib.h>
#include <sys/auxv.h>

#include "base/executable.h"
#include "base/system_call.h"
#include "probes/tracepoints.h"

/* Room for a number of 32 bits. */
#define NUMBER_BYTES 11

struct text {
	char *at, *end;
};

/* One byte stays free for the end. */
static bool put(struct text *to, char c)
{
	if (to->at + 1 >= to->end)
		return false;
	*to->at++ = c;
	return true;
}

static bool put_number(struct text *to, uint32_t number)
{
	char digits[NUMBER_BYTES];
	int count = 0;
	bool fits = true;
	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	while (count > 0)
		fits = put(to, digits[--count]) && fits;
	return fits;
}

bool bp_host_path_of(const char *given, uint32_t pid, char *path)
{
	struct text to = { path, path + BP_PATH_BYTES };
	bool fits = true;
	/* A program with more rights than its caller (set-uid, file capabilities) would make the
	 * file where the caller's current directory says. */
	if (given == NULL && getauxval(AT_SECURE) != 0) {
		errno = EPERM;
		return false;
	}
	if (given == NULL)
		given = secure_getenv(BP_ENV_HOST_OUTPUT);
	if (given == NULL || *given == '\0')
		given = "bytepoll.%p.bpt";
	for (const char *at = given; fits && *at != '\0'; at++) {
		if (at[0] == '%' && at[1] == 'p') {
			fits = put_number(&to, pid);
			at++;
			continue;
		}
		fits = put(&to, *at);
		if (at[0] == '%' && at[1] == '%')
			at++;
	}
	*to.at = '\0';
	if (!fits)
		errno = ENAMETOOLONG;
	return fits;
}

uint64_t bp_host_read_tracepoints(void)
{
	return bp_tracepoints_configure(secure_getenv(BP_ENV_TRACEPOINTS))
		       ? 0
		       : (uint64_t)1 << (BP_HEADER_MISREAD_SHIFT + BP_VARIABLE_TRACEPOINTS);
}

void bp_host_strings(struct bp_trace_header *header, const char *name, char *to)
{
	static const char version[] = "bytepoll " BP_VERSION;
	const size_t room = BP_HEADER_MAX_BYTES - sizeof *header;
	size_t bytes = 0, length;
	bytes = header->program_length = (uint16_t)bp_executable_path(to, room / 2);
	/* Half of what is left, so that the name finds room. */
	length = bp_system_read_file("/proc/self/cmdline", to + bytes, (room - bytes) / 2);
	header->command_line_length = (uint16_t)length;
	bytes += length;
	for (length = 0; name[length] != '\0' && bytes + length + sizeof version < room; length++)
		to[bytes + length] = name[length];
	header->allocator_length = (uint16_t)length;
	bytes += length;
	__builtin_memcpy(to + bytes, version, sizeof version - 1);
	header->recorder_version_length = sizeof version - 1;
}
