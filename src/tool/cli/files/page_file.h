/* SPDX-License-Identifier: MIT */
/*
 * The file a page is written to: a written_file.h, or by "-" standard output, unless that is a
 * terminal. Used by html and diff.
 */
#ifndef BP_CLI_FILES_PAGE_FILE_H
#define BP_CLI_FILES_PAGE_FILE_H

#include <stdbool.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/files/written_file.h"
#include "report/diff/diff_report.h"

/* The file, yet to be begun; `option` names it in messages; the operands are what the command
 * reads. */
struct bp_written_file bp_page_file(
	const struct bp_arguments *arguments, const char *path, const char *option);
/* May a page be written there? For saying so before the work. */
bool bp_page_file_check(const struct bp_written_file *file, struct bp_error *error);

/* The page of a comparison into `file` (`bytepoll diff --html`); `paths`: the same by call
 * paths. */
bool bp_page_file_write_diff(struct bp_written_file *file, const struct bp_diff *diff,
	const struct bp_diff *paths, const struct bp_diff_options *options, struct bp_error *error);

/* Says on standard error what was written where. `remark`: a sentence, or "". */
void bp_page_file_tell(const char *path, size_t bytes, const char *remark);

#endif
