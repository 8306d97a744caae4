/* SPDX-License-Identifier: MIT */
/*
 * A file that a command writes because it was asked to (-o, --svg, --html): it appears under its
 * name when it is whole, so that a failure leaves nothing and what was there stays until something
 * better is. Nothing is replaced without --force, and a symbolic link neither with it: who may put
 * a link where somebody writes would choose what is overwritten. Nor is a recording, or a file that
 * the command reads (replacing.h).
 *
 * Where the file system can, the file has no name until then (O_TMPFILE), and whatever kills us
 * leaves nothing behind. Elsewhere it is PATH.XXXXXX in the same folder; INT, TERM and HUP remove
 * it.
 *
 * One at a time; not thread-safe.
 */
#ifndef BP_CLI_FILES_WRITTEN_FILE_H
#define BP_CLI_FILES_WRITTEN_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

struct bp_written_file {
	/* Given: */
	const char *path;   /* "-": standard output */
	const char *option; /* by which it was named, for messages: "-o" */
	bool force;
	mode_t mode;		   /* before the umask */
	const char *const *inputs; /* the files that the command reads */
	size_t input_count;
	/* Between begin and end: */
	FILE *out;
	char temporary[PATH_MAX]; /* its name so far; "": it has none */
};

/* May it be written there? For saying so before the work: nothing is left behind. */
bool bp_written_file_check(const struct bp_written_file *file, struct bp_error *error);
/* Opens `out`. */
bool bp_written_file_begin(struct bp_written_file *file, struct bp_error *error);
/* Closes it and gives it its name; with `good` false, or if that fails, nothing is left of it, and
 * with `good` false `error` is left alone. Returns whether all is well. Standard output is not
 * closed (main.c looks after it). */
bool bp_written_file_end(struct bp_written_file *file, bool good, struct bp_error *error);

#endif
