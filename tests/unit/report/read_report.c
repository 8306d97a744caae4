/* SPDX-License-Identifier: MIT */
/* See read_report.h. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "read_report.h"

void assert_place(const char *reader, const char *kind, const char *text, const char *place,
	const char *expected)
{
	char path[] = "/tmp/bytepoll-report-XXXXXX", command[4096], answer[4096] = "";
	int file = mkstemp(path);
	assert_true(file >= 0);
	assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
	close(file);
	snprintf(
		command, sizeof command, "python3 '%s' %s %s '%s' 2>&1", reader, kind, path, place);
	FILE *python = popen(command, "r");
	assert_non_null(python);
	size_t bytes = fread(answer, 1, sizeof answer - 1, python);
	answer[bytes] = '\0';
	assert_int_equal(pclose(python), 0);
	unlink(path);
	answer[strcspn(answer, "\n")] = '\0';
	assert_string_equal(answer, expected);
}

const struct bp_report *report_named(const char *name)
{
	if (strcmp(name, bp_report_table.name) == 0)
		return &bp_report_table;
	if (strcmp(name, bp_report_timeline.name) == 0)
		return &bp_report_timeline;
	for (size_t i = 0; bp_reports[i] != NULL; i++)
		if (strcmp(name, bp_reports[i]->name) == 0)
			return bp_reports[i];
	fail_msg("no report is called %s", name);
	return NULL;
}
