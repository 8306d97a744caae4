/* SPDX-License-Identifier: MIT */
/*
 * Shell commands in a scratch directory. Everything a test needs of the outside (compilers,
 * binutils) goes through here, and a command that fails fails the test.
 */
#include "workshop.h"

#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static char directory[PATH_MAX];

int workshop_open(void **state)
{
	const char *parent = getenv("TMPDIR");
	(void)state;
	snprintf(directory, sizeof directory, "%s/bytepoll-symbols-XXXXXX",
		parent != NULL && parent[0] == '/' ? parent : "/tmp");
	/* The tests must not depend on a server, nor ask one. */
	unsetenv("DEBUGINFOD_URLS");
	setenv("LC_ALL", "C", 1);
	return mkdtemp(directory) == NULL || chdir(directory) != 0 ? -1 : 0;
}

int workshop_close(void **state)
{
	char command[PATH_MAX + 16];
	(void)state;
	if (chdir("/") != 0)
		return -1;
	snprintf(command, sizeof command, "rm -rf '%s'", directory);
	return system(command) == 0 ? 0 : -1;
}

const char *workshop_directory(void)
{
	return directory;
}

bool have_command(const char *name)
{
	char command[256];
	snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
	return system(command) == 0;
}

void run_command(const char *format, ...)
{
	char command[4096];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(command, sizeof command, format, arguments);
	va_end(arguments);
	if (system(command) != 0)
		fail_msg("this failed: %s", command);
}

void read_numbers(const char *command, uint64_t *numbers, uint32_t wanted)
{
	FILE *output = popen(command, "r");
	uint32_t count = 0;
	assert_non_null(output);
	while (count < wanted && fscanf(output, "%" SCNx64, &numbers[count]) == 1)
		count++;
	pclose(output);
	if (count < wanted)
		fail_msg("%s: %" PRIu32 " numbers, not %" PRIu32, command, count, wanted);
}

void write_source(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

void read_build_id(const char *file, char *text, size_t bytes)
{
	char command[PATH_MAX + 64];
	FILE *output = NULL;
	snprintf(command, sizeof command, "readelf -n %s 2>/dev/null | sed -n 's/.*Build ID: //p'",
		file);
	output = popen(command, "r");
	assert_non_null(output);
	if (fgets(text, (int)bytes, output) == NULL)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	pclose(output);
}

uint64_t symbol_value(const char *file, const char *symbol)
{
	char command[PATH_MAX + 64];
	uint64_t value = 0;
	snprintf(command, sizeof command, "nm %s | awk '$3 == \"%s\" { print $1 }'", file, symbol);
	read_numbers(command, &value, 1);
	return value;
}

void read_text_section(const char *file, uint64_t *ret_address, uint64_t *ret_bytes)
{
	char command[PATH_MAX + 128];
	uint64_t numbers[2];
	snprintf(command, sizeof command,
		"readelf -SW %s | sed 's/\\[ *//' | awk '$2 == \".text\" { print $4; print $6 }'",
		file);
	read_numbers(command, numbers, 2);
	*ret_address = numbers[0];
	*ret_bytes = numbers[1];
}
