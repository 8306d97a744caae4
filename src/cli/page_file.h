/* SPDX-License-Identifier: MIT */
/*
 * The file a page is written to: made beside its place under another name, and moved there when it is
 * whole; nothing is replaced without being asked to. "-" is standard output, unless that is a terminal.
 * Used by html and diff.
 */
#ifndef BP_CLI_PAGE_FILE_H
#define BP_CLI_PAGE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "report/diff.h"

struct bp_page_file {
	FILE *out;
	char path[PATH_MAX], temporary[PATH_MAX]; /* "": standard output */
	bool force;
};

/* May a page be written there? For saying so before the work. */
bool bp_page_file_check(const char *path, bool force, struct bp_error *error);
bool bp_page_file_open(
	const char *path, bool force, struct bp_page_file *ret_file, struct bp_error *error);
/* Puts the file in its place; with `good` false it is removed, and `error` is left alone. */
bool bp_page_file_close(struct bp_page_file *file, bool good, struct bp_error *error);

/* The page of a comparison, there (`bytepoll diff --html`). */
bool bp_page_file_write_difference(const char *path, bool force,
	const struct bp_difference *difference, const struct bp_diff_options *options,
	struct bp_error *error);

/* Says on standard error what was written where. `remark`: a sentence, or "". */
void bp_page_file_tell(const char *path, size_t bytes, const char *remark);

#endif
